#!/usr/bin/env python3
"""The Supabase client of PyPI, unmodified, against a gateway that this script starts.

    .build/venv/bin/python Tests/Clients/supabase_client.py [--gateway PATH] [-v]

The gateway runs without a key; create_client asks for a URL and any text as a key, and sends it as `apikey` and Bearer.
"""
import argparse
import csv
import io
import os
import sys

from postgrest.exceptions import APIError
from postgrest.types import CountMethod, ReturnMethod
from supabase import create_client

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Scripts"))
from gateway import Checks, Gateway, executable  # noqa: E402

CONFIGURATION = {
    "database": ":memory:",
    "tables": {
        "countries": {
            "columns": {"id": "integer", "name": "text not null", "continent": "text", "population": "bigint",
                        "area": "numeric(12,2)", "landlocked": "boolean not null default false", "tags": "text[]",
                        "facts": "jsonb", "seen_at": "timestamptz"},
            "key": ["id"], "unique": [["name"]],
        },
        "todos": {
            "columns": {"id": "uuid default gen_random_uuid()", "title": "text not null",
                        "done": "boolean not null default false", "position": "integer",
                        "created_at": "timestamptz default now()"},
            "key": ["id"],
        },
    },
}
COUNTRIES = [
    {"id": 1, "name": "Chad", "continent": "Africa", "population": 18278568, "area": 1284000.50, "landlocked": True,
     "tags": ["sahel", "desert"], "facts": {"capital": {"name": "N'Djamena"}, "code": "TD"},
     "seen_at": "2026-01-02T03:04:05+00:00"},
    {"id": 2, "name": "Japan", "continent": "Asia", "population": 124000000, "area": 377975, "landlocked": False,
     "tags": ["island"], "facts": {"capital": {"name": "Tōkyō"}, "code": "JP"}, "seen_at": None},
    {"id": 3, "name": "Peru", "continent": "South America", "population": 34000000, "area": 1285216,
     "landlocked": False, "tags": [], "facts": None, "seen_at": None},
    {"id": 4, "name": "Nepal", "continent": "Asia", "population": 30000000, "area": 147516.25, "landlocked": True,
     "tags": ["mountain"], "facts": {"code": "NP"}, "seen_at": None},
    {"id": 5, "name": "Côte d'Ivoire, \"CI\"", "continent": "Africa", "population": None, "area": None,
     "landlocked": False, "tags": None, "facts": None, "seen_at": None},
]


class ClientTest:
    def __init__(self, client, checks):
        self.client, self.checks = client, checks

    def countries(self):
        return self.client.table("countries")

    def ids(self, name, query, want):
        """The ids that a query gives, in its order."""
        self.checks.run(name, lambda: self.checks.equal(name, [row["id"] for row in query.execute().data], want))

    def refused(self, name, query, code):
        try:
            answer = query.execute()
        except APIError as error:
            self.checks.check(name, error.code == code and error.message, f"want {code}, got {error.code}: {error}")
        else:
            self.checks.check(name, False, f"want {code}, got {answer}")

    def inserts(self):
        equal = self.checks.equal
        equal("insert of one row answers it", self.countries().insert(COUNTRIES[0]).execute().data, [COUNTRIES[0]])
        answer = self.countries().insert(COUNTRIES[1:], count=CountMethod.exact).execute()
        equal("insert of many rows answers them in order", answer.data, COUNTRIES[1:])
        equal("insert counts", answer.count, 4)
        self.refused("insert of a taken key", self.countries().insert({"id": 1, "name": "Again"}), "23505")
        self.refused("insert without a needed column", self.countries().insert({"id": 90}), "23502")
        self.refused("insert into an unknown column", self.countries().insert({"id": 91, "name": "x", "no": 1}),
                     "PGRST204")
        row = self.client.table("todos").insert({"title": "water the plants"}).execute().data[0]
        self.checks.check("insert fills defaults", len(row["id"]) == 36 and row["done"] is False
                          and row["created_at"].endswith("+00:00"), row)
        self.todo = row
        answer = self.client.table("todos").insert({"title": "feed the cat", "position": 2},
                                                   returning=ReturnMethod.minimal).execute()
        equal("insert with returning=minimal answers nothing", answer.data, [])
        answer = self.client.table("todos").insert([{"title": "a", "position": 3}, {"title": "b", "done": True}],
                                                   default_to_null=False).execute()
        equal("insert with default_to_null=False fills defaults", [(row["position"], row["done"])
                                                                   for row in answer.data], [(3, False), (None, True)])

    def selects(self):
        equal, countries = self.checks.equal, self.countries
        equal("select *", countries().select("*").order("id").execute().data, COUNTRIES)
        equal("select of columns", countries().select("id", "name").eq("id", 2).execute().data,
              [{"id": 2, "name": "Japan"}])
        equal("select with alias, cast and JSON path",
              countries().select("label:name,area::text,city:facts->capital->>name").eq("id", 1).execute().data,
              [{"label": "Chad", "area": "1284000.50", "city": "N'Djamena"}])
        for name, query, want in [
            ("in_", countries().select("id").in_("id", [5, 2, 99]).order("id"), [2, 5]),
            ("in_ with texts that need quotes",
             countries().select("id").in_("name", ["Peru", COUNTRIES[4]["name"]]).order("id"), [3, 5]),
            ("or_", countries().select("id").or_("id.eq.3,and(continent.eq.Asia,landlocked.is.true)").order("id"),
             [3, 4]),
            ("neq leaves nulls out", countries().select("id").neq("population", 30000000).order("id"), [1, 2, 3]),
            ("gt and lte", countries().select("id").gt("population", 20000000).lte("population", 34000000).order("id"),
             [3, 4]),
            ("gte and lt", countries().select("id").gte("id", 2).lt("id", 4).order("id"), [2, 3]),
            ("like", countries().select("id").like("name", "%pa%").order("id"), [2, 4]),
            ("ilike", countries().select("id").ilike("name", "%CHAD%"), [1]),
            ("is_ null", countries().select("id").is_("population", "null"), [5]),
            ("is_ true", countries().select("id").is_("landlocked", True).order("id"), [1, 4]),
            ("not_", countries().select("id").not_.eq("continent", "Asia").order("id"), [1, 3, 5]),
            ("not_.in_", countries().select("id").not_.in_("id", [1, 2, 3]).order("id"), [4, 5]),
            ("match", countries().select("id").match({"continent": "Asia", "landlocked": "false"}), [2]),
            ("filter", countries().select("id").filter("continent", "eq", "Africa").order("id"), [1, 5]),
            ("contains of an array", countries().select("id").contains("tags", ["desert"]), [1]),
            ("contained_by", countries().select("id").contained_by("tags", ["island", "sea"]).order("id"), [2, 3]),
            ("overlaps", countries().select("id").overlaps("tags", ["mountain", "island"]).order("id"), [2, 4]),
            ("contains of a JSON object", countries().select("id").contains("facts", {"code": "NP"}), [4]),
            ("filter on a JSON path", countries().select("id").eq("facts->>code", "JP"), [2]),
            ("order descending", countries().select("id").order("id", desc=True), [5, 4, 3, 2, 1]),
            ("order by two columns", countries().select("id").order("continent").order("id", desc=True),
             [5, 1, 4, 2, 3]),
            ("order with nulls first", countries().select("id").order("population", nullsfirst=True), [5, 1, 4, 3, 2]),
            ("order by numeric value", countries().select("id").order("area", desc=True, nullsfirst=False),
             [3, 1, 2, 4, 5]),
            ("limit", countries().select("id").order("id").limit(2), [1, 2]),
            ("offset and limit", countries().select("id").order("id").limit(2).offset(1), [2, 3]),
            ("range", countries().select("id").order("id").range(1, 3), [2, 3, 4]),
            ("range beyond the end", countries().select("id").order("id").range(10, 12), []),
        ]:
            self.ids(name, query, want)

    def shapes(self):
        equal, countries = self.checks.equal, self.countries
        answer = countries().select("id", count=CountMethod.exact).eq("continent", "Asia").limit(1).execute()
        equal("count ignores the limit", (len(answer.data), answer.count), (1, 2))
        answer = countries().select("*", count=CountMethod.exact, head=True).execute()
        equal("count with head", (answer.data, answer.count), ([], 5))
        equal("single", countries().select("name").eq("id", 3).single().execute().data, {"name": "Peru"})
        self.refused("single of many", countries().select("*").single(), "PGRST116")
        self.refused("single of none", countries().select("*").eq("id", 99).single(), "PGRST116")
        equal("maybe_single", countries().select("id").eq("id", 3).maybe_single().execute().data, {"id": 3})
        equal("maybe_single of none", countries().select("id").eq("id", 99).maybe_single().execute(), None)
        text = countries().select("id,name,landlocked").order("id").csv().execute().data
        want = [["id", "name", "landlocked"]] + [[str(row["id"]), row["name"], "t" if row["landlocked"] else "f"]
                                                 for row in COUNTRIES]
        equal("csv", list(csv.reader(io.StringIO(text))), want)
        self.refused("unknown table", self.client.table("cities").select("*"), "PGRST205")
        self.refused("unknown column", countries().select("*").eq("nope", 1), "42703")
        self.refused("operand of a wrong type", countries().select("*").eq("id", "abc"), "22P02")

    def upserts(self):
        equal, countries = self.checks.equal, self.countries
        row = {"id": 3, "name": "Peru", "population": 34400000}
        answer = countries().upsert(row).execute().data
        equal("upsert changes what it names and keeps the rest",
              {key: answer[0][key] for key in ("id", "population", "continent")},
              {"id": 3, "population": 34400000, "continent": "South America"})
        answer = countries().upsert([{"id": 4, "name": "Nepal"}, {"id": 6, "name": "Fiji"}]).execute()
        equal("upsert of many inserts and updates", [row["id"] for row in answer.data], [4, 6])
        answer = countries().upsert({"id": 6, "name": "Else"}, ignore_duplicates=True).execute()
        equal("upsert that ignores duplicates", answer.data, [])
        equal("… leaves the row", countries().select("name").eq("id", 6).execute().data, [{"name": "Fiji"}])
        answer = countries().upsert({"id": 6, "name": "Fiji", "continent": "Oceania"}, on_conflict="name").execute()
        equal("upsert on a unique column", answer.data[0]["continent"], "Oceania")
        answer = countries().upsert({"id": 6, "name": "Fiji", "population": 900000},
                                    returning=ReturnMethod.minimal).execute()
        equal("upsert with returning=minimal answers nothing", answer.data, [])
        equal("… and took effect", countries().select("population").eq("id", 6).single().execute().data,
              {"population": 900000})

    def updates(self):
        equal, countries = self.checks.equal, self.countries
        answer = countries().update({"landlocked": True, "facts": {"code": "FJ"}}).eq("id", 6).execute()
        equal("update answers the rows after it", [(row["id"], row["landlocked"], row["facts"]) for row in answer.data],
              [(6, True, {"code": "FJ"})])
        answer = countries().update({"continent": "Eurasia"}, returning=ReturnMethod.minimal) \
            .eq("continent", "Asia").execute()
        equal("update with returning=minimal answers nothing", answer.data, [])
        self.ids("… and took effect", countries().select("id").eq("continent", "Eurasia").order("id"), [2, 4])
        answer = countries().update({"tags": ["x", "y z"]}, count=CountMethod.exact).in_("id", [2, 4]).execute()
        equal("update counts", answer.count, 2)
        equal("update of nothing", countries().update({"tags": []}).eq("id", 99).execute().data, [])
        equal("update with select",
              self.client.table("todos").update({"done": True}).eq("id", self.todo["id"]).select("id,done")
              .execute().data, [{"id": self.todo["id"], "done": True}])
        self.refused("update without a filter", countries().update({"tags": []}), "21000")
        self.refused("update to null where none may be", countries().update({"name": None}).eq("id", 1), "23502")

    def deletes(self):
        equal, countries = self.checks.equal, self.countries
        answer = countries().delete().eq("id", 6).execute()
        equal("delete answers the row before it", [(row["id"], row["name"]) for row in answer.data], [(6, "Fiji")])
        answer = countries().delete(returning=ReturnMethod.minimal).in_("id", [2, 4]).execute()
        equal("delete with returning=minimal answers nothing", answer.data, [])
        self.ids("… and took effect", countries().select("id").order("id"), [1, 3, 5])
        answer = countries().delete(count=CountMethod.exact).gt("id", 4).execute()
        equal("delete counts", answer.count, 1)
        equal("delete of nothing", countries().delete().eq("id", 99).execute().data, [])
        self.refused("delete without a filter", countries().delete(), "21000")
        self.ids("a refused delete changes nothing", countries().select("id").order("id"), [1, 3])

    def engine(self):
        engine = self.client.schema("kizunasync")
        outbox = engine.table("outbox").select("table,op").order("seq").limit(1).execute().data
        self.checks.equal("the outbox, by .schema()", outbox, [{"table": "countries", "op": "insert"}])
        depth = engine.rpc("outbox_depth", {}).execute().data
        self.checks.check("outbox_depth, by .rpc()", isinstance(depth, int) and depth > 10, depth)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", help="the executable (default: the newest build of this checkout)")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    checks = Checks(arguments.verbose)
    with Gateway(executable(arguments.gateway), CONFIGURATION) as gateway:
        test = ClientTest(create_client(gateway.base, "keyless"), checks)
        for part in (test.inserts, test.selects, test.shapes, test.upserts, test.updates, test.deletes, test.engine):
            checks.run(part.__name__, part)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
