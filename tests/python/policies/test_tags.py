"""M16: one mask for every column that the documentation gives a tag."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from policy_sandbox import Sandbox, config
from rendering import Stopped

from dbt_secure_spark.published_state import nodes_of
from secure_datasets.config import tags
from secure_datasets.config.errors import ConfigError
from secure_datasets.config.models import Models
from secure_datasets.macro_methods import ProjectDatasets, models_of

ANN, BEN = 1, 2
TAGS = {"all_runs": {"unit": ["pii"], "amount": ["pii", "money"]}}
MASKS = 'mask: {string: "\'***\'", default: "null"}'
BY_TAG = "except: [A], resource: {tag: pii}, " + MASKS
ROWS = [(1, 10, "X", "Passed", 5), (2, 10, "Y", "Failed", 6)]
BARE = {1: ("X", 5), 2: ("Y", 6)}
MASKED = {1: ("***", None), 2: ("***", None)}


@pytest.fixture
def sandbox():
    """Two runs of a team of two users, of whom the first holds the role A."""
    made = Sandbox()
    columns = "run_id bigint, team_id bigint, unit string, result string, amount bigint"
    made.table("all_runs", columns, ROWS)
    members = [(10, ANN), (10, BEN)]
    made.table("team_access", "team_id bigint, user_id bigint", members)
    made.roles({ANN: ["A"], BEN: []})
    return made


def seen(sandbox, *policies, tags=TAGS, **more):
    """Return what each user sees of the runs."""
    view = sandbox.secure(config(*policies, **more), "runs", tags=tags)
    found: dict = {}
    query = f"select user_id, run_id, unit, amount from {view}"
    for user, run, *values in sandbox.rows(query):
        found.setdefault(user, {})[run] = tuple(values)
    return found


def test_M16_one_line_masks_every_column_with_the_tag_by_its_type(sandbox):
    assert seen(sandbox, BY_TAG) == {ANN: BARE, BEN: MASKED}
    money = BY_TAG.replace("pii", "money")
    by_money = {1: ("X", None), 2: ("Y", None)}
    assert seen(sandbox, money) == {ANN: BARE, BEN: by_money}


def test_M16_a_column_that_gets_the_tag_later_is_masked_without_another_line(sandbox):
    one = {"all_runs": {"unit": ["pii"]}}
    assert seen(sandbox, BY_TAG, tags=one)[BEN] == {1: ("***", 5), 2: ("***", 6)}
    assert seen(sandbox, BY_TAG, tags=TAGS)[BEN] == MASKED


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ({"tags": ["a", "b"]}, {"a", "b"}),
        ({"tags": "a"}, {"a"}),
        ({"config": {"tags": ["a"], "meta": {"tags": ["b"]}}}, {"a", "b"}),
        ({"meta": {"tags": "a", "owner": "b"}}, {"a"}),
        ({"meta": {}, "config": None, "tags": None}, set()),
        ({"tags": [1, None]}, {"1"}),
    ],
)
def test_M16_each_place_where_dbt_has_tags_of_a_column_is_read(column, found):
    assert tags.of_column(column) == found


@pytest.mark.parametrize(
    ("key", "documented", "is_used"),
    [
        ("string", "STRING", True), ("string", "varchar(20)", True),
        ("string", "char(3)", True), ("varchar(20)", "varchar(20)", True),
        ("varchar(20)", "varchar(30)", False), ("string", "bigint", False),
        ("bigint", "long", True), ("int", "integer", True), ("int", "bigint", False),
        ("decimal", "decimal(9,4)", True), ("decimal(9, 4)", "decimal(9,4)", True),
        ("decimal(9,4)", "decimal(9,3)", False), ("array", "array<string>", True),
        ("struct", "struct<a: int>", True), ("map", "array<string>", False),
        ("timestamp", "timestamp_ntz", False), ("default", "variant", True),
    ],
)  # fmt: skip
def test_M16_a_mask_is_chosen_by_the_documented_type(key, documented, is_used):
    assert tags.mask_for({key: "null"}, documented) == (key if is_used else None)
    chosen = tags.mask_for({key: "null", "default": "0"}, documented)
    assert chosen == (key if is_used else "default")


def test_M16_masks_of_a_tag_are_masks_like_others(sandbox):
    # The highest order is put on, whether by tag or by name.
    higher = "role: B, resource: runs.unit, mask: \"'b'\", mask_order: 1"
    sandbox.roles({ANN: ["B"], BEN: []})
    assert seen(sandbox, BY_TAG, higher) == {
        ANN: {1: ("b", None), 2: ("b", None)},
        BEN: MASKED,
    }
    # By a condition, and for whom a line shows it.
    where = "condition: run_id = 1, " + BY_TAG
    assert seen(sandbox, where)[BEN] == MASKED | {2: BARE[2]}
    lines = "shown_to: [{role: B, where: run_id = 2}], resource: {tag: pii}, " + MASKS
    assert seen(sandbox, lines)[ANN] == MASKED | {2: BARE[2]}


def test_M16_what_stands_over_a_masked_dataset_is_masked(sandbox):
    more = (
        "notes: {base: vw_secure_dataset_runs, columns: [run_id, unit],"
        " unique_key: [run_id]}"
    )
    sandbox.secure(config(BY_TAG, more=more), "runs", tags=TAGS)
    view = sandbox.secure(config(BY_TAG, more=more), "notes", tags=TAGS)
    shown = sandbox.rows(f"select unit from {view} where user_id = {BEN}")
    assert shown == [("***",), ("***",)]
    # A dataset's own documentation counts as its base's does.
    own = {"vw_secure_dataset_notes": {"unit": ["pii"]}}
    view = sandbox.secure(config(BY_TAG, more=more), "notes", tags=own)
    shown = sandbox.rows(f"select unit from {view} where user_id = {BEN}")
    assert shown == [("***",), ("***",)]


STAR = """
relations:
    all_runs: {kind: fact, columns: {run_id: bigint, unit: string, amount: bigint}}
"""
QUERY = (
    "by_unit: {query: {dimensions: {result: all_runs.result}, measures: {said:"
    " MEASURE}}, columns: [result, said], unique_key: [result], visible_to: everyone}"
)


def star(measure, *policies):
    """Return a config with a query, which everybody sees."""
    more = QUERY.replace("MEASURE", f'"{measure}"')
    everybody = 'role: "*", resource: by_unit'
    relations = STAR.replace("unit: string", "unit: string, result: string")
    return config(everybody, BY_TAG, *policies, more=more) + relations


@pytest.mark.parametrize(
    "measure", ["max(unit)", "sum(all_runs.amount)", "max(concat(unit, 'x'))"]
)
def test_M16_a_measure_of_a_tagged_column_needs_a_mask_of_its_own(sandbox, measure):
    with pytest.raises(Stopped, match=r"put a mask on 'by_unit\.said' too"):
        sandbox.macros(star(measure), tags=TAGS).secure_datasets_config()
    for own in ("except: [A]", 'shown_to: [{role: "*"}]'):
        text = star(measure, f'{own}, resource: by_unit.said, mask: "null"')
        sandbox.macros(text, tags=TAGS).secure_datasets_config()


def test_M16_a_count_shows_no_value(sandbox):
    text = star("count(distinct unit)")
    sandbox.macros(text, tags=TAGS).secure_datasets_config()


def test_M16_a_dimension_with_the_tag_is_a_key_and_an_error(sandbox):
    tagged = TAGS | {"all_runs": TAGS["all_runs"] | {"result": ["pii"]}}
    with pytest.raises(Stopped, match="'result' of the dataset 'by_unit' has the tag"):
        sandbox.macros(star("count(*)"), tags=tagged).secure_datasets_config()


def test_M16_a_tag_of_a_relation_that_no_dataset_shows_may_have_a_mask(sandbox):
    tagged = {"all_people": {"name": ["pii"]}}
    relation = "    all_people: {kind: dimension, columns: {name: string}}\n"
    text = star("count(*)") + relation
    sandbox.macros(text, tags=tagged).secure_datasets_config()


@pytest.mark.parametrize(
    ("policies", "problem"),
    [
        ([BY_TAG.replace("pii", "pi")],
         "policy 1, all but 'A' on the tag 'pi': no column has the tag 'pi'; known are"
         " money, pii; near it is 'pii': write `config: {tags: [pi]}` at a column"),
        ([BY_TAG, "role: B, resource: runs.unit, mask: \"'b'\""],
         "policy 2, role 'B' on 'runs.unit': the column has a mask with the"
         " 'mask_order' 0 already"),
        (["role: B, resource: runs.unit, mask: \"'b'\"", BY_TAG],
         "policy 2, all but 'A' on the tag 'pii': of 'runs.unit': the column has a mask"
         " with the 'mask_order' 0 already"),
        ([BY_TAG, BY_TAG.replace("pii", "money")],
         "policy 2, all but 'A' on the tag 'money': of 'runs.amount': the column has"),
        ([BY_TAG.replace(", default: \"null\"", "")],
         "'mask' has none for 'runs.amount', which is a bigint: add 'default: \"null"),
        ([BY_TAG.replace("string", "strnig")], "'mask' has a value for 'strnig', "),
        ([BY_TAG.replace("\"'***'\"", "\"'***\"")], "on the tag 'pii': 'mask'"),
        ([BY_TAG.replace("string:", "date: \"'abc'\", string:")],
         "on the tag 'pii': 'mask' is a constant"),
        ([BY_TAG.replace("string:", "text: \"'b'\", string:")],
         "on the tag 'pii': 'mask' has two values for 'string'"),
        ([BY_TAG.replace('"null"', "null")], "as a text: null between quotes"),
        ([BY_TAG.replace("string:", "boolean: yes, string:")],
         "'boolean' is yes, which YAML reads as true: quote it"),
        ([BY_TAG.replace("{tag: pii}", "{tags: pii}")],
         "'resource' must be a text, or the tag of columns: {tag: pii}"),
        ([BY_TAG.replace("{tag: pii}", "runs.unit")],
         "'mask' has values by type, which belong to a tag: the resource must be"),
        (["role: A, resource: {tag: pii}"], "the tag 'pii': the key 'mask' is missing"),
        (["resource: {tag: pii}, " + MASKS], "policy 1: the key 'role' is missing"),
        ([BY_TAG + ", as: restrictive"],
         "of 'runs.unit': 'as' belongs to a condition on a dataset, not to a mask"),
        ([BY_TAG + ", condition: secret = 1"], "of 'runs.unit': 'condition' names"),
        ([BY_TAG, "role: A, resource: runs, condition: nobody = 1"],
         "policy 2, role 'A' on 'runs': 'condition' names 'nobody'"),
    ],
)  # fmt: skip
def test_M16_a_line_about_a_tag_that_is_wrong_stops(sandbox, policies, problem):
    with pytest.raises(Stopped, match=re.escape(problem)):
        sandbox.macros(config(*policies), tags=TAGS).secure_datasets_config()


def test_M16_a_tagged_key_is_an_error_that_names_the_dataset(sandbox):
    tagged = {"all_runs": {"run_id": ["pii"]}}
    with pytest.raises(
        Stopped, match="column 'run_id' of the dataset 'runs' has the tag"
    ):
        sandbox.macros(config(BY_TAG), tags=tagged).secure_datasets_config()


def test_M16_a_tag_that_jinja_makes_is_an_error(sandbox):
    tagged = TAGS | {"vw_secure_dataset_runs": {"amount": ["{{ var('tag') }}"]}}
    with pytest.raises(
        Stopped, match=r"has the tag '\{\{ var\('tag'\) \}\}', which Jinja"
    ):
        sandbox.macros(config(BY_TAG), tags=tagged).secure_datasets_config()


def test_M16_a_column_without_a_documented_type_is_an_error_where_types_decide(sandbox):
    sandbox.types["all_runs"] = dict.fromkeys(sandbox.types["all_runs"])
    with pytest.raises(
        Stopped, match=r"documentation of 'runs\.unit' says no data_type"
    ):
        sandbox.macros(config(BY_TAG), tags=TAGS).secure_datasets_config()


def file(kind, stem, dfy=None, project="bank"):
    """Return a file as dbt's manifest has it."""
    return SimpleNamespace(
        parse_file_type=SimpleNamespace(value=kind),
        path=SimpleNamespace(relative_path=f"models/{stem}"),
        dfy=dfy,
        project_name=project,
    )


def manifest(*tags):
    """Return a manifest whose files document a model with these tags of a column."""
    column = {"name": "unit", "data_type": "string", "config": {"tags": list(tags)}}
    documented = {"models": [{"name": "all_runs", "columns": [column]}]}
    files = {
        "one": file("model", "all_runs.sql"),
        "two": file("schema", "_models.yml", documented),
    }
    return SimpleNamespace(files=files, nodes={}, macros={}, disabled={}, metadata=None)


def test_M16_tags_are_read_from_the_files_that_dbt_has_read():
    models = models_of(manifest("pii"))
    assert models.tags_of("all_runs", "unit") == {"pii"}
    assert models.tags_of("all_runs", "run_id") == models.tags_of("x", "y") == set()
    assert models.of("all_runs") == {"unit": "string"}


def test_M16_a_unit_test_has_the_tags_of_the_project():
    # Its own manifest has its inputs alone, without files.
    bare = SimpleNamespace(manifest=SimpleNamespace(files={}, nodes={}))
    document = config(
        BY_TAG.replace(", resource", ", mask_order: 3, resource")
    ).replace("run_id, team_id, unit, result, amount", "run_id, team_id, unit")
    document = document.replace("[run_id, team_id, unit]", "[unit]").replace(
        "unique_key: [run_id], tier: team, keys: {team_id: team_id}",
        "unique_key: [unit], visible_to: everyone",
    )
    datasets = ProjectDatasets(manifest("pii"))
    with pytest.raises(ConfigError, match="'unit' of the dataset 'runs' has the tag"):
        datasets.read(document, {"ref": bare, "project_name": "secure_datasets"})


def bare_of(document, tagged):
    """Return what is found bare in a checked config."""
    said = {
        m: {c: frozenset(t) for c, t in found.items()} for m, found in tagged.items()
    }
    return tags.bare(document, Models(tags=said), [], "now()")


def bare(sandbox, *policies, tags=TAGS, but=(), **more):
    """Return the tagged columns on which no mask is."""
    macros = sandbox.macros(config(*policies), tags=tags, **more)
    document = macros.secure_datasets_config()
    query = macros.secure_datasets().bare_tags(macros.rules(document), list(but))
    return [row[:2] for row in sandbox.rows(query)]


def test_M16_a_tagged_column_that_no_mask_covers_is_a_finding(sandbox):
    both = [("runs.amount", "money, pii"), ("runs.unit", "pii")]
    assert bare(sandbox) == both
    assert bare(sandbox, BY_TAG) == []
    assert bare(sandbox, BY_TAG.replace("pii", "money")) == both[1:]
    by_name = "role: A, resource: runs.unit, mask: \"'b'\""
    assert bare(sandbox, by_name) == both[:1]
    assert bare(sandbox, but=["pii"]) == [("runs.amount", "money")]
    assert bare(sandbox, but=["pii", "money"]) == []
    ends = BY_TAG + ", valid_until: 2026-05-01"
    assert bare(sandbox, ends, clock="2026-05-01 23:59:59") == []
    assert bare(sandbox, ends, clock="2026-05-02 00:00:00") == both


def test_M16_a_mask_of_the_dataset_below_covers_a_tagged_column(sandbox):
    more = (
        "notes: {base: vw_secure_dataset_runs, columns: [run_id, unit],"
        " unique_key: [run_id]}"
    )
    tagged = {"vw_secure_dataset_runs": {"unit": ["pii"]}}
    for policy, found in {
        "role: A, resource: runs.unit, mask: \"'b'\"": [],
        "role: A, resource: notes.unit, mask: \"'b'\"": [("runs.unit", "pii")],
    }.items():
        macros = sandbox.macros(config(policy, more=more), tags=tagged)
        document = macros.secure_datasets_config()
        query = macros.secure_datasets().bare_tags(macros.rules(document), [])
        assert [row[:2] for row in sandbox.rows(query)] == found


def test_M16_a_tag_on_a_view_of_somebody_s_is_no_rule_on_the_view(sandbox):
    runs = (
        "runs: {base: all_runs, columns: [run_id, team_id, unit], unique_key: [run_id],"
        " tier: team, keys: {team_id: team_id}, view_authorization: true}"
    )
    more = (
        "notes: {base: vw_secure_dataset_runs, columns: [run_id, unit],"
        " unique_key: [run_id], view_authorization: true}"
    )
    tagged = {
        "vw_secure_dataset_notes": {"unit": ["pii"]},
        "vw_secure_dataset_runs": {"team_id": ["pii"]},
    }
    text = config(BY_TAG, dataset=runs, more=more)
    document = sandbox.macros(text, tags=tagged).secure_datasets_config()
    resources = [policy["resource"] for policy in document["policies"]]
    # The tag of the base's documentation alone, at the end of the chain.
    assert resources == ["runs.team_id"]
    assert [bare["resource"] for bare in bare_of(document, tagged)] == ["notes.unit"]


def test_M16_a_mask_below_covers_and_a_measure_without_one_is_a_finding(sandbox):
    text = star("max(unit)", 'except: [A], resource: by_unit.said, mask: "null"')
    for policies, found in {
        text: [],
        text.replace("max(unit)", "count(unit)"): [],
        text.replace(
            "except: [A], resource: {tag: pii}", "except: [A], resource: {tag: x}"
        ).replace("by_unit.said", "runs.amount"): [
            ("by_unit.said", "pii"),
            ("runs.unit", "pii"),
        ],
    }.items():
        tags = TAGS | {"vw_secure_dataset_runs": {"result": ["x"]}}
        macros = sandbox.macros(policies, tags=tags)
        document = macros.secure_datasets_config()
        query = macros.secure_datasets().bare_tags(macros.rules(document), [])
        assert [
            row[:2] for row in sandbox.rows(query) if row[0] != "runs.result"
        ] == found


def test_M16_the_published_state_keeps_the_tags_for_questions_about_edited_configs():
    column = {"name": "unit", "tags": ["pii"], "config": {"meta": {"tags": ["x"]}}}
    node = {"resource_type": "model", "columns": {"unit": column}}
    kept = nodes_of({"nodes": {"model.bank.all_runs": node}, "sources": {}})
    (found,) = kept["nodes"]["model.bank.all_runs"]["columns"].values()
    assert tags.of_column(found) == {"pii", "x"}
