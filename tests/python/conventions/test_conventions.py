"""The config, the files and the documentation agree, and keep the house rules."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import raw_tables_page
import yaml
from dbt.adapters.secure_spark.impl import SecureSparkConfig
from dbt.artifacts.resources import ModelConfig, SeedConfig, TestConfig
from dbt.config.renderer import DbtProjectYamlRenderer
from dbt.flags import get_flag_obj
from dbt.jsonschemas import JSONSCHEMAS_PATH
from dbt.jsonschemas.jsonschemas import CustomDraft7Validator
from dbt_common.clients.jinja import get_environment
from jinja2 import Template, nodes
from own_config import PRODUCTS, SAMPLES, document_of, together
from projects import ROOT, SAMPLE, tracked_files
from sqlglot import exp, parse_one

from secure_datasets.config.raw_tables import COMMON
from secure_datasets.model_files import written

# What the adapter brings to every project; it calls nothing of the package.
ADAPTER = ROOT / "src/dbt/include/secure_spark"
MACROS = (ROOT / "macros", ADAPTER / "macros")
# The product, and the sample, which installs it.
PROJECTS = {"secure_datasets": ROOT, "tarn_valley_bank": ROOT / SAMPLE}
PACKAGES = (*PROJECTS, "dbt_secure_spark")
# From what calls nothing else to what calls all: the way of a dataset is config, plan,
# predicate, render.
FOLDERS_OF_MACROS = [
    *("adapter", "sql", "config", "staging", "plan", "predicate", "render"),
    *("readers", "audit", "operations", "changes", "review"),
]
MACRO_BODY = re.compile(r"{%-?\s*macro (\w+)\(.*?{%-?\s*endmacro\s*-?%}", re.S)
# The most lines of a macro. Only the two with a document that people edit have more.
MOST_LINES = 40
LONG_MACROS = {
    "repository_tables",
    "secure_datasets_config",
}
LAYERS = [
    *("staging", "intermediate", "access", "datasets", "star"),
    # View authorization reads users and decisions; secure datasets may obey it.
    *("view_authorization", "secure", "reports", "leaks", "privileges", "governance"),
    "review",
]
WATCHING = ["leaks", "view_authorization", "privileges", "governance", "review"]
# Where models may be plain views, over what others store.
MAY_BE_VIEWS = ["view_authorization", "reports", "leaks", "governance"]
PREFIX = "vw_secure_dataset_"
# What a node's config may hold: what dbt and the adapter know.
CONFIG_KEYS = {
    field.metadata.get("alias") or field.name
    for kind in (ModelConfig, SeedConfig, TestConfig, SecureSparkConfig)
    for field in fields(kind)
}

CONFIG = together()
REPOSITORY_TABLES = ROOT / "macros/config/repository_tables.sql"
RAW_TABLES = yaml.safe_load(document_of(REPOSITORY_TABLES))
YAML_FILES = sorted(
    path
    for folder in (
        *(
            project / kind
            for project in PROJECTS.values()
            for kind in ("models", "macros", "seeds", "analyses")
        ),
        ADAPTER / "macros",
    )
    for path in folder.rglob("*.yml")
)


@pytest.fixture(scope="module")
def manifest(parsed) -> dict:
    """dbt's manifest, as it writes it."""
    return parsed.writable_manifest().to_dict()


@pytest.fixture(scope="module")
def models(manifest) -> dict:
    """The models by name."""
    nodes = manifest["nodes"].values()
    return {node["name"]: node for node in nodes if node["resource_type"] == "model"}


def macro_files() -> list[Path]:
    """Return the files of the package's macros and of the adapter's."""
    return sorted(path for folder in MACROS for path in folder.rglob("*.sql"))


def layer(node: dict) -> str:
    """Return the folder of a model."""
    return Path(node["original_file_path"]).parts[1]


def test_every_dataset_of_the_config_is_a_one_line_model():
    files = {
        path.stem: path
        for project in PROJECTS.values()
        for path in (project / "models/secure").rglob("*.sql")
    }
    assert set(files) == {PREFIX + name for name in CONFIG["datasets"]}
    for name in CONFIG["datasets"]:
        text = files[PREFIX + name].read_text()
        assert text == f"{{{{ secure_datasets.secure_dataset('{name}') }}}}\n"


@pytest.mark.parametrize("part", [".", SAMPLE])
def test_the_secure_datasets_are_written_by_their_command(part, product, project):
    # In the copy, the sample has the package beside it.
    made = written(product / part)
    assert [*made.files, *made.missing] == [], f"in {part}: run secure-datasets models"


def test_a_base_is_documented_with_the_columns_of_its_config(models):
    for dataset in CONFIG["datasets"].values():
        if "base" in dataset:
            assert list(models[dataset["base"]]["columns"]) == dataset["columns"]


@pytest.mark.parametrize("name", CONFIG["tiers"])
def test_a_tier_names_columns_that_its_access_view_has(name, models):
    tier = CONFIG["tiers"][name]
    columns = set(models[tier["access_view"]]["columns"])
    assert columns == {*tier["object_keys"], "user_id", *tier["carries"]}


@pytest.mark.parametrize("name", CONFIG["relations"])
def test_a_relation_of_the_star_has_the_columns_of_its_documentation(name, manifest):
    node = next(node for node in manifest["nodes"].values() if node["name"] == name)
    documented = {c["name"]: c["data_type"] for c in node["columns"].values()}
    assert documented == CONFIG["relations"][name]["columns"]


@pytest.mark.parametrize(
    "path",
    [PRODUCTS, SAMPLES, REPOSITORY_TABLES, *YAML_FILES],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_yaml_mapping_names_a_key_twice(path):
    is_yaml = path.suffix == ".yml"
    text = path.read_text(encoding="utf-8") if is_yaml else document_of(path)

    def check(node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            assert len(set(keys)) == len(keys), f"{path}: {keys}"
            for _, value in node.value:
                check(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                check(value)

    check(yaml.compose(text))


def test_everything_is_described(manifest):
    missing = []
    for kind in ("nodes", "sources", "exposures", "macros"):
        for key, item in manifest[kind].items():
            of_project = item["package_name"] in PACKAGES
            is_test = item["resource_type"] in ("test", "operation", "unit_test")
            # A generic test and a materialization are macros that YAML can't describe.
            is_block = kind == "macros" and item["name"].startswith(
                ("test_", "materialization_")
            )
            # A private macro is described where it stands, see below.
            is_private = kind == "macros" and not item["docs"]["show"]
            if not of_project or is_test or is_block or is_private:
                continue
            if not item.get("description"):
                missing.append(key)
            for name, column in item.get("columns", {}).items():
                if not column["description"]:
                    missing.append(f"{key}.{name}")
            for argument in item.get("arguments") or []:
                if not argument["description"] or not argument["type"]:
                    missing.append(f"{key}({argument['name']})")
    assert missing == []


@pytest.mark.parametrize("name", PROJECTS)
def test_the_site_begins_with_the_overview_of_the_root_project(
    name, manifest, dbt, product
):
    # The site shows the last overview that is not dbt's own: there may be one alone.
    if name == "secure_datasets":
        result = dbt("parse", "--quiet", "--no-write-json", folder=product)
        assert result.success, result.exception
        manifest = result.result.writable_manifest().to_dict()
    overviews = [key for key in manifest["docs"] if key.endswith(".__overview__")]
    assert overviews == [f"doc.{name}.__overview__", "doc.dbt.__overview__"]
    page = manifest["docs"][overviews[0]]["block_contents"]
    linked = re.findall(r"#!/(?:model|seed)/([\w.]+)", page)
    assert linked and set(linked) <= set(manifest["nodes"])


def test_every_argument_of_a_macro_is_documented(manifest):
    wrong = {}
    for macro in manifest["macros"].values():
        name = macro["name"]
        if macro["package_name"] not in PACKAGES or not macro["docs"]["show"]:
            continue
        found = re.search(rf"{{%-?\s*macro {name}\((.*?)\)\s*-?%}}", macro["macro_sql"])
        if not found:
            continue
        signature = [part.split("=")[0].strip() for part in found[1].split(",")]
        # A default may hold a comma, as in a list; what follows it is no name.
        names = [part for part in signature if re.fullmatch(r"\w+", part)]
        documented = [argument["name"] for argument in macro["arguments"]]
        if names != documented:
            wrong[name] = (names, documented)
    assert wrong == {}


def test_a_private_macro_is_described_where_it_stands_and_not_on_the_site(manifest):
    shown = {
        macro["name"]: macro["docs"]["show"]
        for macro in manifest["macros"].values()
        if macro["package_name"] in PACKAGES
    }
    for path in macro_files():
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"{%-?\s*macro (\w+)\(", text):
            assert shown[found[1]] is not found[1].startswith("_"), found[1]
            assert text[: found.start()].endswith("#}\n"), found[1]


def test_a_macro_reads_only_flags_that_dbt_hands_it():
    # Any other is undefined, which counts as false.
    known = vars(get_flag_obj()).keys()
    read = {
        (path.name, flag)
        for path in macro_files()
        for flag in re.findall(r"\bflags\.(\w+)", path.read_text())
    }
    assert {flag for _, flag in read} >= {"WHICH", "INTROSPECT"}
    assert {each for each in read if each[1] not in known} == set()


def test_a_macro_is_short():
    lines = {
        found[1]: found[0].count("\n") - 1
        for path in macro_files()
        for found in MACRO_BODY.finditer(path.read_text(encoding="utf-8"))
    }
    assert {
        name for name, number in lines.items() if number > MOST_LINES
    } == LONG_MACROS


def test_a_private_macro_is_called_in_its_folder_alone(manifest):
    macros = {
        key: macro
        for key, macro in manifest["macros"].items()
        if macro["package_name"] == "secure_datasets"
    }
    callers = {**macros, **manifest["nodes"]}
    elsewhere = [
        f"{caller['original_file_path']} calls {macros[called]['name']}"
        for caller in callers.values()
        for called in caller.get("depends_on", {}).get("macros", [])
        if called in macros
        and macros[called]["name"].startswith("_")
        and Path(macros[called]["original_file_path"]).parent
        != Path(caller["original_file_path"]).parent
    ]
    assert elsewhere == []


def test_no_call_of_a_macro_goes_up(manifest):
    def folder(macro: dict) -> str:
        return Path(macro["original_file_path"]).parent.name

    macros = {
        key: macro
        for key, macro in manifest["macros"].items()
        if macro["package_name"] == "secure_datasets"
        and macro["original_file_path"].startswith("macros/")
    }
    assert {folder(macro) for macro in macros.values()} == set(FOLDERS_OF_MACROS)
    up = [
        f"{macro['name']} of {folder(macro)} calls {macros[called]['name']} of"
        f" {folder(macros[called])}"
        for macro in macros.values()
        for called in macro["depends_on"]["macros"]
        if called in macros
        and FOLDERS_OF_MACROS.index(folder(macros[called]))
        > FOLDERS_OF_MACROS.index(folder(macro))
    ]
    assert up == []


# What Python reads for the query of a model.
READ_BY_PYTHON = {
    "judged_grants": {"secure_datasets_config", "repository_tables"},
    "review_status": {"secure_datasets_config"},
    "access_findings": {"repository_tables"},
    "uncounted_deliveries": {"secure_datasets_config", "repository_tables"},
}


@pytest.mark.parametrize("name", READ_BY_PYTHON)
def test_dbt_sees_what_a_model_takes_from_the_config_by_python(name, manifest, models):
    # After an edit of the config, dbt parses the model again: it may read other tiers.
    waiting, seen = [*models[name]["depends_on"]["macros"]], set()
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen.add(key)
            waiting += manifest["macros"][key]["depends_on"]["macros"]
    called = {key.rpartition(".")[2] for key in seen}
    assert called >= READ_BY_PYTHON[name]


def test_a_macro_of_the_adapter_calls_those_of_the_adapter_and_of_dbt(manifest):
    calls = {
        macro["name"]: {key.split(".")[1] for key in macro["depends_on"]["macros"]}
        for macro in manifest["macros"].values()
        if macro["package_name"] == "dbt_secure_spark"
    }
    assert "materialization_seed_secure_spark" in calls
    others = {"dbt_secure_spark", "dbt_spark", "dbt"}
    assert {name: of for name, of in calls.items() if of - others} == {}


def test_a_models_description_begins_with_its_grain(models):
    for name, model in models.items():
        first = model["description"].replace("\n", " ").split(". ")[0].split(".\n")[0]
        assert first.startswith("One row"), f"{name}: {first}"
        assert len(first) < 80, f"{name}: {first}"


def test_the_source_has_the_columns_that_staging_reads(manifest):
    sources = {source["name"]: source for source in manifest["sources"].values()}
    assert set(sources) == set(RAW_TABLES)
    for name, table in RAW_TABLES.items():
        columns = [
            (column, documented["data_type"])
            for column, documented in sources[name]["columns"].items()
        ]
        expected = {"id": "bigint"} | table["columns"] | COMMON
        assert columns == list(expected.items()), name


def test_the_page_of_the_raw_tables_is_what_the_sources_say():
    assert raw_tables_page.PAGE.read_text(encoding="utf-8") == raw_tables_page.page()


@pytest.mark.parametrize("table", RAW_TABLES)
def test_a_raw_table_has_a_staging_model_and_a_sample(table):
    model = ROOT / "models/staging" / f"stg_{table}.sql"
    assert model.read_text() == (
        f"{{{{ secure_datasets.stage_raw_table('{table}') }}}}\n"
    )
    with (ROOT / "seeds/repository" / f"{table}.csv").open(encoding="utf-8") as file:
        header = next(csv.reader(file))
    assert header == ["id", *RAW_TABLES[table]["columns"], *COMMON]


def header_of(seed: dict) -> list[str]:
    """Return the columns of a seed's file."""
    path = PROJECTS[seed["package_name"]] / seed["original_file_path"]
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def test_a_seed_has_the_columns_and_types_of_its_documentation(manifest):
    # The sample's raw tables are documented at their source.
    seeds = [
        node
        for node in manifest["nodes"].values()
        if node["resource_type"] == "seed" and node["name"] not in RAW_TABLES
    ]
    assert len(seeds) > 5
    for seed in seeds:
        types = {name: column["data_type"] for name, column in seed["columns"].items()}
        read_as = seed["config"]["column_types"]
        expected = {name: read_as.get(name, "string") for name in header_of(seed)}
        assert list(types.items()) == list(expected.items()), seed["name"]


@pytest.mark.parametrize(
    "seed", ["review_decisions", "toxic_pairs", "finding_exceptions"]
)
def test_no_line_of_a_seed_holds_a_review_up(seed, manifest):
    """`dbt build` skips what follows a test that fails: then nothing else is judged."""
    (node,) = (n for n in manifest["nodes"].values() if n["name"] == seed)
    holding_up = [
        test["name"]
        for test in manifest["nodes"].values()
        if test["resource_type"] == "test"
        and node["unique_id"] in test["depends_on"]["nodes"]
        and test["config"]["severity"].lower() == "error"
        # It waits for what would follow.
        and "model.secure_datasets.access_findings" not in test["depends_on"]["nodes"]
    ]
    assert holding_up == []


@pytest.mark.parametrize("table", RAW_TABLES)
def test_the_roles_that_staging_may_have_are_those_of_the_role_table(table, manifest):
    object_type = RAW_TABLES[table].get("object_type")
    tests = [
        (
            node["test_metadata"]["name"],
            node["test_metadata"]["kwargs"].get("object_type"),
            "seed.secure_datasets.role_permissions" in node["depends_on"]["nodes"],
        )
        for node in manifest["nodes"].values()
        if node.get("attached_node") == f"model.secure_datasets.stg_{table}"
        and node["column_name"] == "role_name"
    ]
    assert tests == ([("role_is_known", object_type, True)] if object_type else [])


def test_an_analysis_is_documented_with_the_columns_of_its_answer():
    path = ROOT / "tests/helpers/sample_expectations.yml"
    questions = yaml.safe_load(path.read_text(encoding="utf-8"))["questions"]
    documented = {
        entry["name"]: [column["name"] for column in entry["columns"]]
        for project in PROJECTS.values()
        for entry in yaml.safe_load(
            (project / "analyses/_analyses.yml").read_text(encoding="utf-8")
        )["analyses"]
    }
    # Another test holds the answers against what is expected.
    expected = {name: question["columns"] for name, question in questions.items()}
    assert documented == expected


def test_no_model_reads_from_a_later_layer(manifest, models):
    for model in models.values():
        for parent in model["depends_on"]["nodes"]:
            above = manifest["nodes"].get(parent)
            if above and above["resource_type"] == "model":
                assert LAYERS.index(layer(above)) <= LAYERS.index(layer(model)), (
                    f"{model['name']} reads {above['name']}"
                )


def test_a_model_is_tagged_by_its_layer_and_what_watches_over_rights_as_audit(models):
    tags = {name: set(model["tags"]) for name, model in models.items()}
    assert tags == {
        name: {layer(model)} | ({"audit"} if is_audit(model) else set())
        for name, model in models.items()
    }


def is_audit(model: dict) -> bool:
    """Say whether administrators look after rights with a model."""
    is_of_permissions = model["name"] == "vw_dataset_effective_user_permissions"
    return is_of_permissions or layer(model) in WATCHING


def test_the_resolution_layer_is_private_and_its_views_are_public(models):
    for name, model in models.items():
        if layer(model) in ("staging", "intermediate", "access"):
            assert model["group"] == "access_resolution", name
        if name.startswith("int_"):
            assert model["access"] == "private", name
        if name.startswith("vw_secure_"):
            assert model["access"] == "public", name


def test_every_published_sql_model_has_an_enforced_contract(models):
    for name, model in models.items():
        if name.startswith("vw_") and model["language"] == "sql":
            assert model["config"]["contract"]["enforced"], f"{name}: in its YAML"
        if name.startswith("vw_"):
            types = {c["name"]: c["data_type"] for c in model["columns"].values()}
            assert all(types.values()), name


def test_every_model_is_published_as_a_version_or_is_a_view_of_a_layer_of_views(models):
    # dbt makes a table of a Python model that doesn't say so itself.
    for name, model in models.items():
        allowed = ["view"] if layer(model) == "secure" else ["published_view"]
        if layer(model) in MAY_BE_VIEWS:
            allowed.append("view")
        assert model["config"]["materialized"] in allowed, name


def test_no_node_is_configured_with_a_key_that_nothing_reads(manifest):
    unknown = {
        key: sorted(set(node["config"]) - CONFIG_KEYS)
        for key, node in manifest["nodes"].items()
    }
    assert {key: names for key, names in unknown.items() if names} == {}


def unknown_keys(content: dict) -> list[str]:
    """Say where a YAML file differs from dbt's own schema."""
    schema = json.loads((Path(JSONSCHEMAS_PATH) / "resources/latest.json").read_text())
    return [
        f"{'/'.join(map(str, error.path))}: {error.message}"
        for error in CustomDraft7Validator(schema).iter_errors(plain_tests(content))
    ]


def plain_tests(content: Any) -> Any:
    """Put a test that the schema knows in the place of each, without its arguments.

    The schema leaves a generic test of a project's own unchecked, `config` included.
    """
    if isinstance(content, list):
        return [plain_tests(item) for item in content]
    if not isinstance(content, dict):
        return content
    plain = {key: plain_tests(value) for key, value in content.items()}
    for key, value in {"count": 1, "enabled": True}.items():
        # The schema knows no threshold, and no switch, that Jinja works out.
        if str(plain.get(key)).startswith("{{"):
            plain[key] = value
    # What a materialization of the project's own reads; see CONFIG_KEYS.
    plain.pop("reads_latest", None)
    for place, test in enumerate(plain.get("data_tests", [])):
        for body in test.values() if isinstance(test, dict) else ():
            kept = {key: value for key, value in body.items() if key != "arguments"}
            plain["data_tests"][place] = {"not_null": kept}
    return plain


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_a_yaml_file_has_no_key_that_dbt_does_not_know(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    # YAML anchors stand under a key of their own, which the schema has not.
    content.pop("anchors", None)
    assert unknown_keys(content) == []


@pytest.mark.parametrize(
    "text",
    [
        "models: [{name: a, descripton: b}]",
        "models: [{name: a, config: {contrct: {enforced: true}}}]",
        "models: [{name: a, columns: [{name: b, data_typ: string}]}]",
        "models: [{name: a, data_tests: [{unique_rows: {argumnts: {columns: [b]}}}]}]",
        "models: [{name: a, data_tests: [{unique_rows: {config: {were: b}}}]}]",
        "unit_tests: [{name: a, model: b, givn: [], expect: {rows: []}}]",
    ],
)
def test_a_misspelt_key_is_noticed(text):
    assert unknown_keys(yaml.safe_load(text)) != []


def test_a_macro_file_holds_one_public_macro_of_its_name():
    for path in macro_files():
        if path.stem.startswith("_"):
            continue
        names = re.findall(r"{%-?\s*macro (\w+)\(", path.read_text())
        public = [name for name in names if not name.startswith("_")]
        materializations = re.findall(r"materialization (\w+)", path.read_text())
        assert path.stem in (public or materializations), path
        assert len(public) <= 1, path


def test_the_macros_that_others_call_are_there_and_described(manifest):
    page = (ROOT / "docs/building-on-it-reference.md").read_text()
    _, table = page.split("These keep their names and arguments", 1)
    listed = [
        name
        for line in table.split("\n\n")[1].splitlines()[2:]
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    described = {
        macro["name"]
        for macro in manifest["macros"].values()
        if macro["package_name"] in PACKAGES and macro["docs"]["show"]
    }
    assert len(listed) > 20
    assert set(listed) <= described


def named_without_its_package(text: str, macros: set[str]) -> list[str]:
    """Return the macros that Jinja names as if they were of whoever calls."""
    template = get_environment(None).parse(text)
    # A macro's own parameters and variables are names too.
    own = {name.name for name in template.find_all(nodes.Name) if name.ctx != "load"}
    names = {name.name for name in template.find_all(nodes.Name)}
    return sorted((names & macros) - own)


def test_macros_are_called_by_their_package(manifest):
    # A name alone is looked up in the project of the model that is rendered, which
    # knows its own macros, those of the adapter and dbt's.
    macros = {
        macro["name"]
        for macro in manifest["macros"].values()
        if macro["package_name"] == "secure_datasets"
    }
    named = {
        str(path.relative_to(ROOT)): named_without_its_package(
            path.read_text(encoding="utf-8"), macros
        )
        for folder in (
            ADAPTER,
            *(
                project / part
                for project in PROJECTS.values()
                for part in ("macros", "models", "tests/dbt", "analyses")
            ),
        )
        for path in sorted(folder.rglob("*.sql"))
    }
    for key, node in manifest["nodes"].items():
        if node["resource_type"] == "operation":
            named[key] = named_without_its_package(node["raw_code"], macros)
    for path in YAML_FILES:
        text = path.read_text(encoding="utf-8")
        named[str(path.relative_to(ROOT))] = named_without_its_package(text, macros)
    assert {place: names for place, names in named.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "{{ one() }}",
        "{{ 'text' ~ one('text') }}",
        "{% call one() %}{% endcall %}",
        "{% do two.three(one) %}",
        "{% for x in y if one(x) %}{% endfor %}",
        "{{ y | map(one) }}",
    ],
)
def test_a_macro_without_its_package_is_noticed(text):
    assert named_without_its_package(text, {"one"}) == ["one"]
    assert named_without_its_package(text.replace("one", "package.one"), {"one"}) == []


# What takes a text apart in Jinja, and where that is neither the config's nor SQL.
TAKES_APART = {
    *("split", "rsplit", "splitlines", "partition", "rpartition", "find"),
    *("startswith", "endswith", "removeprefix", "removesuffix", "replace", "re", "[:]"),
}
NO_CONFIG_AND_NO_SQL = {
    "src/dbt/include/secure_spark/macros/run_name.sql": {"[:]"},
    # A label in a comment, in which Spark would read `${name}` as a variable.
    "macros/render/_star_rows.sql": {"replace"},
}


def test_no_macro_takes_the_config_or_sql_apart():
    found: dict[str, set[str]] = {}
    for path in macro_files():
        template = get_environment(None).parse(path.read_text(encoding="utf-8"))
        names = {node.attr for node in template.find_all(nodes.Getattr)}
        names |= {node.name for node in template.find_all(nodes.Filter)}
        names |= {"[:]" for _ in template.find_all(nodes.Slice)}
        if names & TAKES_APART:
            found[str(path.relative_to(ROOT))] = names & TAKES_APART
    assert found == NO_CONFIG_AND_NO_SQL


def test_no_file_names_an_address_of_a_package_registry():
    hosts = re.compile(r"(pypi|pythonhosted|npmjs|repo1?\.maven|debian)\.(org|com)")
    for path in ROOT.glob("constraints*.txt"):
        assert "//" not in path.read_text(encoding="utf-8"), path
    for path in tracked_files():
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        assert not hosts.search(text), path


def test_the_adapter_imports_nothing_of_the_product():
    # Its methods come by an entry point; the linter holds the rest of the adapter.
    for path in (ROOT / "src/dbt/adapters").rglob("*.py"):
        assert "import secure_datasets" not in path.read_text("utf-8"), path
        assert "from secure_datasets" not in path.read_text("utf-8"), path


def test_readers_are_granted_the_published_secure_views_and_nothing_else(manifest):
    nodes = manifest["nodes"].values()
    assert not any(node["config"].get("grants") for node in nodes)
    # What `--vars` would make of the config as it is written, wherever it stands.
    renderer = DbtProjectYamlRenderer(None, {"readers": ["reporting"]})
    granted = {
        node["name"]: renderer.render_value(node["unrendered_config"]["grants"])
        for node in nodes
        if node["unrendered_config"].get("grants")
    }
    published = {
        *(f"{PREFIX}{name}" for name in CONFIG["datasets"]),
        *(tier["access_view"] for tier in CONFIG["tiers"].values()),
    }
    expected = {name: {"select": ["reporting"]} for name in published}
    assert granted == expected, "access views are granted in dbt_project.yml"


def test_the_access_views_of_the_tiers_hold_rights_for_their_time(models):
    views = {tier["access_view"] for tier in CONFIG["tiers"].values()}
    stored = [name for name in views if models[name]["language"] == "python"]
    assert len(stored) >= 3
    for name in stored:
        # A stored view without it would outlive a right that ends.
        assert "in_time=True" in models[name]["raw_code"], name


def test_a_grant_is_rendered_for_one_reader_at_a_time(dbt, parsed):
    inline = (
        "{{ get_grant_sql(ref('vw_secure_dataset_tables'), 'select', ['reporting']) }}"
    )
    options = ["--no-populate-cache", "--no-introspect", "--no-write-json", "--quiet"]
    result = dbt("compile", "--inline", inline, *options, manifest=parsed)
    (compiled,) = result.result
    rendered = " ".join(compiled.node.compiled_code.split())
    view = "secure_datasets.vw_secure_dataset_tables"
    assert rendered == f"grant select on {view} to `reporting`"


OUTPUTS = ("local", "shared", "cluster", "connect", "thrift", "databricks")


def test_the_example_profile_has_an_output_for_every_kind_of_spark():
    text = (ROOT / "profiles.yml.example").read_text()
    outputs = yaml.safe_load(text)["secure_datasets"]["outputs"]
    assert tuple(outputs) == OUTPUTS
    page = (ROOT / "docs/deployments.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.M)) == sorted(OUTPUTS)


def test_the_example_profile_is_one(product):
    profile = yaml.safe_load((product / "profiles.yml").read_text())
    output = profile["secure_datasets"]["outputs"]["local"]
    assert output["type"] == "secure_spark"
    folders = list(output["server_side_parameters"].values())
    assert "PROJECT_FOLDER" not in " ".join(map(str, folders))


def test_the_age_of_access_is_judged_by_all_that_resolves_it(parsed):
    """Whatever a secure dataset reads beside its rows may be no older than they are."""
    (judge,) = (
        node
        for node in parsed.nodes.values()
        if node.name == "assert_access_is_resolved_from_the_newest_deliveries"
    )
    resolved = {
        parent
        for node in parsed.nodes.values()
        if node.fqn[1] == "secure" and node.resource_type == "model"
        for parent in node.depends_on.nodes
        if parsed.nodes[parent].fqn[1] in ("access", "intermediate", "staging")
    }
    assert "model.secure_datasets.user_role_names" in resolved
    assert resolved <= set(judge.depends_on.nodes)


@pytest.mark.parametrize(
    "right", [{}, {"right": {"object_type": "A", "permission": "See"}}]
)
def test_the_audit_is_compared_also_where_no_tier_says_its_right(right):
    """The query is one that Spark takes, and compares what there is."""
    path = ROOT / "tests/dbt/assert_audit_agrees_with_access.sql"
    tier = {"access_view": "a_access", "object_keys": ["a_id"], **right}
    sql = Template(path.read_text()).render(
        secure_datasets={
            "secure_datasets_config": lambda: {"tiers": {"a": tier}},
            "sql_text": lambda text: f"'{text}'",
        },
        ref=lambda name: name,
    )
    tables = parse_one(sql, read="spark").find_all(exp.Table)
    assert ("a_access" in {table.name for table in tables}) == bool(right)
