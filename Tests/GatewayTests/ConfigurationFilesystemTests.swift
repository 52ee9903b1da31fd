import Testing

@testable import Gateway

@Suite struct ConfigurationFilesystemTests {
  private static let mountinfo = """
    22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
    23 22 0:20 / /proc rw - proc proc rw
    30 22 0:40 / /mnt/nas rw,relatime shared:7 master:2 - nfs4 nas:/export rw
    31 22 0:41 / /mnt/nas/scratch rw - xfs /dev/vdb rw
    32 22 0:42 / /work rw - virtiofs host rw
    33 22 0:43 / /my\\040share rw - cifs //server/share rw
    34 22 0:44 / /data rw - ext4 /dev/vdc rw
    35 22 0:45 / /data rw - 9p tag rw

    """

  @Test(arguments: [
    ("/home/me/kizuna.sqlite", "/", nil),
    ("/mnt/nas/kizuna.sqlite", "/mnt/nas", "nfs4"),
    ("/mnt/nas", "/mnt/nas", "nfs4"),
    ("/mnt/nasty/kizuna.sqlite", "/", nil),
    ("/mnt/nas/scratch/k.sqlite", "/mnt/nas/scratch", nil),
    ("/work/a/b", "/work", "virtiofs"),
    ("/my share/k", "/my share", "cifs"),
    ("/data/k", "/data", "9p"),
  ])
  func aPathIsOnTheMountThatCoversIt(_ path: String, _ point: String, _ sharedType: String?) throws {
    let mount = try #require(SharedFilesystem.mount(of: path, in: Self.mountinfo))
    #expect(mount.point == point)
    #expect(SharedFilesystem.shared(mount)?.type == sharedType)
  }

  @Test func linesThatAreNoMountsAreSkipped() {
    #expect(SharedFilesystem.mount(of: "/a", in: "garbage\n1 2 3 4 5 6\n\n") == nil)
  }
}
