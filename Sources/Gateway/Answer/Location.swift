import KizunaEngine

/// The address of one row: `/shelf?id=eq.7`, compound keys joined by `&`, without the gateway's prefix.
enum Location {
  static func text(table: TableSchema, rowKey: String) -> String? {
    guard !table.key.isEmpty, let values = components(rowKey, count: table.key.count) else { return nil }
    var text = "/"
    appendEncoded(table.name, to: &text)
    for (position, value) in values.enumerated() {
      text += position == 0 ? "?" : "&"
      appendEncoded(table.columns[table.key[position]].name, to: &text)
      if let value {
        text += "=eq."
        appendEncoded(value, to: &text)
      } else {
        text += "=is.null"
      }
    }
    return text
  }

  /// A row key of one column is the value itself; of several, a JSON array of their texts.
  private static func components(_ rowKey: String, count: Int) -> [String?]? {
    if count == 1 { return [rowKey] }
    guard let elements = (try? JSONParser.parse(rowKey))?.elements, elements.count == count else {
      return nil
    }
    return elements.map { element in
      switch element {
      case .null: nil
      case .string(let text): text
      default: element.jsonText
      }
    }
  }

  /// Everything but letters, digits and `-_.~` percent-encoded.
  static func appendEncoded(_ value: String, to text: inout String) {
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
        UInt8(ascii: "~"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        text.unicodeScalars.append("%")
        text.unicodeScalars.append(Self.hex(byte >> 4))
        text.unicodeScalars.append(Self.hex(byte & 15))
      }
    }
  }

  private static func hex(_ nibble: UInt8) -> Unicode.Scalar {
    Unicode.Scalar(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10)
  }
}
