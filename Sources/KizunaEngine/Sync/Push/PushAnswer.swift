/// What the upstream said of a slice.
enum PushAnswer {
  enum Verdict {
    /// With the row as it stands there now, where the upstream sent one.
    case applied(JSONValue?)
    /// `row`: nil where there is none for this user.
    case rejected(reason: String, row: JSONValue?)
  }

  /// One for each entry, in order.
  case verdicts([Verdict])
  /// Nothing of the batch was applied, because of this entry.
  case aborted(offender: Int, reason: String, row: JSONValue?)
  case resetRequired

  static let reasons = [
    "RLS_DENIED", "COLUMN_DENIED", "CONSTRAINT", "PRECONDITION", "DELETE_WINS", "SUPERSEDED",
  ]

  /// Reads an answer to `slice`. Whatever breaks the contract is an error of its own, before anything is changed.
  init(_ bytes: [UInt8], to slice: PushSlice) throws(KizunaError) {
    let value: JSONValue
    do throws(JSONParser.Failure) {
      value = try bytes.withJSON { bytes throws(JSONParser.Failure) in try JSONParser.parse(bytes) }
    } catch {
      throw KizunaError("JSON", "the answer to a push does not parse: \(error.reason)")
    }
    if let signal = value["signal"], !signal.isNull {
      guard signal["type"]?.text == "RESET_REQUIRED" else {
        throw KizunaError("UNKNOWN_SIGNAL", "a push was answered by the signal \(signal.jsonText)")
      }
      self = .resetRequired
    } else if let batch = value["batch"], !batch.isNull {
      self = try Self.abort(batch, slice)
    } else if let list = value["verdicts"]?.elements {
      self = .verdicts(try Self.verdicts(list, slice))
    } else {
      throw Self.malformed("it has neither verdicts nor a batch")
    }
  }

  private static func abort(_ batch: JSONValue, _ slice: PushSlice) throws(KizunaError) -> PushAnswer {
    guard slice.isAtomic else { throw malformed("a batch outcome for a request that was not atomic") }
    guard batch["outcome"]?.text == "aborted" else {
      throw malformed("the batch outcome is \(batch["outcome"]?.jsonText ?? "missing")")
    }
    let id = batch["offender_mutation_id"]?.text ?? ""
    guard let offender = slice.entries.firstIndex(where: { $0.mutationId.sameBytes(as: id.lowercased()) })
    else {
      throw KizunaError("UNKNOWN_BATCH_OFFENDER", "the batch was aborted for \"\(id)\", which was not sent")
    }
    return .aborted(offender: offender, reason: try reason(batch), row: try row(batch))
  }

  private static func verdicts(
    _ list: [JSONValue], _ slice: PushSlice
  ) throws(KizunaError) -> [Verdict] {
    guard list.count == slice.entries.count else {
      throw KizunaError(
        "VERDICT_BIJECTION", "\(slice.entries.count) mutations were answered by \(list.count) verdicts")
    }
    var verdicts: [Verdict] = []
    for (item, entry) in zip(list, slice.entries) {
      guard let id = item["mutation_id"]?.text, id.lowercased().sameBytes(as: entry.mutationId) else {
        throw KizunaError(
          "VERDICT_BIJECTION",
          "where \(entry.mutationId) was sent, the verdict is on \(item["mutation_id"]?.jsonText ?? "nothing")"
        )
      }
      switch item["verdict"]?.text {
      case "applied":
        let row = item["server_row"].flatMap { $0.isNull ? nil : $0 }
        if let row, row.members == nil { throw malformed("the row of \(id) is no object") }
        verdicts.append(.applied(row))
      case "rejected": verdicts.append(.rejected(reason: try reason(item), row: try row(item)))
      case let kind:
        throw KizunaError("UNKNOWN_VERDICT_REASON", "the verdict on \(id) is \"\(kind ?? "")\"")
      }
    }
    return verdicts
  }

  private static func reason(_ item: JSONValue) throws(KizunaError) -> String {
    guard let reason = item["reason"]?.text, reasons.contains(reason) else {
      throw KizunaError(
        "UNKNOWN_VERDICT_REASON", "a mutation was refused for \(item["reason"]?.jsonText ?? "no reason")")
    }
    return reason
  }

  /// A refusal always says what the row is, be it null.
  private static func row(_ item: JSONValue) throws(KizunaError) -> JSONValue? {
    guard let row = item["server_row"] else { throw malformed("a refusal lacks its server_row") }
    if row.isNull { return nil }
    guard row.members != nil else { throw malformed("a server_row is no object") }
    return row
  }

  private static func malformed(_ what: String) -> KizunaError {
    KizunaError("MALFORMED_PUSH_RESPONSE", "the answer to a push breaks the contract: \(what)")
  }
}

extension [UInt8] {
  /// The bytes, borrowed.
  func withJSON<Value, Failure: Error>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let result: Result<Value, Failure> = withUnsafeBufferPointer { bytes in
      do throws(Failure) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
