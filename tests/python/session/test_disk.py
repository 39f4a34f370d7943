"""A full or read-only disk is told in one sentence, and the next run repairs."""

from __future__ import annotations

import errno
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from dbt.adapters.secure_spark.connections import SecureSparkConnectionManager
from dbt_common.exceptions import DbtRuntimeError
from projects import ROOT
from small_project import small_project

from dbt_secure_spark import disk, session
from dbt_secure_spark.submission import SessionPythonJobHelper

# What Spark said of a warehouse on a full tmpfs, of one that was mounted read-only, of
# a full folder for temporary files, and of a table that is not there.
WRITE_FAILED = """\
An error occurred while calling o52.sql.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows \
to file:{warehouse}/secure_datasets_versions.db/stg_reports__v20260722072507_bd9d0a99. \
SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError
Caused by: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device
"""
MKDIRS_FAILED = """\
An error occurred while calling o52.sql.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage \
0.0 failed 1 times, most recent failure: Lost task 0.0 in stage 0.0 (TID 0) (driver): \
java.io.IOException: Mkdirs failed to create file:{warehouse}/a.db/b__v1/_temporary/0 \
(exists=false, cwd=file:/somewhere)
"""
NO_LIBRARY = "java.lang.NoClassDefFoundError: Could not initialize class"
NO_TABLE = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `a` cannot be found."


class EngineFailure(Exception):
    """Stands for what PySpark raises."""

    def __init__(self, message: str, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state

    def getSqlState(self) -> str | None:
        """The SQLSTATE."""
        return self.state


@pytest.fixture
def parameters(tmp_path) -> dict[str, str]:
    """The example profile's settings, in a folder of its own."""
    example = (ROOT / "profiles.yml.example").read_text()
    profile = yaml.safe_load(example.replace("PROJECT_FOLDER", str(tmp_path)))
    (tmp_path / ".spark").mkdir()
    return profile["secure_datasets"]["outputs"]["local"]["server_side_parameters"]


@pytest.fixture
def full(monkeypatch):
    """Every folder is on a full disk."""
    device = partial(open, "/dev/full", "wb", buffering=0)
    monkeypatch.setattr(disk.tempfile, "TemporaryFile", lambda **_: device())


def test_the_folders_that_a_profile_names_are_known(parameters, tmp_path):
    assert disk.folders(parameters) == {
        tmp_path / ".spark/warehouse": "the warehouse",
        tmp_path / ".spark/metastore": "the metastore",
        tmp_path / ".spark/scratch": "spark.local.dir",
    }
    remote = {
        "spark.sql.warehouse.dir": "s3a://bucket/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:postgresql://host/metastore",
        "spark.driver.extraJavaOptions": "-Djava.io.tmpdir=/there -Xmx1g",
        "spark.local.dir": "/here, /there",
    }
    assert [*map(str, disk.folders(remote))] == ["/here", "/there"]
    local = {"spark.sql.warehouse.dir": "file:///a%20b"}
    assert [*map(str, disk.folders(local))] == ["/a b"]


def test_folders_that_can_be_written_are_left_as_they_are(parameters, tmp_path):
    assert disk.told_of_folders(parameters) is None
    assert [*(tmp_path / ".spark").iterdir()] == []


def test_a_full_disk_is_told_with_its_folder(parameters, full, tmp_path):
    told = disk.told_of_disk(EngineFailure(NO_LIBRARY), parameters)
    assert told == (
        f"The disk of the warehouse is full ({tmp_path}/.spark/warehouse): free space"
        " there, then run the same command again, which repairs what this one has left."
    )


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOTDIR])
def test_a_folder_that_can_not_be_written_is_told_with_the_reason(
    parameters, monkeypatch, tmp_path, code
):
    def refuse(**_):
        raise OSError(code, "Not here")

    monkeypatch.setattr(disk.tempfile, "TemporaryFile", refuse)
    warehouse = parameters["spark.sql.warehouse.dir"]
    message = MKDIRS_FAILED.format(warehouse=warehouse)
    told = disk.told_of_disk(EngineFailure(message), parameters)
    assert told.startswith("Nothing can be written to the warehouse (")
    assert told.count("\n") == 0
    assert f"{warehouse}: {disk.os.strerror(code)}): make it writable" in told


def test_a_write_that_was_cleared_away_is_told_by_what_java_says(parameters):
    warehouse = parameters["spark.sql.warehouse.dir"]
    message = WRITE_FAILED.format(warehouse=warehouse)
    told = disk.told_of_disk(EngineFailure(message, "58030"), parameters)
    assert told.startswith(f"The disk of the warehouse is full ({warehouse})")
    server = {"spark.remote": "sc://127.0.0.1:15002"}
    told = disk.told_of_disk(EngineFailure(message, "58030"), server)
    assert told.startswith("A disk that Spark writes to is full")


def test_a_folder_outside_the_warehouse_is_told_if_the_failure_names_it(
    parameters, tmp_path
):
    (tmp_path / "a.db").write_text("no folder")
    message = MKDIRS_FAILED.format(warehouse=tmp_path)
    told = disk.told_of_disk(EngineFailure(message), parameters)
    assert f"({tmp_path}/a.db: Not a directory)" in told


def test_what_is_wrong_with_a_query_is_told_as_it_is(parameters, full):
    assert disk.told_of_disk(EngineFailure(NO_TABLE, "42P01"), parameters) is None
    raised = EngineFailure("a reader's words: No space left on device", "P0001")
    assert disk.told_of_disk(raised, parameters) is None


def test_another_failure_on_good_disks_is_told_as_it_is(parameters):
    assert disk.told_of_disk(EngineFailure(NO_LIBRARY), parameters) is None
    assert disk.told_of_disk(ValueError("a value"), parameters) is None


def test_the_cursor_and_python_models_tell_it(parameters, full, monkeypatch):
    def fail(*_, **__):
        raise EngineFailure(NO_LIBRARY)

    monkeypatch.setattr(session.dbt_session.Cursor, "execute", fail)
    cursor = session.CheckedCursor(server_side_parameters=parameters)
    with pytest.raises(DbtRuntimeError, match="The disk of the warehouse is full"):
        cursor.execute("select 1")
    credentials = type("Credentials", (), {})()
    credentials.method, credentials.server_side_parameters = "session", parameters
    model = {"original_file_path": "models/a.py", "raw_code": "1 / 0"}
    with pytest.raises(DbtRuntimeError, match="The disk of the warehouse is full"):
        SessionPythonJobHelper(model, credentials).submit("1 / 0")


def test_spark_is_not_started_on_a_folder_that_can_not_be_written(
    parameters, monkeypatch, tmp_path
):
    for name in ("JAVA_HOME", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "as it was")
    monkeypatch.setattr(session, "_started", False)
    monkeypatch.setattr(session, "find_java_home", lambda: Path("/java"))
    (tmp_path / "file").write_text("no folder")
    parameters["spark.local.dir"] = str(tmp_path / "file/scratch")
    with pytest.raises(session.SessionNotStarted) as refused:
        session.start_session(parameters)
    told = f"Nothing can be written to spark.local.dir ({tmp_path}/file/scratch: "
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (WRITE_FAILED, "A disk that Spark writes to is full: "),
        ("java.io.IOException: a: Read-only file system\n\tat b", "is read-only: "),
    ],
)
def test_what_a_thrift_server_tells_of_its_disks_is_one_sentence(told, expected):
    def manager(method: str) -> SecureSparkConnectionManager:
        """What of a connection manager says by which method dbt connects."""
        made = object.__new__(SecureSparkConnectionManager)
        credentials = SimpleNamespace(method=method)
        made.profile = SimpleNamespace(credentials=credentials)
        return made

    with (
        pytest.raises(DbtRuntimeError) as failed,
        manager("thrift").exception_handler("select 1"),
    ):
        raise ValueError(f"Error running query: {told}")
    assert expected in str(failed.value)
    assert "\tat " not in str(failed.value)
    with (
        pytest.raises(DbtRuntimeError, match="cannot be found"),
        manager("thrift").exception_handler("select 1"),
    ):
        raise ValueError(f"{NO_TABLE} SQLSTATE: 42P01; 'No space left on device'")
    # The session's cursor has said more already.
    with (
        pytest.raises(DbtRuntimeError, match="Nothing can be written to the ware"),
        manager("session").exception_handler("select 1"),
    ):
        raise ValueError(
            "Nothing can be written to the warehouse: Read-only file system"
        )


@pytest.mark.spark
def test_a_run_that_could_not_write_says_so_and_the_next_one_repairs(
    spark, dbt, project, tmp_path, capfd
):
    schema = "no_disk"
    models = {"models/a.sql": "select 1 as id", "models/b.sql": "select 2 as id"}
    small = small_project(tmp_path / "project", project, schema, models)
    try:
        assert dbt("run", folder=small).success
        location = spark.sql(f"describe schema {schema}_versions").collect()
        (place,) = (
            Path(row[1].removeprefix("file:"))
            for row in location
            if row[0] == "Location"
        )
        shutil.move(place, tmp_path / "away")
        place.write_text("no folder")
        capfd.readouterr()
        result = dbt("run", folder=small)
        assert not result.success
        messages = [str(result.exception)]
        told = (
            f"Nothing can be written to a folder of Spark's ({place}: Not a directory)"
        )
        assert all(told in message for message in messages)
        printed = capfd.readouterr()
        assert "\tat " not in printed.out + printed.err, "no stack of the JVM's"

        place.unlink()
        shutil.move(tmp_path / "away", place)
        assert dbt("run", folder=small).success
        assert spark.table(f"{schema}.a").collect() == [(1,)]
    finally:
        for each in (schema, f"{schema}_versions"):
            spark.sql(f"drop schema if exists {each} cascade")
