/// A column's Postgres type, as far as the engine tells types apart.
package indirect enum ColumnType: Sendable, Hashable {
  case uuid, text
  case varchar(Int?)
  case char(Int)
  case citext
  case smallint, integer, bigint, real, double
  case numeric(precision: Int?, scale: Int?)
  case boolean, json, jsonb, date, time, timetz, timestamp, timestamptz, interval, bytea, inet, cidr
  /// The labels in their order.
  case enumeration([String])
  case array(ColumnType)
  /// Any other type name: kept and shown as text.
  case opaque(String)
  /// A column that no configuration declares: values keep their own kind. Numbers, text and null are stored as
  /// themselves; booleans, arrays and objects as blobs of canonical JSON. The type learnt from the values seen
  /// (nil while only nulls were met) serves HTTP literals and the API description.
  case learnt(LearntType?)
}

package enum LearntType: String, Sendable, Hashable { case integer, number, text, boolean, json }
