"""S0: the config is read by a real YAML reader, and a mistake is told with its line."""

from __future__ import annotations

import jsonschema
import pytest
import yaml
from config_mistakes import DOCUMENT, MISTAKES, edited
from own_config import PRODUCTS, SAMPLES, document_of
from projects import ROOT, SAMPLE, copy_of
from rendering import Macros, Stopped

from secure_datasets.config import reference
from secure_datasets.config.document import Source, undefined_name
from secure_datasets.config.errors import ConfigError
from secure_datasets.config.problems import ConfigProblem
from secure_datasets.config.reading import Misread, read
from secure_datasets.macro_methods import SecureDatasets

CONFIG = PRODUCTS.relative_to(ROOT)
MACRO = "{% macro secure_datasets_config() %}\n    {% set document %}\n"


def line_of(document: str, text: str) -> int:
    """Return the line on which a text stands."""
    return document[: document.index(text)].count("\n") + 1


def test_a_document_is_read_as_yaml_reads_it():
    assert read(DOCUMENT).values == yaml.safe_load(DOCUMENT)


@pytest.mark.parametrize(
    ("old", "new", "entry", "key"),
    [
        ("carries: []", "carries: [], carries: [a]", "tier 'result'", "carries"),
        ("    runs:\n", "    jobs: {}\n    runs:\n", "dataset 'jobs'", "jobs"),
        ("tier: team\n", "tier: team\n        tier: a\n", "dataset 'jobs'", "tier"),
        ("World: {", "Team: {", "dataset 'news', case 'Team'", "Team"),
        ("check: false", "check: false, role: A", "policy 2", "role"),
        ("kind: mapping", "kind: fact\n        kind: mapping", "relation 'town_staff'",
         "kind"),
        ("label: Towns", "label: A\n      label: B", "row_security 1", "label"),
        ("relations:\n", "policies: []\nrelations:\n", "the config", "policies"),
        ("{shop_id: bigint, town:", "{town: bigint, town:", "relation 'shops'", "town"),
        ("to: {dataset: shops}", "to: {dataset: a, dataset: shops}",
         "relationship 1, to", "dataset"),
    ],
)  # fmt: skip
def test_a_key_that_is_there_twice_is_an_error(old, new, entry, key):
    document = edited(DOCUMENT, old, new)
    with pytest.raises(Stopped) as stopped:
        Macros(document).secure_dataset("jobs")
    sentence = f"secure_datasets_config: {entry}: the key '{key}' is there twice (line "
    assert str(stopped.value).startswith(sentence), str(stopped.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("mask: 0,", "mask: 010,", "'mask' must be an SQL expression, as a text"),
        ("mask: 0,", "mask: 12:30:00,", "'mask' must be an SQL expression, as a text"),
        ("mask: 0,", "mask: 1.0,", "'mask' must be an SQL expression, as a text"),
        ("mask: 0,", "mask: 1_000,", "'mask' must be an SQL expression, as a text"),
        ("mask: 0,", "mask: 2026-01-31,", "'mask' must be an SQL expression"),
        ("mask: 0,", "mask: on,", "'mask' is on, which YAML reads as true: quote it"),
        ("condition: job_name is not null", "condition: yes",
         "'condition' is yes, which YAML reads as true: quote it"),
        ("role: Editors, resource: jobs", "role: on, resource: jobs",
         "'role' must be a text: quote it"),
        ("role: Editors, resource: jobs", "role: 1.0, resource: jobs",
         "'role' must be a text: quote it"),
        ("role: Editors, resource: jobs", "role: 012, resource: jobs",
         "'role' must be a text: quote it"),
        ("mask_order: 1", "mask_order: 010", "'mask_order' must be a whole number"),
        ("mask_order: 1", "mask_order: '1'", "'mask_order' must be a whole number"),
        ("label: Towns", "label: 12:30:00", "'label' must be a text: quote it"),
        ("label: Towns", 'label: "a\\nb"', "'label' must be a text on one line"),
        ("label: Towns", 'label: "a\\u2028b"', "'label' must be a text on one line"),
        ("job_name]", "0x1F]", "'columns' has '0x1F', which is not a lower snake"),
        ("Team: {tier", "1.0: {tier", "'switch.cases' has a value that is not text"),
        ("check: false", "check: 'false'", "'check' must be true or false"),
        ("label: Towns", "label: !secret Towns", "'Towns' has the tag !secret"),
        ("label: Towns", "label: 2026-02-30", "'label' must be a text: quote it"),
        ("mask_order: 1", "mask_order: 1, valid_until: 2026-02-30",
         "'valid_until' must be a day or a moment in UTC, such as 2026-05-01 or"
         " 2026-05-01 18:00:00, not '2026-02-30'"),
        ("role: Editors, resource: jobs", "role: =, resource: jobs",
         "policy 2: '=' is a word of YAML itself: quote it"),
        ("role: Editors, resource: jobs", "role: <<, resource: jobs",
         "policy 2: '<<' is a word of YAML itself: quote it"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_an_error_with_its_line(old, new, sentence):
    document = edited(DOCUMENT, old, new)
    with pytest.raises(Stopped) as stopped:
        Macros(document).secure_dataset("jobs")
    assert sentence in str(stopped.value)
    assert str(stopped.value).endswith(f" (line {line_of(document, new)}).")


def test_an_unquoted_number_and_flag_are_the_text_that_they_spell():
    assert read("a: [7, -7, true, 07, 1e3, 0o7]").values == {
        "a": [7, -7, True, Misread("07", "7"), "1e3", "0o7"]
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tiers:\n\ta: b", 2),
        ("a: b\nc:\t d", 2),
        ("a: b\tc\n", 1),
        ("a:\n  - b\t\n", 2),
    ],
)
def test_a_tab_outside_of_quotes_is_an_error_with_its_line(text, line):
    with pytest.raises(ConfigProblem) as problem:
        read(text)
    assert problem.value.line == line


def test_a_tab_in_a_quoted_text_is_kept():
    text = "a: 'x\ty'\nb: |\n  x\ty\nc: \"x\ty\""
    assert read(text).values == {"a": "x\ty", "b": "x\ty\n", "c": "x\ty"}


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "a: &a {b: *a}",
        "a: &a\n  <<: *a",
        "a: {<<: &x [*x]}",
        "".join(
            f"x{n}: &x{n} [{', '.join(['*x' + str(n - 1)] * 9 if n else ['1'] * 9)}]\n"
            for n in range(12)
        ),
    ],
)
def test_an_anchor_without_end_is_an_error(text):
    with pytest.raises(ConfigProblem, match="an anchor stands in itself, without end"):
        read(text)


DEEP = 10_000


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("carries: []", "carries: " + "[" * DEEP + "]" * DEEP,
         "tier 'result': 'carries' holds lists and mappings more than 40 deep"),
        ("tier: team\n", "tier: " + "{a: " * DEEP + "1" + "}" * DEEP + "\n",
         "dataset 'jobs': 'tier' holds lists and mappings more than 40 deep"),
        ("tier: team\n", "tier:\n            " + "- " * DEEP + "1\n",
         "dataset 'jobs': 'tier' holds lists and mappings more than 40 deep"),
        ("carries: []", "carries: " + "[" * DEEP,
         "tier 'result': 'carries' holds lists and mappings more than 40 deep"),
        ("tiers:\n", "more:\n" + "".join(
            f"    x{n}: &x{n} [{f'*x{n - 1}' if n else 1}]\n" for n in range(DEEP)
         ) + "tiers:\n",
         "the config: 'x38' holds lists and mappings more than 40 deep"),
    ],
)  # fmt: skip
def test_what_nests_without_end_is_an_error_with_its_line(old, new, sentence):
    document = edited(DOCUMENT, old, new)
    with pytest.raises(Stopped) as stopped:
        Macros(document).secure_dataset("jobs")
    message = str(stopped.value)
    assert message.startswith(f"secure_datasets_config: {sentence} (line "), message
    first = line_of(document, new)
    line = int(message.rsplit("(line ", 1)[1].removesuffix(")."))
    assert first <= line <= first + 41


def test_anchors_and_merged_mappings_are_read():
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {z: 4}]}"
    assert read(text).values == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {x: 1}\nb: &b {y: 2}\nc: {<<: *a, <<: *b}",
        "a: &a {x: 1}\nb: 2\nc: {<<: *a, z: 1, <<: *a}",
    ],
)
def test_two_merges_in_one_mapping_are_an_error(text):
    with pytest.raises(ConfigProblem, match="the key '<<' is there twice") as problem:
        read(text)
    assert problem.value.line == 3


class Relation:
    """What `ref` returns, as far as the document may ask it."""

    identifier = "x"

    def __str__(self) -> str:
        return "schema.x"


READ = "{{ return(adapter.secure_datasets().read(document, context)) }}"


@pytest.mark.parametrize(
    ("braces", "name"),
    [
        ("{{ ref('x') }}", None),
        ("{{ ref('x').identifier }}", None),
        ("{{ ref('x').nothing }}", "ref(...).nothing"),
        ("{{ ref('x')['nothing'] }}", "ref(...)[nothing]"),
        ("{{ nothing }}", "nothing"),
        ("{{ nothing.more }}", "nothing"),
        ("{{ nothing() }}", "nothing"),
        ("{{ target.schema }}", None),
        ("{{ target.nothing }}", "target.nothing"),
        ("{{ target.nothing.more }}", "target.nothing"),
        ("{{ nothing | upper }}", "nothing"),
        ("{{ target.nothing | upper }}", "target.nothing"),
        ("{{ 'a' ~ nothing }}", "nothing"),
        ("{{ ['a', nothing] | join }}", "nothing"),
        ("{{ [1][7] }}", "(...)[7]"),
        ("{{ {'a': 1}.b }}", "(...).b"),
        ("{{ 'a'.b }}", "(...).b"),
        ("{{ own }}", None),
        ("{{ own.nothing }}", "own.nothing"),
        ("{{ var('x').nothing }}", "var(...).nothing"),
        ("{{ var('x').given }}", None),
        ("{% if nothing %}x{% endif %}", "nothing"),
        ("{% if nothing is defined %}x{% endif %}", None),
        ("{{ nothing | default('x') }}", None),
        ("{{ 'x' if false }}", None),
        ("{% raw %}{{ nothing }}{% endraw %}", None),
        ("{% for x in range(3) %}{{ x }}{{ loop.index }}{% endfor %}", None),
        ("{% for x in range(3) %}{% endfor %}{{ x }}", "x"),
        ("{% for x in range(3) %}{% endfor %}{{ loop.index }}", "loop"),
        ("{% for x in range(3) %}{{ x.nothing }}{% endfor %}", "x.nothing"),
        ("{% for x in range(3) %}{{ loop.nothing }}{% endfor %}", "loop.nothing"),
        ("{% for x in nothing %}{{ x }}{% endfor %}", "nothing"),
        ("{% set x = target.nothing %}{{ x }}", "target.nothing"),
        ("{% if false %}{% set x = 1 %}{% endif %}{{ x }}", "x"),
    ],
)
def test_an_undefined_name_in_braces_is_found(braces, name):
    macro = (
        "{% macro secure_datasets_config() %}{% set own = 1 %}\n{% set document %}\n"
        f"a: {braces}\n{{% endset %}}{READ}{{% endmacro %}}"
    )
    context = {
        "ref": lambda name: Relation(),
        "target": {"schema": "s"},
        "var": lambda name: {"given": 1},
    }
    found = undefined_name(macro, context)
    assert found == (name and (name, 3))


def test_a_name_is_looked_for_in_all_that_leads_to_the_document():
    macro = (
        "{% macro secure_datasets_config() %}\n{% set one = 'a: ' ~ nothing %}\n"
        "{% set document = one %}" + READ + "{{ too_late }}{% endmacro %}"
    )
    assert undefined_name(macro, {}) == ("nothing", 2)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("condition: job_name is not null", "condition: job_name is not null {# x #}",
         "policy 1, role 'Auditors' on 'jobs': 'condition' has a Jinja comment, which"),
        ("condition: job_name is not null", "condition: job_name = '{# x #}'",
         "policy 1, role 'Auditors' on 'jobs': 'condition' has a Jinja comment, which"),
        ("{role: Editors, resource: jobs, check: false}",
         "{role: '{# x #}Editors', resource: jobs, check: false}",
         "policy 2, role 'Editors' on 'jobs': 'role' has a Jinja comment, which is"),
        ("        base: all_jobs", "        base: all_jobs{# x #}",
         "dataset 'jobs': 'base' has a Jinja comment, which is gone"),
        ("        base: all_jobs", "        base: {{ 'all_jobs' }}{{ nothing }}",
         "dataset 'jobs': 'base' has the name 'nothing' in braces, which is not"),
        # Where the name has stood can't be seen any more.
        ("        base: all_jobs", "        base: {{ 1 + nothing }}",
         "the config: has the name 'nothing' in braces, which is not defined"),
        ("condition: job_name is not null", "condition: job_name = '{{ ref.no }}'",
         "policy 1, role 'Auditors' on 'jobs': 'condition' has the name 'ref.no' in"),
        ("condition: job_name is not null",
         "condition: job_name = '{% raw %}{# x #}{{ y }}{% endraw %}'", None),
    ],
)  # fmt: skip
def test_what_jinja_takes_out_is_an_error_with_entry_key_and_line(old, new, sentence):
    document = edited(DOCUMENT, old, new)
    macro = f"{MACRO}{document}    {{% endset %}}\n    {READ}\n{{% endmacro %}}"
    context = {"ref": str}
    source = Source("macros/mine.sql", "{# of its own #}\n" + macro, begins=5)
    if sentence is None:
        source.refuse_lost(context)
        return
    with pytest.raises(ConfigError) as stopped:
        source.refuse_lost(context)
    message = str(stopped.value)
    assert f"secure_datasets_config: {sentence}" in message
    line = 5 + macro[: macro.index(new)].count("\n") + 1
    assert f" (line {line + new.count(chr(10))} of macros/mine.sql)." in message


def test_a_line_of_the_document_is_a_line_of_the_file():
    macro = MACRO + "a: 1\n{% if true %}\nb: 2\n{% endif %}\nc: {{ ref('x') }}\nd: 4\n"
    macro += "    {% endset %}\n{% endmacro %}"
    source = Source("macros/mine.sql", macro, begins=5)
    rendered = "\na: 1\n\nb: 2\n\nc: some.relation\nd: 4\n    "
    for text, line in {"a: 1": 7, "b: 2": 9, "c: s": 11, "d: 4": 12}.items():
        problem = ConfigProblem("the config", "is odd", line=line_of(rendered, text))
        assert source.sentence(problem, rendered) == (
            "secure_datasets_config: the config: is odd"
            f" (line {line} of macros/mine.sql)."
        )


@pytest.fixture(scope="module")
def parse(product, dbt, tmp_path_factory):
    """Edit the product's document or the sample's in a copy, and parse the sample.

    Gives dbt's message, and the place of the edit: a file, and a line of it.
    """
    copy = copy_of(product, tmp_path_factory.mktemp("reading") / "product")
    sample = copy / SAMPLE
    places = {
        copy / CONFIG: f"{CONFIG} of the package secure_datasets",
        copy / SAMPLES.relative_to(ROOT): str(SAMPLES.relative_to(ROOT / SAMPLE)),
    }

    def call(old: str, new: str) -> tuple[str, str, int]:
        file = next(file for file in places if old in file.read_text())
        before = file.read_text()
        text = edited(before, old, new)
        file.write_text(text)
        try:
            result = dbt("parse", "--quiet", "--no-partial-parse", folder=sample)
        finally:
            file.write_text(before)
        assert not result.success
        return str(result.exception), places[file], line_of(text, new)

    return call


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'mask: "0"',
            "mask: 010",
            "all but 'Operations' on 'star_test_executions.error_count': 'mask'"
            " must be an SQL expression",
        ),
        (
            'mask: "0"',
            "mask: \"'none'\"",
            "'mask' is a constant that does not cast to the column's type bigint",
        ),
        (
            "condition: result = 'Error'\n",
            "condition: rseult = 'Error'\n",
            "'condition' names 'rseult', which the dataset has not",
        ),
        (
            "condition: project_id = 7",
            "condition: project_name",
            "'condition' is of the type string, and must be true or false",
        ),
        (
            "base: vw_dataset_jobs\n",
            "base: vw_dataset_jbos\n",
            "dataset 'jobs': 'base' names 'vw_dataset_jbos', which is no model and no",
        ),
        (
            "            - quality_score\n            - coverage_score\n        unique",
            "            - quality_scor\n            - coverage_score\n        unique",
            "'columns' has 'quality_scor', which the documentation of",
        ),
        (
            "columns: {project_id: bigint, project_name: string}",
            "columns: {project_id: bigint, projectname: string}",
            "relation 'dim_projects': 'columns' has 'projectname', which the",
        ),
        (
            "condition: project_id = 7",
            "condition: project_id = {{ seven }}",
            "': 'condition' has the name 'seven' in braces, which is not defined",
        ),
        (
            "condition: project_id = 7",
            "condition: project_id = 7 {{ ref('vw_dataset_jobs').seven }}",
            "': 'condition' has the name 'ref(...).seven' in braces, which is not",
        ),
        (
            "condition: project_id = 7",
            "condition: project_id = 7{# or true #}",
            "': 'condition' has a Jinja comment, which is gone before the text is read",
        ),
    ],
)  # fmt: skip
def test_dbt_names_the_file_and_the_line_and_no_model(parse, old, new, sentence):
    message, file, line = parse(old, new)
    assert sentence in message
    if "columns' has 'quality" in sentence:
        line = None
    assert (f" (line {line} of {file})." if line else f" of {file}).") in message
    assert "model " not in message.split("secure_datasets_config: ")[0]
    assert "vw_secure_dataset" not in message.split("secure_datasets_config: ")[0]


def test_a_macro_that_reads_its_document_itself_is_refused(parse):
    message, *_ = parse(
        "adapter.secure_datasets().read(\n        document, context,"
        " adapter.dispatch('secure_datasets_config', 'secure_datasets')\n    )",
        "fromyaml(document)",
    )
    assert "the config: is not read by its reader: end the macro with" in message


def test_a_unit_test_may_put_a_text_or_a_dict_in_the_place_of_the_config():
    datasets = SecureDatasets()
    values = yaml.safe_load(DOCUMENT)
    assert datasets.checked(DOCUMENT) == datasets.read(DOCUMENT)
    assert datasets.checked(values, is_unit_test=True) == datasets.read(DOCUMENT)
    with pytest.raises(ConfigError, match="is not read by its reader"):
        datasets.checked(values)
    values["datasets"]["jobs"]["tier"] = "teem"
    with pytest.raises(ConfigError, match="dataset 'jobs': unknown tier 'teem'"):
        datasets.checked(values, is_unit_test=True)


def test_a_text_is_read_once(monkeypatch):
    datasets = SecureDatasets()
    first = datasets.read(DOCUMENT)
    monkeypatch.setattr(
        "secure_datasets.macro_methods.documents.read", lambda text: pytest.fail(text)
    )
    assert datasets.read(DOCUMENT) is first


def test_the_schema_for_editors_takes_what_a_root_project_adds():
    validator = jsonschema.Draft202012Validator(reference.added_schema())
    added = """
datasets:
    tests: false
    jobs: {columns: [job_id, project_id], unchecked: null}
    reports: {base: reports, columns: [a], unique_key: [a], visible_to: everyone}
policies: [{role: Operations, resource: jobs}]
"""
    assert list(validator.iter_errors(yaml.safe_load(added))) == []
    for old, new in (
        ("unique_key:", "uniqe_key:"),
        ("false", "true"),
        ("role:", "rle:"),
    ):
        assert not validator.is_valid(yaml.safe_load(edited(added, old, new)))


def test_the_page_of_reference_is_what_the_schema_says():
    page = ROOT / "models/_docs/secure_datasets_config.md"
    # Renew it with `python -m secure_datasets.config.reference > models/_docs/...`.
    assert page.read_text(encoding="utf-8") == reference.page()


def test_every_key_of_the_schema_is_described():
    for _, model in reference.ENTRIES:
        assert model.__doc__
        assert all(field.description for field in model.model_fields.values()), model


def test_the_schema_for_editors_takes_the_config_and_knows_its_mistakes():
    validator = jsonschema.Draft202012Validator(reference.json_schema())
    own = [yaml.safe_load(document_of(macro)) for macro in (PRODUCTS,)]
    for document in (*own, yaml.safe_load(DOCUMENT)):
        assert list(validator.iter_errors(document)) == []
    unknown = {
        what: (old, new)
        for what, (old, new, sentence) in MISTAKES.items()
        if "unknown key" in sentence or "is missing" in sentence
    }
    unnoticed = {
        what
        for what, (old, new) in unknown.items()
        if validator.is_valid(yaml.safe_load(edited(DOCUMENT, old, new)))
    }
    # That a rule needs a tier, or a policy a role, is more than a schema says.
    assert unnoticed <= {
        what for what in unknown if "tier" in what or "keys" in what or "role" in what
    } | {
        *("a mask is missing", "a case has an empty rule"),
        "a restrictive policy has no condition",
    }
