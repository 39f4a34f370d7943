"""What is published in Iceberg: the rows, the laws and the remains are Parquet's.

The tests share one lakehouse, and follow each other.
"""

from __future__ import annotations

import signal
import subprocess

import pytest
from harness import stop, wait_for
from lakehouse import OF_THE_CLOCK, PUBLISHED, RAW, RUN, Lakehouse

from dbt_secure_spark.versions import VERSION, versions_kept, versions_read

STORES = (f"{PUBLISHED}_versions", "repository_sample_versions")
SESSION_CATALOG = "org.apache.iceberg.spark.SparkSessionCatalog"
SECURE = "vw_secure_dataset_jobs"
# A model of SQL and one of Python, by the lines of dbt_project.yml before them.
IN_BUCKETS = {
    "      +tags: datasets\n": "      vw_dataset_tests: {+folders: 4}\n",
    "      vw_secure_user_project_access:\n": "        +folders: 4\n",
}


@pytest.fixture(scope="module")
def lakehouse(tmp_path_factory) -> Lakehouse:
    """A lakehouse in which the sample is published in Iceberg, seeds too."""
    lakehouse = Lakehouse(tmp_path_factory.mktemp("published") / "product", "lake")
    project = lakehouse.folder / "dbt_project.yml"
    text = project.read_text()
    for before, setting in IN_BUCKETS.items():
        assert before in text
        text = text.replace(before, before + setting, 1)
    project.write_text(text)
    code, printed = lakehouse.dbt("seed")
    assert code == 0, printed[-4000:]
    lakehouse.copy_raw_tables()
    lakehouse.run()
    return lakehouse


def tables_of(lakehouse: Lakehouse) -> tuple[set[str], set[str], set[str]]:
    """Return the versions in the catalog, those that views name, and the folders."""
    schemas = (PUBLISHED, "repository_sample")
    told = lakehouse.sql(
        *(f"show tables in lake.{store}" for store in STORES),
        *(f"show table extended in {schema} like '*'" for schema in schemas),
    )
    stored = {f"{s}.{name}" for rows in told[:2] for s, name, _ in rows}
    named = {
        version
        for rows in told[2:]
        for *_, text in rows
        for version in versions_read(text) + versions_kept(text)
    }
    lake = lakehouse.folder / ".spark/lake"
    folders = {
        f"{store}.{folder.name}"
        for store in STORES
        for folder in (lake / store).iterdir()
        if not folder.name.startswith(".")
    }
    return {n for n in stored if VERSION.search(n)}, named, folders - claims()


def assert_nothing_is_left(lakehouse: Lakehouse) -> None:
    """Assert that there is each version that a view names, and no other."""
    stored, named, folders = tables_of(lakehouse)
    assert stored == named == folders


def claims() -> set[str]:
    """Return the tables that say whose the schemas are."""
    return {f"{store}.claimed_by" for store in STORES}


def test_the_rows_are_those_of_parquet(of_parquet, lakehouse):
    rows = lakehouse.rows()
    assert rows.keys() == of_parquet[1].keys()
    assert {n for n in rows if rows[n] != of_parquet[1][n]} == set()
    assert len(rows[f"{PUBLISHED}.{SECURE}"]) > 0


def test_versions_lie_in_their_catalog_and_nowhere_else(lakehouse):
    stored, named, folders = tables_of(lakehouse)
    assert stored == named == folders and len(stored) > 60
    warehouse = lakehouse.folder / ".spark/warehouse"
    assert list(warehouse.rglob("*.parquet")) == []


def test_the_state_names_snapshots_and_the_command_reads_their_files(lakehouse):
    versions = lakehouse.state()["versions"]
    users = lakehouse.versions()[f"{PUBLISHED}.stg_users"]
    (now,) = lakehouse.sql(f"select snapshot_id from lake.{users}.refs")
    assert versions[users]["snapshot"] == now[0][0]
    assert all(each["snapshot"] for each in versions.values())
    command = [lakehouse.bin / "secure-datasets", "who", "hpark"]
    done = subprocess.run(command, cwd=lakehouse.folder, capture_output=True, text=True)
    assert not done.returncode and "Hyun-woo Park (hpark)" in done.stdout


def test_a_version_lies_in_buckets_in_the_place_of_folders(lakehouse):
    shown, versions = lakehouse.versions(), lakehouse.state()["versions"]
    for name, key in (
        ("vw_dataset_tests", "project_id"),
        ("vw_secure_user_project_access", "user_id"),
    ):
        files = versions[shown[f"{PUBLISHED}.{name}"]]["files"]
        assert files and all(f"data/{key}_bucket=" in file for file, _ in files)


def test_values_are_counted_for_spark_s_plans(lakehouse):
    shown = lakehouse.versions()
    of_access = [name for name in shown if f"{PUBLISHED}.vw_secure_user_" in name]
    assert len(of_access) > 3
    lake = lakehouse.folder / ".spark/lake"
    for name in of_access:
        folder = lake / shown[name].replace(".", "/") / "metadata"
        assert len([*folder.glob("*.stats")]) == 1, name


def test_nothing_new_keeps_versions(lakehouse):
    assert lakehouse.changed_by() <= OF_THE_CLOCK
    assert_nothing_is_left(lakehouse)


def test_what_somebody_writes_into_a_version_is_not_shown(lakehouse):
    """Views name the version's own snapshot, and so does what the command reads."""
    before, versions = lakehouse.versions(), lakehouse.state()["versions"]
    names = [f"{PUBLISHED}.{name}" for name in ("vw_dataset_jobs", "stg_users")]
    jobs, users = (before[name] for name in names)
    asked = (
        f"select * from {PUBLISHED}.{SECURE} order by user_id, job_id",
        f"select * from {names[1]} order by user_id",
        f"show create table {PUBLISHED}.{SECURE}",
    )
    *rows, _ = lakehouse.sql(*asked)
    lakehouse.sql(
        f"delete from lake.{jobs}",
        f"insert into lake.{users} select * from lake.{users}",
    )
    *now, ((text,),) = lakehouse.sql(*asked)
    assert now == rows and rows[0]
    assert f"lake.{jobs} version as of {versions[jobs]['snapshot']}" in text
    # What another run reads is written anew.
    assert {"vw_dataset_jobs", "stg_users"} <= lakehouse.changed_by()
    assert lakehouse.sql(*asked[:2]) == rows
    assert_nothing_is_left(lakehouse)


def test_the_state_of_a_run_names_what_views_show(lakehouse):
    """Somebody has written into a version that the run leaves alone."""
    users = lakehouse.versions()[f"{PUBLISHED}.stg_users"]
    before = lakehouse.state()["versions"][users]
    lakehouse.sql(f"delete from lake.{users} where user_id = 8")
    lakehouse.run("run", "--select", "stg_jobs")
    now = lakehouse.state()["versions"][users]
    assert (now["snapshot"], now["files"]) == (before["snapshot"], before["files"])
    command = [lakehouse.bin / "secure-datasets", "who", "hpark"]
    done = subprocess.run(command, cwd=lakehouse.folder, capture_output=True, text=True)
    assert not done.returncode and "Hyun-woo Park (hpark)" in done.stdout


def shown(lakehouse: Lakehouse) -> dict[int, set[int]]:
    """Return the jobs that each user sees."""
    (rows,) = lakehouse.sql(f"select user_id, job_id from {PUBLISHED}.{SECURE}")
    found: dict[int, set[int]] = {}
    for user, job in rows:
        found.setdefault(user, set()).add(job)
    return found


def test_a_revocation_acts_at_once_and_a_delivery_moves_its_own(lakehouse):
    """The run of the rights narrows what it can't switch to one state."""
    before = shown(lakehouse)
    lakehouse.sql(
        f"delete from {RAW}.user_group_members",
        f"insert into {RAW}.jobs select * from {RAW}.jobs",
    )
    printed = lakehouse.run("run", "--selector", "rights")
    assert "shows the rows of before" in " ".join(printed.split())
    now = shown(lakehouse)
    assert now != before and all(now[user] <= before[user] for user in now)
    anew = lakehouse.changed_by()
    assert "stg_jobs" in anew and not anew & {"stg_users", "stg_events"}
    assert shown(lakehouse) == now
    assert_nothing_is_left(lakehouse)


def test_what_a_killed_run_leaves_is_cleared_by_the_next(lakehouse):
    before = shown(lakehouse)
    variables = ("--vars", f"{{raw_schema: {RAW}, summary: false}}")
    killed = lakehouse.start_dbt(
        "run", "--select", "staging", "--full-refresh", *variables
    )
    try:
        wait_for(killed, "OK created sql published_view model")
    finally:
        stop(killed, signal.SIGKILL)
    stored, named, _ = tables_of(lakehouse)
    assert shown(lakehouse) == before and named <= stored
    lakehouse.run("run", "--select", "stg_users")
    assert shown(lakehouse) == before
    assert_nothing_is_left(lakehouse)


def test_a_metastore_drops_nothing_of_another_s(lakehouse):
    table = f"lake.{STORES[0]}.claimed_by"
    (claim,) = lakehouse.sql(f"show tblproperties {table}")
    ((_, own),) = [row for row in claim if row[0] == "claim"]
    alter = f"alter table {table} set tblproperties ('claim' = '%s')"
    lakehouse.sql(alter % "another")
    code, printed = lakehouse.dbt(*RUN, "--vars", f"{{raw_schema: {RAW}}}")
    assert code and "belongs to another metastore" in " ".join(printed.split())
    lakehouse.sql(alter % own)


def test_iceberg_as_the_session_s_catalog_is_refused_before_anything_is_written(
    tmp_path,
):
    lakehouse = Lakehouse(tmp_path / "product")
    catalog = "spark.sql.catalog.spark_catalog"
    lakehouse.parameters[catalog] = SESSION_CATALOG
    lakehouse.parameters[f"{catalog}.type"] = "hive"
    lakehouse.write_profile()
    code, printed = lakehouse.dbt("seed")
    said = "The session's catalog spark_catalog is Iceberg's, where a view that is"
    assert code and said in " ".join(printed.split())
    (schemas,) = lakehouse.sql("show schemas like '*_versions'")
    assert schemas == []
