"""Each kind of rule means the same to everything that speaks of rules.

R16 to R19, M13 and M15, one rule of each: the rows of the dataset and of a readers'
view, the counts of `who`, the words of `why` and what would help, and the printed and
rendered forms for other engines, which give the same rows or are an error with a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from policy_sandbox import Sandbox, view_name
from rendering import Macros, Stopped

from secure_datasets.questions import gates, remedies
from secure_datasets.render.readers import view_query
from secure_datasets.render.row_filters import ENGINES

ANN, BEN = 1, 2
TYPES = {
    "run_id": "bigint",
    "team_id": "bigint",
    "unit": "string",
    "detail": "struct<a: string, b: string>",
}
UNITS = [(1, 10, "X"), (2, 10, "Y")]
EVERYBODY = {"role": "*", "resource": "runs"}


@dataclass(frozen=True)
class Rule:
    """One kind of rule over the runs, of which Ann and Ben see both by their tier.

    shown  the units that each sees, by run
    who    how many rows `who` counts for Ben under each of the rules
    why    what `why` says to Ben of the run 2, the reason first
    helps  what would help him
    """

    entries: list[dict[str, Any]]
    shown: dict[int, dict[int, str]]
    who: list[int]
    why: str
    helps: str | None = None
    column: str = "unit"


BOTH = {1: "X", 2: "Y"}
RULES = {
    "R16": Rule(
        [
            EVERYBODY,
            {"except": ["A"], "resource": "runs", "as": "restrictive",
             "condition": "unit = 'X'"},
        ],
        {ANN: BOTH, BEN: {1: "X"}},
        [2, 1],
        'restrictive condition of all but "A" hides the row',
        'no grant of a tier helps: restrictive condition of all but "A" hides it'
        " from who does not hold A",
    ),
    "R17": Rule(
        [{"role": "*", "resource": "runs", "condition": "unit = 'X'"}],
        {ANN: {1: "X"}, BEN: {1: "X"}},
        [1],
        "no role of the user shows the row",
        "no role helps: no condition is true of the row",
    ),
    "R18": Rule(
        [
            {"role": "A", "resource": "runs"},
            {"role": "B", "resource": "runs", "valid_until": "2020-05-01"},
            {"role": "B", "resource": "runs", "condition": "unit = 'X'",
             "valid_from": "2020-05-02"},
        ],
        {ANN: BOTH, BEN: {1: "X"}},
        [0, 0, 1],
        "no role of the user shows the row",
        "the conditions show it to who holds A or who holds B until 2020-05-02 00:00:00"
        " UTC",
    ),
    "R19": Rule(
        [{"role": "*", "resource": "runs", "condition": "unit = reader.unit"}],
        {ANN: {1: "X"}, BEN: {1: "X"}},
        [1],
        "no role of the user shows the row",
        "no role helps: no condition is true of the row",
    ),
    "M13": Rule(
        [
            EVERYBODY,
            {"resource": "runs.unit", "mask": "'-'",
             "shown_to": [{"role": "A"}, {"role": "*", "where": "unit = 'X'"}]},
        ],
        {ANN: BOTH, BEN: {1: "X", 2: "-"}},
        [2, 1],
        "unit is shown as '-' (mask); who holds A sees it as it is",
    ),
    "M15": Rule(
        [
            EVERYBODY,
            {"except": ["A"], "resource": "runs.detail",
             "mask": "named_struct('a', detail.a, 'b', '-')"},
        ],
        {ANN: BOTH, BEN: BOTH},
        [2, 2],
        "detail is shown as named_struct('a', detail.a, 'b', '-') (mask); who holds A"
        " sees it as it is",
        column="detail",
    ),
}  # fmt: skip
MASKS = ("M13", "M15")
# DuckDB casts nothing to a struct: test_masks.py asks Spark.
RUN = [kind for kind in RULES if kind != "M15"]


def document(rule: Rule) -> str:
    """Return the config with the rules of one kind."""
    dataset = {
        "base": "all_runs", "columns": ["run_id", "team_id", "unit", "detail"],
        "unique_key": ["run_id"], "tier": "team", "keys": {"team_id": "team_id"},
    }  # fmt: skip
    tier = {"access_view": "team_access", "object_keys": ["team_id"], "carries": []}
    return yaml.safe_dump(
        {
            "tiers": {"team": tier},
            "datasets": {"runs": dataset},
            "reader": {"relation": "staff", "key": "user_id"},
            "policies": rule.entries,
        },
        sort_keys=False,
    )


@pytest.fixture(scope="module")
def sandbox():
    """The runs, and two users: Ann holds A, Ben holds B."""
    sandbox = Sandbox()
    sandbox.table("units", "run_id bigint, team_id bigint, unit string", UNITS)
    detail = "named_struct('a', unit, 'b', unit) as detail"
    sandbox.view(view_name("all_runs"), f"select *, {detail} from {view_name('units')}")
    sandbox.types["all_runs"] = TYPES
    access = [(10, ANN), (10, BEN)]
    sandbox.table("team_access", "team_id bigint, user_id bigint", access)
    sandbox.table("staff", "user_id bigint, unit string", [(ANN, "X"), (BEN, "X")])
    sandbox.roles({ANN: ["A"], BEN: ["B"]})
    return sandbox


@pytest.fixture(params=RULES)
def kind(request):
    """The number of a kind of rule."""
    return request.param


@pytest.fixture
def macros(sandbox, kind):
    """The macros with the rules of the kind."""
    return sandbox.macros(document(RULES[kind]))


@pytest.fixture
def view(sandbox, kind):
    """The dataset with the rules of the kind."""
    return sandbox.secure(document(RULES[kind]), "runs")


@pytest.mark.parametrize("kind", RUN, indirect=True)
def test_the_dataset_shows_it(sandbox, kind, view):
    rows = sandbox.rows(f"select user_id, run_id, unit from {view}")
    shown = {user: {r: u for v, r, u in rows if v == user} for user in (ANN, BEN)}
    assert shown == RULES[kind].shown


@pytest.mark.parametrize("kind", RUN, indirect=True)
def test_who_counts_it(sandbox, kind, macros):
    config = macros.secure_datasets_config()
    rules = macros.rules_on("runs", config, "runs")
    query = macros.rule_counts("runs", config, f"{BEN}")
    (counts,) = sandbox.answer(query)
    past, *of_rules, seen = counts[: len(rules) + 2]
    assert (past, seen) == (2, len(RULES[kind].shown[BEN]))
    assert of_rules == RULES[kind].who


def test_why_says_it_and_what_helps(sandbox, kind, macros):
    config, rule = macros.secure_datasets_config(), RULES[kind]
    users = f"select {BEN} as user_id, true as is_live"
    query = macros.gates_query("runs", config, users, {"run_id": "2"})
    (row,) = sandbox.engine.ask(query)
    rules = macros.rules_on("runs", config, "runs")
    facts = {"rules": rules, "roles": ["B"], "below": None, "dataset": "runs"}
    gate = gates.conditions_gate(facts, row, False)
    if kind in MASKS:
        assert gate["state"] == "open"
        (mask,) = gates.masks_of_row(facts, row, False)
        assert mask["says"] == rule.why
    else:
        assert (gate["state"], gate["says"]) == ("closed", rule.why)
        assert remedies.what_helps(gate, facts, {"user_id": BEN}, row) == rule.helps
    said = [policy.get("condition") for policy in rule.entries]
    evidence = str(gate["evidence"])
    assert all(text in evidence for text in said if text and kind not in MASKS)


@pytest.mark.parametrize("kind", RUN, indirect=True)
def test_a_readers_view_gives_it(sandbox, kind, view):
    accounts = "(select 'me' as account, 2 as user_id)"
    source = {
        "name": "runs", "relation": view, "columns": ["run_id", "unit"],
        "has_public_rows": False,
    }  # fmt: skip
    query = view_query(source, accounts, "users").replace("current_user()", "'me'")
    query = query.replace("and rand() >= 0", "")
    rows = sandbox.rows(f"select run_id, unit from ({query}) as mine")
    assert dict(rows) == RULES[kind].shown[BEN]


@pytest.mark.parametrize("dialect", ["spark", "databricks", "duckdb", "postgres"])
def test_it_is_printed_or_named(sandbox, kind, macros, dialect):
    rule, config = RULES[kind], macros.secure_datasets_config()

    def printed(reader: int) -> tuple[str, str]:
        options = (config, f"{reader}", "f", dialect)
        return (
            macros.row_predicate("runs", *options),
            macros.mask_by_itself("runs", config, rule.column, *options[1:]),
        )

    if kind == "M15" and dialect in ("duckdb", "postgres"):
        with pytest.raises(Stopped, match=f"{dialect} can't say '"):
            printed(BEN)
        return
    for reader, wanted in rule.shown.items():
        predicate, mask = printed(reader)
        if kind == "M15":
            assert re.search(r"struct\(detail\.a AS .?a.?, '-' AS .?b.?\)", mask)
            continue
        if dialect != "spark":
            assert predicate and mask
            continue
        query = (
            f"select f.run_id, {mask} as shown from {view_name('all_runs')} as f"
            f" where {predicate}"
        )
        found = {row["run_id"]: row["shown"] for row in sandbox.engine.ask(query)}
        assert found == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_rendered_or_named(kind, macros, engine):
    def rendered() -> str:
        macros.printed.clear()
        macros.render_policies("runs", engine)
        return "\n".join(macros.printed)

    if kind == "M15":
        with pytest.raises(Stopped, match=r"names 'detail\.a', a part of a column"):
            rendered()
        return
    text = rendered()
    said = {
        "R16": "this_row_unit = 'X'", "R17": "this_row_unit = 'X'",
        "R18": "2020-05-02", "R19": "policies_staff", "M13": "'-'",
    }[kind]  # fmt: skip
    if (kind, engine) == ("M13", "postgres"):
        assert "PostgreSQL has no masks" in text
    elif not (kind == "R18" and engine == "snowflake"):
        assert said in text
    assert ("as restrictive" in text) == ((kind, engine) == ("R16", "postgres"))


def test_findings_know_its_roles_and_the_dataset_the_relation_that_it_reads(
    kind, macros
):
    config, rule = macros.secure_datasets_config(), RULES[kind]
    assert "runs" in macros.secure_datasets().restricted_datasets(config)
    named = {
        role for policy in macros_rules(macros, config) for role in policy["named"]
    }
    written = set(re.findall(r"\b([AB])\b", yaml.safe_dump(rule.entries)))
    assert named == written
    attributes = macros.rules(config).attributes
    assert (attributes in macros.secure_dataset("runs")) == (kind == "R19")


def macros_rules(macros: Macros, config: dict) -> list[dict]:
    """Return the policies as rules."""
    rules = macros.rules_on("runs", config, "runs")
    return [rule["rule"] for rule in rules if "rule" in rule]
