// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let strictC: [CSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
  name: "kizuna",
  products: [
    .library(name: "KizunaSync", targets: ["KizunaSync"]),
    .executable(name: "kizuna-gateway", targets: ["kizuna-gateway"]),
  ],
  targets: [
    .target(name: "CSQLite", cSettings: strictC, linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(name: "CCurl", cSettings: strictC, linkerSettings: [.linkedLibrary("curl")]),
    .target(
      name: "CMicroHTTPD", cSettings: strictC, linkerSettings: [.linkedLibrary("microhttpd")]),
    .target(name: "CUpstream", cSettings: strictC),
    .target(name: "RESTDialect", swiftSettings: strict),
    .target(name: "KizunaEngine", dependencies: ["CSQLite", "CCurl"], swiftSettings: strict),
    .target(name: "KizunaSync", dependencies: ["KizunaEngine"], swiftSettings: strict),
    .target(
      name: "Gateway", dependencies: ["RESTDialect", "KizunaEngine", "CMicroHTTPD", "CSQLite"],
      swiftSettings: strict),
    .executableTarget(
      name: "kizuna-gateway", dependencies: ["Gateway", "KizunaEngine", "CCurl", "CUpstream"],
      swiftSettings: strict),
    .testTarget(name: "RESTDialectTests", dependencies: ["RESTDialect"], swiftSettings: strict),
    .testTarget(name: "KizunaEngineTests", dependencies: ["KizunaEngine"], swiftSettings: strict),
    .testTarget(name: "KizunaSyncTests", dependencies: ["KizunaSync"], swiftSettings: strict),
    .testTarget(
      name: "GatewayTests", dependencies: ["Gateway", "CCurl", "CSQLite"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
