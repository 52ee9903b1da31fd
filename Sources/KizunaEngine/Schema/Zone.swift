/// A time zone: UTC, a fixed offset, or a named one read from the system's TZif files.
package struct Zone: Sendable, Hashable {
  package static let utc = Zone()
}
