"""F5, F6: what counts as lost where ids go, by the text of the data test itself."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from own_config import PRODUCTS, document_of
from projects import ROOT
from rendering import VARS, Macros
from staging_sandbox import connected, in_duckdb

from dbt_secure_spark.one_state import read_by
from secure_datasets.runs.accepted_ids import AcceptedIds

FILE = ROOT / "tests/dbt/generic/keeps_most_ids.sql"
BODY = re.compile(r"{% test .*?%}(.*){% endtest %}", re.S)
GIVEN = "{% set model, column_name, table = 'now_staged', 'user_id', 'users' %}"
VARIABLES = VARS | {"meant_losses": [], "lost_rows_error_share": 0.5}
LOADS = {"kind": "snapshots"}
LOG = {"kind": "log", "deletes": True}
LIVE, OFF, GONE = (True, False), (False, False), (False, True)


def is_lost(before: list, now: list, feed: dict | None = None) -> bool:
    """Whether the test fails, with half of the ids as the share."""
    macros, connection = Macros(document_of(PRODUCTS)), connected()
    versions = {"accepted": "before_staged", "published": "now_staged"}
    macros.stand_in(
        var=lambda name, *default: VARIABLES.get(name, *default),
        feed_of=lambda table: feed,
        reads_sample=lambda: True,
        project_schema=lambda: "p",
        flags=SimpleNamespace(WHICH="test", INTROSPECT=True),
        execute=True,
        api=SimpleNamespace(Relation=SimpleNamespace(create=SimpleNamespace)),
    )
    macros.adapter.accepted_ids = lambda *given: SimpleNamespace(
        to_compare=lambda model, command: versions
    )
    macros.adapter.raw_columns = lambda relation: ["is_deleted"]
    for name, rows in (("before_staged", before), ("now_staged", now)):
        connection.execute(
            f"create table {name} (user_id bigint, is_live boolean, is_deleted boolean,"
            " rejection_reason varchar)"
        )
        for key, state in enumerate(rows):
            if state is None:
                continue
            row = [key, *state]
            connection.execute(f"insert into {name} values (?, ?, ?, null)", row)
    (body,) = BODY.findall(FILE.read_text(encoding="utf-8"))
    text = macros.rendered(GIVEN + body)
    return bool(connection.execute(in_duckdb(text)).fetchall())


@pytest.mark.parametrize(
    ("before", "now", "feed", "lost"),
    [
        ([LIVE] * 9, [LIVE] * 5, None, False),
        ([LIVE] * 10, [LIVE] * 5, None, True),
        # A deletion is said, or only follows from what a load lacks.
        ([LIVE] * 10, [LIVE] * 3 + [GONE] * 7, None, False),
        ([LIVE] * 10, [LIVE] * 3 + [GONE] * 7, LOADS, True),
        ([LIVE] * 10, [LIVE] * 6 + [GONE] * 4, LOADS, False),
        # What was gone before is lost no second time.
        ([LIVE] * 3 + [GONE] * 7, [LIVE] * 3 + [GONE] * 7, LOADS, False),
        # Deletions of before make no loss smaller, and are lost by no shorter log.
        ([LIVE] * 4 + [GONE] * 9, [LIVE] * 2 + [None] * 2 + [GONE] * 9, LOG, True),
        ([LIVE] * 4 + [GONE] * 9, [LIVE] * 4, LOG, False),
        # All ids are there, and nobody is live.
        ([LIVE] * 10, [OFF] * 10, None, True),
        ([LIVE] * 10, [LIVE] + [OFF] * 9, None, False),
    ],
)
def test_F5_F6_a_table_that_lost_too_much_is_told(before, now, feed, lost):
    assert is_lost(before, now, feed) is lost


def test_F6_the_version_that_passed_is_that_of_the_product_s_own_model():
    # A model of another package may have the same alias in another schema.
    nodes = {
        f"model.{package}.{name}": {
            **{"resource_type": "model", "package_name": package},
            **{"name": name, "alias": "USERS"},
        }
        for package, name in (("secure_datasets", "stg_users"), ("bank", "own_users"))
    }
    version = "p_versions.users__v20260102030405_0123abcd"
    adapter = SimpleNamespace(
        definitions=lambda schema, name: {name: f"select id from {version}"},
        read_by=lambda definition: read_by(None, definition),
    )
    accepted = AcceptedIds(adapter, nodes, SimpleNamespace, "p", False).accepted()
    assert accepted == {"stg_users": version}
