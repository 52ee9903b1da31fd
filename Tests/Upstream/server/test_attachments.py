"""Metadata of attachments: confirmed by who stored the object, shown to who may see the row."""

from __future__ import annotations

import pytest

from support import ANNA, BEN, CORA, SUB, Caller, Json, Refused, World, uid

pytestmark = pytest.mark.parametrize("world", ["supabase"], indirect=True)

HASH = "9f2c" + "0" * 60
ROW = uid(5)
PATH = f"{ANNA}/{ROW}/u1.jpg"


@pytest.fixture
def shop(world: World) -> World:
    world.table("dishes", "id uuid primary key, owner uuid, shared boolean default false, photo text",
                policy=f"owner = {SUB} or shared")
    world.sql("insert into storage.buckets (id, name) values ('photos', 'photos')")
    store(world, PATH)
    return world


def store(world: World, path: str, owner: str = ANNA) -> None:
    world.sql("insert into storage.objects (bucket_id, name, owner, owner_id) values ('photos', %s, %s, %s)",
              (path, owner, owner))


def body(**fields: Json) -> dict[str, Json]:
    return {"p_bucket": "photos", "p_path": PATH, "p_sha256": HASH, "p_size": 48213,
            "p_media_type": "image/jpeg",
            "p_table": "dishes"} | fields


def confirm(caller: Caller, **fields: Json) -> Json:
    return caller.call("attachment_confirm", **body(**fields))


def confirm_code(caller: Caller, **fields: Json) -> str:
    return caller.code("attachment_confirm", **body(**fields))


def metadata(caller: Caller, path: str = PATH) -> Json:
    return caller.call("attachment_metadata", p_bucket_id="photos", p_object_path=path)


def vacuum(caller: Caller, path: str = PATH) -> Json:
    return caller.call("attachment_vacuum", p_bucket="photos", p_path=path)


def test_what_was_confirmed_is_shown_to_its_owner(shop: World):
    anna = shop.caller()
    assert metadata(anna) == []
    assert confirm(anna, p_sha256=HASH.upper()) in (None, "")
    found = metadata(anna)
    assert len(found) == 1 and set(found[0]) == {"sha256", "size", "media_type", "created_at", "updated_at"}
    assert (found[0]["sha256"], found[0]["size"], found[0]["media_type"]) == (HASH, 48213, "image/jpeg")


def test_a_confirmation_again_is_frozen_to_its_values(shop: World):
    anna = shop.caller()
    confirm(anna)
    first = metadata(anna)[0]
    confirm(anna, p_sha256=HASH.upper())
    second = metadata(anna)[0]
    assert second["updated_at"] > first["updated_at"] and second["created_at"] == first["created_at"]
    for change in ({"p_sha256": "0" * 64}, {"p_size": 1}, {"p_media_type": "image/png"}):
        assert confirm_code(anna, **change) == "23514", change
    assert metadata(anna)[0] == second


def test_a_table_is_adopted_once(shop: World):
    shop.table("other", "id uuid primary key, photo text")
    anna, stored = shop.caller(), "select table_name from kizunasync.attachments"
    without = body()
    del without["p_table"]
    anna.call("attachment_confirm", **without)
    assert shop.sql(stored) == [(None,)]
    confirm(anna)
    assert shop.sql(stored) == [("dishes",)]
    try:
        confirm(anna, p_table="other")
    except Refused as refused:
        assert refused.code == "23514"
    anna.call("attachment_confirm", **without)
    assert shop.sql(stored) == [("dishes",)]


@pytest.mark.parametrize("change", [
    {"p_sha256": "9f2c"}, {"p_sha256": "g" * 64}, {"p_sha256": HASH + "0"}, {"p_sha256": None},
    {"p_sha256": ""},
    {"p_size": -1}, {"p_size": None}, {"p_table": "nowhere"}, {"p_path": ""}, {"p_path": None},
    {"p_path": ANNA},
    {"p_path": f"{ANNA}/{ROW}"}, {"p_path": f"{ANNA}//u1.jpg"}, {"p_path": f"/{PATH}"},
    {"p_path": "x/y/z.jpg"}], ids=str)
def test_a_malformed_confirmation_is_refused(shop: World, change: dict):
    if change.get("p_path"):
        store(shop, change["p_path"])
    assert confirm_code(shop.caller(), **change) == "22023"
    assert shop.count("attachments") == 0


def test_a_size_of_zero_is_a_size(shop: World):
    confirm(shop.caller(), p_size=0)
    assert metadata(shop.caller())[0]["size"] == 0


def test_only_the_owner_of_path_and_object_confirms(shop: World):
    anna, ben = shop.caller(), shop.caller(BEN)
    assert confirm_code(ben) == "42501"
    assert confirm_code(anna, p_path=f"{ANNA}/{ROW}/absent.jpg") == "42501"
    store(shop, f"{BEN}/{ROW}/u2.jpg")
    assert confirm_code(anna, p_path=f"{BEN}/{ROW}/u2.jpg") == "42501"
    store(shop, f"{ANNA}/{ROW}/u3.jpg", owner=BEN)
    assert confirm_code(anna, p_path=f"{ANNA}/{ROW}/u3.jpg") == "42501"
    assert confirm_code(ben, p_path=f"{ANNA}/{ROW}/u3.jpg") == "42501"
    assert confirm_code(shop.caller(None)) == "42501"
    assert shop.count("attachments") == 0


def test_a_peer_sees_metadata_of_a_row_it_may_see_that_names_the_path(shop: World):
    confirm(shop.caller())
    ben = shop.caller(BEN)
    assert metadata(ben) == []
    shop.sql("insert into dishes values (%s, %s, true, %s)", (ROW, ANNA, PATH))
    assert len(metadata(ben)) == 1
    shop.sql("update dishes set photo = 'elsewhere'")
    assert metadata(ben) == []
    shop.sql("update dishes set photo = %s, shared = false", (PATH,))
    assert metadata(ben) == [] and len(metadata(shop.caller())) == 1
    shop.sql("update dishes set shared = true")
    shop.sql("select kizunasync.unregister_table('dishes')")
    assert metadata(ben) == [] and len(metadata(shop.caller())) == 1


def test_a_peer_sees_nothing_by_another_row_that_names_the_path(shop: World):
    confirm(shop.caller())
    shop.sql("insert into dishes values (%s, %s, true, %s)", (uid(6), ANNA, PATH))
    assert metadata(shop.caller(BEN)) == []


def test_metadata_confirmed_without_a_table_is_the_owners_alone(shop: World):
    without = body()
    del without["p_table"]
    shop.caller().call("attachment_confirm", **without)
    shop.sql("insert into dishes values (%s, %s, true, %s)", (ROW, ANNA, PATH))
    assert metadata(shop.caller(BEN)) == [] and len(metadata(shop.caller())) == 1


def test_asking_for_nonsense_shows_nothing(shop: World):
    for path in ("", "x", "//", f"{ANNA}/not-a-uuid/u.jpg", PATH + "x"):
        assert metadata(shop.caller(), path) == metadata(shop.caller(BEN), path) == []


def test_vacuum_forgets_only_once_the_object_is_gone(shop: World):
    anna, ben = shop.caller(), shop.caller(BEN)
    confirm(anna)
    vacuum(anna)
    assert len(metadata(anna)) == 1
    shop.sql("delete from storage.objects")
    vacuum(ben)
    vacuum(shop.caller(None))
    assert len(metadata(anna)) == 1
    vacuum(anna)
    assert metadata(anna) == []
    assert vacuum(anna) in (None, "")


def test_users_select_their_own_metadata_alone(shop: World):
    confirm(shop.caller())
    path = f"{CORA}/{ROW}/u9.jpg"
    store(shop, path, owner=CORA)
    confirm(shop.caller(CORA), p_path=path)
    select = "select object_path from kizunasync.attachments"
    assert shop.caller().sql(select) == [(PATH,)] and shop.caller(BEN).sql(select) == []
