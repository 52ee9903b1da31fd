import Glibc

/// A growing buffer of bytes in malloc'd memory, so that it can be handed to a C library without a copy.
package struct ByteBuffer: ~Copyable {
  private var storage: UnsafeMutablePointer<UInt8>
  package private(set) var count = 0
  package private(set) var capacity: Int

  package init(capacity: Int = 512) {
    self.capacity = max(capacity, 16)
    storage = Self.allocate(self.capacity)
  }

  deinit { free(storage) }

  private static func allocate(_ size: Int) -> UnsafeMutablePointer<UInt8> {
    guard let memory = malloc(size) else { abort() }
    return memory.assumingMemoryBound(to: UInt8.self)
  }

  /// Gives the memory away: the caller frees it with `free`.
  package consuming func take() -> UnsafeMutableBufferPointer<UInt8> {
    let result = UnsafeMutableBufferPointer(start: storage, count: count)
    discard self
    return result
  }

  package var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: storage, count: count) }
  package var array: [UInt8] { Array(bytes) }
  package var string: String { String(decoding: bytes, as: UTF8.self) }

  package mutating func removeAll() { count = 0 }
  /// Drops everything behind `length`.
  package mutating func truncate(to length: Int) { count = min(count, length) }

  @inline(never)
  private mutating func grow(_ need: Int) {
    var size = capacity * 2
    while size < need { size *= 2 }
    guard let memory = realloc(storage, size) else { abort() }
    storage = memory.assumingMemoryBound(to: UInt8.self)
    capacity = size
  }

  @inline(__always)
  package mutating func reserve(_ extra: Int) {
    if count + extra > capacity { grow(count + extra) }
  }

  @inline(__always)
  package mutating func append(_ byte: UInt8) {
    reserve(1)
    storage[count] = byte
    count += 1
  }

  @inline(__always)
  package mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard bytes.count > 0, let base = bytes.baseAddress else { return }
    reserve(bytes.count)
    memcpy(storage + count, base, bytes.count)
    count += bytes.count
  }

  package mutating func append(_ text: StaticString) {
    append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

  package mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  package mutating func append(integer: Int64) {
    reserve(20)
    if integer < 0 { append(UInt8(ascii: "-")) }
    var rest = integer.magnitude
    let start = count
    repeat {
      storage[count] = UInt8(ascii: "0") + UInt8(rest % 10)
      count += 1
      rest /= 10
    } while rest > 0
    var low = start
    var high = count - 1
    while low < high {
      let byte = storage[low]
      storage[low] = storage[high]
      storage[high] = byte
      low += 1
      high -= 1
    }
  }

  /// A JSON string, quotes included. Bytes are taken for UTF-8 and copied, eight at a time while nothing needs
  /// escaping.
  package mutating func appendJSON(string bytes: UnsafeBufferPointer<UInt8>) {
    append(UInt8(ascii: "\""))
    appendEscaped(bytes)
    append(UInt8(ascii: "\""))
  }

  package mutating func appendJSON(string: String) {
    var string = string
    string.withUTF8 { appendJSON(string: $0) }
  }

  private mutating func appendEscaped(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let source = bytes.baseAddress else { return }
    let length = bytes.count
    reserve(length + 8)
    var index = 0
    while index < length {
      while index + 8 <= length {
        let word = UnsafeRawPointer(source + index).loadUnaligned(as: UInt64.self)
        if Self.needsEscape(word) { break }
        reserve(8)
        UnsafeMutableRawPointer(storage + count).storeBytes(of: word, as: UInt64.self)
        count += 8
        index += 8
      }
      let stop = min(index + 8, length)
      while index < stop {
        let byte = source[index]
        if byte >= 0x20 && byte != 0x22 && byte != 0x5C {
          append(byte)
        } else {
          appendEscape(of: byte)
        }
        index += 1
      }
    }
  }

  @inline(__always)
  private static func needsEscape(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5C)
    let control = (word &- ones &* 0x20) & ~word
    let hit = ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | control
    return hit & highs != 0
  }

  private mutating func appendEscape(of byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case 0x22, 0x5C: append(byte)
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    default:
      append("u00")
      append(Self.hex(byte >> 4))
      append(Self.hex(byte & 15))
    }
  }

  package static func hex(_ nibble: UInt8) -> UInt8 {
    nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
  }

  /// A JSON value, without white space. Numbers are written as their source text.
  package mutating func append(json value: JSONValue) {
    switch value {
    case .null: append("null")
    case .bool(let flag): append(flag ? "true" : "false")
    case .number(let text): append(text)
    case .string(let text): appendJSON(string: text)
    case .array(let elements):
      append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { append(UInt8(ascii: ",")) }
        append(json: element)
      }
      append(UInt8(ascii: "]"))
    case .object(let members):
      append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { append(UInt8(ascii: ",")) }
        appendJSON(string: member.key)
        append(UInt8(ascii: ":"))
        append(json: member.value)
      }
      append(UInt8(ascii: "}"))
    }
  }
}

extension JSONValue {
  /// The value as JSON text without white space.
  package var jsonText: String {
    var buffer = ByteBuffer()
    buffer.append(json: self)
    return buffer.string
  }
}
