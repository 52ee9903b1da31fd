// Values as PostgreSQL 15 answers them.

enum ArrayLiteralRows {
  /// Literals of arrays.
  static let rows: [TypeRow] = [
    .init("integer[]", "{}", "[]", "{}"),
    .init("integer[]", "{1,2}", "[1,2]", "{1,2}"),
    .init("integer[]", "{1,NULL,3}", "[1,null,3]", "{1,NULL,3}"),
    .init("integer[]", "{{1,2},{3,4}}", "[[1,2],[3,4]]", "{{1,2},{3,4}}"),
    .init(
      "integer[]", "{1,2", refusal: "22P02", "malformed array literal: \"{1,2\"", "Unexpected end of input."),
    .init(
      "integer[]", "1,2", refusal: "22P02", "malformed array literal: \"1,2\"",
      "Array value must start with \"{\" or dimension information."),
    .init(
      "integer[]", "{1,,2}", refusal: "22P02", "malformed array literal: \"{1,,2}\"",
      "Unexpected \",\" character."),
    .init(
      "integer[]", "{{1,2},{3}}", refusal: "22P02", "malformed array literal: \"{{1,2},{3}}\"",
      "Multidimensional arrays must have sub-arrays with matching dimensions."),
    .init("integer[]", "{1,x}", refusal: "22P02", "invalid input syntax for type integer: \"x\""),
    .init(
      "integer[]", "[1:3]={1,2}", refusal: "22P02", "malformed array literal: \"[1:3]={1,2}\"",
      "Specified array dimensions do not match array contents."),
    .init("integer[]", " { 1 , 2 } ", "[1,2]", "{1,2}"),
    .init(
      "integer[]", "{1,2}}", refusal: "22P02", "malformed array literal: \"{1,2}}\"",
      "Junk after closing right brace."),
    .init(
      "integer[]", "{1,{2}}", refusal: "22P02", "malformed array literal: \"{1,{2}}\"",
      "Unexpected \"{\" character."),
    .init(
      "integer[]", "{{1},2}", refusal: "22P02", "malformed array literal: \"{{1},2}\"",
      "Unexpected array element."),
    .init(
      "integer[]", "{{},{}}", refusal: "22P02", "malformed array literal: \"{{},{}}\"",
      "Unexpected \"}\" character."),
    .init(
      "integer[]", "{{}}", refusal: "22P02", "malformed array literal: \"{{}}\"",
      "Unexpected \"}\" character."),
    .init(
      "integer[]", "", refusal: "22P02", "malformed array literal: \"\"",
      "Array value must start with \"{\" or dimension information."),
    .init(
      "integer[]", "{1,}", refusal: "22P02", "malformed array literal: \"{1,}\"",
      "Unexpected \"}\" character."),
    .init(
      "integer[]", "{,1}", refusal: "22P02", "malformed array literal: \"{,1}\"",
      "Unexpected \",\" character."),
    .init(
      "integer[]", "{99999999999}", refusal: "22003", "value \"99999999999\" is out of range for type integer"
    ),
    .init("integer[]", "{\"1\",\"2\"}", "[1,2]", "{1,2}"),
    .init("integer[]", "{null}", "[null]", "{NULL}"),
    .init("integer[]", "{-5,7}", "[-5,7]", "{-5,7}"),
    .init("text[]", "{a,b}", "[\"a\",\"b\"]", "{a,b}"),
    .init(
      "text[]", "{\"a b\",\"c,d\",\"e\\\"f\",\"g\\\\h\"}", "[\"a b\",\"c,d\",\"e\\\"f\",\"g\\\\h\"]",
      "{\"a b\",\"c,d\",\"e\\\"f\",\"g\\\\h\"}"),
    .init(
      "text[]", "{NULL,\"NULL\",null,\"null\"}", "[null,\"NULL\",null,\"null\"]",
      "{NULL,\"NULL\",NULL,\"null\"}"),
    .init("text[]", "{\"\"}", "[\"\"]", "{\"\"}"),
    .init("text[]", "{ a , b c }", "[\"a\",\"b c\"]", "{a,\"b c\"}"),
    .init("text[]", "{a\\,b}", "[\"a,b\"]", "{\"a,b\"}"),
    .init(
      "text[]", "{\"a\"b}", refusal: "22P02", "malformed array literal: \"{\"a\"b}\"",
      "Unexpected array element."),
    .init(
      "text[]", "{a\"b}", refusal: "22P02", "malformed array literal: \"{a\"b}\"", "Unexpected array element."
    ),
    .init(
      "text[]", "{\"a}", refusal: "22P02", "malformed array literal: \"{\"a}\"", "Unexpected end of input."),
    .init("text[]", "{é}", "[\"é\"]", "{é}"),
    .init(
      "text[]", "{a{b}", refusal: "22P02", "malformed array literal: \"{a{b}\"", "Unexpected \"{\" character."
    ),
    .init("text[]", "{\"{x}\"}", "[\"{x}\"]", "{\"{x}\"}"),
    .init("text[]", "{{a,b},{c,d}}", "[[\"a\",\"b\"],[\"c\",\"d\"]]", "{{a,b},{c,d}}"),
    .init("text[]", "{ \"a\" }", "[\"a\"]", "{a}"),
    .init("text[]", "{\\ a}", "[\" a\"]", "{\" a\"}"),
    .init("text[]", "{a\\\\b}", "[\"a\\\\b\"]", "{\"a\\\\b\"}"),
    .init("numeric[]", "{1.50,NaN,1e2}", "[1.50,\"NaN\",100]", "{1.50,NaN,100}"),
    .init("double precision[]", "{1.5,NaN,1e20}", "[1.5,\"NaN\",1e+20]", "{1.5,NaN,1e+20}"),
    .init("boolean[]", "{t,f,NULL}", "[true,false,null]", "{t,f,NULL}"),
    .init(
      "timestamptz[]", "{\"2024-05-01 10:00+02\",NULL}", "[\"2024-05-01T08:00:00+00:00\",null]",
      "{\"2024-05-01 08:00:00+00\",NULL}"),
    .init("date[]", "{2024-05-01}", "[\"2024-05-01\"]", "{2024-05-01}"),
    .init("timestamp[]", "{2024-05-01 10:00}", "[\"2024-05-01T10:00:00\"]", "{\"2024-05-01 10:00:00\"}"),
    .init(
      "jsonb[]", "{\"{\\\"a\\\":1}\",\"[1, 2]\",null}", "[{\"a\": 1},[1, 2],null]",
      "{\"{\\\"a\\\": 1}\",\"[1, 2]\",NULL}"),
    .init("bytea[]", "{\"\\\\xde\"}", "[\"\\\\xde\"]", "{\"\\\\xde\"}"),
    .init(
      "uuid[]", "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}", "[\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"]",
      "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"),
    .init("enum('sad','ok','happy')[]", "{sad,ok}", "[\"sad\",\"ok\"]", "{sad,ok}"),
    .init("enum('sad','ok','happy')[]", "{bad}", refusal: "22P02", "invalid input value for enum: \"bad\""),
    .init("interval[]", "{\"1 day\",\"02:00\"}", "[\"1 day\",\"02:00:00\"]", "{\"1 day\",02:00:00}"),
    .init("bigint[]", "{9223372036854775807}", "[9223372036854775807]", "{9223372036854775807}"),
    .init("character(3)[]", "{a,b}", "[\"a  \",\"b  \"]", "{\"a  \",\"b  \"}"),
    .init("time[]", "{10:00}", "[\"10:00:00\"]", "{10:00:00}"),
  ]
}
