import KizunaEngine

/// The engine's functions by name.
package enum FunctionTable {
  /// Calls a function. `PGRST202` for an unknown function (404) or arguments that do not fit (400, by
  /// `sqlstate` `PGRST202` with details).
  package static func call(
    _ name: String, arguments: JSONValue, byGet: Bool, engine: Engine, writeId: String, process: ProcessFacts
  ) throws(FunctionFault) -> FunctionAnswer {
    guard let function = functions[name] else { throw .unknown(name) }
    if byGet && !function.onlyReads { throw .needsPost(name) }
    guard let members = arguments.members else { throw .badArguments(name, "the body must be a JSON object") }
    if !function.takesAny {
      for member in members
      where !function.required.contains(member.key) && !function.optional.contains(member.key) {
        throw .badArguments(name, "there is no argument \(member.key)")
      }
      for argument in function.required where !members.contains(where: { $0.key == argument }) {
        throw .badArguments(name, "argument \(argument) is missing")
      }
    }
    do throws(KizunaError) {
      return try function.call(
        FunctionCall(engine: engine, arguments: arguments, writeId: writeId, process: process))
    } catch {
      throw .failed(error)
    }
  }

  package static var names: [String] { functions.keys.sorted() }
  /// Whether GET may call it.
  package static func onlyReads(_ name: String) -> Bool { functions[name]?.onlyReads == true }
  /// Whether it queues mutations.
  static func writes(_ name: String) -> Bool { functions[name]?.writes == true }
  static func asksUpstream(_ name: String) -> Bool { functions[name]?.asksUpstream == true }

  private static let functions: [String: EngineFunction] = [
    "sync": EngineFunction(asksUpstream: true) { call throws(KizunaError) in
      try call.engine.sync()
      return .nothing
    },
    "push_once": EngineFunction(asksUpstream: true) { call throws(KizunaError) in
      try call.engine.pushOnce()
      return .nothing
    },
    "pull_once": EngineFunction(asksUpstream: true) { call throws(KizunaError) in
      try call.engine.pullOnce()
      return .nothing
    },
    "set_bucket": EngineFunction(takesAny: true) { call throws(KizunaError) in
      try call.engine.setBucket(call.arguments)
      call.wakeSync()
      return .nothing
    },
    "set_access_token": EngineFunction(required: ["token"]) { call throws(KizunaError) in
      try call.engine.setAccessToken(try call.optionalText("token"))
      call.wakeSync()
      return .nothing
    },
    "reset": EngineFunction { call throws(KizunaError) in
      let stranded = try call.engine.reset()
      call.wakeSync()
      return .value(.array(stranded.map { .string($0) }))
    },
    "apply": EngineFunction(
      writes: true, required: ["table", "pk", "op"],
      optional: ["columns", "mutation_id", "transforms", "precondition"]
    ) { call throws(KizunaError) in
      try call.engine.apply(try mutation(call), writeId: call.writeId)
      return .nothing
    },
    "apply_where": EngineFunction(
      writes: true, required: ["table", "op", "filters"],
      optional: ["columns", "transforms", "precondition", "max_affected"],
      call: applyWhere),
    "batch": EngineFunction(writes: true, required: ["mutations"], call: batch),
    "dismiss_rejection": EngineFunction(required: ["mutation_id"]) { call throws(KizunaError) in
      .value(.bool(try call.engine.dismissRejection(try call.text("mutation_id"))))
    },
    "dismiss_overwrite": EngineFunction(required: ["id"]) { call throws(KizunaError) in
      guard let id = try call.integer("id", in: 0...Int64.max) else {
        throw FunctionCall.wrong("id", "a number")
      }
      return .value(.bool(try call.engine.dismissOverwrite(id)))
    },
    "checkpoint": EngineFunction(onlyReads: true, call: checkpoint),
    "outbox_depth": EngineFunction(onlyReads: true) { call throws(KizunaError) in
      .value(.integer(Int64(try call.engine.outboxDepth())))
    },
    "status": EngineFunction(onlyReads: true) { call throws(KizunaError) in
      .value(StatusAnswer(call.engine, call.process).json(try call.engine.status()))
    },
    "drain": EngineFunction(optional: ["timeout_s"], call: drain),
    "pause": EngineFunction { call throws(KizunaError) in
      call.engine.pause()
      call.process.scheduler?.pause()
      return .nothing
    },
    "resume": EngineFunction { call throws(KizunaError) in
      call.engine.resume()
      call.process.scheduler?.resume()
      call.wakeSync()
      return .nothing
    },
    "shutdown": EngineFunction { call throws(KizunaError) in
      call.process.stop()
      return .nothing
    },
  ]

  private static func mutation(_ call: FunctionCall) throws(KizunaError) -> Mutation {
    Mutation(
      table: try call.text("table"), pk: try call.optionalText("pk"), op: try call.op(),
      columns: try call.object("columns"), mutationId: try call.optionalText("mutation_id"),
      transforms: call.value("transforms"), precondition: call.value("precondition"))
  }

  @Sendable
  private static func applyWhere(_ call: FunctionCall) throws(KizunaError) -> FunctionAnswer {
    let keys = try call.engine.applyWhere(
      table: try call.text("table"), op: try call.op(), filters: call.value("filters") ?? .null,
      columns: try call.object("columns"), transforms: call.value("transforms"),
      precondition: call.value("precondition"),
      maxAffected: try call.integer("max_affected", in: 0...4_294_967_295).map { Int($0) },
      writeId: call.writeId)
    return .value(.array(keys.map { .string($0) }))
  }

  @Sendable
  private static func batch(_ call: FunctionCall) throws(KizunaError) -> FunctionAnswer {
    guard let list = call.arguments["mutations"]?.elements else {
      throw FunctionCall.wrong("mutations", "an array")
    }
    let known: Set<String> = ["table", "pk", "op", "columns", "mutation_id", "transforms", "precondition"]
    var mutations: [Mutation] = []
    for item in list {
      guard let members = item.members else { throw FunctionCall.wrong("mutations", "an array of objects") }
      if let odd = members.first(where: { !known.contains($0.key) }) {
        throw KizunaError("JSON", sqlstate: "22023", "a mutation has no argument \(odd.key)")
      }
      mutations.append(
        try mutation(
          FunctionCall(engine: call.engine, arguments: item, writeId: call.writeId, process: call.process)))
    }
    return .value(.array(try call.engine.batch(mutations, writeId: call.writeId).map { .string($0) }))
  }

  @Sendable
  private static func checkpoint(_ call: FunctionCall) throws(KizunaError) -> FunctionAnswer {
    let checkpoint = try call.engine.checkpoint()
    return .value(
      .object([
        JSONMember("cursor", .string(checkpoint.cursor)),
        JSONMember("soft_blocked", .bool(checkpoint.softBlocked)),
        JSONMember("soft_block_reason", StatusAnswer.optional(checkpoint.softBlockReason)),
      ]))
  }

  @Sendable
  private static func drain(_ call: FunctionCall) throws(KizunaError) -> FunctionAnswer {
    let seconds = try call.integer("timeout_s", in: 0...3600, default: 30) ?? 30
    call.wakeSync()
    return .afterDrain(milliseconds: Int(seconds) * 1000)
  }
}

/// Why a function call was not carried out.
package enum FunctionFault: Error, Sendable {
  case unknown(String)
  /// It changes something, and GET may not.
  case needsPost(String)
  case badArguments(String, String)
  case failed(KizunaError)
}
