/// The known name that a misspelt one may have meant.
package enum Suggestion {
  /// The nearest of the known names, when it is near enough to be meant: at most a third of the letters differ
  /// (two in short names), or one is the other's beginning.
  package static func nearest(to name: String, among known: [String]) -> String? {
    let wanted = normal(name)
    guard !wanted.isEmpty, wanted.count <= 64 else { return nil }
    var best: (name: String, distance: Int)?
    for candidate in known {
      let letters = normal(candidate)
      let distance = distance(wanted, letters)
      let isPrefix =
        min(wanted.count, letters.count) >= 3
        && (letters.starts(with: wanted) || wanted.starts(with: letters))
      let bound = max(letters.count < 5 ? 1 : 2, letters.count / 3)
      guard isPrefix || distance <= bound else { continue }
      if let best, best.distance <= distance { continue }
      best = (candidate, distance)
    }
    return best?.name
  }

  /// `; did you mean "…"?`, or all that is known when nothing is near.
  static func text(for name: String, among known: [String]) -> String {
    if let nearest = nearest(to: name, among: known) { return "did you mean \"\(nearest)\"?" }
    return "known are \(known.joined(separator: ", "))"
  }

  /// Case, hyphens and underscores are what people mix up first.
  private static func normal(_ name: String) -> [UInt8] {
    name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
  }

  /// Edits between two names; two neighbours swapped count as one.
  static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var before = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 0..<left.count {
      var current = [row + 1]
      for column in 0..<right.count {
        var edits = min(
          last[column] + (left[row] == right[column] ? 0 : 1), last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          edits = min(edits, before[column - 1] + 1)
        }
        current.append(edits)
      }
      before = last
      last = current
    }
    return last[right.count]
  }
}
