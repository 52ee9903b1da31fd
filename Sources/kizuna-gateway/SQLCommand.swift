import CUpstream
import Gateway

/// Prints the server half, to be run in the upstream's database: what every upstream needs, then the configured
/// tables.
enum SQLCommand {
  static func run(configuration: GatewayConfiguration) throws(CommandFailure) {
    try Program.show(pack + "-- The configured tables\n" + configuration.registrationSQL)
  }

  private static var pack: String {
    var text = ""
    for index in 0..<cupstream_count() {
      let part = cupstream_part_at(index)
      text += "-- \(String(cString: part.name))\n"
      text += String(decoding: UnsafeBufferPointer(start: part.bytes, count: part.count), as: UTF8.self)
      text += text.utf8.last == UInt8(ascii: "\n") ? "\n" : "\n\n"
    }
    return text
  }
}
