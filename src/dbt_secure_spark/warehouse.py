"""The folders of a metastore's schemas, and the claims on them.

If two metastores share a warehouse, each would take the folders of the second for
leftovers. So a metastore claims the folder of each schema of versions: it keeps its own
name as a property of the schema, and writes it into the folder. A copy of the metastore
has the same name and a different place; the claim has the place, too, if it is known. A
folder is removed only if this run wrote it, or a run that this metastore knows is dead.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dbt_secure_spark.session import disk_told, start_session
from dbt_secure_spark.submission import has_session, session_parameters
from dbt_secure_spark.versions import VERSION, rows_of, tables_in, versions_catalog

logger = AdapterLogger("Spark")
CLAIM = "_claimed_by"
CLAIM_TABLE = "claimed_by"
URL = "javax.jdo.option.ConnectionURL"
# Hive's default if no metastore is named.
DEFAULT_URL = "jdbc:derby:;databaseName=metastore_db;create=true"
# An embedded metastore with its folder; no metastore behind a server.
DERBY = re.compile(r"jdbc:derby:(?!//|memory:)([^;]*)(?:.*;databaseName=([^;]*))?")
PROPERTY = re.compile(r"\((\w+),([^()]*)\)")


def described(adapter: SparkAdapter, schema: str) -> dict[str, str]:
    """Return the metastore's description of a schema."""
    kept = getattr(adapter, "described_schemas", None)
    if kept is not None and schema in kept:
        return kept[schema]
    rows = rows_of(adapter, f"describe schema extended {schema}")
    described = {row[0]: row[1] or "" for row in rows}
    if kept is not None:
        kept[schema] = described
    return described


@contextmanager
def schemas_described_once(adapter: SparkAdapter) -> Iterator[None]:
    """Ask the metastore once for each schema, while this run holds the lock.

    No run sets a property meanwhile, except this one, which then asks again.
    """
    adapter.described_schemas = {}
    try:
        yield
    finally:
        adapter.described_schemas = None


def schema_properties(adapter: SparkAdapter, schema: str) -> dict[str, str]:
    """Return the properties of a schema."""
    return dict(PROPERTY.findall(described(adapter, schema).get("Properties", "")))


def set_schema_property(
    adapter: SparkAdapter, schema: str, name: str, value: str
) -> None:
    """Set a property of a schema; its value has no brackets."""
    (getattr(adapter, "described_schemas", None) or {}).pop(schema, None)
    statement = f"alter schema {schema} set dbproperties ('{name}' = '{value}')"
    try:
        adapter.execute(statement)
    except DbtRuntimeError as failure:
        # Hive compares the folder's address as it is with the one that Spark writes.
        if "altering database location" not in str(failure):
            raise
        location = described(adapter, schema).get("Location")
        raise DbtRuntimeError(
            f"The metastore can note nothing with {schema}, whose folder is {location}:"
            " give this output of profiles.yml a warehouse whose path has letters,"
            " digits, '-', '_' and '.' alone."
        ) from failure


def claim_folder(adapter: SparkAdapter, schema: str) -> None:
    """Claim a schema's folder for this metastore; raise if a different one has it.

    Without a session of its own dbt can't reach the folder; then nothing is claimed.
    """
    location = described(adapter, schema).get("Location")
    if not location or not has_session(adapter.config.credentials):
        return
    parameters = session_parameters(adapter.config.credentials)
    with disk_told(parameters):
        spark = start_session(parameters)
        is_server = "spark.remote" in parameters
        place = None if is_server else place_of(*metastore_of(spark))
        _claim(adapter, schema, location, spark, place)


def claim_catalog(adapter: SparkAdapter, catalog: str, schema: str) -> None:
    """Claim a schema of versions in their catalog, or raise if it is another's.

    If two metastores share a catalog, each would drop versions that views of the second
    read. An empty table in the schema has this metastore's claim.
    """
    own = schema_properties(adapter, schema).get("claim")
    if not own:
        own = uuid.uuid4().hex
        set_schema_property(adapter, schema, "claim", own)
    table = f"{catalog}.{schema}.{CLAIM_TABLE}"
    if tables_in(adapter, schema, CLAIM_TABLE):
        told = dict(map(tuple, rows_of(adapter, f"show tblproperties {table}")))
        if told.get("claim") != own:
            raise DbtRuntimeError(
                f"The schema {catalog}.{schema} belongs to another metastore, whose"
                " versions this run would drop: give this output of profiles.yml a"
                " schema or a versions_catalog of its own, or, if that metastore is"
                f" gone for good, drop the table {table}."
            )
        return
    adapter.execute(
        f"create table {table} (claim string) using iceberg tblproperties"
        f" ('claim' = '{own}')"
    )


def metastore_of(spark: SparkSession) -> tuple[str, str]:
    """Return the address of a session's metastore, and where it looks for a folder.

    A profile may leave it to hive-site.xml, or to Hive, which makes one where it is.
    """
    settings, java = spark._jsc.hadoopConfiguration(), spark._jvm.java.lang.System
    server = settings.get("hive.metastore.uris")
    home = java.getProperty("derby.system.home") or java.getProperty("user.dir")
    return server or settings.get(URL) or DEFAULT_URL, home


def place_of(url: str, home: str) -> str | None:
    """Return what stands for the folder of an embedded metastore; None of another one.

    A server's database may have several addresses.
    """
    named = DERBY.match(url)
    folder = named and (named[2] or named[1])
    if not folder:
        return None
    path = os.path.realpath(os.path.join(home, folder))
    return hashlib.sha256(path.encode()).hexdigest()


def _claim(
    adapter: SparkAdapter,
    schema: str,
    location: str,
    spark: SparkSession,
    place: str | None,
) -> None:
    """Compare the claim in a folder with the metastore's own; write a missing one."""
    path = f"{location}/{CLAIM}"
    own = schema_properties(adapter, schema).get("claim")
    try:
        lines = [row.value.split(" ") for row in spark.read.text(path).collect()]
    except AnalysisException as missing:
        if not str(missing).startswith("[PATH_NOT_FOUND]"):
            raise
        lines = []
    claims = {claim for claim, *_ in lines}
    places = {known for _, *rest in lines for known in rest}
    if claims and claims != {own}:
        raise DbtRuntimeError(
            f"The folder {location} belongs to another metastore, whose versions this"
            " run would mix with its own: give this output of profiles.yml a warehouse"
            f" of its own, or, if that metastore is gone for good, remove the folder."
        )
    if place and places - {place}:
        raise DbtRuntimeError(
            f"The folder {location} belongs to a metastore in another folder, of which"
            " this one is a copy, and whose versions this run would mix with its own:"
            " begin with a new metastore, in a warehouse of its own, or, if it is the"
            f" same one and has moved, remove {path}."
        )
    if (
        own
        and not claims
        and has_versions(adapter, schema)
        and not holds_files(spark, location)
    ):
        raise DbtRuntimeError(
            f"The folder {location}, in which this metastore has published, is empty or"
            " not there, and this run would publish what is left of it: let the"
            " warehouse be there again; or, if it is gone for good, drop the schema"
            f" once: drop schema {schema} cascade."
        )
    if not own:
        # The property first: a claim without it would lock this metastore out.
        own = uuid.uuid4().hex
        set_schema_property(adapter, schema, "claim", own)
    if not claims or (place and not places):
        value = f"{own} {place}" if place else own
        claim = spark.sql(f"select '{value}' as value").coalesce(1)
        claim.write.mode("overwrite").text(path)


def has_versions(adapter: SparkAdapter, schema: str) -> bool:
    """Return whether the metastore knows versions in a schema."""
    rows = rows_of(adapter, f"show tables in {schema}")
    return any(VERSION.search(row[1]) for row in rows)


def holds_files(spark: SparkSession, folder: str) -> bool:
    """Return whether a file of rows lies anywhere below a folder."""
    every = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        # The file of `published_state` has no rows.
        rows = every.load(folder).where("path not like '%/published.%json'")
        return bool(rows.select("path").take(1))
    except AnalysisException as missing:
        if not str(missing).startswith("[PATH_NOT_FOUND]"):
            raise
        return False


def remove_folders(adapter: SparkAdapter, schemas: list[str], runs: list[str]) -> None:
    """Remove the folders of these runs' versions that no table has.

    A kill during the write of a version leaves its folder and no table. If a server
    writes, a killed dbt leaves none.
    """
    credentials = adapter.config.credentials
    if credentials.method != "session" or not runs:
        return
    parameters = session_parameters(credentials)
    if "spark.remote" in parameters:
        return
    spark = start_session(parameters)
    catalog = versions_catalog(adapter)
    for schema in schemas:
        tables = set(tables_in(adapter, schema))
        name = f"{catalog}.{schema}" if catalog else schema
        location = described(adapter, name).get("Location")
        if catalog and not location:
            logger.warning(
                f"The catalog does not show where {name} lies, where a killed run may"
                " leave files of no table."
            )
            continue
        path = spark._jvm.org.apache.hadoop.fs.Path(location)
        try:
            file_system = path.getFileSystem(spark._jsc.hadoopConfiguration())
        except Py4JJavaError as failure:
            # A catalog of Iceberg's may read and write files by itself.
            if not catalog:
                raise
            logger.warning(
                f"Spark can't reach {location}, where a killed run may leave"
                f" files of no table: {failure.java_exception.toString()}"
            )
            continue
        found = file_system.listStatus(path) if file_system.exists(path) else ()
        for status in found:
            name = status.getPath().getName()
            version = VERSION.search(name)
            if version and version["run"] in runs and name not in tables:
                file_system.delete(status.getPath(), True)
