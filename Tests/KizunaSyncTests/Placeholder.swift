import Testing

@Test func placeholderKizunaSync() {}
