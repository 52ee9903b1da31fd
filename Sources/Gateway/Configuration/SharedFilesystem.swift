import Glibc
import KizunaEngine

/// File systems on which SQLite's write-ahead log corrupts, because its shared memory or its locks do not reach
/// every process that sees the file (https://sqlite.org/wal.html, "all processes must be on the same host").
package enum SharedFilesystem {
  package struct Mount: Sendable, Equatable {
    package var point: String
    package var type: String
    package init(point: String, type: String) {
      self.point = point
      self.type = type
    }
  }

  private static let types: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "prl_fs", "fakeowner", "grpcfuse",
    "osxfs",
    "fuse.virtiofs", "fuse.grpcfuse", "fuse.osxfs", "fuse.sshfs", "fuse.vmhgfs-fuse", "vmhgfs", "afs", "ceph",
    "fuse.ceph", "fuse.glusterfs", "lustre",
  ]

  /// The shared mount that a database would lie on; nil when the file system is a local one.
  package static func mount(ofDatabase path: String) -> Mount? {
    guard let text = try? TextFile.read("/proc/self/mountinfo"), let resolved = resolve(path) else {
      return nil
    }
    return shared(mount(of: resolved, in: String(decoding: text, as: UTF8.self)))
  }

  package static func shared(_ mount: Mount?) -> Mount? {
    mount.flatMap { types.contains($0.type) ? $0 : nil }
  }

  /// The mount that holds an absolute path, by the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)). Of
  /// several on one point the last covers the others.
  package static func mount(of path: String, in mountinfo: String) -> Mount? {
    var best: Mount?
    for line in mountinfo.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 6, let dash = fields[6...].firstIndex(of: "-"), dash + 1 < fields.count else {
        continue
      }
      let point = unescaped(fields[4])
      guard holds(point, path) else { continue }
      if let best, best.point.utf8.count > point.utf8.count { continue }
      best = Mount(point: point, type: String(fields[dash + 1]))
    }
    return best
  }

  private static func holds(_ point: String, _ path: String) -> Bool {
    if point == "/" || point.sameBytes(as: path) { return true }
    return path.utf8.starts(with: point.utf8 + [UInt8(ascii: "/")])
  }

  /// Blanks and backslashes are written in octal.
  private static func unescaped(_ field: Substring) -> String {
    let bytes = Array(field.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\"), index + 3 < bytes.count,
        let code = UInt8(String(decoding: bytes[index + 1...index + 3], as: UTF8.self), radix: 8)
      {
        result.append(code)
        index += 4
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// The real path of the file, or of the directory that it will be made in.
  private static func resolve(_ path: String) -> String? {
    if let real = real(path) { return real }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return real(".") }
    return real(slash == path.startIndex ? "/" : String(path[..<slash]))
  }

  private static func real(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
