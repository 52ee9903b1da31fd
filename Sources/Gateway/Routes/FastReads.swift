import Glibc
import KizunaEngine
import RESTDialect

/// Reads whose shape one server thread has met before: same relation, columns, operators and order, other values.
/// The second request of a shape is not parsed: its literals are put into the statement that the first one
/// prepared. Whatever is not of the common case, and whatever goes wrong, is left to the general path, which
/// then has the error to show.
///
/// Belongs to one worker, and to one reader of it.
final class FastReads {
  /// The headers that take part in what a read answers.
  struct Variant {
    var accept: UnsafeBufferPointer<UInt8>?
    var profile: UnsafeBufferPointer<UInt8>?
  }

  private final class Entry {
    let key: [UInt8]
    let prepared: PreparedRead
    let type: AnswerType
    let profile: String?
    let location: LocationTemplate

    init(key: [UInt8], prepared: PreparedRead, answer: ReadAnswer, location: LocationTemplate) {
      self.key = key
      self.prepared = prepared
      type = answer.type
      profile = answer.profile
      self.location = location
    }
  }

  private static let slots = 512
  /// The Content-Location of a longer query may not fit into the answer; the general path weighs that.
  private static let longestQuery = 2048

  private var shape = RequestShape()
  private var key = ByteBuffer(capacity: 1024)
  private var hash: UInt64 = 0
  private var entries = [Entry?](repeating: nil, count: FastReads.slots)
  private var literal: [UInt8] = []
  private let maxRows: Int?

  init(maxRows: Int?) { self.maxRows = maxRows }

  enum Look {
    case answered
    /// It has a shape under which `keep` may keep what the general path prepares for this very request.
    case newShape
    case noShape
  }

  /// Looks at a GET.
  func serve(
    _ exchange: HTTPExchange, path: UnsafeBufferPointer<UInt8>, query: UnsafeBufferPointer<UInt8>,
    _ variant: Variant, _ session: ReadSession
  ) -> Look {
    guard query.count <= Self.longestQuery, shape.scan(path: path, query: query) else { return .noShape }
    makeKey(variant)
    guard let entry = entries[Int(hash % UInt64(Self.slots))], isSameKey(entry.key),
      let window = fill(entry, query)
    else { return .newShape }
    var body = ByteBuffer(capacity: 1024)
    do throws(KizunaError) {
      let outcome = try session.run(entry.prepared, into: &body, budget: TableRead.budget)
      let isAnswered = answer(exchange, entry, outcome, offset: window.offset, query, body: body)
      return isAnswered ? .answered : .noShape
    } catch {
      return .noShape
    }
  }

  /// The shape's key, and behind it the headers. A profile that is served holds no control byte, so the two end where they seem to.
  private func makeKey(_ variant: Variant) {
    key.removeAll()
    key.append(shape.key)
    hash = shape.hash
    addToKey(variant.accept)
    addToKey(variant.profile)
  }

  private func addToKey(_ value: UnsafeBufferPointer<UInt8>?) {
    // A header without a value is judged otherwise than none.
    key.append(value == nil ? 4 : 3)
    guard let value else { return }
    key.append(value)
    for byte in value { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }

  private func isSameKey(_ other: [UInt8]) -> Bool {
    let bytes = key.bytes
    return other.count == bytes.count
      && other.withUnsafeBytes { other in
        guard let one = other.baseAddress, let two = bytes.baseAddress else { return true }
        return memcmp(one, two, bytes.count) == 0
      }
  }

  /// Puts the request's values into the statement; nil when one does not fit.
  private func fill(_ entry: Entry, _ query: UnsafeBufferPointer<UInt8>) -> Window? {
    var limit: Int?
    var offset: Int?
    var position = 0
    for hole in shape.holes {
      switch hole.kind {
      case .limit: limit = RequestShape.number(hole, in: query)
      case .offset: offset = RequestShape.number(hole, in: query)
      case .filter:
        let raw = UnsafeBufferPointer(rebasing: query[hole.start..<hole.end])
        guard RequestShape.decode(raw, into: &literal),
          (try? entry.prepared.rebind(literal: String(decoding: literal, as: UTF8.self), at: position)) != nil
        else { return nil }
        position += 1
      }
    }
    guard let window = try? Window(limit: limit, offset: offset, range: nil) else { return nil }
    entry.prepared.rebind(limit: ReadPlanner.limit(window, maxRows: maxRows), offset: window.offset)
    return window
  }

  private func answer(
    _ exchange: HTTPExchange, _ entry: Entry, _ outcome: ReadSession.Outcome, offset: Int,
    _ query: UnsafeBufferPointer<UInt8>, body: consuming ByteBuffer
  ) -> Bool {
    if case .object = entry.type, outcome.rows != 1 { return false }
    if outcome.rows == 0 {
      body.removeAll()
      body.append(ReadAnswer.emptyBody(entry.type))
    }
    var response = Response(status: 200, body: body)
    var text = ByteBuffer(capacity: 256)
    if outcome.rows == 0 {
      text.append("*/*")
    } else {
      text.append(integer: Int64(offset))
      text.append(UInt8(ascii: "-"))
      text.append(integer: Int64(offset + outcome.rows - 1))
      text.append("/*")
    }
    response.add("Content-Range", text)
    text.removeAll()
    entry.location.write(shape.holes, query, &literal, to: &text)
    response.add("Content-Location", text)
    response.add("Vary", "Accept, Prefer, Range")
    response.add("Content-Type", entry.type.contentType)
    if let profile = entry.profile { response.add("Content-Profile", profile) }
    exchange.respond(response)
    return true
  }

  /// Keeps what the general path has prepared for the request that `serve` looked at last.
  func keep(_ prepared: PreparedRead, _ answer: ReadAnswer, _ query: UnsafeBufferPointer<UInt8>) {
    guard answer.preferencesApplied == nil, !prepared.wantsCount,
      prepared.takesLiterals(shape.holes.count { $0.kind == .filter }),
      let text = answer.contentLocation,
      let location = LocationTemplate(text, holes: shape.holes, query: query)
    else { return }
    entries[Int(hash % UInt64(Self.slots))] = Entry(
      key: key.array, prepared: prepared, answer: answer, location: location)
  }
}

/// A `Content-Location` with places for the values of a request.
struct LocationTemplate {
  /// Text, and the hole whose value stands behind it.
  private var parts: [(text: [UInt8], hole: Int?)] = []

  /// nil when the text cannot be made of the holes: then it is made anew for each request.
  init?(_ text: String, holes: [RequestShape.Hole], query: UnsafeBufferPointer<UInt8>) {
    guard let question = text.utf8.firstIndex(of: UInt8(ascii: "?")) else {
      guard holes.isEmpty else { return nil }
      parts = [(Array(text.utf8), nil)]
      return
    }
    var literal: [UInt8] = []
    var pending = Array(text.utf8[...question])
    var used = Set<Int>()
    // Keys stand in order, each once: a repeated one has its values joined, and its text is found in no pair.
    for (position, pair) in text.utf8[text.utf8.index(after: question)...].split(separator: UInt8(ascii: "&"))
      .enumerated()
    {
      if position > 0 { pending.append(UInt8(ascii: "&")) }
      guard let index = Self.hole(of: pair, holes, query, except: used) else {
        pending += pair
        continue
      }
      used.insert(index)
      guard
        RequestShape.decode(
          UnsafeBufferPointer(rebasing: query[holes[index].start..<holes[index].end]), into: &literal)
      else { return nil }
      var value = ByteBuffer(capacity: 64)
      Self.encode(literal, to: &value)
      pending += pair.dropLast(value.count)
      parts.append((pending, index))
      pending = []
    }
    guard used.count == holes.count else { return nil }
    if !pending.isEmpty { parts.append((pending, nil)) }
    var check = ByteBuffer(capacity: 256)
    write(holes, query, &literal, to: &check)
    guard check.bytes.elementsEqual(text.utf8) else { return nil }
  }

  /// The hole whose pair of the query, encoded, is this one.
  private static func hole(
    of pair: Substring.UTF8View.SubSequence, _ holes: [RequestShape.Hole],
    _ query: UnsafeBufferPointer<UInt8>,
    except used: Set<Int>
  ) -> Int? {
    var literal: [UInt8] = []
    for (index, hole) in holes.enumerated() where !used.contains(index) {
      var start = hole.start
      while start > 0, query[start - 1] != UInt8(ascii: "&"), query[start - 1] != UInt8(ascii: ";") {
        start -= 1
      }
      guard let equals = query[start..<hole.end].firstIndex(of: UInt8(ascii: "=")) else { continue }
      var encoded = ByteBuffer(capacity: 64)
      for range in [start..<equals, (equals + 1)..<hole.end] {
        guard RequestShape.decode(UnsafeBufferPointer(rebasing: query[range]), into: &literal) else {
          return nil
        }
        if range.lowerBound > start { encoded.append(UInt8(ascii: "=")) }
        encode(literal, to: &encoded)
      }
      if encoded.bytes.elementsEqual(pair) { return index }
    }
    return nil
  }

  func write(
    _ holes: [RequestShape.Hole], _ query: UnsafeBufferPointer<UInt8>, _ literal: inout [UInt8],
    to buffer: inout ByteBuffer
  ) {
    for part in parts {
      buffer.append(part.text)
      guard let index = part.hole else { continue }
      let raw = UnsafeBufferPointer(rebasing: query[holes[index].start..<holes[index].end])
      if RequestShape.decode(raw, into: &literal) { Self.encode(literal, to: &buffer) }
    }
  }

  /// Everything but letters, digits and `-_.~` as percent escapes.
  private static func encode(_ bytes: [UInt8], to buffer: inout ByteBuffer) {
    for byte in bytes {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F, 0x2E, 0x7E: buffer.append(byte)
      default:
        buffer.append(UInt8(ascii: "%"))
        buffer.append(hex(byte >> 4))
        buffer.append(hex(byte & 15))
      }
    }
  }

  private static func hex(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x41 + nibble - 10 }
}
