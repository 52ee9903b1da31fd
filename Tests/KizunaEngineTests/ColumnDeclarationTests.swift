import Testing

@testable import KizunaEngine

@Suite struct ColumnDeclarationTests {
  static let names: [(String, ColumnType)] = [
    ("int4", .integer), ("INT8", .bigint), ("int", .integer), ("int2", .smallint), ("float8", .double),
    ("float", .double), ("float(24)", .real), ("float(25)", .double), ("double precision", .double),
    ("Double  Precision", .double), ("bool", .boolean), ("varchar", .varchar(nil)),
    ("varchar(64)", .varchar(64)),
    ("character varying(64)", .varchar(64)), ("character varying", .varchar(nil)), ("char", .char(1)),
    ("char(3)", .char(3)), ("character(3)", .char(3)), ("bpchar", .varchar(nil)), ("bpchar(3)", .char(3)),
    ("timestamp", .timestamp), ("timestamp(3)", .timestamp), ("timestamp with time zone", .timestamptz),
    ("timestamp (3) with time zone", .timestamptz), ("timestamp without time zone", .timestamp),
    ("time", .time), ("time with time zone", .timetz), ("timetz", .timetz), ("timestamptz", .timestamptz),
    ("decimal", .numeric(precision: nil, scale: nil)), ("numeric(10,2)", .numeric(precision: 10, scale: 2)),
    ("numeric( 10 , -2 )", .numeric(precision: 10, scale: -2)), ("dec(5)", .numeric(precision: 5, scale: 0)),
    ("interval", .interval), ("interval day to second(3)", .interval), ("text[]", .array(.text)),
    ("integer[][]", .array(.integer)), ("integer[3]", .array(.integer)), ("_int4", .array(.integer)),
    ("int array", .array(.integer)), ("varchar(3)[]", .array(.varchar(3))),
    ("enum('a','b')", .enumeration(["a", "b"])), ("enum ( 'it''s' , 'b' )", .enumeration(["it's", "b"])),
    ("enum('a')[]", .array(.enumeration(["a"]))), ("tsvector", .opaque("tsvector")),
    ("vector(3)", .opaque("vector(3)")), ("public.mood", .opaque("public.mood")),
    ("\"My Type\"", .opaque("My Type")), ("pg_catalog.int4", .integer), ("extensions.citext", .citext),
    ("_mood", .opaque("_mood")), ("uuid", .uuid), ("json", .json), ("jsonb", .jsonb), ("bytea", .bytea),
    ("inet", .inet), ("cidr", .cidr), ("real", .real), ("date", .date),
  ]

  @Test(arguments: names)
  func typesGoByAllTheirNames(row: (text: String, type: ColumnType)) throws {
    #expect(try ColumnType(parsing: row.text) == row.type)
  }

  @Test(arguments: names)
  func theNameOfATypeReadsBackAsTheType(row: (text: String, type: ColumnType)) throws {
    guard row.text.first != "\"" else { return }
    #expect(try ColumnType(parsing: row.type.postgresName) == row.type)
  }

  @Test(arguments: [
    "", "  ", "varchar(", "varchar(0)", "varchar(x)", "numeric(0)", "numeric(5,2,1)", "text[", "text]",
    "enum(",
    "enum()", "enum(a)", "enum('a','a')", "enum('a'", "\"open", "integer foo", "(3)", "text()",
  ])
  func malformedTypesAreRefused(text: String) {
    #expect { try ColumnType(parsing: text) } throws: { ($0 as? KizunaError)?.code == "CONFIG_INVALID" }
  }

  @Test(arguments: [
    ("text", ColumnType.text), ("_int4", .array(.integer)), ("int8", .bigint), ("INT", .integer),
    ("double precision", .double), ("timestamp with time zone", .timestamptz), ("foo", nil), ("serial", nil),
    ("", nil), ("_foo", nil), ("int4 x", nil), ("tsvector", nil), ("text[]", nil), ("enum", nil),
    ("char", .char(1)), ("bpchar", .varchar(nil)), ("_text", .array(.text)),
  ])
  func castTargetsAreTheKnownTypes(row: (name: String, type: ColumnType?)) {
    #expect(ColumnType.castTarget(row.name) == row.type)
  }

  @Test func clausesComeInAnyOrder() throws {
    let first = try ColumnDeclaration(parsing: "uuid references lists(id) on delete cascade not null")
    #expect(first.type == .uuid && first.isNotNull)
    #expect(first.references?.table == "lists" && first.references?.column == "id")
    let second = try ColumnDeclaration(parsing: "BOOLEAN NOT NULL DEFAULT false")
    #expect(second.type == .boolean && second.isNotNull && second.defaultValue == .literal("false"))
    let third = try ColumnDeclaration(parsing: "integer default 5 references \"My \"\"T\"(\"A b\") not null")
    #expect(third.references?.table == "My \"T" && third.references?.column == "A b")
    #expect(third.defaultValue == .literal("5"))
    #expect(try ColumnDeclaration(parsing: "uuid references public.lists").references?.table == "lists")
    #expect(try ColumnDeclaration(parsing: "text null").isNotNull == false)
  }

  @Test(arguments: [
    ("text default 'x'::text", ColumnSchema.Default.literal("x")), ("text default 'it''s'", .literal("it's")),
    ("integer default -1", .literal("-1")), ("numeric default -1.5", .literal("-1.5")),
    ("double precision default 1e-3", .literal("1e-3")), ("boolean default true", .literal("true")),
    ("text default null", nil), ("timestamptz default now()", .now),
    ("timestamptz default pg_catalog.now()", .now),
    ("timestamptz default CURRENT_TIMESTAMP", .now), ("timestamptz default (now())", .now),
    ("timestamp default timezone('utc'::text, now())", .now),
    ("timestamp default (now() at time zone 'utc'::text)", .now), ("date default current_date", .now),
    ("uuid default gen_random_uuid()", .randomUUID),
    ("uuid default extensions.uuid_generate_v4()", .randomUUID),
    ("text default gen_random_uuid()", .randomUUID), ("text[] default '{}'::text[] not null", .literal("{}")),
    ("text[] default array[]::text[]", .literal("{}")), ("jsonb default '{}'::jsonb", .literal("{}")),
    ("character varying(3) default 'abc'::character varying", .literal("abc")),
  ])
  func defaultsAreLiteralsOrTheKnownCalls(row: (text: String, value: ColumnSchema.Default?)) throws {
    #expect(try ColumnDeclaration(parsing: row.text).defaultValue == row.value)
  }

  @Test(arguments: [
    ("serial", ColumnType.integer), ("bigserial", .bigint), ("smallserial", .smallint), ("serial8", .bigint),
    ("bigint generated by default as identity", .bigint),
    ("int not null generated by default as identity", .integer),
  ])
  func identityColumnsAreNotNull(row: (text: String, type: ColumnType)) throws {
    let declaration = try ColumnDeclaration(parsing: row.text)
    #expect(declaration.type == row.type && declaration.isIdentity && declaration.isNotNull)
  }

  @Test(arguments: [
    ("", "a type is missing"),
    ("integer default 'x'", "the default does not fit: invalid input syntax for type integer: \"x\""),
    ("integer default now()", "integer takes no time as its default"),
    ("integer default gen_random_uuid()", "integer takes no uuid as its default"),
    ("text default foo()", "a default is a literal, now() or gen_random_uuid()"),
    ("text not nul", "unexpected \"not nul\""), ("text null not null", "both null and not null"),
    ("text default 'a' default 'b'", "more than one default"),
    ("text generated by default as identity", "an identity column must be smallint, integer or bigint"),
    ("serial default 1", "both a default and an identity"),
    ("text check (x > 1)", "check constraints are the server's"),
    ("uuid primary key", "\"primary\" is not part of a column: name it in the table"),
    ("uuid references lists(id", "expected ')' before the end"),
    ("text )", "unexpected \")\""),
  ])
  func malformedDeclarationsSayWhatIsWrong(row: (text: String, message: String)) {
    #expect {
      try ColumnDeclaration(parsing: row.text)
    } throws: { error in
      let error = error as? KizunaError
      return error?.code == "CONFIG_INVALID" && error?.message == row.message
    }
  }
}
