extension EngineConfiguration {
  /// All that opening would refuse as `CONFIG_INVALID` before it touches a file.
  package func check() throws(KizunaError) {
    try validate()
    for entry in tables { _ = try ConfiguredTable(entry.name, entry.table) }
  }
}
