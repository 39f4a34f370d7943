"""A JAR for another Scala than Spark's is refused before Spark starts."""

from __future__ import annotations

import pytest

from dbt_secure_spark import session

RUNTIME = "iceberg-spark-runtime-3.5_{}-1.10.2.jar"
PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-3.5_{}:1.10.2"


@pytest.mark.parametrize(
    ("setting", "named", "is_refused"),
    [
        ("spark.jars", f"/opt/jackson.jar, /opt/{RUNTIME.format('2.12')}", True),
        ("spark.jars", f"/opt/my_2.12-jars/{RUNTIME.format('2.13')}", False),
        ("spark.jars", "/opt/lib_2.13.jar,/opt/postgresql-42.7.4.jar", False),
        ("spark.jars.packages", PACKAGE.format("2.12"), True),
        ("spark.jars.packages", PACKAGE.format("2.13"), False),
        ("spark.jars", "/opt/my_2.0-all.jar,/opt/shaded_2.5-hadoop.jar", False),
        ("spark.executor.extraClassPath", RUNTIME.format("2.12"), False),
    ],
)
def test_a_jar_for_another_scala_is_told(tmp_path, setting, named, is_refused):
    assert session.told_of_scala({setting: named}, tmp_path) is None
    (tmp_path / "scala-library-2.13.18.jar").touch()
    told = session.told_of_scala({setting: named}, tmp_path)
    assert bool(told) == is_refused
    if told:
        assert told.startswith(f"{setting} of profiles.yml has ")
        assert "which is for Scala 2.12, and Spark has Scala 2.13 here" in told
        assert told.endswith("take the one with _2.13 in its name.")


def test_spark_s_own_scala_is_known_here(monkeypatch):
    monkeypatch.delenv("SPARK_HOME", raising=False)
    (own,) = session.jars_of_spark().glob("scala-library-*.jar")
    scala = own.name.split("-")[2].rsplit(".", 2)[0]
    other = "2.12" if scala != "2.12" else "2.13"
    jar = {"spark.jars": RUNTIME.format(other)}
    told = session.told_of_scala(jar, session.jars_of_spark())
    assert told and f"Spark has Scala {scala} here:" in told


def test_the_session_is_not_started(monkeypatch):
    monkeypatch.setattr(session, "_started", False)
    monkeypatch.setattr(session, "told_of_scala", lambda *_: "a sentence")
    with pytest.raises(session.SessionNotStarted, match="a sentence"):
        session.start_session({"spark.jars": "x"})
