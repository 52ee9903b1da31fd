import Testing

@Test func placeholderKizunaEngine() {}
