"""S23: files of the Semantic Modeling Language are read as they stand.

The two examples of the standard's page on row security, over the sample's star: only
the names of datasets and columns are other ones.
"""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml
from own_config import together
from rendering import Macros, Stopped

from secure_datasets.config.errors import ConfigError
from secure_datasets.engines.duckdb import DuckDB, Rows
from secure_datasets.macro_methods import SecureDatasets

OBJECT = """\
unique_name: Country Security Filter
label: Country Security Filter
object_type: row_security
dataset: map_user_group_business_units
filter_key_column: business_unit
use_filter_key: true
ids_column: user_group_id
id_type: groupname
scope: related
secure_totals: true
"""
# As it stands on the page, indented as a part of a dimension's file.
LINK = """\
  - unique_name: GeographyDimension_CustomerDimSecurity
    from:
      hierarchy: Geography City
      level: CountryCity
      dataset: dim_data_sources
      join_columns:
        - business_unit
    to:
      row_security: Country Security Filter
    type: embedded
"""
DIMENSION = """\
unique_name: Geography Dimension
object_type: dimension
label: Geography
hierarchies:
  - unique_name: Geography City
    label: City
    levels:
      - unique_name: CountryCity
level_attributes:
  - unique_name: CountryCity
    label: Country
    dataset: dim_data_sources
    name_column: business_unit
    key_columns: [business_unit]
relationships:
"""
UNITS = {
    "query": {"dimensions": {"business_unit": "dim_data_sources.business_unit"}},
    "columns": ["business_unit"],
    "unique_key": ["business_unit"],
    "visible_to": "everyone",
}
FILES = {"object.yml": OBJECT, "link.yml": LINK}
ALICE, BEN = 1, 2


def document(**parts) -> str:
    """Return the sample's config without its own row security, and a query more."""
    config = together()
    config["row_security"] = []
    config["relationships"] = [
        link for link in config["relationships"] if "dataset" in link["to"]
    ]
    config["datasets"] = config["datasets"] | {"units": UNITS}
    config["sml"] = ["models/security/*.yml"]
    return yaml.safe_dump(config | parts, sort_keys=False)


@pytest.fixture
def project(tmp_path):
    """Return a function that puts files into a project's folder."""

    def call(files: dict[str, str]):
        for name, text in files.items():
            path = tmp_path / "models/security" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return call


def units(root, text: str | None = None) -> str:
    """Render the business units that a user sees."""
    macros = Macros(text or document(), ref="lake.{}".format, types={}, root=root)
    return macros.secure_dataset("units")


def refusal(root, text: str | None = None, added: str | None = None) -> str:
    """Return the sentence that stops dbt."""
    macro = None if added is None else lambda: added
    with pytest.raises(ConfigError) as stopped:
        SecureDatasets(root=root).read(text or document(), None, macro)
    return stopped.value.msg.strip()


def seen(sql: str) -> set[tuple[int, str]]:
    """Return which user sees which unit: Alice by her group, Ben by none."""
    engine = DuckDB(
        {
            "lake.dim_data_sources": Rows(
                {"data_source_id": "bigint", "business_unit": "string"},
                [(1, "Retail"), (2, "Finance"), (3, None)],
            ),
            "lake.map_user_group_business_units": Rows(
                {"user_group_id": "bigint", "business_unit": "string"},
                [(10, "Retail"), (10, "Retail"), (10, None), (11, "Finance")],
            ),
            "lake.vw_secure_user_roles": Rows(
                {"user_id": "bigint", "user_group_id": "bigint"},
                [(ALICE, 10), (BEN, 12)],
            ),
        }
    )
    return {(row["user_id"], row["business_unit"]) for row in engine.ask(sql)}


@pytest.mark.parametrize(
    "link",
    [LINK, "relationships:\n" + LINK, DIMENSION + LINK],
    ids=["a list", "relationships alone", "a dimension"],
)
def test_S23_the_page_s_examples_restrict_as_their_short_form_does(project, link):
    root = project({"object.yml": OBJECT, "link.yml": link})
    rendered = units(root)
    assert seen(rendered) == {(ALICE, "Retail")}
    short = {
        "from": {"dataset": "dim_data_sources", "join_columns": ["business_unit"]},
        "to": {"row_security": "Country Security Filter"},
    }
    own = yaml.safe_load(document())
    text = document(
        sml=[],
        row_security=[yaml.safe_load(OBJECT)],
        relationships=[*own["relationships"], short],
    )
    assert units(root, text) == rendered


def test_S23_the_full_form_is_read_in_the_config_too(project):
    root, own = project(FILES), yaml.safe_load(document())
    text = document(
        sml=["models/security/object.yml"],
        relationships=[*own["relationships"], *yaml.safe_load(LINK)],
    )
    assert units(root, text) == units(root)


def test_S23_a_root_project_names_files_beside_its_own_entries(project):
    text = document(sml=[])
    second = OBJECT.replace("Country", "Town")
    files = FILES | {"later.yml": second}
    added = textwrap.dedent(
        """
        sml: [models/security/object.yml, models/*/l*.yml]
        datasets: {event_history: false}
        relationships:
            - from: {dataset: dim_data_sources, join_columns: [business_unit]}
              to: {row_security: Town Security Filter}
        """
    )
    datasets = SecureDatasets(root=project(files))
    config = datasets.read(text, None, lambda: added)
    names = [security["unique_name"] for security in config["row_security"]]
    assert names == ["Country Security Filter", "Town Security Filter"]
    assert config["switched_off"] == ["event_history"]
    ends = [link["to"].get("row_security") for link in config["relationships"]]
    assert ends[-2:] == ["Town Security Filter", "Country Security Filter"]


def test_S23_a_changed_file_is_read_anew_and_changes_what_dbt_compares(project):
    root = project(FILES)
    first = SecureDatasets(root=root).read(document())
    project({"object.yml": OBJECT.replace("scope: related", "scope: all")})
    second = SecureDatasets(root=root).read(document())
    assert second["row_security"][0]["scope"] == "all"
    assert first["sml_state"] != second["sml_state"]
    assert "sml_state" not in SecureDatasets(root=root).read(
        document(sml=[], row_security=[])
    )


@pytest.mark.parametrize("name", ["${v}", "$${v}"])
def test_S3_a_name_that_spark_would_replace_stands_in_no_query(project, name):
    files = {
        file: text.replace("Country Security Filter", f'"{name}"')
        for file, text in FILES.items()
    }
    sql = units(project(files))
    assert "${" not in sql
    assert seen(sql) == {(ALICE, "Retail")}


class Parsed:
    """What dbt keeps of a model that it parsed when the files were other ones."""

    def __call__(self, **settings: Any) -> str:
        return ""

    def get(self, name: str) -> str:
        return f"another {name}"


def test_S23_what_dbt_parsed_with_other_files_is_not_compiled(project):
    root = project(FILES)
    macros = Macros(document(), types={}, root=root)
    macros.stand_in(config=Parsed())
    with pytest.raises(Stopped, match="dataset 'units': files that 'sml' names have"):
        macros.secure_dataset("units")
    # A unit test is parsed when it runs.
    macros = Macros(document(), types={}, root=root)
    macros.stand_in(config=Parsed(), this=None)
    assert "map_user_group_business_units" in macros.secure_dataset("units")


LEVELS = {
    "levels": {
        "Source": ["data_source_id", "data_source_name"],
        "CountryCity": ["business_unit"],
        "Division": ["division"],
    },
    "hierarchy": "Geography City",
}


def with_sources(**keys) -> str:
    """Return the document with other keys of the dimension of data sources."""
    config = yaml.safe_load(document())
    config["relations"]["dim_data_sources"] |= keys
    return yaml.safe_dump(config, sort_keys=False)


def test_S23_named_levels_are_those_of_the_list(project):
    root = project(FILES)
    assert units(root, with_sources(**LEVELS)) == units(root)
    # Which column is above another is known by the names as by the list.
    for scope, totals in (("all", False), ("fact", False), ("fact", True)):
        text = OBJECT.replace("related", scope)
        text = text.replace("totals: true", f"totals: {str(totals).lower()}")
        project({"object.yml": text})
        for name in ("executions_by_unit", "executions_in_total", "units"):
            one, other = (
                Macros(each, types={}, root=root).secure_dataset(name)
                for each in (document(), with_sources(**LEVELS))
            )
            assert one == other


@pytest.mark.parametrize(
    ("keys", "old", "new", "problem", "line"),
    [
        ({}, "CountryCity", "division",
         "'level' is 'division', and 'business_unit' of 'join_columns' is of another"
         " level of 'dim_data_sources'", 4),
        ({}, "CountryCity", "data_source_name",
         "'level' is 'data_source_name', and 'business_unit' of 'join_columns' is of"
         " another level of 'dim_data_sources'", 4),
        ({"levels": []}, "CountryCity", "division",
         "'level' is 'division', and 'business_unit' of 'join_columns' is of another"
         " level of 'dim_data_sources'", 4),
        ({"levels": [["division"]]}, "x", "x",
         "'level' is 'CountryCity', and 'business_unit' of 'join_columns' stands in"
         " none of the 'levels' of 'dim_data_sources'", 4),
        (LEVELS, "CountryCity", "Division",
         "'level' is 'Division', and 'business_unit' of 'join_columns' is of another"
         " level of 'dim_data_sources'", 4),
        (LEVELS, "CountryCity", "Country",
         "'level' is 'Country', which is no level of 'dim_data_sources'; known are"
         " Source, CountryCity, Division; near it is 'CountryCity'", 4),
        (LEVELS, "Geography City", "Geography",
         "'hierarchy' is 'Geography', and the levels of 'dim_data_sources' are those of"
         " 'Geography City'", 3),
    ],
)  # fmt: skip
def test_S23_another_hierarchy_or_level_is_an_error(
    project, keys, old, new, problem, line
):
    root = project(FILES | {"link.yml": LINK.replace(old, new)})
    assert refusal(root, with_sources(**keys)) == (
        f"secure_datasets_config: relationship 1, from: {problem} (line {line} of"
        " models/security/link.yml)."
    )


@pytest.mark.parametrize("level", ["business_unit", "CountryCity", "Any Name"])
def test_S23_a_level_is_called_by_its_column_or_by_a_name_of_the_file(project, level):
    root = project(FILES | {"link.yml": LINK.replace("CountryCity", level)})
    assert seen(units(root)) == {(ALICE, "Retail")}
    assert seen(units(root, with_sources(levels=[]))) == {(ALICE, "Retail")}


def test_S23_one_name_is_one_level_of_a_hierarchy(project):
    other = LINK.replace("Customer", "Other").replace("business_unit", "division")
    one = refusal(project(FILES | {"other.yml": other}))
    assert one == (
        "secure_datasets_config: relationship 1, from: 'level' is 'CountryCity', and"
        " another relationship calls another level of 'dim_data_sources' 'CountryCity'"
        " (line 4 of models/security/other.yml)."
    )
    other = LINK.replace("Customer", "Other").replace("CountryCity", "Country")
    two = refusal(project(FILES | {"other.yml": other}))
    assert "calls the same level of 'dim_data_sources' 'CountryCity'" in two
    # In another hierarchy a level may be called as it likes.
    other = other.replace("Geography City", "Geography")
    SecureDatasets(root=project(FILES | {"other.yml": other})).read(document())


@pytest.mark.parametrize(
    ("level", "fits"), [("business_unit", True), ("division", False)]
)
def test_S23_the_lowest_of_several_columns_is_the_level_that_is_joined(
    project, level, fits
):
    config = yaml.safe_load(document())
    columns = ["division", "business_unit"]
    config["relations"]["dim_units"] = {
        "kind": "dimension",
        "columns": dict.fromkeys(columns, "string"),
    }
    near = {"dataset": "dim_data_sources", "join_columns": columns, "level": level}
    config["relationships"].append({"from": near, "to": {"dataset": "dim_units"}})
    root, text = project(FILES), yaml.safe_dump(config, sort_keys=False)
    if fits:
        assert SecureDatasets(root=root).read(text)["relationships"][-2]["from"] == near
    else:
        assert (
            "'level' is 'division', and 'division, business_unit' of 'join_columns' is"
            " of another level of 'dim_data_sources'"
        ) in refusal(root, text)


def listed(refused: str) -> list[str]:
    """Return the mistakes that a sentence tells."""
    several = refused.split("\n  - ")
    return several[1:] or [refused.removeprefix("secure_datasets_config: ")]


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        ("object.yml", "label:", "labels:",
         "row_security 1: unknown key 'labels'; known are unique_name, object_type,"
         " label, dataset, filter_key_column, ids_column, id_type, scope, description,"
         " use_filter_key, secure_totals; near it is 'label' (line 2 of"),
        ("object.yml", "label: Country Security Filter\n", "",
         "row_security 1: the key 'label' is missing (line 1 of"),
        ("object.yml", "scope: related", "scope: everything",
         "row_security 1: 'scope' must be related or fact or all, not 'everything'"
         " (line 9 of"),
        ("object.yml", "object_type: row_security", "object_type: metric",
         "the SML file: must have either 'object_type: row_security' or a list of"
         " 'relationships' (line 3 of"),
        ("object.yml", "object_type: row_security\n", "",
         "the SML file: must have either 'object_type: row_security' or a list of"
         " 'relationships' (line 1 of"),
        ("object.yml", "label:", "scope: fact\nlabel:",
         "the SML file: the key 'scope' is there twice (line 10 of"),
        ("object.yml", "label:", "label: [",
         "the SML file: is not a YAML mapping; it does not parse"),
        ("object.yml", OBJECT, "Country Security Filter\n",
         "the SML file: is not a YAML mapping; it does not parse"),
        ("object.yml", "dataset: map_user", "dataset: mapp_user",
         "row_security 1: unknown dataset 'mapp_user_group_business_units'"),
        ("link.yml", "type: embedded", "type: snowflake",
         "relationship 1: 'type' must be embedded, not 'snowflake' (line 10 of"),
        ("link.yml", LINK, DIMENSION + LINK.replace("embedded", "snowflake"),
         "relationship 1: 'type' must be embedded, not 'snowflake' (line 25 of"),
        ("link.yml", "type: embedded", "typ: embedded",
         "relationship 1: unknown key 'typ'; known are from, to, unique_name, type;"
         " near it is 'type' (line 10 of"),
        ("link.yml", "level:", "levels:",
         "relationship 1, from: unknown key 'levels'; known are dataset, join_columns,"
         " hierarchy, level; near it is 'level' (line 4 of"),
        ("link.yml", "hierarchy: Geography City", "hierarchy: 7",
         "relationship 1, from: 'hierarchy' must be a text: quote it (line 3 of"),
        ("link.yml", "row_security: Country", "row_security: City",
         "relationship 1, to: unknown row_security 'City Security Filter'; known are"),
        ("link.yml", "row_security: Country Security Filter", "dimension: Geography",
         "relationship 1, to: leads to the dimension 'Geography': write under"
         " 'relationships' of the config how the relations of the star join, and leave"
         " here what leads to a 'row_security' (line 8 of"),
        ("link.yml", LINK, "relationships: {}\n",
         "the SML file: 'relationships' must be a list of entries (line 1 of"),
        ("link.yml", LINK, "[]\n",
         "the SML file: 'relationships' must be a list of entries (line 1 of"),
        ("link.yml", LINK, "label: Geography\nrelationships:\n" + LINK,
         "the SML file: unknown key 'label'; known are relationships (line 1 of"),
        ("link.yml", LINK, DIMENSION.replace("hierarchies", "hierarchy") + LINK,
         "the SML file: unknown key 'hierarchy'; known are object_type, unique_name,"
         " label, description, type, is_degenerate, hierarchies, level_attributes,"
         " calculation_groups, relationships; near it is 'hierarchies'"),
        ("link.yml", LINK, LINK + LINK,
         "relationship 2: the unique_name 'GeographyDimension_CustomerDimSecurity' is"
         " there already (line 11 of"),
    ],
)  # fmt: skip
def test_S23_a_mistake_in_a_file_is_one_sentence_with_file_and_line(
    project, name, old, new, sentence
):
    text = FILES[name]
    assert text.replace(old, new) != text
    found = refusal(project(FILES | {name: text.replace(old, new)}))
    (said,) = (each for each in listed(found) if each.startswith(sentence))
    assert said.endswith(f" of models/security/{name}).") or "parse" in sentence
    assert f"models/security/{name}" in said


def test_S23_an_object_in_a_file_without_a_relationship_is_an_error(project):
    assert refusal(project({"object.yml": OBJECT})) == (
        "secure_datasets_config: row_security 1: no relationship leads to 'Country"
        " Security Filter', so that it would restrict nothing (line 1 of"
        " models/security/object.yml)."
    )


@pytest.mark.parametrize(
    ("patterns", "sentence"),
    [
        (["models/security/*.yaml"],
         "the config: 'sml' names 'models/security/*.yaml', and the root project has no"
         " such file"),
        (["models/security"],
         "the config: 'sml' names 'models/security', and the root project has no such"),
        (["../*.yml"],
         "the config: 'sml' names '../*.yml', which must name files below the root"),
        (["/etc/*.yml"],
         "the config: 'sml' names '/etc/*.yml', which must name files below the root"),
        (["models/**x"], "the config: 'sml' names 'models/**x', which is no pattern"),
        (["models/security/*.bin"],
         "the config: 'sml' names 'models/security/*.bin', and x.bin can't be read"),
        ("models/security/*.yml", "the config: 'sml' must be a list of files"),
        ([7], "the config: 'sml' must be a text: quote it"),
    ],
)  # fmt: skip
def test_S23_a_pattern_that_names_no_file_is_an_error_with_its_line(
    project, patterns, sentence
):
    root = project(FILES)
    (root / "models/security/x.bin").write_bytes(b"\xff\xfe")
    text = document(sml=patterns)
    found = refusal(root, text)
    assert found.startswith(f"secure_datasets_config: {sentence}")
    line = text[: text.index("\nsml:")].count("\n") + 2
    assert f"(line {line}" in found or f"(line {line + 1}" in found


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"row_security": {}}, "the config: 'row_security' must be a list of entries"),
        ({"relationships": 7}, "the config: 'relationships' must be a list of entries"),
    ],
)
def test_S23_a_file_does_not_hide_a_mistake_in_the_config(project, parts, sentence):
    assert refusal(project(FILES), document(**parts)).startswith(
        f"secure_datasets_config: {sentence}"
    )


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ({7: ["division"]}, "'levels' has the name '7', which is no text: quote it"),
        ({"Division": "division"}, "'levels' must be a list of names"),
        ({"A": ["division"], "B": ["division"]}, "'levels' names a column twice"),
        ({"A": ["land"]}, "'levels' names 'land', which is not among its columns"),
        ("division", "'levels' must be a list of lists of columns, the lowest first"),
    ],
)
def test_S23_a_mistake_in_named_levels_is_an_error(project, levels, sentence):
    told = refusal(project(FILES), with_sources(levels=levels))
    wrong = f"relation 'dim_data_sources': {sentence}"
    assert any(each.startswith(wrong) for each in listed(told))


def test_S23_the_config_of_a_unit_test_names_no_files(project):
    values = yaml.safe_load(document())
    with pytest.raises(ConfigError, match="'sml' must not stand in the config of a"):
        SecureDatasets(root=project(FILES)).checked(values, is_unit_test=True)
