"""What only dbt and Spark tell of a law: the types of columns, and a warning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

pytestmark = pytest.mark.spark

SAME_COLUMNS = "assert_secure_datasets_have_the_columns_of_their_base"
ROLES_BORNE = "assert_roles_of_policies_are_borne"
MAY_BE_MISSING = "assert_roles_that_may_be_missing_are_borne"


@pytest.fixture
def view_of(spark, rows) -> Iterator[Callable[[str, str], None]]:
    """Put another query behind a view; `{rows}` in it stands for what was there."""
    texts: dict[str, str] = {}

    def replace(view: str, query: str) -> None:
        name = f"secure_datasets.{view}"
        described = spark.sql(f"describe extended {name}").collect()
        texts[name] = next(r.data_type for r in described if r.col_name == "View Text")
        spark.sql(
            f"create or replace view {name} as {query.format(rows=f'({texts[name]})')}"
        )

    yield replace
    for name, text in texts.items():
        spark.sql(f"create or replace view {name} as {text}")


@pytest.fixture
def broken_laws(dbt, parsed, spark):
    """Run these laws; return what those that fail say of each row, by their names."""

    def run(*laws: str) -> dict[str, list[dict]]:
        result = dbt("test", "--select", *laws, manifest=parsed)
        return {
            tested.node.name: [
                row.asDict() for row in spark.sql(tested.node.compiled_code).collect()
            ]
            for tested in result.result
            if str(tested.status) == "fail"
        }

    return run


def test_a_column_too_many_is_named(view_of, broken_laws):
    view_of("vw_secure_dataset_tests", "select *, 1 as note from {rows}")
    broken = broken_laws(SAME_COLUMNS)
    assert list(broken) == [SAME_COLUMNS]
    assert "note" in str(broken)


@pytest.mark.nightly
def test_R14_a_role_that_no_live_group_bears_any_more_is_named(
    view_of, broken_laws, dbt
):
    view_of(
        "stg_user_groups",
        "select * except (is_live), is_live and name != 'Operations' as is_live"
        " from {rows}",
    )
    laws = (ROLES_BORNE, MAY_BE_MISSING)
    reason = "no live group bears it"
    resources = ("star_test_executions", "star_test_executions.error_count")
    named = [
        {"role_name": "Operations", "resource": resource, "reason": reason}
        for resource in resources
    ]
    broken = broken_laws(*laws)
    found = sorted(broken.pop(ROLES_BORNE), key=lambda row: row["resource"])
    assert (found, broken) == (named, {})
    listed = json.dumps({"roles_may_be_missing": ["Operations"]})
    result = dbt("test", "--select", *laws, "--vars", listed)
    told = {
        r.node.name: (str(r.status), r.failures)
        for r in result.result
        if r.node.resource_type == "test"
    }
    assert told == {ROLES_BORNE: ("pass", 0), MAY_BE_MISSING: ("warn", 2)}
