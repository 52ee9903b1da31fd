import Foundation
import KizunaEngine
import Testing

@testable import KizunaSync

struct JSONBridgeTests {
  private func text(_ value: Any) throws -> String { try JSONBridge.json(value, at: "value").jsonText }

  @Test func everyJSONValueHasItsText() throws {
    let nothing: String? = nil
    let cases: [(Any, String)] = [
      ("a\"b", #""a\"b""#), ("abc".dropFirst(), #""bc""#), (NSString("s"), #""s""#), (true, "true"),
      (false, "false"), (1, "1"), (Int8(-1), "-1"), (UInt8(1), "1"), (Int64.min, "-9223372036854775808"),
      (UInt64.max, "18446744073709551615"), (1.5, "1.5"), (3.0, "3"), (-0.0, "0"), (0.1, "0.1"),
      (0.30000000000000004, "0.30000000000000004"), (1e300, "1e+300"), (Float(0.1), "0.1"),
      (9_007_199_254_740_991.0, "9007199254740991"), (NSNumber(value: true), "true"),
      (NSNumber(value: 1), "1"), (NSNumber(value: 0), "0"), (NSNumber(value: 1.5), "1.5"),
      (NSNumber(value: UInt64.max), "18446744073709551615"), (NSNull(), "null"), (nothing as Any, "null"),
      (Optional("x") as Any, #""x""#), ([1, nil, 2] as [Int?], "[1,null,2]"), ([Any](), "[]"),
      (["b": 1, "a": [true, NSNull()]] as [String: Any], #"{"a":[true,null],"b":1}"#),
      (["a": nil, "b": 2] as [String: Int?], #"{"a":null,"b":2}"#), ([String: Any](), "{}"),
    ]
    for (value, expected) in cases { #expect(try text(value) == expected) }
    let decimal = try #require(Decimal(string: "12345678901234567890.123456789"))
    #expect(try text(decimal) == "12345678901234567890.123456789")
    #expect(try text(NSDecimalNumber(decimal: decimal)) == "12345678901234567890.123456789")
  }

  @Test func whatJSONCannotCarryIsRefusedWithItsPlace() {
    let cases: [(Any, String)] = [
      (Date(), "value"), (Data(), "value"), (Double.nan, "value"), (-Double.infinity, "value"),
      (Float.nan, "value"), (Decimal.nan, "value"), (NSNumber(value: Double.nan), "value"),
      ([1: 2], "value"), (Set([1]), "value"), ([1, Date()] as [Any], "value[1]"),
      (["a": ["b": Date()]], "value.a.b"), (UUID(), "value"),
    ]
    for (value, path) in cases {
      let error = #expect(throws: KizunaSyncSerializationError.self) { try text(value) }
      #expect(error?.path == path)
    }
    var deep: [Any] = []
    for _ in 0..<600 { deep = [deep] }
    #expect(throws: KizunaSyncSerializationError.self) { try text(deep) }
  }

  @Test func numbersComeBackWithoutLoss() throws {
    func back(_ text: String) -> Any { JSONBridge.any(.number(text)) }
    #expect(back("12") as? Int == 12)
    #expect(back("9223372036854775807") as? Int == .max)
    #expect(back("1.5") as? Double == 1.5)
    #expect(back("0.30000000000000004") as? Double == 0.30000000000000004)
    #expect(back("1e+300") as? Double == 1e300)
    #expect(back("12.50") as? Double == 12.5)
    #expect(back("9223372036854775808") as? Decimal == Decimal(string: "9223372036854775808"))
    #expect(back("12345678901234567890.123456789") is Decimal)
    let wide = "1" + String(repeating: "0", count: 60) + "1"
    #expect(back(wide) as? String == wide)
    #expect(back("1") is Bool == false)
    #expect(JSONBridge.any(.bool(true)) is Int == false)
    #expect(JSONBridge.any(.null) is NSNull)
    let row = JSONBridge.any(.object([JSONMember("a", .array([.integer(1), .string("x")]))]))
    #expect(((row as? [String: Any])?["a"] as? [Any])?.count == 2)
    #expect(JSONSerialization.isValidJSONObject(row))
  }

  @Test func cellsKeepTheirKindsInTheStore() async throws {
    let live = try await LiveClient.open(["t": KizunaSyncTableConfig()])
    let meta: [String: Any] = ["a": [1, "x", true], "b": NSNull()]
    try await live.client.from("t").insert([
      "id": "1", "i": 1, "b": true, "s": "1", "d": 0.25, "big": Int.max, "n": NSNull(), "meta": meta,
    ])
    let row = try #require(try await live.rows("t").first)
    #expect(row["i"] as? Int == 1 && !(row["i"] is Bool))
    #expect(row["b"] as? Bool == true && !(row["b"] is Int))
    #expect(row["s"] as? String == "1")
    #expect(row["d"] as? Double == 0.25)
    #expect(row["big"] as? Int == .max)
    #expect(row["n"] is NSNull)
    let back = try #require(row["meta"] as? [String: Any])
    #expect((back["a"] as? [Any])?[2] as? Bool == true)
    #expect(back["b"] is NSNull)
  }
}
