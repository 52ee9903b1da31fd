"""The tables of these tests as a gateway is told of them; the server's side is schema.sql."""

from __future__ import annotations

from typing import Any

ANA = "aaaaaaaa-0000-4000-8000-000000000001"
BEN = "bbbbbbbb-0000-4000-8000-000000000002"
USERS = {"ana": ANA, "ben": BEN}

OWNED = {"owner": "user_id"}
KITCHEN = {"column": "kitchen_id"}
TABLES: dict[str, dict[str, Any]] = {
    "todos": {
        "columns": {
            "id": "uuid", "user_id": "uuid", "title": "text", "note": "text",
            "done": "boolean not null default false", "n": "integer", "big": "bigint", "likes": "integer",
            "version": "integer", "ref": "uuid", "tags": "text[]", "meta": "jsonb", "price": "numeric(10,2)",
            "at": "timestamptz", "locked": "text"},
        "bucket": OWNED},
    "lists": {"columns": {"id": "uuid", "user_id": "uuid", "name": "text"}, "bucket": OWNED},
    "items": {
        "columns": {"id": "uuid", "user_id": "uuid", "list_id": "uuid references lists(id)", "label": "text"},
        "bucket": OWNED},
    "tasks": {
        "columns": {"id": "uuid", "user_id": "uuid", "title": "text", "deleted_at": "timestamptz"},
        "bucket": OWNED, "soft_delete_column": "deleted_at"},
    "numbers": {"columns": {"id": "bigint", "user_id": "uuid", "v": "text"}, "bucket": OWNED},
    "pairs": {
        "columns": {"a": "integer", "b": "integer", "user_id": "uuid", "v": "text"},
        "key": ["a", "b"], "bucket": OWNED},
    "kinds": {
        "columns": {
            "id": "uuid", "user_id": "uuid", "s": "smallint", "i": "integer", "l": "bigint", "f": "real",
            "d": "double precision", "num": "numeric", "price": "numeric(10,2)", "b": "boolean", "t": "text",
            "v": "varchar(20)", "day": "date", "clock": "time", "stamp": "timestamp", "at": "timestamptz",
            "span": "interval", "raw": "bytea", "addr": "inet", "feeling": "enum('calm','so \"so\"')",
            "j": "json", "jb": "jsonb", "u": "uuid", "ints": "integer[]", "texts": "text[]",
            "nested": "integer[]", "times": "timestamptz[]", "jsons": "jsonb[]", "extra": "tsrange"},
        "bucket": OWNED},
    "odd": {
        "columns": {name: "text" for name in ("id", "camelCase", "with space", "select", "ünï", 'quo"te')}
        | {"user_id": "uuid"},
        "bucket": OWNED},
    "recipes": {
        "columns": {"slug": "text", "kitchen_id": "integer", "name": "text", "servings": "integer",
                    "tags": "text[]"},
        "key": ["slug"], "bucket": KITCHEN},
    "posts": {
        "columns": {"id": "uuid", "kitchen_id": "integer", "title": "text", "body": "text"},
        "bucket": KITCHEN},
    "cards": {
        "columns": {"id": "uuid", "kitchen_id": "integer", "title": "text", "body": "text", "n": "integer"},
        "bucket": KITCHEN, "conflict_mode": "hlc"},
    "units": {"columns": {"code": "text", "name": "text"}, "key": ["code"], "sync_mode": "pull-only"},
    "labels": {"columns": {"id": "integer", "owner": "uuid", "shared": "boolean", "name": "text"}},
}


def key(number: int) -> str:
    """The uuid of row `number`; they sort as their numbers do."""
    return f"00000000-0000-4000-8000-{number:012d}"


def key_of(table: str) -> str:
    return {"recipes": "slug", "units": "code"}.get(table, "id")
