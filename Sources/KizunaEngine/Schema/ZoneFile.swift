import Glibc

/// A named zone as compiled in the system's zone database (RFC 8536). Read once and kept for the process.
final class ZoneFile: Sendable, Hashable {
  let name: String
  private let transitions: [Int64]
  /// The offset from each transition on.
  private let offsets: [Int]
  /// Before the first transition.
  private let initial: Int
  /// After the last transition.
  private let rule: ZoneRule?

  static func == (a: ZoneFile, b: ZoneFile) -> Bool { a.name.sameBytes(as: b.name) }
  func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// The one offset of a zone that never changed.
  var fixedOffset: Int? { transitions.isEmpty && rule?.summer == nil ? rule?.standard ?? initial : nil }

  private static let root = "/usr/share/zoneinfo"
  private static let cache = Guarded<[String: ZoneFile]>([:])

  static func named(_ bytes: [UInt8]) -> ZoneFile? {
    guard isPlain(bytes) else { return nil }
    let key = LiteralScanner.string(LiteralScanner.lowered(bytes))
    if let known = cache.with({ $0[key] }) { return known }
    guard let path = resolve(bytes), let content = read(root + "/" + path),
      let file = ZoneFile(name: path, content: content)
    else { return nil }
    cache.with { $0[key] = file }
    return file
  }

  /// Letters, digits, `_`, `+`, `-` and inner slashes: no dots, so that no name leaves the directory.
  private static func isPlain(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first, let last = bytes.last, bytes.count < 64, LiteralScanner.isLetter(first),
      last != UInt8(ascii: "/")
    else { return false }
    return bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"): true
      default: LiteralScanner.isLetter(byte) || LiteralScanner.isDigit(byte)
      }
    }
  }

  /// The name as the file system spells it, each part looked up without regard to letter case.
  private static func resolve(_ bytes: [UInt8]) -> String? {
    var path = ""
    for part in bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      let folder = path.isEmpty ? root : root + "/" + path
      guard let entry = find(LiteralScanner.string(part), in: folder) else { return nil }
      path = path.isEmpty ? entry : path + "/" + entry
    }
    return path
  }

  private static func find(_ name: String, in folder: String) -> String? {
    if access(folder + "/" + name, R_OK) == 0 { return name }
    guard let directory = opendir(folder) else { return nil }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let found = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if strcasecmp(found, name) == 0 { return found }
    }
    return nil
  }

  private static func read(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 17)
    let count = fread(&bytes, 1, bytes.count, file)
    return count < 44 || count == bytes.count ? nil : Array(bytes[..<count])
  }

  private struct Header {
    var local: Int, standard: Int, leaps: Int, transitions: Int, types: Int, characters: Int
    func size(_ width: Int) -> Int {
      transitions * (width + 1) + types * 6 + characters + leaps * (width + 4) + standard + local
    }
  }

  private static func integer(_ bytes: [UInt8], _ at: Int, _ width: Int) -> Int64 {
    var value: Int64 = bytes[at] & 0x80 != 0 ? -1 : 0
    for offset in 0..<width { value = value << 8 | Int64(bytes[at + offset]) }
    return value
  }

  private static func header(_ bytes: [UInt8], _ at: Int) -> Header? {
    guard bytes.count >= at + 44, bytes[at..<at + 4].elementsEqual("TZif".utf8) else { return nil }
    var counts: [Int] = []
    for field in 0..<6 { counts.append(Int(integer(bytes, at + 20 + field * 4, 4))) }
    guard counts.allSatisfy({ $0 >= 0 && $0 <= bytes.count }) else { return nil }
    return Header(
      local: counts[0], standard: counts[1], leaps: counts[2], transitions: counts[3], types: counts[4],
      characters: counts[5])
  }

  /// nil when the content is no well-formed file.
  private init?(name: String, content: [UInt8]) {
    guard var header = Self.header(content, 0) else { return nil }
    var at = 44
    var width = 4
    if content[4] >= UInt8(ascii: "2") {
      at += header.size(4)
      guard let second = Self.header(content, at) else { return nil }
      header = second
      at += 44
      width = 8
    }
    let end = at + header.size(width)
    guard content.count >= end, header.types > 0, header.leaps == 0 else { return nil }
    let indexes = at + header.transitions * width
    let types = indexes + header.transitions
    var transitions: [Int64] = []
    var offsets: [Int] = []
    for index in 0..<header.transitions {
      let type = Int(content[indexes + index])
      guard type < header.types else { return nil }
      transitions.append(Self.integer(content, at + index * width, width))
      offsets.append(Int(Self.integer(content, types + type * 6, 4)))
    }
    self.name = name
    self.transitions = transitions
    self.offsets = offsets
    initial = Int(Self.integer(content, types, 4))
    let footer = content[end...].drop { $0 == 0x0A }.prefix { $0 != 0x0A }
    rule = width == 8 && !footer.isEmpty ? ZoneRule(posix: Array(footer)) : nil
  }

  func offset(utcSeconds: Int) -> Int {
    let time = Int64(utcSeconds)
    guard let last = transitions.last else { return rule?.offset(utcSeconds: utcSeconds) ?? initial }
    if time >= last, let rule { return rule.offset(utcSeconds: utcSeconds) }
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= time { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? initial : offsets[low - 1]
  }
}
