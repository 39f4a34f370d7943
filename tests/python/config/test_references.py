"""The config's keys are held against what the documentation says of each column."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable

import pytest
import yaml
from own_config import together
from rendering import Macros, Stopped

from secure_datasets.config.references import References

TEXT = yaml.safe_dump(together(), sort_keys=False)
DATA_SOURCE, PROJECT = "stg_meta_data_sources", "stg_projects"
EXECUTIONS = "vw_dataset_test_executions"


def check_references(macros: Macros, names: list[str]) -> None:
    """Check the keys of datasets as dbt does when it compiles them."""
    config, tables = macros.secure_datasets_config(), macros.repository_tables()
    datasets = macros.secure_datasets()
    datasets.check_references(names, config, macros.graph.nodes, tables)


@pytest.fixture(scope="module")
def documented(parsed) -> dict[str, dict[str, dict]]:
    """What the project's documentation says of each column, by model."""
    return {
        node.name: {
            name: dict(column.config.meta) for name, column in node.columns.items()
        }
        for node in parsed.nodes.values()
        if node.resource_type in ("model", "seed")
    }


def add_tests(macros: Macros, tested: tuple[tuple[str, ...], ...]) -> None:
    """Add data tests: of relationships with parent and field, else of uniqueness.

    Each of a model and its column.
    """
    for number, (model, column, *parent) in enumerate(tested):
        macros.graph.nodes[f"test.{number}"] = {
            "name": f"test_{number}",
            "resource_type": "test",
            "test_metadata": {
                "name": "relationships" if parent else "unique",
                "kwargs": {"field": parent[1]} if parent else {},
            },
            "column_name": column,
            "attached_node": model,
            "depends_on": {"nodes": [*parent[:1], model]},
        }


def first_of(error: Stopped) -> str:
    """Return the first mistake that dbt tells."""
    first, *listed = str(error).split("\n  - ")
    return listed[0] if listed else first.removeprefix("secure_datasets_config: ")


@pytest.fixture
def stopped(documented) -> Callable:
    """Edit the project's config, and what is documented; return what dbt says."""

    def call(
        dataset: str,
        edit: Callable[[dict], None] = lambda entry: None,
        said: Callable[[dict], None] = lambda documented: None,
        tested: tuple[tuple[str, ...], ...] = (),
    ) -> str | None:
        document = yaml.safe_load(TEXT)
        edit(document["datasets"][dataset])
        references = copy.deepcopy(documented)
        said(references)
        macros = Macros(
            yaml.safe_dump(document, sort_keys=False), references=references
        )
        add_tests(macros, tested)
        try:
            check_references(macros, [dataset])
        except Stopped as error:
            return first_of(error)
        return None

    return call


def test_the_project_s_own_datasets_are_as_documented(stopped):
    for dataset in yaml.safe_load(TEXT)["datasets"]:
        assert stopped(dataset) is None


def test_a_secure_dataset_is_compiled_only_as_documented(documented):
    references = copy.deepcopy(documented)
    references["vw_dataset_jobs"]["project_id"]["refers_to"] = DATA_SOURCE
    macros = Macros(TEXT, references=references)
    macros.secure_dataset("tables")
    with pytest.raises(Stopped, match="dataset 'jobs': 'keys' has 'project_id'"):
        macros.secure_dataset("jobs")


def test_the_sides_may_not_be_swapped(stopped):
    def swap(entry: dict) -> None:
        second = entry["second_side"]
        entry["keys"], second["keys"] = second["keys"], entry["keys"]
        second["unless_null"] = "test_data_source_id"

    assert stopped("test_executions", swap) == (
        "dataset 'test_executions': 'keys' has 'control_data_source_id', which by the"
        f" documentation of '{EXECUTIONS}' is optional: rows without it would be seen"
        " by nobody. It belongs into 'second_side'."
    )


@pytest.mark.parametrize(
    ("dataset", "column"),
    [
        ("test_executions", "control_data_source_id"),
        ("template_test_executions", "control_data_source_id"),
        ("star_test_executions", "control_data_source_id"),
    ],
)
def test_a_second_side_may_not_be_forgotten(stopped, dataset, column):
    assert stopped(dataset, lambda entry: entry.pop("second_side")) == (
        f"dataset '{dataset}': '{column}' refers to {DATA_SOURCE}, which a tier asks"
        " for a right on, and nothing checks it: it must be among the keys, of the"
        " second side too, or stand in 'unchecked' with the reason."
    )


def test_a_second_side_that_is_never_absent_may_not_be_left_out_for_null(stopped):
    said = stopped(
        "test_executions",
        said=lambda documented: documented[EXECUTIONS]["control_data_source_id"].pop(
            "is_optional"
        ),
    )
    assert said.startswith(
        "dataset 'test_executions': 'unless_null' names 'control_data_source_id',"
        f" which by the documentation of '{EXECUTIONS}' is not optional"
    )


def test_the_keys_of_two_objects_may_not_be_swapped(stopped):
    def swap(entry: dict) -> None:
        for side in (entry, entry["second_side"]):
            keys = side["keys"]
            project, source = keys["project_id"], keys["meta_data_source_id"]
            keys |= {"project_id": source, "meta_data_source_id": project}
        entry["second_side"]["unless_null"] = "control_data_source_id"

    assert stopped("test_executions", swap) == (
        "dataset 'test_executions': 'keys' has 'test_data_source_id' for 'project_id',"
        f" and by the documentation of '{EXECUTIONS}' it refers to {DATA_SOURCE}, not"
        f" to {PROJECT}."
    )


@pytest.mark.parametrize(
    ("dataset", "key", "column"),
    [
        ("tables", "meta_data_source_id", "schema_id"),
        ("columns", "meta_data_source_id", "table_id"),
        ("jobs", "project_id", "job_id"),
        ("job_executions", "project_id", "job_execution_id"),
    ],
)
def test_a_key_may_not_be_a_column_of_another_object(stopped, dataset, key, column):
    said = stopped(dataset, lambda entry: entry["keys"].update({key: column}))
    assert said.startswith(f"dataset '{dataset}': 'keys' has '{column}' for '{key}'")


def test_the_keys_of_two_cases_may_not_be_swapped(stopped):
    def swap(entry: dict) -> None:
        case = entry["switch"]["cases"]["Project"]
        case["keys"]["project_id"] = "data_source_id"
        del case["unchecked"]

    assert stopped("event_history", swap).startswith(
        "dataset 'event_history', case 'Project': 'keys' has 'data_source_id' for"
    )


@pytest.mark.parametrize("column", ["test_data_source_id", "control_data_source_id"])
def test_what_is_not_checked_must_be_listed(stopped, column):
    said = stopped("tests", lambda entry: entry["unchecked"].pop(column))
    assert f"'{column}' refers to {DATA_SOURCE}, which a tier asks for" in said


def test_what_is_not_checked_must_be_listed_in_each_case(stopped):
    def forget(entry: dict) -> None:
        del entry["switch"]["cases"]["Data Source"]["unchecked"]

    assert stopped("event_history", forget).startswith(
        "dataset 'event_history', case 'Data Source': 'project_id' refers to"
    )


def test_what_no_tier_is_about_may_not_be_listed(stopped):
    def list_it(entry: dict) -> None:
        entry["unchecked"] = {"batch_id": "No right."}

    assert stopped("job_executions", list_it) == (
        "dataset 'job_executions': 'unchecked' names 'batch_id', which refers to"
        " nothing: no tier asks for a right on that."
    )


def test_a_base_without_documentation_stops_its_dataset(stopped):
    said = stopped(
        "jobs", said=lambda documented: documented["vw_dataset_jobs"].clear()
    )
    assert said == (
        "dataset 'jobs': the documentation of 'vw_dataset_jobs' does not say what"
        " 'project_id', 'job_id' refer to: write at each such column `config: {meta:"
        " {refers_to: <the model with a row for each>}}`, such as stg_projects, or"
        " `config: {meta: {refers_to: nothing}}` where it is the id of nothing that a"
        " tier is about."
    )


@pytest.mark.parametrize("column", ["job_id", "batch_id"])
def test_a_column_with_an_id_must_say_what_it_refers_to(stopped, column):
    said = stopped(
        "job_executions",
        said=lambda documented: documented["vw_dataset_job_executions"][column].clear(),
    )
    assert f"does not say what '{column}' refers to" in said


def test_a_tier_must_say_what_its_keys_refer_to(stopped):
    view = "vw_secure_user_project_access"
    said = stopped("jobs", said=lambda documented: documented.pop(view))
    assert said.startswith(
        f"tier of '{view}': the documentation of '{view}' does not say what"
    )


def test_a_right_is_on_the_type_of_object_that_its_key_names(documented):
    document = yaml.safe_load(TEXT)
    tiers, name = document["tiers"], "vw_secure_user_report_access"
    tiers["reports"]["right"]["object_type"] = "Project"
    macros = Macros(yaml.safe_dump(document), references=documented)
    with pytest.raises(Stopped) as stopped:
        check_references(macros, ["jobs"])
    assert str(stopped.value) == (
        f"secure_datasets_config: tier of '{name}': 'right' is on a Project, and by the"
        f" documentation of '{name}' its key 'report_id' refers to stg_reports, not to"
        " stg_projects."
    )
    tiers["reports"]["right"]["object_type"] = "Report"
    tiers["results"]["right"]["key"] = "project_id"
    macros = Macros(yaml.safe_dump(document), references=documented)
    with pytest.raises(Stopped, match="'right' is on a Data Source"):
        check_references(macros, ["jobs"])


def test_what_a_column_refers_to_must_be_there(stopped):
    def misspell(documented: dict) -> None:
        columns = documented["vw_dataset_tests"]
        columns["control_data_source_id"]["refers_to"] = "stg_meta_data_source"

    assert stopped("tests", said=misspell) == (
        "dataset 'tests': the documentation of 'vw_dataset_tests' says that"
        " 'control_data_source_id' refers to 'stg_meta_data_source', and there is no"
        " such model or seed; near it is 'stg_meta_data_sources'."
    )


def test_a_column_of_another_name_that_refers_to_an_object_is_not_forgotten(stopped):
    def document(documented: dict) -> None:
        documented["vw_dataset_jobs"]["job_name"] = {"refers_to": DATA_SOURCE}

    assert "'job_name' refers to" in stopped("jobs", said=document)


def test_a_column_that_refers_to_a_dimension_of_an_object_is_not_forgotten(stopped):
    # A dimension has a row for each object, as its key says; so may one over it.
    def document(documented: dict) -> None:
        documented["vw_dataset_jobs"]["job_name"] = {"refers_to": "own_of_own"}
        documented["own_of_own"] = {"id": {"refers_to": "own_sources"}}
        documented["own_sources"] = {
            "data_source_id": {"refers_to": DATA_SOURCE},
            "twin_id": {"refers_to": PROJECT},
        }

    keys = (("own_sources", "data_source_id"), ("own_of_own", "id"))
    said = stopped("jobs", said=document, tested=keys)
    assert f"'job_name' refers to {DATA_SOURCE}, which a tier asks for" in said
    # What is not unique is no key, and of two nobody knows which it is.
    for tested in (keys[:1], keys[1:], (*keys, ("own_sources", "twin_id"))):
        assert stopped("jobs", said=document, tested=tested) is None


def test_a_data_test_of_relationships_says_what_a_column_refers_to(stopped):
    base = "vw_dataset_jobs"
    to_source = (base, "job_name", DATA_SOURCE, "meta_data_source_id")
    said = stopped("jobs", tested=(to_source,))
    assert f"'job_name' refers to {DATA_SOURCE}, which a tier asks for" in said

    def nothing(documented: dict) -> None:
        documented[base]["job_name"] = {"refers_to": "nothing"}

    assert stopped("jobs", said=nothing) is None
    assert stopped("jobs", said=nothing, tested=(to_source,)) == (
        "dataset 'jobs': 'job_name' refers to nothing by the documentation of"
        f" '{base}', and to {DATA_SOURCE} by its data test of relationships."
    )
    # A key, too.
    to_key = (base, "project_id", DATA_SOURCE, "meta_data_source_id")
    assert "by its data test of relationships" in stopped("jobs", tested=(to_key,))
    to_project = (base, "project_id", PROJECT, "project_id")
    assert stopped("jobs", tested=(to_project,)) is None


def test_a_relationships_test_agrees_with_what_is_documented(parsed, documented):
    for node in parsed.nodes.values():
        tested = getattr(node, "test_metadata", None)
        if tested is None or tested.name != "relationships":
            continue
        model = node.attached_node.split(".")[-1]
        said = documented[model][node.column_name].get("refers_to")
        to = re.search(r"ref\('(\w+)'\)", tested.kwargs["to"])[1]
        # A parent may also be the base dataset over it.
        if said and to.startswith("stg_"):
            assert said == to, f"{model}.{node.column_name}"


# ---------------------------------------------------------------------------
# Row security
# ---------------------------------------------------------------------------

MAP, FACT = "map_user_group_business_units", "fct_test_executions"
UNITS = "row_security 'business_units_of_groups'"
# An object on the bank's star whose map is documented.
SOURCES = {
    "unique_name": "sources_of_groups",
    "object_type": "row_security",
    "label": "Data sources of groups",
    "dataset": "map_group_sources",
    "filter_key_column": "data_source_id",
    "ids_column": "group_id",
    "id_type": "group",
    "scope": "fact",
}
SOURCES_SAID = {
    "data_source_id": {"refers_to": DATA_SOURCE},
    "group_id": {"refers_to": "stg_user_groups"},
}


@pytest.fixture
def secured(documented) -> Callable:
    """Add an object to the bank's star; return what dbt says, or None.

    `tested` are data tests of relationships: model, column, parent and its field.
    """

    def call(
        column: str = "data_source_id",
        said: dict | None = None,
        tested: tuple[tuple[str, str, str, str], ...] = (),
        security: dict | None = None,
    ) -> str | None:
        document = yaml.safe_load(TEXT)
        entry = SOURCES | (security or {})
        document["row_security"].append(entry)
        document["relationships"].append(
            {
                "from": {"dataset": FACT, "join_columns": [column]},
                "to": {"row_security": entry["unique_name"]},
            }
        )
        columns = {"group_id": "bigint", "data_source_id": "bigint"}
        mapping = {"kind": "mapping", "columns": columns}
        document["relations"]["map_group_sources"] = mapping
        # A model without a documented column is one that says nothing.
        references = copy.deepcopy(documented) | {
            "map_group_sources": {name: {} for name in columns}
            | (SOURCES_SAID if said is None else said)
        }
        text = yaml.safe_dump(document, sort_keys=False)
        macros = Macros(text, references=references)
        add_tests(macros, tested)
        try:
            check_references(macros, ["jobs"])
        except Stopped as error:
            return first_of(error)
        return None

    return call


def test_the_ids_of_row_security_are_those_of_its_id_type(secured):
    assert secured() is None
    for id_type in ("user", "username"):
        assert secured(security={"id_type": id_type}) == (
            "row_security 'sources_of_groups': its 'id_type' is user, and by the"
            " documentation of 'map_group_sources' its ids_column 'group_id' refers to"
            " stg_user_groups, not to stg_users."
        )
    users = SOURCES_SAID | {"group_id": {"refers_to": "stg_users"}}
    assert secured(said=users, security={"id_type": "user"}) is None
    assert secured(said=users).endswith("refers to stg_users, not to stg_user_groups.")
    nothing = SOURCES_SAID | {"group_id": {"refers_to": "nothing"}}
    assert secured(said=nothing).endswith("refers to nothing, not to stg_user_groups.")


def test_the_bank_s_groups_may_not_be_taken_for_users(documented):
    document = yaml.safe_load(TEXT)
    document["row_security"][0]["id_type"] = "user"
    macros = Macros(yaml.safe_dump(document), references=documented)
    with pytest.raises(Stopped) as stopped:
        macros.secure_dataset("executions_by_unit")
    assert str(stopped.value) == (
        f"secure_datasets_config: {UNITS}: its 'id_type' is user, and by the"
        f" documentation of '{MAP}' its ids_column 'user_group_id' refers to"
        " stg_user_groups, not to stg_users."
    )


def test_the_columns_of_a_map_may_not_be_swapped(secured):
    swapped = {"ids_column": "data_source_id", "filter_key_column": "group_id"}
    for column in ("data_source_id", "test_id"):
        assert secured(column, security=swapped) == (
            "row_security 'sources_of_groups': its 'id_type' is group, and by the"
            " documentation of 'map_group_sources' its ids_column 'data_source_id'"
            f" refers to {DATA_SOURCE}, not to stg_user_groups."
        )


def test_a_relationship_leads_to_keys_of_what_its_column_refers_to(secured):
    assert secured("control_data_source_id") is None
    assert secured("test_id") == (
        "row_security 'sources_of_groups': a relationship leads to it from"
        f" '{FACT}.test_id', which by its documentation refers to stg_tests, and its"
        f" filter_key_column 'data_source_id' refers to {DATA_SOURCE}."
    )
    nothing = SOURCES_SAID | {"data_source_id": {"refers_to": "nothing"}}
    assert secured(said=nothing).endswith("'data_source_id' refers to nothing.")


def test_what_a_map_s_columns_refer_to_must_be_there(secured):
    wrong = SOURCES_SAID | {"group_id": {"refers_to": "stg_groups"}}
    assert secured(said=wrong) == (
        "row_security 'sources_of_groups': the documentation of 'map_group_sources'"
        " says that 'group_id' refers to 'stg_groups', and there is no such model or"
        " seed; near it is 'stg_user_groups'."
    )


def test_of_a_map_without_documentation_nothing_is_known(secured):
    for column in ("data_source_id", "test_id"):
        assert secured(column, said={}) is None
    swapped = {"ids_column": "data_source_id", "filter_key_column": "group_id"}
    assert secured(said={}, security=swapped) is None


def test_a_relationships_test_says_what_a_map_s_column_refers_to(secured):
    key = ("map_group_sources", "data_source_id")
    ids = ("map_group_sources", "group_id")
    group = "stg_user_groups", "user_group_id"
    for parent in (
        (DATA_SOURCE, "meta_data_source_id"),
        # Its own column says what that refers to.
        ("dim_data_sources", "data_source_id"),
    ):
        tested = ((*key, *parent), (*ids, *group))
        assert secured(said={}, tested=tested) is None
        assert "from 'fct_test_executions.test_id'" in secured(
            "test_id", said={}, tested=tested
        )
        assert "not to stg_users" in secured(
            said={}, tested=tested, security={"id_type": "user"}
        )
        swapped = {"ids_column": "data_source_id", "filter_key_column": "group_id"}
        assert f"refers to {DATA_SOURCE}, not to stg_user_groups" in secured(
            said={}, tested=tested, security=swapped
        )


@pytest.mark.parametrize(
    "parent",
    [
        # A column that says nothing, and no key of the raw table.
        ("dim_data_sources", "data_source_name"),
        ("stg_tests", "test_name"),
        ("source.bank.groups", "id"),
    ],
)
def test_a_relationships_test_to_what_says_nothing_says_nothing(secured, parent):
    tested = (("map_group_sources", "data_source_id", *parent),)
    assert secured("test_id", said={}, tested=tested) is None


def test_all_mistakes_are_told_at_once_and_each_once(documented):
    document = yaml.safe_load(TEXT)
    document["datasets"]["jobs"]["keys"]["project_id"] = "job_id"
    references = copy.deepcopy(documented)
    references.pop("vw_secure_user_project_access")
    references["vw_dataset_tests"]["project_id"].clear()
    macros = Macros(yaml.safe_dump(document, sort_keys=False), references=references)
    datasets = list(document["datasets"])
    with pytest.raises(Stopped) as stopped:
        check_references(macros, datasets)
    said, *listed = str(stopped.value).split("\n  - ")
    assert said == f"secure_datasets_config: {len(listed)} things are wrong."
    assert len(set(listed)) == len(listed)
    for about in ("vw_secure_user_project_access", "'vw_dataset_tests' does not say"):
        # Each dataset of the tier would say it again.
        assert len([each for each in listed if about in each]) == 1, listed


@pytest.mark.parametrize(
    ("column", "line"),
    [("      - &a\n        name: job_id\n", 8), ("      - {name: job_id}\n", 7)],
)
def test_a_mistake_tells_the_file_and_the_line_of_the_column(tmp_path, column, line):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/m.yml").write_text(
        "models:\n  - name: other\n    columns:\n      - name: job_id\n"
        f"  - name: base\n    columns:\n{column}"
    )
    node = {"name": "base", "resource_type": "model", "columns": {}}
    node["patch_path"] = "root://models/m.yml"
    refers = References({"model.root.base": node}, {}, tmp_path)
    dataset = {"base": "base", "columns": ["job_id"], "keys": {}, "tier": "t"}
    tier = {"access_view": "v", "object_keys": []}
    found = refers.check({"tiers": {"t": tier}, "datasets": {"d": dataset}}, ["d"])
    assert len(found) == 1
    assert found[0].endswith(f"(models/m.yml, line {line})")
