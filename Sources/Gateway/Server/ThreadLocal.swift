import CSQLite

/// One slot for each thread, for what a handler keeps from request to request (a read connection with its
/// prepared statements, say). A handler may use it freely on server threads: the server itself never does.
///
/// The slot does not own its object: whoever fills it keeps the object alive, for instance in a list of all
/// workers, until the server has stopped and its threads are gone.
package enum ThreadLocal {
  package static func current<Object: AnyObject>(as type: Object.Type) -> Object? {
    guard let pointer = csqlite_thread_get() else { return nil }
    return Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
  }

  package static func set(_ object: AnyObject?) {
    csqlite_thread_set(object.map { Unmanaged.passUnretained($0).toOpaque() })
  }
}
