"""PostgreSQL's row-level security with the same policy on the same rows.

A server of Debian's package `postgresql`, with a cluster of its own in the benchmark's
folder, on loopback and stopped at the end.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import psycopg
from duckdb_resolution import files_of
from pyspark.sql import SparkSession
from queries import TIERS, Rights, by_hand

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
THIS_USER = "current_setting('app.user_id')::bigint"
# `= any (array(...))` is worked out once a query and can use an index; a pair of keys
# is looked up in a hash table.
POLICIES = {
    "tables": "data_source_id = any (array({data_sources}))",
    "columns": "data_source_id = any (array({data_sources}))",
    "tests": "project_id = any (array({projects}))",
    "event_history": (
        "(context = 'Project' and project_id = any (array({projects})))"
        " or (context = 'Data Source' and data_source_id = any (array({data_sources})))"
        " or context = 'Global'"
    ),
    "test_executions": (
        "project_id = any (array({result_projects}))"
        " and (project_id, test_data_source_id) in ({results})"
        " and (control_data_source_id is null"
        " or (project_id, control_data_source_id) in ({results}))"
    ),
}
ACCESS = {
    "data_source": ("meta_data_source_id",),
    "project": ("project_id",),
    "results": ("project_id", "meta_data_source_id"),
}
LOOKUPS = {
    "data_sources": "select meta_data_source_id from data_source_access",
    "projects": "select project_id from project_access",
    "result_projects": "select project_id from results_access",
    "results": "select project_id, meta_data_source_id from results_access",
}
INDEXED = {
    "tables": ["data_source_id"],
    "columns": ["data_source_id"],
    "tests": ["project_id"],
    "test_executions": ["project_id, test_data_source_id"],
    "event_history": ["project_id", "data_source_id", "context"],
}


@contextmanager
def server(folder: Path) -> Iterator[psycopg.Connection]:
    """Start a server whose files lie in the folder; stop and remove it at the end."""
    if not BINARIES:
        sys.exit("No PostgreSQL server: install Debian's package postgresql.")
    # initdb refuses root, so there a user that owns nothing else runs the server.
    as_owner = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
    owner = "nobody" if as_owner else getpass.getuser()
    data = folder / "postgres"
    data.mkdir()
    if as_owner:
        shutil.chown(data, owner)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [*as_owner, str(BINARIES[0] / program), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )

    run("initdb", "-D", str(data), "-U", "bench", "-A", "trust", "-E", "UTF8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (
        f"-p {port} -h 127.0.0.1 -k {data} -c shared_buffers=1GB -c work_mem=256MB"
        " -c max_wal_size=8GB -c fsync=off"
    )
    run(
        *("pg_ctl", "-D", str(data), "-o", options),
        *("-l", str(data / "log"), "-w", "start"),
    )
    try:
        with psycopg.connect(
            f"host=127.0.0.1 port={port} user=bench dbname=postgres", autocommit=True
        ) as connection:
            yield connection
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(data)


def load(spark: SparkSession, connection: psycopg.Connection, folder: Path) -> None:
    """Copy the base datasets and the access views, index them, and secure the bases."""
    connection.execute("create role reader nologin")
    connection.execute("grant pg_write_server_files to reader")
    for name, keys in ACCESS.items():
        view = f"vw_secure_user_{name}_access"
        _copy(spark, connection, view, f"{name}_access", folder)
        connection.execute(
            f"alter table {name}_access add primary key (user_id, {', '.join(keys)})"
        )
    for name, indexed in INDEXED.items():
        table = f"vw_dataset_{name}"
        _copy(spark, connection, table, table, folder)
        for columns in indexed:
            connection.execute(f"create index on {table} ({columns})")
        lookups = {
            key: f"{query} where user_id = {THIS_USER}"
            for key, query in LOOKUPS.items()
        }
        connection.execute(f"alter table {table} enable row level security")
        connection.execute(
            f"create policy own_rows on {table} for select to reader"
            f" using ({POLICIES[name].format(**lookups)})"
        )
    connection.execute("grant select on all tables in schema public to reader")
    connection.execute("vacuum analyze")


def _copy(
    spark: SparkSession,
    connection: psycopg.Connection,
    relation: str,
    table: str,
    folder: Path,
) -> None:
    """Copy one published relation, through a file that PostgreSQL reads."""
    types = {"string": "text", "timestamp": "timestamptz"}
    described = spark.table(f"secure_datasets.{relation}").dtypes
    columns = ", ".join(f"{name} {types.get(kind, kind)}" for name, kind in described)
    connection.execute(f"create unlogged table {table} ({columns})")
    file = folder / f"{table}.csv"
    with duckdb.connect() as reader:
        rows = reader.read_parquet(files_of(spark, relation))
        rows.write_csv(str(file), header=False)
    with (
        file.open("rb") as lines,
        connection.cursor() as cursor,
        cursor.copy(f"copy {table} from stdin (format csv)") as copy,
    ):
        while block := lines.read(1 << 20):
            copy.write(block)
    file.unlink()


def seconds(connection: psycopg.Connection, query: str, user_id: int | None) -> float:
    """Run a query on the server, its rows written to nowhere; as a reader if named."""
    if user_id is not None:
        # Row security binds neither superusers nor owners.
        connection.execute("set role reader")
        connection.execute(f"set app.user_id = '{user_id}'")
    started = time.monotonic()
    connection.execute(f"copy ({query}) to '/dev/null' (format binary)")
    taken = time.monotonic() - started
    connection.execute("reset role")
    return taken


def queries(rights: Rights) -> dict[str, tuple[str, str]]:
    """Return for each dataset the query under row security, and the one by hand."""
    return {
        name: (
            f"select * from vw_dataset_{name}",
            re.sub(r"secure_datasets\.|(?<=\d)L\b", "", by_hand(name, rights)),
        )
        for name in TIERS
    }
