/// KizunaSync: the engine as a Swift library. A thin face: it turns `[String: Any]` into the engine's values and
/// holds no logic of its own.
