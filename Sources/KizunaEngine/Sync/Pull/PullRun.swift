struct PullRun {
  let engine: Engine
  func pullPage() throws(KizunaError) -> Bool { true }
  func pullAll() throws(KizunaError) {}
}
