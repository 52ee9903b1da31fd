extension ColumnType {
  /// The type without the bounds that a server widens while its clients live on: lengths, precisions, widths of
  /// integers, and the labels of an enum. nil: it has none.
  var unbounded: ColumnType? {
    switch self {
    case .varchar(.some), .char, .enumeration: .text
    case .smallint, .integer: .bigint
    case .numeric(precision: .some, scale: _): .numeric(precision: nil, scale: nil)
    case .array(let element): element.unbounded.map(ColumnType.array)
    default: nil
    }
  }
}
