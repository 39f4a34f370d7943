"""Where rows leave the rules that protect them: the leak detector, and what it is for.

Findings come from dbt's graph, so SQLite can answer the compiled query: no test of the
detector needs Spark.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from small_project import database_of, small_project

SCHEMA = "small_leaks"
CONFIG = """\
{% macro secure_datasets_config() %}
    {% set document %}
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: []}
datasets:
    jobs:
        base: all_jobs
        columns: [job_id, team_id]
        unique_key: [job_id]
        tier: team
        keys: {team_id: team_id}
    copies:
        base: pipeline_copy
        columns: [job_id, team_id]
        unique_key: [job_id]
        tier: team
        keys: {team_id: team_id}
POLICIES
    {% endset %}
    {{ return(fromyaml(document)) }}
{% endmacro %}
"""
POLICIES = """\
policies:
    - role: Auditors
      resource: conditioned
      condition: job_id in (select u.user_id from {{ ref('unprotected') }} as u)
    - {role: Auditors, resource: masked.job_id, mask: "0"}
relationships:
    - from: {dataset: related, join_columns: [job_id]}
      to: {row_security: jobs_of_units}
"""
CONFIG_FILE = "macros/secure/secure_datasets_config.sql"
SECURE = "select 1 as job_id, 2 as team_id, 3 as user_id"
PER_USER = "{{ ref('vw_secure_dataset_jobs') }}"
CARRY, GROUP, OWN = "carry-user-id", "group-by-user-id", "rules-of-its-own"
JOBS = "vw_secure_dataset_jobs"

# A model's text and its documented columns.
MODELS: dict[str, tuple[str, list[str]]] = {
    "all_jobs": ("select 1 as job_id, 2 as team_id", ["job_id", "team_id"]),
    "conditioned": ("select 1 as job_id", ["job_id"]),
    "masked": ("select 1 as job_id", ["job_id"]),
    "related": ("select 1 as job_id", ["job_id"]),
    "unprotected": ("select 1 as user_id", ["user_id"]),
    JOBS: (
        f"{SECURE} from {{{{ ref('all_jobs') }}}}",
        ["job_id", "team_id", "user_id"],
    ),
    # Rules of its own: the base of an entry may read any protected dataset.
    "pipeline_copy": (
        "select job_id, team_id from {{ ref('all_jobs') }}",
        ["job_id", "team_id"],
    ),
    "vw_secure_dataset_copies": (
        f"{SECURE} from {{{{ ref('pipeline_copy') }}}}",
        ["job_id", "team_id", "user_id"],
    ),
    "reads_unprotected": ("select 1 as a from {{ ref('unprotected') }}", ["a"]),
    "carries": (f"select job_id, user_id from {PER_USER}", ["job_id", "user_id"]),
    "carries_further": (
        "select job_id, user_id from {{ ref('carries') }}",
        ["job_id", "user_id"],
    ),
    "drops": (f"select job_id from {PER_USER}", ["job_id"]),
    "drops_as_a_view": (
        f"{{{{ config(materialized='view') }}}} select job_id from {PER_USER}",
        ["job_id"],
    ),
    "undocumented": (f"select job_id, user_id from {PER_USER}", ["job_id"]),
    "drops_further": ("select job_id from {{ ref('carries_further') }}", ["job_id"]),
    "takes_another": (
        "select u.user_id from {{ ref('drops') }} as d"
        " inner join {{ ref('unprotected') }} as u on true",
        ["user_id"],
    ),
    "only_text": (
        "{{ config(materialized='ephemeral') }}"
        f" select job_id, 1 as user_id from {PER_USER}",
        ["job_id"],
    ),
    "through_text": (
        "select job_id, user_id from {{ ref('only_text') }}",
        ["job_id", "user_id"],
    ),
    "two_ways": (
        "select c.job_id, c.user_id from {{ ref('carries') }} as c"
        " inner join {{ ref('drops') }} as d on c.job_id = d.job_id",
        ["job_id", "user_id"],
    ),
    "reads_base": ("select job_id from {{ ref('all_jobs') }}", ["job_id"]),
    "reads_base_as_a_user": (
        "select job_id, user_id from {{ ref('all_jobs') }}"
        " inner join {{ ref('unprotected') }} on true",
        ["job_id", "user_id"],
    ),
    "reads_conditioned": ("select job_id from {{ ref('conditioned') }}", ["job_id"]),
    "reads_masked": ("select job_id from {{ ref('masked') }}", ["job_id"]),
    "reads_related": ("select job_id from {{ ref('related') }}", ["job_id"]),
}
# The findings: rule, path, problem.
ALL_USERS = "reads the rows of all users"
EXPECTED: dict[str, set[tuple[str, str, str]]] = {
    "reads_unprotected": set(),
    "carries": set(),
    "carries_further": set(),
    "pipeline_copy": set(),
    "vw_secure_dataset_copies": set(),
    "drops": {(CARRY, f"{JOBS} > drops", "drops has no column user_id")},
    "drops_as_a_view": {
        (CARRY, f"{JOBS} > drops_as_a_view", "drops_as_a_view has no column user_id")
    },
    "undocumented": {
        (CARRY, f"{JOBS} > undocumented", "undocumented has no column user_id")
    },
    "drops_further": {
        (
            CARRY,
            f"{JOBS} > carries > carries_further > drops_further",
            "drops_further has no column user_id",
        )
    },
    "takes_another": {
        (CARRY, f"{JOBS} > drops > takes_another", "drops has no column user_id")
    },
    "only_text": set(),
    "through_text": {
        (CARRY, f"{JOBS} > only_text > through_text", "only_text has no column user_id")
    },
    "two_ways": {(CARRY, f"{JOBS} > drops > two_ways", "drops has no column user_id")},
    "reads_base": {(OWN, "all_jobs > reads_base", ALL_USERS)},
    "reads_base_as_a_user": {(OWN, "all_jobs > reads_base_as_a_user", ALL_USERS)},
    "reads_conditioned": {(OWN, "conditioned > reads_conditioned", ALL_USERS)},
    "reads_masked": {(OWN, "masked > reads_masked", ALL_USERS)},
    "reads_related": {(OWN, "related > reads_related", ALL_USERS)},
    "a_snapshot": {(CARRY, f"{JOBS} > a_snapshot", "a_snapshot has no column user_id")},
}
# Aggregates that group by the user; `jobs` stands for the secure dataset.
GROUPED = [
    "select user_id, count(*) as n from jobs group by user_id",
    "select j.user_id, team_id, max(job_id) as n from jobs as j"
    " group by team_id, j.user_id having count(*) > 1 order by team_id limit 5",
    "with counted as (select user_id, count(*) as n from jobs group by user_id)"
    " select user_id, n from counted",
    "select user_id, coalesce(sum(job_id), 0) as n from jobs group by user_id",
    "select user_id, count(*) over (partition by team_id, user_id order by job_id)"
    " as n from jobs",
    "select user_id, last_day(current_date) as n from jobs",
    "select user_id, 'count(*)' as n from jobs -- count(*) group by team_id",
    "select user_id, job_id as n from jobs where job_id in (select 1)",
    "select user_id, count(*) as n from jobs group by user_id"
    " union all select user_id, sum(job_id) from jobs group by user_id",
]
UNGROUPED = [
    ("select max(user_id) as user_id, count(*) as n from jobs", "an aggregate"),
    (
        "select max(user_id) as user_id, job_id as n from jobs group by job_id",
        "group by",
    ),
    ("select max(user_id) as user_id, 1 as n from jobs group by all", "group by all"),
    ("select max(user_id) as user_id, 1 as n from jobs group by 1, 2", "group by 1"),
    (
        "select max(user_id) as user_id, 1 as n from jobs group by user_id % 2",
        "group by",
    ),
    ("select user_id, 1 as n from jobs group by actor_user_id", "group by actor"),
    ("select user_id, 1 as n from jobs group by rollup(user_id)", "group by rollup"),
    ("select user_id, 1 as n from jobs group by user_id with cube", "group by user_id"),
    (
        "select user_id, 1 as n from jobs group by user_id, team_id"
        " grouping sets ((user_id, team_id), (team_id))",
        "totals",
    ),
    ("select user_id, count(*) over () as n from jobs", "a window"),
    ("select user_id, sum(1) over (partition by team_id) as n from jobs", "a window"),
    ("select user_id, sum(1) over (order by user_id) as n from jobs", "a window"),
    (
        "select user_id, sum(1) over (partition by team_id order by a, user_id) as n"
        " from jobs",
        "a window",
    ),
    (
        "select user_id, sum(1) over w as n from jobs window w as (order by 1)",
        "a window",
    ),
    ("select user_id, (select count(*) from jobs) as n from jobs", "an aggregate"),
    (
        "with n as (select job_id, count_if(true) as n from jobs group by job_id)"
        " select user_id, n from jobs inner join n on true",
        "group by job_id",
    ),
    (
        "select user_id, count(*) as n from jobs group by user_id"
        " union all select max(user_id), count(*) from jobs",
        "an aggregate",
    ),
    (
        "select max(user_id) as user_id, 'group by user_id' as n from jobs"
        " /* group by user_id */ -- group by user_id",
        "an aggregate",
    ),
    ("select any_value(user_id) as user_id, 1 as n from jobs", "an aggregate"),
    ("select coalesce(max(user_id), 0) as user_id, 1 as n from jobs", "an aggregate"),
    (
        "select user_id, n from (select count(*) as n from jobs) cross join jobs",
        "an agg",
    ),
]
PYTHON = """\
def model(dbt, session):
    dbt.config(materialized="published_view")
    return dbt.ref("vw_secure_dataset_jobs"){}
"""
PYTHON_GROUPED = ['.groupBy("user_id", "job_id").count()', '.where("job_id > 1")']
PYTHON_UNGROUPED = [
    ('.groupBy("job_id").agg(F.max("user_id").alias("user_id"))', "groupBy"),
    ('.groupBy("actor_user_id").count()', "groupBy"),
    ('.agg(F.max("user_id").alias("user_id"))', "an aggregate without groupBy"),
    ('.rollup("user_id").count()', "rollup"),
    ('.withColumn("n", F.sum("a").over(Window.partitionBy("a")))', "partitionBy"),
]
for place, text in enumerate(GROUPED + [text for text, _ in UNGROUPED]):
    MODELS[f"aggregate_{place}"] = (text.replace("jobs", PER_USER), ["user_id", "n"])
PYTHON_MODELS = {
    f"python_{place}": PYTHON.format(text)
    for place, text in enumerate(
        PYTHON_GROUPED + [text for text, _ in PYTHON_UNGROUPED]
    )
}
SNAPSHOT = """\
{% snapshot a_snapshot %}
{{ config(unique_key='job_id', strategy='check', check_cols='all') }}
select job_id from {{ ref('vw_secure_dataset_jobs') }}
{% endsnapshot %}
"""


def with_columns(models: dict[str, list[str]]) -> str:
    """The YAML that documents the columns of models."""
    return yaml.safe_dump(
        {
            "models": [
                {"name": name, "columns": [{"name": column} for column in columns]}
                for name, columns in models.items()
            ]
        }
    )


def compiled_queries(folder: Path, dbt, manifest=None) -> dict[str, str]:
    """Compile the detector without Spark; return the text of the model and the test."""
    names = ("leaks", "assert_nothing_leaks")
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        "--no-write-json",
        *("--indirect-selection", "empty", "--select", *names),
        folder=folder,
        manifest=manifest,
    )
    assert result.success, result.exception
    files = (folder / "target/compiled").rglob("*.sql")
    return {file.stem: file.read_text() for file in files if file.stem in names}


@pytest.fixture(scope="module")
def queries(project, tmp_path_factory, dbt) -> dict[str, str]:
    """The compiled detector over the small project."""
    columns = {name: columns for name, (_, columns) in MODELS.items()}
    columns |= {name: ["user_id", "n"] for name in PYTHON_MODELS}
    small = small_project(
        tmp_path_factory.mktemp("leaks") / "project",
        project,
        SCHEMA,
        {f"models/{name}.sql": text for name, (text, _) in MODELS.items()}
        | {f"models/{name}.py": text for name, text in PYTHON_MODELS.items()}
        | {
            "models/_models.yml": with_columns(columns),
            "snapshots/a_snapshot.sql": SNAPSHOT,
            CONFIG_FILE: CONFIG.replace("POLICIES", POLICIES),
        },
        copied=("models/leaks", "seeds/leaks", "tests/dbt/assert_nothing_leaks.sql"),
    )
    return compiled_queries(small, dbt)


def answers(query: str, schema: str, exceptions: list[tuple]) -> list[tuple]:
    """Answer a query of the detector with these exceptions."""
    columns = ["model_name", "owner", "reason", "expires_on"]
    database = database_of(schema, leak_exceptions=columns)
    insert = f"insert into {schema}.leak_exceptions values (?, ?, ?, ?)"
    database.executemany(insert, exceptions)
    return database.execute(query).fetchall()


@pytest.fixture(scope="module")
def found(queries) -> dict[str, set[tuple[str, str, str]]]:
    """The findings of each model, without exceptions."""
    by_model: dict[str, set] = {}
    for name, rule, _, path, problem, *_ in answers(queries["leaks"], SCHEMA, []):
        by_model.setdefault(name, set()).add((rule, path, problem))
    return by_model


@pytest.mark.parametrize("model", EXPECTED)
def test_Z4_a_model_over_a_protected_dataset(found, model):
    assert found.get(model, set()) == EXPECTED[model]


def of_aggregate(found, prefix: str, place: int) -> list[tuple[str, str]]:
    """The rule and the problem of each finding about an aggregate."""
    return [(rule, said) for rule, _, said in found.get(f"{prefix}_{place}", ())]


@pytest.mark.parametrize("place", range(len(GROUPED)), ids=lambda n: GROUPED[n][:60])
def test_Z4_an_aggregate_by_user_is_no_leak(found, place):
    assert of_aggregate(found, "aggregate", place) == []


@pytest.mark.parametrize(
    "place", range(len(UNGROUPED)), ids=lambda n: UNGROUPED[n][0][:60]
)
def test_Z4_an_aggregate_over_the_rows_of_several_users_is_one(found, place):
    ((rule, problem),) = of_aggregate(found, "aggregate", len(GROUPED) + place)
    assert rule == GROUP
    assert UNGROUPED[place][1] in problem


@pytest.mark.parametrize("place", range(len(PYTHON_GROUPED)))
def test_Z4_a_python_model_that_groups_by_user_is_no_leak(found, place):
    assert of_aggregate(found, "python", place) == []


@pytest.mark.parametrize("place", range(len(PYTHON_UNGROUPED)))
def test_Z4_a_python_model_that_does_not_is_one(found, place):
    ((rule, problem),) = of_aggregate(found, "python", len(PYTHON_GROUPED) + place)
    assert rule == GROUP
    assert problem.startswith(PYTHON_UNGROUPED[place][1])


TODAY = date.today()
LATER, EARLIER = str(TODAY + timedelta(days=30)), str(TODAY - timedelta(days=2))
# Model, owner, reason and last day; and whether the model is excused.
EXCUSES = {
    "holds": (("reads_base", "an owner", "a reason", LATER), True),
    "expired": (("reads_base", "an owner", "a reason", EARLIER), False),
    "has no owner": (("reads_base", " ", "a reason", LATER), False),
    "has no reason": (("reads_base", "an owner", None, LATER), False),
    "never expires": (("reads_base", "an owner", "a reason", None), False),
    "is of another model": (("reads_masked", "an owner", "a reason", LATER), False),
}


@pytest.mark.parametrize(("exception", "excused"), EXCUSES.values(), ids=EXCUSES)
def test_Z4_an_exception_excuses_a_model_while_it(queries, exception, excused):
    unexcused = answers(queries["assert_nothing_leaks"], SCHEMA, [exception])
    paths = {path for _, path, *_ in unexcused}
    assert ("all_jobs > reads_base" not in paths) == excused
    assert "conditioned > reads_conditioned" in paths


def test_Z4_an_exception_does_not_excuse_the_readers_of_the_model(queries):
    row = ("drops", "an owner", "a reason", LATER)
    unexcused = answers(queries["assert_nothing_leaks"], SCHEMA, [row])
    paths = {path for _, path, *_ in unexcused}
    assert f"{JOBS} > drops" not in paths
    assert f"{JOBS} > drops > two_ways" in paths


@pytest.fixture(scope="module")
def own_queries(project, dbt, parsed) -> dict[str, str]:
    """The compiled detector over this project."""
    return compiled_queries(project, dbt, parsed)


@pytest.fixture(scope="module")
def own_exceptions() -> list[tuple]:
    """This project's exceptions."""
    with (ROOT / "seeds/leaks/leak_exceptions.csv").open(encoding="utf-8") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


def test_Z4_nothing_leaks_in_this_project(own_queries, own_exceptions):
    query = own_queries["assert_nothing_leaks"]
    assert answers(query, "secure_datasets", own_exceptions) == []


def test_Z4_the_sample_has_one_model_that_carries_and_three_that_are_excused(
    own_queries, own_exceptions
):
    rows = answers(own_queries["leaks"], "secure_datasets", own_exceptions)
    assert {(row[0], row[1]) for row in rows} == {
        ("daily_test_results", OWN),
        ("dim_days", OWN),
        ("monthly_test_results", OWN),
    }
    assert {name for name, *_ in own_exceptions} == {row[0] for row in rows}
    text = (ROOT / "models/reports/user_test_results.sql").read_text()
    assert "ref('vw_secure_dataset_tests')" in text
    # One with rules of its own over another protected dataset.
    text = (ROOT / "models/datasets/vw_dataset_tests.sql").read_text()
    assert "ref('vw_dataset_test_executions')" in text


def test_Z4_every_rule_has_a_page_with_example_reason_and_remedy():
    for rule in (CARRY, GROUP, OWN):
        page = (ROOT / f"docs/rules/{rule}.md").read_text()
        headings = [line for line in page.split("\n") if line.startswith("## ")]
        assert headings == ["## Example", "## Reason", "## Remedy"], rule


# What the rules are for, on real relations: (job, team), and who may see which team.
STORED_MODELS = {
    "models/all_jobs.sql": "select cast(job_id as bigint) as job_id,"
    " cast(team_id as bigint) as team_id from {{ ref('raw_jobs') }}",
    "models/vw_secure_dataset_jobs.sql": "{{ config(materialized='view') }}"
    "{{ secure_dataset('jobs') }}",
    "models/a_view.sql": "{{ config(materialized='view') }} select * from " + PER_USER,
    "models/a_copy.sql": "select * from " + PER_USER,
    "models/pipeline_copy.sql": "select job_id, team_id from {{ ref('all_jobs') }}",
    "models/vw_secure_dataset_copies.sql": "{{ config(materialized='view') }}"
    "{{ secure_dataset('copies') }}",
}
TIER = "team: {access_view: team_access, object_keys: [team_id], carries: []}"
COPY_TIER = TIER.replace("team:", "copy:").replace("team_access", "copy_access")


@pytest.fixture(scope="module")
def stored(project, spark, dbt, tmp_path_factory) -> Path:
    """Relations with the rows of two teams: user 1 sees those of the first.

    A stored copy has rules of its own, by which user 2 sees those of the second.
    """
    config = CONFIG.replace("POLICIES", "").replace(TIER, TIER + "\n    " + COPY_TIER)
    head, tail = config.rsplit("tier: team", 1)
    small = small_project(
        tmp_path_factory.mktemp("stored") / "project",
        project,
        SCHEMA,
        STORED_MODELS | {CONFIG_FILE: head + "tier: copy" + tail},
        copied=("seeds/leaks", "tests/dbt/assert_nothing_leaks.sql"),
        seeds={
            "seeds/raw_jobs.csv": [
                {"job_id": "1", "team_id": "10"},
                {"job_id": "2", "team_id": "20"},
            ],
            "seeds/team_access.csv": [{"team_id": "10", "user_id": "1"}],
            "seeds/copy_access.csv": [{"team_id": "20", "user_id": "2"}],
        },
    )
    result = dbt(
        *("build", "--quiet", "--exclude-resource-type", "test"),
        *("--exclude", "path:seeds/privileges"),
        folder=small,
    )
    assert result.success, result.exception
    return small


def rows_of(spark, name: str) -> set[tuple]:
    """A relation's (job, user), or its jobs."""
    frame = spark.table(f"{SCHEMA}.{name}")
    columns = [c for c in ("job_id", "user_id") if c in frame.columns]
    return {tuple(map(int, row)) for row in frame.select(*columns).collect()}


@pytest.fixture
def give_access(stored, dbt) -> Iterator[Callable[[str], None]]:
    """Load other rows of who sees which team, and publish the secure dataset anew."""
    seed = stored / "seeds/team_access.csv"
    before = seed.read_text()

    def publish(rows: str) -> None:
        seed.write_text(rows)
        chosen = ("--select", "team_access", "vw_secure_dataset_jobs")
        result = dbt(
            *("build", "--quiet", "--exclude-resource-type", "test", *chosen),
            folder=stored,
        )
        assert result.success, result.exception

    yield publish
    publish(before)


@pytest.mark.spark
def test_Z1_a_view_is_filtered_at_every_read_and_Z2_a_stored_copy_is_not(
    stored, spark, give_access
):
    before = {(1, 1)}
    assert rows_of(spark, "a_view") == rows_of(spark, "a_copy") == before
    give_access("team_id,user_id\n20,3\n")
    # Z1: without a run of its own, the view shows the rows of today's users.
    assert rows_of(spark, "a_view") == {(2, 3)}
    # Z2: the copy holds what there was when it was stored, for good.
    assert rows_of(spark, "a_copy") == before


@pytest.mark.spark
def test_Z2_a_copy_that_the_pipeline_makes_holds_everything(stored, spark):
    assert rows_of(spark, "pipeline_copy") == {(1,), (2,)}


@pytest.mark.spark
def test_Z3_only_rules_on_the_copy_itself_apply(stored, spark):
    # User 1 may see a job of the original, user 2 none; of the copy it is the reverse.
    assert rows_of(spark, "vw_secure_dataset_jobs") == {(1, 1)}
    assert rows_of(spark, "vw_secure_dataset_copies") == {(2, 2)}


@pytest.mark.spark
def test_Z4_dbt_test_fails_and_names_the_path(stored, dbt, capfd):
    leaky = stored / "models/leaky.sql"
    leaky.write_text("select job_id from {{ ref('a_copy') }}")
    try:
        result = dbt("test", "--select", "assert_nothing_leaks", folder=stored)
    finally:
        leaky.unlink()
    assert not result.success
    assert "vw_secure_dataset_jobs > a_copy > leaky" in capfd.readouterr().out
