import Testing

@Test func placeholderGateway() {}
