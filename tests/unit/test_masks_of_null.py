"""M6: a mask covers the rows whose condition is null, as Spark reads the text.

The quick engine can't tell: for Spark alone, `x in (select ...)` that is null is false
wherever something else than `not`, `and` or `or` stands over it, and `not in` is not.
"""

from __future__ import annotations

import pytest
import sqlglot
from policy_sandbox import Sandbox, config
from sqlglot import exp

SCHEMA = "run_id bigint, team_id bigint, unit string, result string, amount bigint"
IN = "unit in (select a.unit from {{ ref('allowed') }} as a)"


def parts_above(node: exp.Expression) -> list[type]:
    """Return what changes the null of a part of a condition, from the inside."""
    found = []
    while not isinstance(node.parent, exp.If | exp.Where | exp.Select | exp.Alias):
        node = node.parent
        if not isinstance(node, exp.Paren | exp.And | exp.Or):
            found.append(type(node))
    return found


@pytest.mark.parametrize(
    ("option", "above"),
    [("", [exp.Not, exp.Is, exp.Not]), (", mask_on_null: pass", [])],
)
def test_M6_the_null_of_a_subquery_is_not_lost(option, above):
    mask = f'role: "*", resource: runs.unit, mask: "0", condition: "{IN}"{option}'
    sandbox = Sandbox()
    sandbox.table("all_runs", SCHEMA, [])
    macros = sandbox.macros(config(mask))
    document = macros.secure_datasets_config()
    for text in (
        macros.secure_dataset("runs"),
        macros.gates_query("runs", document, "select 1 as user_id"),
        f"select {macros.masked_value('runs', document, 'runs', 'unit', '1')}",
    ):
        tree = sqlglot.parse_one(text, read="spark")
        asked = [each for each in tree.find_all(exp.In) if each.args.get("query")]
        # Beside the whole mask, the gates have the condition alone.
        whole = [each for each in asked if not isinstance(each.parent, exp.Alias)]
        assert [parts_above(each) for each in whole] == [above]
