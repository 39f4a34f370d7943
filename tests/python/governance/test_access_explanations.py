"""Every path behind each row of the access views as data: W8, over worlds in DuckDB.

`WHY_WORLDS=50` in the environment looks at 50 worlds.
"""

from __future__ import annotations

import os

import pytest
from projects import ROOT
from random_worlds import random_world
from rendering import ENVIRONMENT
from tier_questions import NAMES, nobody_sees, raw, to_user
from why_sandbox import PATH_COLUMNS, Database, access_paths, load_world, products

WORLDS = range(int(os.environ.get("WHY_WORLDS", 3)))
MODEL = ROOT / "models/governance/explained_access_paths.sql"
# What int_access_paths has of a path: each once, whatever memberships lead to it.
OF_PATHS = (*PATH_COLUMNS[:7], "user_group_id", "date_created", "created_by")


def explained(world) -> tuple[Database, list[tuple]]:
    """Return a world's database with the model's rows, and what the contract says."""
    database = Database()
    staging = load_world(database, world)
    wanted = access_paths(staging)
    places = [PATH_COLUMNS.index(column) for column in OF_PATHS]
    once = {tuple(path[place] for place in places) for path in wanted}
    database.table("int_access_paths", OF_PATHS, sorted(once, key=repr))
    macros = products(database)._called
    text = MODEL.read_text(encoding="utf-8")
    model = ENVIRONMENT.from_string(text).render(ref=str, secure_datasets=macros)
    database.make("explained_access_paths", model)
    return database, wanted


@pytest.mark.parametrize("seed", WORLDS)
def test_W8_a_path_has_its_role_and_each_way_through_groups(seed):
    database, wanted = explained(random_world(seed))
    columns = ", ".join(PATH_COLUMNS)
    found = database.connection.execute(
        f"select {columns} from explained_access_paths"
    ).fetchall()
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


@pytest.mark.parametrize("seed", WORLDS)
def test_W8_a_row_is_there_exactly_where_the_access_view_has_one(seed):
    database, paths = explained(random_world(seed))
    asked = products(database)
    database.make("access_explanations", asked.access_explanations_query())
    for tier, keys in NAMES.items():
        view = asked.secure_datasets_config()["tiers"][tier]["access_view"]
        names = ", ".join(("user_id", *keys))
        explanations = f"access_explanations where tier = '{tier}'"
        found = database.rows(f"select distinct {names} from {explanations}")
        seen = database.rows(f"select {names} from {view}")
        assert {tuple(r.values()) for r in found} == {tuple(r.values()) for r in seen}
        rows = database.rows(f"select * from {explanations}")
        rights = {row["permission_name"] for row in rows if row["permission_name"]}
        parts = asked.tier_parts(tier, asked.secure_datasets_config())
        assert rights <= {right["permission"] for right in parts["rights"]}
        # Every path to a right on one of the objects, each once.
        own = [
            path
            for path in (dict(zip(PATH_COLUMNS, path, strict=True)) for path in paths)
            for right in parts["rights"]
            if (path["object_type"], path["permission_name"])
            == (right["object_type"], right["permission"])
            for row in seen
            if (row["user_id"], row[right["key"]])
            == (path["user_id"], path["object_id"])
        ]
        links = [row for row in rows if row["path_kind"] == "Link"]
        assert len(rows) - len(links) == len(own)
        assert bool(links) is bool(tier == "results" and seen)


def test_W8_links_that_do_not_count_explain_nothing():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    grant = {"meta_data_source_id": 1, "user_id": 1, "role_name": "Tester"}
    world["data_source_permissions"] = [raw("data_source_permissions", id=1, **grant)]
    link = {"id": 2, "project_id": 1, "meta_data_source_id": 1, "is_active": "false"}
    world["project_data_sources"].append(raw("project_data_sources", **link))
    database, _ = explained(world)
    query = products(database).access_explanations_query()
    database.make("access_explanations", query)
    found = database.rows("select * from access_explanations where tier = 'results'")
    assert sorted((row["grant_table"], row["grant_id"]) for row in found) == [
        *(("data_source_permissions", 1), ("project_data_sources", 1)),
        ("project_permissions", 5),
    ]
