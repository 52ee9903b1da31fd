import Testing

@testable import Gateway

@Suite struct RegistrationTests {
  @Test func syncedTablesAreRegisteredAsConfigured() throws {
    let configuration = try load(
      #"""
      {"tables": {
        "lists": {"columns": {"id": "uuid", "team": "uuid"}, "bucket": {"column": "team"}},
        "it's": {"columns": {"a\\b": "text", "n": "integer", "me": "uuid", "gone": "timestamptz"},
          "key": ["a\\b", "n"], "bucket": {"owner": "me"}, "soft_delete_column": "gone",
          "conflict_mode": "hlc", "sync_mode": "pull-only"},
        "here": {"columns": {"id": "text"}, "sync_mode": "local-only"}}}
      """#)
    #expect(
      configuration.registrationSQL == #"""
        select kizunasync.register_table(
          p_table => 'lists',
          p_sync_mode => 'read-write',
          p_bucket_column => 'team',
          p_soft_delete_column => null,
          p_key_columns => array['id'],
          p_conflict_mode => 'arrival');
        select kizunasync.register_table(
          p_table => 'it''s',
          p_sync_mode => 'pull-only',
          p_bucket_column => 'me',
          p_soft_delete_column => 'gone',
          p_key_columns => array[E'a\\b', 'n'],
          p_conflict_mode => 'hlc');

        """#)
  }
}
