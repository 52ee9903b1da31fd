import CSQLite

/// Orders that queries name where SQLite's own is not the type's. SQLite calls them for text only.
extension SQLFunctions {
  private typealias Collation =
    @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafeRawPointer?, Int32, UnsafeRawPointer?) -> Int32

  static func registerCollations(on db: OpaquePointer) throws(KizunaError) {
    let collations: [(name: String, body: Collation)] = [
      (
        "kz_numeric",
        { _, count, left, otherCount, right in
          Int32(DecimalText.compare(SQLFunctions.bytes(left, count), SQLFunctions.bytes(right, otherCount)))
        }
      ),
      (
        "kz_jsonb",
        { _, count, left, otherCount, right in
          Int32(JSONOrder.compare(SQLFunctions.bytes(left, count), SQLFunctions.bytes(right, otherCount)))
        }
      ),
      (
        "kz_array",
        { _, count, left, otherCount, right in
          Int32(ArrayOrder.compare(SQLFunctions.bytes(left, count), SQLFunctions.bytes(right, otherCount)))
        }
      ),
      (
        "kz_citext",
        { _, count, left, otherCount, right in
          Int32(CaseFolding.compare(SQLFunctions.bytes(left, count), SQLFunctions.bytes(right, otherCount)))
        }
      ),
      (
        "kz_interval",
        { _, count, left, otherCount, right in
          Int32(
            SQLFunctions.intervalCompare(
              SQLFunctions.bytes(left, count), SQLFunctions.bytes(right, otherCount)))
        }
      ),
    ]
    for collation in collations {
      try check(
        sqlite3_create_collation_v2(db, collation.name, SQLITE_UTF8, nil, collation.body, nil), db)
    }
  }

  private static func bytes(_ start: UnsafeRawPointer?, _ count: Int32) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: Int(count))
  }
}
