import KizunaEngine

extension Failure {
  /// What nobody foresaw: the caller gets a reference that the log repeats, and nothing of the inside.
  static func unforeseen(_ text: String) -> Failure {
    let reference = String(UInt32.random(in: .min ... .max), radix: 16)
    Log.error("unforeseen error \(reference): \(text)")
    return Failure("XX000", "Something unforeseen happened", details: "reference \(reference)")
  }

  /// The server is stopping.
  static let closing = Failure("ENGINE_UNAVAILABLE", "The gateway is stopping")
}
