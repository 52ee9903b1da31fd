import Testing

@Test func placeholderRESTDialect() {}
