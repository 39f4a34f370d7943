"""Archives Spark's loaded classes, so that Java starts in less time.

Java calls this class data sharing: `python -m dbt_secure_spark.class_archive` runs a
few statements once and writes an archive into the environment. Java 17 uses the archive
with the same runtime and jars, and starts without it otherwise. Java 21 sees a new
class path of PySpark at each start, so it gets no archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

from dbt_secure_spark.java import JavaNotFound, find_java_home, version_of

OF_JAVA = (17,)
ARCHIVES = Path(sys.prefix) / "java_classes"
OPTIONS = "spark.driver.extraJavaOptions"
# Java silently ignores an archive that does not fit.
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
# The work of a run: tables, views, properties, joins, windows, texts, JSON.
STATEMENTS = (
    "create schema classes",
    "create table classes.t using parquet partitioned by (k) tblproperties ('a' = 'b')"
    " as select id, id % 2 as k, cast(id as string) as s, current_timestamp() as z"
    " from range(9)",
    "create view classes.v as with c as (select *, row_number() over (partition by k"
    " order by z desc, id) as n from classes.t where s rlike '^[0-9]+$' and s like '%')"
    " select id, k, struct(s, z) as r, array(s) as a, map('x', s) as m from c"
    " where n > 1",
    "alter view classes.v set tblproperties ('a' = 'c')",
    "alter table classes.t set tblproperties ('a' = 'd')",
    "describe extended classes.t",
    "show table extended in classes like '*'",
    "show tblproperties classes.v",
    "select k, count(*), collect_set(s), max(z), to_json(named_struct('s', max(s))),"
    " concat_ws(',', collect_list(s)) from (select v.id, v.k, r.s, r.z from classes.v"
    " as v left join classes.t as t on v.id = t.id lateral view explode(a) e as x"
    " union all select id, k, s, z from classes.t where k in (select k from classes.t))"
    " group by k having count(*) > 0 order by k",
    "select xxhash64(s), _metadata.file_path from classes.t",
    "drop schema classes cascade",
)


def archive_of(home: Path) -> Path:
    """Return where the archive of a Java runtime's classes lies, if it was made."""
    release = home / "release"
    told = release.read_text(encoding="utf-8") if release.is_file() else str(home)
    key = sha256(f"{told}{pyspark.__version__}".encode()).hexdigest()[:16]
    return ARCHIVES / f"{key}.jsa"


def java_option(home: Path) -> str:
    """Return the options that make Java use the archive; none without an archive."""
    archive = archive_of(home)
    # Java splits options at spaces.
    if not archive.is_file() or " " in str(archive):
        return ""
    return f"-XX:SharedArchiveFile={archive} {QUIET}"


def make_archive(home: Path) -> Path:
    """Make the archive, unless it is there.

    Java reads an incomplete archive and ends, so the file gets its name when complete.
    """
    archive = archive_of(home)
    if archive.is_file():
        return archive
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=ARCHIVES) as folder:
        written = Path(folder) / archive.name
        subprocess.run(
            [sys.executable, "-m", __spec__.name, str(written)],
            env={**os.environ, "JAVA_HOME": str(home)},
            cwd=folder,
            check=True,
            capture_output=True,
        )
        written.replace(archive)
    return archive


def _run_statements(archive: str) -> None:
    """Run the statements in a Spark of its own, which writes the archive at its end."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(Path.cwd() / "warehouse"),
        "spark.local.dir": str(Path.cwd()),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={Path.cwd()}/metastore;create=true"
        ),
        OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        f" -XX:ArchiveClassesAtExit={archive}",
    }
    builder = SparkSession.builder.enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for statement in STATEMENTS:
        spark.sql(statement).collect()
    java = spark.sparkContext._gateway
    spark.stop()
    java.shutdown()
    java.proc.stdin.close()
    if code := java.proc.wait():
        sys.exit(f"Java ended with {code}")


def main(arguments: list[str]) -> int:
    """Make the archive of the usable Java; given a path, run what it is made of."""
    if arguments:
        _run_statements(*arguments)
        return 0
    try:
        home = find_java_home()
        if (version_of(home / "bin" / "java") or ())[:1] != OF_JAVA:
            print("Java's classes are kept for Java 17 alone: Spark starts as before")
            return 0
        print(make_archive(home))
    except (JavaNotFound, OSError, subprocess.CalledProcessError) as failure:
        print(f"Java's classes are not kept: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
