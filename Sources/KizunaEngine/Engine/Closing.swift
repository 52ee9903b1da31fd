/// Whether the engine has been closed.
final class Closing: Sendable {
  static let error = KizunaError("ENGINE_UNAVAILABLE", "the engine is closed")
  private let flag = AtomicWord()
  var isClosed: Bool { flag.value != 0 }
  func close() { flag.add(1) }
}
