import KizunaEngine

/// Looks up tables by their exact names, and finds the one that a misspelt name may have meant.
enum NearestName {
  static func table(_ name: String, in tables: [TableSchema], schema: String) throws(Failure) -> TableSchema {
    if let table = tables.first(where: { $0.name.sameBytes(as: name) }) { return table }
    let near = nearest(to: name, among: tables.lazy.map(\.name))
    throw Failure(
      "PGRST205", "Could not find the table '\(schema).\(name)' in the schema cache",
      hint: near.map { "Perhaps you meant the table '\(schema).\($0)'" })
  }

  /// The most similar name of a similarity of 0.75 or more: one less the share of letters to change.
  static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
    let wanted = Array(name.lowercased().unicodeScalars)
    guard !wanted.isEmpty, wanted.count <= 128 else { return nil }
    var best: (name: String, distance: Int, length: Int)?
    for candidate in candidates {
      let letters = Array(candidate.lowercased().unicodeScalars)
      let length = max(wanted.count, letters.count)
      let distance = distance(wanted, letters)
      guard (length - distance) * 4 >= length * 3 else { continue }
      if let best, distance * best.length >= best.distance * length { continue }
      best = (candidate, distance, length)
    }
    return best?.name
  }

  /// Levenshtein's distance.
  private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var row = Array(0...right.count)
    for (position, letter) in left.enumerated() {
      var diagonal = row[0]
      row[0] = position + 1
      for (column, other) in right.enumerated() {
        let change = diagonal + (letter == other ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(change, row[column + 1] + 1, row[column] + 1)
      }
    }
    return row[right.count]
  }
}
