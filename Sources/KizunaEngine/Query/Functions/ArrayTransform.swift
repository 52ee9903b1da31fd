/// The array transforms of a write. Members are the same when their JSON text is.
package enum ArrayTransform {
  /// The cell's members, then those values that are not among them yet. A missing or null cell is empty.
  package static func union(cell: JSONValue?, values: [JSONValue]) -> [JSONValue] {
    var result = cell?.elements ?? []
    var present = Set(result.map { Array($0.jsonText.utf8) })
    for value in values where present.insert(Array(value.jsonText.utf8)).inserted { result.append(value) }
    return result
  }

  /// The cell's members without the values.
  package static func remove(cell: JSONValue?, values: [JSONValue]) -> [JSONValue] {
    let unwanted = Set(values.map { Array($0.jsonText.utf8) })
    return (cell?.elements ?? []).filter { !unwanted.contains(Array($0.jsonText.utf8)) }
  }
}
