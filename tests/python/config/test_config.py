"""A mistake in the config of the secure datasets stops dbt with a plain sentence."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import yaml
from config_mistakes import DOCUMENT, MISTAKES, edited
from own_config import PRODUCTS, SAMPLES, together
from projects import ROOT, SAMPLE, copy_of
from rendering import Macros, Stopped

CONFIG = PRODUCTS.relative_to(ROOT)


@pytest.fixture(scope="module")
def render() -> Callable[[str, str], str]:
    """Render one dataset of a document, as dbt does while it parses."""
    return lambda document, name="jobs": Macros(document).secure_dataset(name)


def test_a_config_without_a_mistake_renders_every_dataset(render):
    for name in ("jobs", "runs", "news"):
        assert f"from all_{name} as base" in render(DOCUMENT, name)
    assert "from vw_secure_dataset_news as base" in render(DOCUMENT, "notes")
    assert "from sales as sales" in render(DOCUMENT, "revenue")
    assert "from shops as base" in render(DOCUMENT, "stores")


def test_the_value_of_a_case_is_quoted_as_sql_text(render):
    document = edited(DOCUMENT, "World:", r"""'it''s a \':""")
    assert r"where base.reach = 'it\'s a \\'" in render(document, "news")


def test_the_sample_s_config_renders_every_dataset(render):
    document = yaml.safe_dump(together(), sort_keys=False)
    for name, dataset in together()["datasets"].items():
        base = dataset.get("base")
        read = f"from {base} as base" if base else "from fct_test_executions as fct"
        assert read in render(document, name)


@pytest.mark.parametrize(("old", "new", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_no_dataset_is_rendered_if(render, old, new, sentence):
    with pytest.raises(Stopped) as stopped:
        render(edited(DOCUMENT, old, new))
    message = str(stopped.value)
    assert message.startswith("secure_datasets_config: ")
    assert sentence in message
    assert re.search(r" \(line [0-9]+\)\.$", message), message


@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        ("string", ["1", "01", "x"], None),
        ("bigint", ["1", "10", "-2"], None),
        ("decimal(9,0)", ["1", "0"], None),
        ("boolean", ["true", "false"], None),
        # Each of the rows of 1 would be there twice, by the rule of either case.
        ("bigint", ["1", "01"], "case '01': is for 'reach', a bigint: write a whole"),
        ("int", ["1", "+1"], "case '+1': is for 'reach', a int: write a whole number"),
        ("int", ["1", "x"], "case 'x': is for 'reach', a int: write a whole number"),
        ("int", ["0", "-0"], "case '-0': is for 'reach', a int: write a whole number"),
        ("boolean", ["true", "TRUE"], "case 'TRUE': is for 'reach', a boolean: write"),
        ("date", ["2026-01-01"], "'switch.column' is 'reach', a date, whose values"),
        ("timestamp", ["x"], "'switch.column' is 'reach', a timestamp, whose values"),
        ("double", ["1"], "'switch.column' is 'reach', a double, whose values have"),
        ("decimal(9,2)", ["1"], "'switch.column' is 'reach', a decimal(9,2), whose"),
    ],
)
def test_each_value_of_a_switch_is_spelled_in_one_way(kind, values, sentence):
    rule = "{tier: team, keys: {team_id: team_id}}"
    cases = [f"{value!r}: {rule}" for value in values]
    document = edited(DOCUMENT, f"Team: {rule}", f"\n{' ' * 16}".join(cases))
    for other in (
        "Source: {tier: source, keys: {source_id: source_id}}",
        "World: {visible_to: everyone}",
    ):
        document = edited(document, other, "")
    columns = ["news_id", "reach", "team_id", "source_id"]
    types = {"all_news": dict.fromkeys(columns, "bigint") | {"reach": kind}}
    macros = Macros(document, types=types)
    if sentence is None:
        assert f"base.reach = '{values[0]}'" in macros.secure_dataset("news")
        return
    with pytest.raises(Stopped, match=re.escape(sentence)):
        macros.secure_dataset("news")


# What is misspelt, how, and the name that is near it.
MISSPELT = {
    "a part": ("datasets:", "dataset:", "datasets"),
    "a key of a tier": ("carries: []", "carry: []", "carries"),
    "a key of a dataset": ("base: all_jobs", "bsae: all_jobs", "base"),
    "a key of a policy": ("check: false", "chekc: false", "check"),
    "a tier": ("tier: team\n", "tier: Teem\n", "team"),
    "a tier of a case": ("{tier: source, keys", "{tier: sourc, keys", "source"),
    "a key of its tier": ("{source_id: lead_id}", "{sorce_id: lead_id}", "source_id"),
    "a column of the unique key": (
        "unique_key: [job_id]",
        "unique_key: [jbo_id]",
        "job_id",
    ),
    "a column of a switch": ("column: reach", "column: raech", "reach"),
    "a secure dataset": (
        "vw_secure_dataset_news",
        "vw_secure_dataset_nevs",
        "vw_secure_dataset_news",
    ),
    "a column of one": (
        "columns: [news_id, reach]\n",
        "columns: [news_id, raech]\n",
        "reach",
    ),
    "a dataset of a policy": ("resource: jobs, check", "resource: jobz, check", "jobs"),
    "a column of a policy": (
        "runs.run_name, mask: 0",
        "runs.run_nam, mask: 0",
        "run_name",
    ),
    "a column of a condition": (
        "job_name is not null",
        "jobname is not null",
        "job_name",
    ),
    "a function": ("upper(run_name)", "uper(run_name)", "upper"),
    "a column of a measure": ("sum(sales.price)", "sum(sales.prices)", "sales.price"),
    "a level": ("[[shop_id], [town]", "[[shopid], [town]", "shop_id"),
    "a column of ids": ("ids_column: staff_id", "ids_column: stuff_id", "staff_id"),
    "a relation": ("dataset: town_staff", "dataset: town_stuff", "town_staff"),
    "a security object": (
        "to: {row_security: towns}",
        "to: {row_security: town}",
        "towns",
    ),
}


@pytest.mark.parametrize(("old", "new", "near"), MISSPELT.values(), ids=MISSPELT)
def test_the_name_that_is_near_a_misspelt_one_is_named(render, old, new, near):
    with pytest.raises(Stopped) as stopped:
        render(edited(DOCUMENT, old, new))
    assert f"; near it is '{near}'" in str(stopped.value)


def test_a_name_that_is_like_no_other_has_none_near_it(render):
    with pytest.raises(Stopped, match=r"unknown tier 'xyz'; known are [\w, ]+ \(line"):
        render(edited(DOCUMENT, "tier: team\n", "tier: xyz\n"))


def test_the_page_of_mistakes_has_each_with_its_message():
    page = (ROOT / "docs/config-mistakes.md").read_text(encoding="utf-8")
    _, _, *lines = [line for line in page.splitlines() if line.startswith("|")]
    assert lines == [
        f"| {name} | `{sentence}` |" for name, (_, _, sentence) in MISTAKES.items()
    ]


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(render):
    mistakes = [
        ("object_keys: [team_id], carries", "object_keys: [user_id], carries"),
        ("unique_key: [job_id]", "unique_key: [jobs_id]"),
        (
            "Source: {tier: source, keys: {source_id: source_id}}",
            "Source: {tier: sauce}",
        ),
        ("condition: job_name is not null", "condition: job_nam is not null"),
        ("mask: upper(run_name)", "mask: upper(run_name"),
        ("ids_column: staff_id", "ids_column: stuff_id"),
    ]
    document = DOCUMENT
    for old, new in mistakes:
        document = edited(document, old, new)
    with pytest.raises(Stopped) as stopped:
        render(document)
    said, *listed = str(stopped.value).split("\n  - ")
    assert said == f"secure_datasets_config: {len(listed)} things are wrong."
    lines = [int(re.search(r" \(line ([0-9]+)\)\.$", each)[1]) for each in listed]
    assert lines == sorted(lines)
    wrong = [
        number + 1
        for number, (a, b) in enumerate(
            zip(DOCUMENT.split("\n"), document.split("\n"), strict=True)
        )
        if a != b
    ]
    assert set(wrong) <= set(lines)


def test_every_mistake_of_the_form_is_told_at_once(render):
    document = edited(DOCUMENT, "base: all_jobs", "bse: all_jobs")
    document = edited(document, "label: Towns", "labels: Towns")
    with pytest.raises(Stopped) as stopped:
        render(document)
    for sentence in ("unknown key 'bse'", "'base' is missing", "unknown key 'labels'"):
        assert sentence in str(stopped.value)


def test_datasets_over_each_other_come_to_an_end(render):
    document = edited(DOCUMENT, "base: all_jobs", "base: vw_secure_dataset_notes")
    document = edited(
        document, "base: vw_secure_dataset_news", "base: vw_secure_dataset_jobs"
    )
    with pytest.raises(Stopped, match="must not stand over a secure dataset"):
        render(document)


@pytest.mark.parametrize("document", ["", "just a text", "[tiers, datasets]", "a: [b"])
def test_a_document_that_is_no_mapping_is_refused(render, document):
    with pytest.raises(Stopped, match="the config: is not a YAML mapping"):
        render(document)


@pytest.mark.parametrize("part", ["tiers", "datasets"])
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("", "the key '{part}' is missing"),
        ("[]", "'{part}' must map names to entries"),
        ("text", "'{part}' must map names to entries"),
        ("{{}}", "'{part}' is empty"),
    ],
)
def test_both_parts_map_names_to_entries(render, part, value, sentence):
    parts = yaml.safe_load(DOCUMENT) | {part: yaml.safe_load(value.format())}
    with pytest.raises(Stopped, match=sentence.format(part=part)):
        render(yaml.safe_dump(parts))


def test_a_dataset_without_an_entry_is_refused(render):
    with pytest.raises(Stopped, match="dataset 'reports': has no entry"):
        render(DOCUMENT, "reports")


def test_a_mistake_in_one_entry_stops_every_other_dataset(render):
    document = edited(DOCUMENT, "base: all_jobs", "bse: all_jobs")
    with pytest.raises(Stopped, match="dataset 'jobs'"):
        render(document, "news")


@pytest.fixture(scope="module")
def parse(product, dbt, tmp_path_factory):
    """Edit the config in a copy of the product and parse that."""
    copy = copy_of(product, tmp_path_factory.mktemp("config") / "product")
    text = (copy / CONFIG).read_text()

    def call(old: str = "", new: str = "") -> str | None:
        (copy / CONFIG).write_text(edited(text, old, new) if old else text)
        # With what dbt knows from parsing, it parses only what is edited.
        result = dbt("parse", "--quiet", folder=copy)
        return None if result.success else str(result.exception)

    call.copy = copy
    return call


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "base: vw_dataset_jobs\n",
            "bse: vw_dataset_jobs\n",
            "dataset 'jobs': unknown key 'bse'; known are",
        ),
        (
            "unique_key: [test_id]\n        tier: project\n",
            "unique_key: [test_id]\n",
            "secure_datasets_config: dataset 'tests': the key 'tier' is missing",
        ),
        (
            "Global:\n                    visible_to: everyone",
            "Global:\n                    visible_to: [",
            "secure_datasets_config: the config: is not a YAML mapping",
        ),
    ],
    ids=["an unknown key", "a missing tier", "YAML that does not parse"],
)
def test_dbt_stops_while_it_parses_at(parse, old, new, sentence):
    assert sentence in parse(old, new)


@pytest.mark.nightly
def test_dbt_stops_at_a_secure_dataset_that_has_no_entry(parse):
    file = parse.copy / "models/secure/vw_secure_dataset_reports.sql"
    file.write_text("{{ secure_datasets.secure_dataset('reports') }}\n")
    assert "dataset 'reports': has no entry" in parse()
    file.unlink()
    assert parse() is None


@pytest.mark.nightly
def test_a_mask_by_role_is_looked_at_by_a_data_test(parse, dbt):
    # The sample's masks say `except`, so that its data test has nothing to look at.
    sample = parse.copy / SAMPLE
    file = sample / SAMPLES.relative_to(ROOT / SAMPLE)
    by_role = ("- except: [Operations]", "- role: Operations")
    file.write_text(edited(file.read_text(), *by_role))
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        *("--select", "assert_masks_by_role_reach_everybody"),
        folder=sample,
    )
    assert result.success, result.exception
    (compiled,) = result.result
    text = compiled.node.compiled_code
    row = "('Operations', cast(null as bigint), 'star_test_executions.error_count')"
    assert row in text
    assert "secure_datasets.int_user_group_ancestors" in text


def test_what_decides_who_sees_what_is_also_what_conditions_and_masks_look_up():
    document = together()
    looked_up = "{} in (select a.id from {{{{ ref('{}') }}}} as a)"
    document["policies"] = [
        {
            "role": "Data Office",
            "resource": "jobs",
            "condition": looked_up.format("job_id", "allowed"),
        },
        {
            "except": ["Operations"],
            "resource": "jobs.job_name",
            "condition": looked_up.format("job_id", "hidden"),
            "mask": "''",
        },
        {"role": "Operations", "resource": "jobs", "condition": True},
    ]
    macros = Macros(yaml.safe_dump(document), ref="s.{}".format, types={})
    for name in ("allowed", "hidden", "vw_dataset_jobs", "unnamed"):
        node = {"relation_name": f"s.{name}", "schema": "s", "alias": name}
        macros.graph.nodes[name] = node | {"resource_type": "model"}
    macros.graph.nodes["analysis"] = {"resource_type": "analysis"}
    create = SimpleNamespace(create=lambda schema, identifier: f"{schema}.{identifier}")
    macros.stand_in(api=SimpleNamespace(Relation=create))
    found = macros.relations_of_rights(macros.secure_datasets_config())
    assert {"s.allowed", "s.hidden", "s.map_user_group_business_units"} <= set(found)
    assert {tier["access_view"] for tier in document["tiers"].values()} <= {
        name.removeprefix("s.") for name in found
    }
    assert not {"s.unnamed", "s.vw_dataset_jobs"} & set(found)
    rules = macros.nodes_of_rules(macros.secure_datasets_config())
    assert [node["alias"] for node in rules] == ["allowed", "hidden"]
