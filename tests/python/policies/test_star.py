"""S: row-security objects over a star. Each test bears the number of the behaviour."""

from __future__ import annotations

from itertools import product

import pytest
import yaml
from policy_sandbox import Sandbox, view_name
from rendering import Stopped

from secure_datasets.engines.translation import NotExact

ALICE, BEN, CARL, DORA = 1, 2, 3, 4
RETAIL, FINANCE, UNKNOWN, EMPTY = 7, 8, 9, 10
GROUPS = {
    ALICE: [RETAIL],
    # Two groups, one of which has its key twice.
    BEN: [RETAIL, FINANCE],
    # A mapping without a key, and a group that is not mapped.
    CARL: [UNKNOWN, EMPTY],
    DORA: [],
}

STAR = yaml.safe_load("""
relations:
    fct_executions:
        kind: fact
        columns:
            {execution_id: bigint, data_source_id: bigint, project_id: bigint,
            day: date, failed_count: bigint}
    fct_paints: {kind: fact, columns: {colour: string, litres: bigint}}
    dim_data_sources:
        kind: dimension
        columns:
            {data_source_id: bigint, name: string, unit: string, head: string,
            division: string}
        levels: [[data_source_id, name], [unit, head], [division]]
    dim_schemas:
        kind: dimension
        columns: {schema_name: string, data_source_id: bigint, theme: string}
        levels: [[schema_name, data_source_id], [theme]]
    dim_projects:
        kind: dimension
        columns: {project_id: bigint, project: string}
    dim_days: {kind: dimension, columns: {day: date, month: string}}
    dim_colours: {kind: dimension, columns: {colour: string}}
    group_units:
        kind: mapping
        columns: {user_group_id: bigint, unit: string}
    user_units:
        kind: mapping
        columns: {user_id: bigint, unit: string}
relationships:
    - from: {dataset: fct_executions, join_columns: [data_source_id]}
      to: {dataset: dim_data_sources}
    - from: {dataset: fct_executions, join_columns: [project_id]}
      to: {dataset: dim_projects}
    - {from: {dataset: fct_executions, join_columns: [day]}, to: {dataset: dim_days}}
    - from: {dataset: dim_schemas, join_columns: [data_source_id]}
      to: {dataset: dim_data_sources}
    - from: {dataset: fct_paints, join_columns: [colour]}
      to: {dataset: dim_colours}
    - from: {dataset: dim_data_sources, join_columns: [unit]}
      to: {row_security: units}
""")
UNITS = {
    "unique_name": "units",
    "object_type": "row_security",
    "label": "Business units",
    "dataset": "group_units",
    "filter_key_column": "unit",
    "ids_column": "user_group_id",
    "id_type": "group",
    "scope": "related",
}
ROWS = {
    "fct_executions": [
        (1, 1, 100, "2026-01-01", 1),
        (2, 2, 100, "2026-01-01", 2),
        (3, 3, 200, "2026-02-02", 4),
        (4, 4, 200, "2026-02-02", 8),
        (5, 3, 100, "2026-02-02", 16),
        (6, None, 200, "2026-01-01", 32),
    ],
    "fct_paints": [("red", 1), ("blue", 2)],
    "dim_data_sources": [
        (1, "cards", "Retail", "Rita", "Front"),
        (2, "loans", "Retail", "Rita", "Front"),
        (3, "ledger", "Finance", "Finn", "Back"),
        (4, "stray", None, None, "Back"),
    ],
    "dim_schemas": [("public", 1, "open"), ("book", 3, "shut"), ("lost", 4, "shut")],
    "dim_projects": [(100, "Alpha"), (200, "Beta"), (300, "Gamma")],
    "dim_days": [("2026-01-01", "January"), ("2026-02-02", "February")],
    "dim_colours": [("red",), ("blue",)],
    "group_units": [
        (RETAIL, "Retail"),
        (RETAIL, "Retail"),
        (FINANCE, "Finance"),
        (FINANCE, None),
        (UNKNOWN, None),
        (11, "Finance"),
    ],
    "user_units": [(ALICE, "Finance"), (ALICE, "Finance"), (CARL, None), (5, "Retail")],
}
FAILED = {"failed": "sum(fct_executions.failed_count)"}

# Each query: its dimensions, its measures; what Alice and what Ben see where the
# constraint is applied; and what everyone sees where it is not.
QUERIES: dict[str, tuple[dict, dict, list, list, list]] = {
    "secured_dimension": (
        {"unit": "dim_data_sources.unit"},
        {},
        [("Retail",)],
        [("Retail",), ("Finance",)],
        [("Retail",), ("Finance",), (None,)],
    ),
    "with_a_path": (
        {"schema_name": "dim_schemas.schema_name"},
        {},
        [("public",)],
        [("public",), ("book",)],
        [("public",), ("book",), ("lost",)],
    ),
    "tied_by_the_fact": (
        {"project": "dim_projects.project"},
        {},
        [("Alpha",)],
        [("Alpha",), ("Beta",)],
        [("Alpha",), ("Beta",), ("Gamma",)],
    ),
    "several_with_the_secured": (
        {"unit": "dim_data_sources.unit", "project": "dim_projects.project"},
        {},
        [("Retail", "Alpha")],
        [("Retail", "Alpha"), ("Finance", "Alpha"), ("Finance", "Beta")],
        [("Retail", "Alpha"), ("Finance", "Alpha"), ("Finance", "Beta"),
         (None, "Beta")],
    ),
    "several_without_the_secured": (
        {"project": "dim_projects.project", "month": "dim_days.month"},
        {},
        [("Alpha", "January")],
        [("Alpha", "January"), ("Alpha", "February"), ("Beta", "February")],
        [("Alpha", "January"), ("Alpha", "February"), ("Beta", "February"),
         ("Beta", "January")],
    ),
    "measure_by_the_secured": (
        {"unit": "dim_data_sources.unit"},
        FAILED,
        [("Retail", 3)],
        [("Retail", 3), ("Finance", 20)],
        [("Retail", 3), ("Finance", 20), (None, 40)],
    ),
    "measure_by_another": (
        {"project": "dim_projects.project"},
        FAILED,
        [("Alpha", 3)],
        [("Alpha", 19), ("Beta", 4)],
        [("Alpha", 19), ("Beta", 44)],
    ),
    "measure_alone": ({}, FAILED, [(3,)], [(23,)], [(63,)]),
    "no_path": (
        {"colour": "dim_colours.colour"},
        {},
        [],
        [],
        [("red",), ("blue",)],
    ),
    "measure_without_path": (
        {"colour": "dim_colours.colour"},
        {"litres": "sum(fct_paints.litres)"},
        [],
        [],
        [("red", 1), ("blue", 2)],
    ),
    "secondary_attribute": (
        {"head": "dim_data_sources.head"},
        FAILED,
        [("Rita", 3)],
        [("Rita", 3), ("Finn", 20)],
        [("Rita", 3), ("Finn", 20), (None, 40)],
    ),
    "lower_level": (
        {"name": "dim_data_sources.name"},
        FAILED,
        [("cards", 1), ("loans", 2)],
        [("cards", 1), ("loans", 2), ("ledger", 20)],
        [("cards", 1), ("loans", 2), ("ledger", 20), ("stray", 8), (None, 32)],
    ),
    # Above the schemas, which lie below the secured level: reachable from below.
    "group_of_a_lower_level": (
        {"theme": "dim_schemas.theme"},
        {},
        [("open",)],
        [("open",), ("shut",)],
        [("open",), ("shut",)],
    ),
    "column_of_the_fact": (
        {"execution_id": "fct_executions.execution_id"},
        FAILED,
        [(1, 1), (2, 2)],
        [(1, 1), (2, 2), (3, 4), (5, 16)],
        [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32)],
    ),
    "higher_level": (
        {"division": "dim_data_sources.division"},
        {},
        [("Front",)],
        [("Front",), ("Back",)],
        [("Front",), ("Back",)],
    ),
    "measure_by_a_higher_level": (
        {"division": "dim_data_sources.division"},
        FAILED,
        [("Front", 3)],
        [("Front", 3), ("Back", 20)],
        [("Front", 3), ("Back", 28), (None, 32)],
    ),
    "higher_level_and_another": (
        {"division": "dim_data_sources.division", "project": "dim_projects.project"},
        {},
        [("Front", "Alpha")],
        [("Front", "Alpha"), ("Back", "Alpha"), ("Back", "Beta")],
        [("Front", "Alpha"), ("Back", "Alpha"), ("Back", "Beta"), (None, "Beta")],
    ),
}  # fmt: skip

# Is the constraint applied? yes, no, or only with secure_totals.
MATRIX = [
    # number, query, related, fact, all
    ("S10", "secured_dimension", "yes", "yes", "yes"),
    ("S10", "with_a_path", "yes", "yes", "yes"),
    ("S11", "tied_by_the_fact", "no", "no", "yes"),
    ("S12", "several_with_the_secured", "no", "yes", "yes"),
    ("S13", "several_without_the_secured", "no", "totals", "totals"),
    ("S14", "measure_by_the_secured", "no", "yes", "yes"),
    ("S15", "measure_by_another", "no", "totals", "totals"),
    ("S15", "measure_alone", "no", "totals", "totals"),
    ("S16", "no_path", "no", "no", "no"),
    ("S16", "measure_without_path", "no", "no", "no"),
    ("S17", "measure_by_the_secured", "no", "yes", "yes"),
    ("S18", "secondary_attribute", "no", "yes", "yes"),
    ("S19", "lower_level", "no", "yes", "yes"),
    ("S19", "with_a_path", "yes", "yes", "yes"),
    ("S19", "group_of_a_lower_level", "yes", "yes", "yes"),
    ("S19", "column_of_the_fact", "no", "yes", "yes"),
    ("S20", "higher_level", "totals", "totals", "totals"),
    ("S20", "measure_by_a_higher_level", "no", "totals", "totals"),
    ("S21", "higher_level_and_another", "no", "totals", "totals"),
    ("S21", "measure_by_a_higher_level", "no", "totals", "totals"),
]
CASES = [
    pytest.param(
        query, scope, totals, answer == "yes" or (answer == "totals" and totals),
        id=f"{number} {query}, scope {scope}, secure_totals {totals}",
    )
    for number, query, *answers in MATRIX
    for scope, answer in zip(("related", "fact", "all"), answers, strict=True)
    for totals in (True, False)
]  # fmt: skip


def config(queries: dict, *objects: dict, **more) -> str:
    """Return a config with these query datasets and row-security objects."""
    datasets = {
        name: {
            "columns": [*dimensions, *measures],
            "unique_key": [*dimensions],
            "visible_to": "everyone",
            "query": {"dimensions": dimensions, "measures": measures}
            | ({"fact": "fct_executions"} if measures == FAILED else {}),
        }
        for name, (dimensions, measures, *_) in queries.items()
    }
    tier = {"access_view": "access", "object_keys": ["project_id"], "carries": []}
    document = STAR | {
        "tiers": {"project": tier},
        "datasets": datasets | more.pop("datasets", {}),
        "row_security": list(objects),
    }
    return yaml.safe_dump(document | more, sort_keys=False)


@pytest.fixture(scope="module")
def sandbox():
    """The star, and the mappings of groups and users."""
    sandbox = Sandbox()
    for name, relation in STAR["relations"].items():
        schema = ", ".join(f"{c} {t}" for c, t in relation["columns"].items())
        # Spark reads a date out of text only in a cast.
        sandbox.table(name, schema.replace(" date", " string"), ROWS[name])
    sandbox.table("access", "project_id bigint, user_id bigint", [(100, ALICE)])
    sandbox.roles(GROUPS)
    return sandbox


@pytest.fixture(scope="module")
def answers(sandbox):
    """The rows of all queries under one object, by query and user; each asked once."""
    kept: dict[tuple, dict[str, dict[int | None, list[tuple]]]] = {}

    def call(**changes) -> dict[str, dict[int | None, list[tuple]]]:
        key = tuple(sorted(changes.items()))
        if key not in kept:
            macros = sandbox.macros(config(QUERIES, UNITS | changes))
            kept[key] = {name: {} for name in QUERIES}
            for name in QUERIES:
                sandbox.view("policies_seen", macros.secure_dataset(name))
                columns = [
                    c for c in sandbox.columns("policies_seen") if c != "user_id"
                ]
                query = f"select user_id, {', '.join(columns)} from policies_seen"
                for user, *row in sandbox.rows(query):
                    kept[key][name].setdefault(user, []).append(tuple(row))
        return kept[key]

    return call


def assert_same(found: dict, expected: dict) -> None:
    """The same rows, in any order, for the same users."""
    assert {user: sorted(rows, key=repr) for user, rows in found.items()} == {
        user: sorted(rows, key=repr) for user, rows in expected.items()
    }


@pytest.mark.parametrize(("query", "scope", "totals", "is_constrained"), CASES)
def test_the_matrix(answers, query, scope, totals, is_constrained):
    *_, of_alice, of_ben, of_everyone = QUERIES[query]
    found = answers(scope=scope, secure_totals=totals)[query]
    if is_constrained:
        assert_same(found, {ALICE: of_alice, BEN: of_ben})
    else:
        assert_same(found, {None: of_everyone})


def test_S6_ids_may_be_those_of_users(sandbox):
    sandbox.roles(GROUPS | {5: []}, inactive=[5])
    object_ = UNITS | {
        "dataset": "user_units", "ids_column": "user_id", "id_type": "user"
    }  # fmt: skip
    view = sandbox.secure(config(QUERIES, object_), "secured_dimension")
    rows = sandbox.rows(f"select user_id, unit from {view}")
    sandbox.roles(GROUPS)
    # Of Alice alone; Carl has a null, and user 5 is not active.
    assert rows == [(ALICE, "Finance")]


def test_S6_several_groups_give_the_union_of_their_keys_once_each(answers):
    rows = answers(scope="related")["secured_dimension"]
    assert sorted(rows[BEN]) == [("Finance",), ("Retail",)]


@pytest.mark.parametrize("scope", ["related", "fact", "all"])
def test_S7_both_forms_give_the_same_rows_as_often(answers, scope):
    joined = answers(scope=scope, secure_totals=True)
    looked_up = answers(scope=scope, secure_totals=True, use_filter_key=True)
    for name in QUERIES:
        assert_same(looked_up[name], joined[name])


def test_S7_each_form_is_what_it_says(sandbox):
    sql = [
        sandbox.macros(
            config(QUERIES, UNITS | {"scope": "fact", "use_filter_key": form})
        ).secure_dataset("measure_by_the_secured")
        for form in (True, False)
    ]
    assert "array_contains(units.filter_keys, dim_data_sources.unit)" in sql[0]
    assert "dim_data_sources.unit = units.filter_key" in sql[1]


def test_S8_without_a_mapping_nothing_of_the_secured_object_is_seen(answers):
    for form in (True, False):
        rows = answers(scope="all", secure_totals=True, use_filter_key=form)
        for name in QUERIES:
            # Nor does the null key of Carl's group match the null of a data source.
            assert {CARL, DORA}.isdisjoint(rows[name]), name


@pytest.mark.parametrize("totals", [True, False])
def test_S22_the_details_add_up_to_the_total_only_if_that_is_secured(answers, totals):
    rows = answers(scope="fact", secure_totals=totals)
    for user, total in ((ALICE, 3), (BEN, 23)):
        details = rows["measure_by_the_secured"][user]
        assert sum(failed for _, failed in details) == total
        shown = rows["measure_alone"].get(user, rows["measure_alone"].get(None))
        assert shown == [(total if totals else 63,)]


# It may be called as the fact that it is made of, to which no relationship leads.
@pytest.mark.parametrize("name", ["executions", "fct_executions"])
def test_a_dataset_over_a_base_is_restricted_after_its_tier(sandbox, name):
    executions = {
        "base": "fct_executions",
        "columns": ["execution_id", "data_source_id", "project_id"],
        "unique_key": ["execution_id"],
        "tier": "project",
        "keys": {"project_id": "project_id"},
    }
    sandbox.table(
        "access",
        "project_id bigint, user_id bigint",
        [(100, ALICE), (100, BEN), (200, BEN), (100, CARL), (200, DORA)],
    )
    for form in (True, False):
        document = config(
            {}, UNITS | {"scope": "fact", "use_filter_key": form},
            datasets={name: executions},
        )  # fmt: skip
        view = sandbox.secure(document, name)
        found = sandbox.rows(f"select user_id, execution_id from {view}")
        assert found == [
            *((ALICE, 1), (ALICE, 2)),
            *((BEN, 1), (BEN, 2), (BEN, 3), (BEN, 5)),
        ]
    # Of the scope related it is not, for it is a fact.
    view = sandbox.secure(config({}, UNITS, datasets={name: executions}), name)
    assert len(sandbox.rows(f"select * from {view}")) == 3 + 6 + 3 + 3


def test_a_dimension_is_restricted_through_the_fact_by_the_scope_all(sandbox):
    projects = {
        "base": "dim_projects",
        "columns": ["project_id", "project"],
        "unique_key": ["project_id"],
        "visible_to": "everyone",
    }
    document = config({}, UNITS | {"scope": "all"}, datasets={"projects": projects})
    view = sandbox.secure(document, "projects")
    found = sandbox.rows(f"select user_id, project from {view}")
    assert found == [(ALICE, "Alpha"), (BEN, "Alpha"), (BEN, "Beta")]
    with pytest.raises(Stopped, match="needs a permissive condition, row"):
        sandbox.secure(config({}, UNITS, datasets={"projects": projects}), "projects")


def test_several_objects_all_restrict_and_policies_come_on_top(sandbox):
    of_users = UNITS | {
        "unique_name": "own_units", "dataset": "user_units",
        "ids_column": "user_id", "id_type": "user", "scope": "fact",
    }  # fmt: skip
    link = {
        "from": {"dataset": "dim_data_sources", "join_columns": ["unit"]},
        "to": {"row_security": "own_units"},
    }
    sandbox.table(
        "user_units",
        "user_id bigint, unit string",
        [(ALICE, "Finance"), (BEN, "Finance"), (BEN, "Retail")],
    )
    sandbox.roles({ALICE: [RETAIL], BEN: [RETAIL, FINANCE, "A"]})
    policies = [
        {"role": "A", "resource": "measure_by_the_secured", "condition": "failed > 3"},
        {"role": "A", "resource": "measure_by_the_secured.failed", "mask": "0"},
    ]
    sandbox.types["vw_secure_dataset_measure_by_the_secured"] = {"failed": "bigint"}
    name = "measure_by_the_secured"
    for more, expected in (
        ({}, [(BEN, "Finance", 20), (BEN, "Retail", 3)]),
        ({"policies": policies}, [(BEN, "Finance", 0)]),
    ):
        links = [*STAR["relationships"], link]
        document = config(
            QUERIES, UNITS | {"scope": "fact"}, of_users, relationships=links, **more
        )
        view = sandbox.secure(document, name)
        assert sandbox.rows(f"select user_id, unit, failed from {view}") == expected
    sandbox.table("user_units", "user_id bigint, unit string", ROWS["user_units"])
    sandbox.roles(GROUPS)


def test_an_unrestricted_query_with_policies_is_looked_at_for_each_user(sandbox):
    sandbox.roles({ALICE: ["A"], BEN: []})
    policy = {"role": "A", "resource": "no_path", "condition": "colour = 'red'"}
    view = sandbox.secure(config(QUERIES, UNITS, policies=[policy]), "no_path")
    seen = sandbox.rows(f"select user_id, colour from {view}")
    sandbox.roles(GROUPS)
    assert seen == [(ALICE, "red")]


def test_a_measure_that_does_not_say_whose_column_it_means_is_not_guessed(sandbox):
    query = {"several": ({"unit": "dim_data_sources.unit"}, FAILED)}
    document = config(query, UNITS | {"scope": "fact"})
    document = document.replace(
        "sum(fct_executions.failed_count)", "max(data_source_id)"
    )
    with pytest.raises(NotExact, match="Ambiguous"):
        sandbox.secure(document, "several")


@pytest.mark.parametrize("name", ["username", "groupname"])
def test_S5_the_old_id_types_are_accepted_with_a_warning(sandbox, name):
    changed = {"id_type": name}
    if name == "username":
        changed |= {"dataset": "user_units", "ids_column": "user_id"}
    old = sandbox.macros(config(QUERIES, UNITS | changed))
    rendered = old.secure_dataset("secured_dimension")
    short = name.removesuffix("name")
    assert old.warnings == [
        f"secure_datasets_config: row_security 'units': the id_type '{name}' is out of"
        f" use; write '{short}'."
    ]
    new = sandbox.macros(config(QUERIES, UNITS | changed | {"id_type": short}))
    assert rendered == new.secure_dataset("secured_dimension")
    assert new.warnings == []


def test_S9_paths_are_computed_from_the_relationships(sandbox):
    macros = sandbox.macros(config(QUERIES, UNITS))
    parsed = macros.secure_datasets_config()

    def ways(start: str) -> dict[str, list[str]]:
        found = macros.secure_datasets().relationship_paths(start, parsed)
        return {
            end: [link["from"]["dataset"] for link in path]
            for end, path in found.items()
        }

    assert ways("dim_projects") == {"dim_projects": []}
    assert ways("dim_schemas") == {
        "dim_schemas": [],
        "dim_data_sources": ["dim_schemas"],
    }
    assert ways("fct_executions") == {
        "fct_executions": [],
        "dim_data_sources": ["fct_executions"],
        "dim_projects": ["fct_executions"],
        "dim_days": ["fct_executions"],
    }


def test_S9_the_shortest_of_several_paths_is_taken(sandbox):
    links = [
        {"from": {"dataset": start, "join_columns": ["data_source_id"]},
         "to": {"dataset": end}}
        for start, end in [("fct_executions", "dim_schemas"),
                           ("dim_data_sources", "fct_executions")]
    ]  # fmt: skip
    macros = sandbox.macros(
        config(QUERIES, UNITS, relationships=links + STAR["relationships"])
    )
    # The last link makes a ring, which ends.
    document = macros.secure_datasets_config()
    paths = macros.secure_datasets().relationship_paths("fct_executions", document)
    assert {end: len(path) for end, path in paths.items()} == {
        **{"fct_executions": 0, "dim_schemas": 1, "dim_data_sources": 1},
        **{"dim_projects": 1, "dim_days": 1},
    }


def test_S3_a_label_may_repeat(sandbox):
    second = UNITS | {"unique_name": "more_units"}
    link = {
        "from": {"dataset": "dim_data_sources", "join_columns": ["unit"]},
        "to": {"row_security": "more_units"},
    }
    links = [*STAR["relationships"], link]
    document = config(QUERIES, UNITS, second, relationships=links)
    sandbox.macros(document).secure_dataset("no_path")


TWO_SIDES = """
relations:
    sales:
        kind: fact
        columns: {sale_id: bigint, buyer_id: bigint, seller_id: bigint, price: bigint}
    buyers: {kind: dimension, columns: {buyer_id: bigint, country: string}}
    sellers: {kind: dimension, columns: {seller_id: bigint, country: string}}
    user_countries: {kind: mapping, columns: {user_id: bigint, country: string}}
relationships:
    - {from: {dataset: sales, join_columns: [buyer_id]}, to: {dataset: buyers}}
    - {from: {dataset: sales, join_columns: [seller_id]}, to: {dataset: sellers}}
    - from: {dataset: buyers, join_columns: [country]}
      to: {row_security: Country Security Filter}
    - from: {dataset: sellers, join_columns: [country]}
      to: {row_security: Country Security Filter}
row_security:
    - unique_name: Country Security Filter
      object_type: row_security
      label: Countries
      dataset: user_countries
      filter_key_column: country
      ids_column: user_id
      id_type: user
      scope: %s
      use_filter_key: %s
      secure_totals: %s
tiers:
    sale: {access_view: access, object_keys: [project_id], carries: []}
datasets:
    all_sales:
        base: sales
        columns: [sale_id, buyer_id, seller_id, price]
        unique_key: [sale_id]
        visible_to: everyone
    by_buyer:
        query:
            dimensions: {country: buyers.country}
            measures: {total: sum(price)}
        columns: [country, total]
        unique_key: [country]
        visible_to: everyone
    total:
        query: {measures: {total: sum(sales.price)}}
        columns: [total]
        unique_key: []
        visible_to: everyone
    last_country:
        query: {fact: sales, measures: {country: max(buyers.country)}}
        columns: [country]
        unique_key: []
        visible_to: everyone
"""


@pytest.fixture(scope="module")
def two_sides(sandbox):
    """Sales between countries, of which each user has some."""
    sandbox.table(
        "sales",
        "sale_id bigint, buyer_id bigint, seller_id bigint, price bigint",
        [(1, 1, 1, 1), (2, 1, 2, 2), (3, 2, 1, 4), (4, 2, 2, 8), (5, None, 1, 16)],
    )
    for name in ("buyer", "seller"):
        schema = f"{name}_id bigint, country string"
        sandbox.table(f"{name}s", schema, [(1, "DE"), (2, "FR")])
    sandbox.table(
        "user_countries",
        "user_id bigint, country string",
        [(ALICE, "DE"), (ALICE, "DE"), (BEN, "DE"), (BEN, "FR")],
    )
    sandbox.roles(GROUPS)

    def call(name: str, scope: str = "fact", form: str = "true", totals: str = "true"):
        view = sandbox.secure(TWO_SIDES % (scope, form, totals), name)
        return sandbox.rows(f"select * from {view}")

    return call


@pytest.mark.parametrize("form", ["true", "false"])
def test_S9_one_object_on_two_dimensions_restricts_by_both(two_sides, form):
    found = two_sides("all_sales", form=form)
    assert [(row[-1], row[0]) for row in found] == [
        (ALICE, 1), (BEN, 1), (BEN, 2), (BEN, 3), (BEN, 4)
    ]  # fmt: skip
    assert two_sides("by_buyer", form=form) == [
        ("DE", 1, ALICE), ("DE", 3, BEN), ("FR", 12, BEN)
    ]  # fmt: skip
    assert two_sides("total", form=form) == [(1, ALICE), (15, BEN)]


def test_S18_a_column_of_a_dimension_in_a_measure_counts_as_selected(two_sides):
    # Without secure_totals, what shows no secured level is everyone's.
    assert two_sides("total", totals="false") == [(31, None)]
    assert two_sides("last_country", totals="false") == [("DE", ALICE), ("FR", BEN)]


TWO_FACTS = """
relations:
    sales:
        kind: fact
        columns: {shop_id: bigint, buyer_id: bigint, seller_id: bigint, price: bigint}
    gifts: {kind: fact, columns: {shop_id: bigint, buyer_id: bigint}}
    shops: {kind: dimension, columns: {shop_id: bigint, shop: string}}
    buyers: {kind: dimension, columns: {buyer_id: bigint, country: string}}
    sellers: {kind: dimension, columns: {seller_id: bigint, country: string}}
    user_countries: {kind: mapping, columns: {user_id: bigint, country: string}}
relationships:
    - {from: {dataset: sales, join_columns: [shop_id]}, to: {dataset: shops}}
    - {from: {dataset: gifts, join_columns: [shop_id]}, to: {dataset: shops}}
    - {from: {dataset: sales, join_columns: [buyer_id]}, to: {dataset: buyers}}
    - {from: {dataset: gifts, join_columns: [buyer_id]}, to: {dataset: buyers}}
    - {from: {dataset: sales, join_columns: [seller_id]}, to: {dataset: sellers}}
    - {from: {dataset: buyers, join_columns: [country]}, to: {row_security: home}}
    - {from: {dataset: sellers, join_columns: [country]}, to: {row_security: home}}
row_security:
    - unique_name: home
      object_type: row_security
      label: Countries
      dataset: user_countries
      filter_key_column: country
      ids_column: user_id
      id_type: user
      scope: all
      use_filter_key: %s
tiers:
    sale: {access_view: access, object_keys: [project_id], carries: []}
datasets:
    names:
        query: {dimensions: {shop: shops.shop}}
        columns: [shop]
        unique_key: [shop]
        visible_to: everyone
    all_shops:
        base: shops
        columns: [shop_id, shop]
        unique_key: [shop_id]
        visible_to: everyone
"""


@pytest.mark.parametrize("form", ["true", "false"])
def test_S11_a_member_is_seen_through_one_of_several_facts(sandbox, form):
    sandbox.table(
        "sales",
        "shop_id bigint, buyer_id bigint, seller_id bigint, price bigint",
        # The second is half a sale of each user's.
        [(1, 1, 1, 0), (2, 1, 2, 0), (2, 2, 1, 0)],
    )
    sandbox.table("gifts", "shop_id bigint, buyer_id bigint", [(3, 1), (4, 2)])
    shops = [(1, "sold"), (2, "half"), (3, "given"), (4, "theirs"), (5, "empty")]
    sandbox.table("shops", "shop_id bigint, shop string", shops)
    for name in ("buyer", "seller"):
        schema = f"{name}_id bigint, country string"
        sandbox.table(f"{name}s", schema, [(1, "DE"), (2, "FR")])
    sandbox.table(
        "user_countries",
        "user_id bigint, country string",
        [(ALICE, "DE"), (BEN, "DE"), (BEN, "FR")],
    )
    expected = [(ALICE, "given"), (ALICE, "sold"), (BEN, "given"), (BEN, "half"),
                (BEN, "sold"), (BEN, "theirs")]  # fmt: skip
    macros = sandbox.macros(TWO_FACTS % form)
    config_ = macros.secure_datasets_config()
    for name in ("names", "all_shops"):
        view = sandbox.secure(TWO_FACTS % form, name)
        assert sandbox.rows(f"select user_id, shop from {view}") == expected
    found = []
    for user in (ALICE, BEN, CARL):
        predicate = macros.row_predicate("all_shops", config_, f"{user}", "f")
        query = f"select {user}, shop from policies_shops as f where {predicate}"
        found += sandbox.rows(query)
    assert sorted(found) == expected


def test_every_cell_of_the_matrix_is_there():
    numbers = {number for number, *_ in MATRIX}
    assert numbers == {f"S{number}" for number in range(10, 22)}
    cells = {tuple(case.values[1:3]) for case in CASES}
    assert cells == set(product(["related", "fact", "all"], [True, False]))


def gates_of(name: str) -> list[dict]:
    """Return the gates of a dataset of this name, which has each kind of rule."""
    sandbox = Sandbox()
    sandbox.table("all_runs", "run_id bigint, team_id bigint", [(1, 10), (2, 20)])
    sandbox.table("team_access", "team_id bigint, user_id bigint", [(10, ALICE)])
    sandbox.table("team_keys", "user_id bigint, team_id bigint", [(ALICE, 10)])
    schema = "user_id bigint, view_name string, outcome string"
    outcome = (ALICE, f"vw_secure_dataset_{name}", "Transform")
    sandbox.table("view_outcomes", schema, [outcome])
    sandbox.roles({ALICE: ["A"], BEN: []})
    macros = sandbox.macros(OF_EACH_KIND.replace("runs:", f"{name}:", 1) % name)
    users = f"select user_id, is_live from {view_name('stg_users')}"
    return sandbox.engine.ask(
        macros.gates_query(name, macros.secure_datasets_config(), users)
    )


OF_EACH_KIND = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    runs: {base: all_runs, columns: [run_id, team_id], unique_key: [run_id],
        tier: team, keys: {team_id: team_id}, view_authorization: true}
relations:
    all_runs: {kind: dimension, columns: {run_id: bigint, team_id: bigint}}
    team_keys: {kind: mapping, columns: {user_id: bigint, team_id: bigint}}
row_security:
    - {unique_name: teams, object_type: row_security, label: Teams, dataset: team_keys,
        filter_key_column: team_id, ids_column: user_id, id_type: user, scope: related}
relationships:
    - {from: {dataset: all_runs, join_columns: [team_id]}, to: {row_security: teams}}
policies:
    - {role: A, resource: %s, condition: run_id > 0}
"""


@pytest.mark.parametrize("name", ["held", "mapping", "outcomes"])
def test_a_gate_is_the_row_s_own_whatever_the_dataset_is_called(name):
    """A rule's relation of the same name would compare with itself."""
    expected = gates_of("runs")
    assert len({*map(str, expected)}) == 4
    assert sorted(gates_of(name), key=str) == sorted(expected, key=str)
