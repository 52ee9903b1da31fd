/// The streams that are being sent, so that a stop can end them.
final class StreamRegistry: @unchecked Sendable {
  private let lock = ServerLock()
  private var streams: [ObjectIdentifier: ResponseStream] = [:]
  private var isEnding = false

  func insert(_ stream: ResponseStream) {
    let endsNow = lock.holding {
      streams[ObjectIdentifier(stream)] = stream
      return isEnding
    }
    if endsNow && stream.endsAtStop { stream.finish() }
  }

  func remove(_ stream: ResponseStream) {
    // The last reference may go here: let that happen outside the lock.
    _ = lock.holding { streams.removeValue(forKey: ObjectIdentifier(stream)) }
  }

  /// Ends the streams that never end by themselves, those yet to come included.
  func finishEndless() {
    for stream in snapshotAndEnd() where stream.endsAtStop { stream.finish() }
  }

  func failAll() {
    for stream in snapshotAndEnd() { stream.fail() }
  }

  private func snapshotAndEnd() -> [ResponseStream] {
    lock.holding {
      isEnding = true
      return Array(streams.values)
    }
  }
}
