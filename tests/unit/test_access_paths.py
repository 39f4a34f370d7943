"""The paths of access by a customer's own table of roles, in the quick engine."""

from __future__ import annotations

from projects import ROOT

from secure_datasets.engines.duckdb import DuckDB, Rows
from secure_datasets.engines.frames import Session, load_model

TEXTS = ("object_type", "role_name", "grant_table", "created_by", "modified_by")
TIMES = ("date_created", "date_modified")
IDS = ("object_id", "user_id", "user_group_id", "grant_id")
ROLES = [
    ("Project", None, "Project Member"),
    ("Project", "lead", "Project Admin"),
    # Every entry brings this one already.
    ("Project", "lead", "Project Member"),
]


def test_a_role_that_names_what_every_entry_brings_gives_it_once():
    types = dict.fromkeys(TEXTS, "string") | dict.fromkeys(TIMES, "timestamp")
    columns = types | dict.fromkeys(IDS, "bigint")
    grant = {"object_type": "Project", "object_id": 7, "user_id": 1, "grant_id": 2}
    grant |= {"role_name": "lead", "grant_table": "project_permissions"}
    named = ("object_type", "role_name", "permission_name")
    engine = DuckDB(
        {
            "raw.grants": Rows(columns, [tuple(map(grant.get, columns))]),
            "raw.users": Rows({"user_id": "bigint"}, [(1,)]),
            "raw.members": Rows(dict.fromkeys(IDS[1:3], "bigint"), []),
            "raw.roles": Rows(dict.fromkeys(named, "string"), ROLES),
        }
    )
    session = Session(engine)
    tables = ("grants", "users", "members", "roles")
    paths = load_model(ROOT / "models/intermediate/int_access_paths.py").explicit_paths(
        *(session.table(f"raw.{name}") for name in tables)
    )
    found = sorted(row["permission_name"] for row in engine.ask(paths.sql()))
    assert found == ["Project Admin", "Project Member"]
