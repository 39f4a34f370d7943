"""Read the published state: the version behind each view, and its raw reads.

A stored relation is a view over an immutable table, its *version*, in the schema
``<schema>_versions``. A view's definition in the metastore names the version that it
reads. Its property ``kept_versions`` lists the earlier versions that stay. A version's
property ``raw_reads`` lists the raw tables behind its rows, each with the run that
read it.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from secure_datasets.sql.expressions import sql_text

if TYPE_CHECKING:
    from dbt.adapters.spark import SparkAdapter

RUN = re.compile(r"[0-9]{14}_[0-9a-f]{8}")
VERSION = re.compile(rf"__v(?P<run>{RUN.pattern})$")
NAMED_VERSION = re.compile(r"\b\w+_versions\.\w+__v[0-9]{14}_[0-9a-f]{8}\b", re.I)
KEPT_VERSIONS = re.compile(r"kept_versions=([^,\]]*)")
RAW_READS = re.compile(r"raw_reads=([^,\]]*)")
RAW_FILES = re.compile(r"raw_files=([^,\]]*)")
MADE_OF = re.compile(r"made_of=(?P<digest>[0-9a-f]{64})_(?P<rows>[0-9]+)\b")
APPENDED = re.compile(
    r"appended=(?P<beside>[0-9a-f]{64})_(?P<until>[0-9]+)_(?P<files>[0-9a-f]{64})\b"
)
CONTRACT = re.compile(r"\bcontract=([0-9a-f]{64})\b")
# What is searched for in the definition of a relation.
PROPERTIES = (NAMED_VERSION, KEPT_VERSIONS, RAW_READS, RAW_FILES, MADE_OF, APPENDED)
SUFFIX = "_versions"
# In characters: older metastores store no longer property.
LONGEST_COMMENT = 2_000
# The prefix of an encoded value.
ENCODED = "hex_"
# Spark redacts a property whose name or value matches.
HIDDEN = re.compile(r"(?i)secret|password|token|access[.]?key|credential|url")
# Hive stores no property whose value is empty.
NOTHING = "none"


def encoded(text: str) -> str:
    """Return a text encoded as a property's value that Spark does not redact."""
    return f"{ENCODED}{text.encode().hex()}" if text else ""


def shown(text: str) -> str:
    """Return a text as a property's value, encoded only if Spark would redact it."""
    return encoded(text) if HIDDEN.search(text) else text


def decoded(value: str) -> str:
    """Return the text of a property's value, encoded or not."""
    if not re.fullmatch(rf"{ENCODED}(?:[0-9a-f]{{2}})+", value):
        return value
    try:
        return bytes.fromhex(value.removeprefix(ENCODED)).decode()
    except UnicodeDecodeError:
        return value


def named_versions(text: str | None) -> list[str]:
    """Return the versions that a text names, as the metastore spells them."""
    found = NAMED_VERSION.findall(text or "")
    return list(dict.fromkeys(name.lower() for name in found))


def versions_read(definition: str | None) -> list[str]:
    """Return the versions that a view reads, from its definition in the metastore."""
    return named_versions(without_kept(definition))


def without_kept(definition: str | None) -> str:
    """Return a view's definition without the property of the versions it keeps."""
    told = definition or ""
    found = _property_kept(told)
    return told[: found.start()] + told[found.end() :] if found else told


def versions_kept(definition: str | None) -> list[str]:
    """Return the versions that a view keeps and no longer reads."""
    found = _property_kept(definition or "")
    return named_versions(decoded(found[1])) if found else []


def _property_kept(told: str) -> re.Match[str] | None:
    """Find the property: its last occurrence, since the query may contain the text."""
    return KEPT_VERSIONS.search(told, max(0, told.rfind("kept_versions=")))


def comment(adapter: SparkAdapter, text: str) -> str:
    """Return a description as a comment in SQL: its first paragraph, on one line.

    Other functions search a relation's definition for versions and properties. A space
    inserted into each such name in the description keeps it from matching.
    """
    first = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0]
    line = textwrap.shorten(first, LONGEST_COMMENT, placeholder=" ...")
    for sought in PROPERTIES:
        line = sought.sub(
            lambda found: re.sub(r"(?=[.=])", " ", found[0], count=1), line
        )
    return sql_text(line)


def is_published(definition: str | None) -> bool:
    """Return whether this project made a relation, from its definition."""
    told = definition or ""
    return bool(KEPT_VERSIONS.search(told) or versions_read(told))


@dataclass(frozen=True)
class RawRead:
    """The state of one raw table as one run read it.

    `rows` and `content` show whether the table has changed since; `newest` is the
    latest load time that was not in the future, in microseconds since 1970. If the
    table keeps snapshots, `snapshot` is the id of the snapshot that was read.
    """

    table: str
    run: str
    rows: int | None = None
    content: int | None = None
    newest: int | None = None
    snapshot: int | None = None

    def __str__(self) -> str:
        values = [self.rows, self.content, self.newest]
        values += [] if self.snapshot is None else [self.snapshot]
        texts = ("" if value is None else str(value) for value in values)
        return ":".join((self.table, self.run, *texts))

    @classmethod
    def parse(cls, text: str) -> RawRead:
        """Parse the text that `str` writes."""
        table, run, *values = text.split(":")
        return cls(table, run, *(int(value) if value else None for value in values))

    @property
    def read_at(self) -> int:
        """Return when the run began, in microseconds since 1970; 0 if unknown."""
        return began(self.run)

    @property
    def found(self) -> str:
        """Return a digest of what was found, whichever run it was."""
        return hashlib.sha256(str(replace(self, run="")).encode()).hexdigest()[:16]

    def found_the_same(self, other: RawRead) -> bool:
        """Return whether two readings of the table found the same rows."""
        known = self.content is not None or self.rows == 0
        return known and (self.rows, self.content) == (other.rows, other.content)


def is_data(name: str) -> bool:
    """Return whether Spark reads a file or folder of this name as rows."""
    return not name.startswith(("_", "."))


def began(run: str) -> int:
    """Return when a run began, in microseconds since 1970; 0 if unknown."""
    if not RUN.fullmatch(run):
        return 0
    return int(_began(run).replace(tzinfo=timezone.utc).timestamp()) * 1_000_000


def _began(run: str) -> datetime:
    """Return when a run began, in UTC."""
    return datetime.strptime(run[:14], "%Y%m%d%H%M%S")


def written_on(version: str) -> str | None:
    """Return when a version's run began, as a timestamp in UTC."""
    found = VERSION.search(version)
    return str(_began(found["run"])) if found else None


def raw_reads(definition: str | None) -> frozenset[RawRead] | None:
    """Return a version's raw reads; None if its table does not list them."""
    found = RAW_READS.search(definition or "")
    if not found:
        return None
    texts = decoded(found[1]).split()
    try:
        return frozenset(map(RawRead.parse, texts if texts != [NOTHING] else ()))
    except ValueError:
        # A person's own text, or a format of a different release of this project.
        return None


def raw_files(definition: str | None) -> dict[tuple[str, str], RawRead]:
    """Return a version's raw reads by the table and the digest of its files."""
    found = RAW_FILES.search(definition or "")
    read = {}
    for text in decoded(found[1]).split() if found else ():
        digest, _, reading = text.partition(":")
        try:
            raw = RawRead.parse(reading)
        except ValueError:
            # A person's own text, or a format of a different release of this project.
            return {}
        read[raw.table, digest] = raw
    return read


def found_again(text: str) -> dict[str, set[str]]:
    """Return what each run found of what versions note, by `RawRead.found`.

    text  a schema's property `found_again`: versions that stayed were not noted anew
    """
    of_runs = (part.partition("=") for part in text.split(";") if "=" in part)
    return {run: set(all_found.split()) for run, _, all_found in of_runs}


def told_again(found: Mapping[str, set[str]]) -> str:
    """Return the text that `found_again` reads: the last runs, as many as fit."""
    text = ""
    for run in sorted(found, reverse=True):
        part = f"{run}={' '.join(sorted(found[run]))};"
        if len(text) + len(part) > LONGEST_COMMENT:
            break
        text += part
    return text


def _as_found_last(
    reads: frozenset[RawRead] | None, found: Mapping[str, set[str]]
) -> frozenset[RawRead] | None:
    """Return a version's raw reads, dated by the last run that found all of them."""
    if not reads:
        return reads
    own, wanted = {read.run for read in reads}, {read.found for read in reads}
    runs = own if len(own) == 1 else set()
    runs |= {run for run, of_run in found.items() if wanted <= of_run}
    return frozenset(replace(read, run=max(runs)) for read in reads) if runs else reads


def run_of_all(reads: Iterable[RawRead] | None) -> str | None:
    """Return the one run that found all raw reads; None if none is known to have."""
    runs = {None if read.content is None else read.run for read in reads or ()}
    return runs.pop() if len(runs) == 1 else None


@dataclass
class Published:
    """The relations of some schemas in the metastore, by lower-case name.

    `versions` holds the definitions of versions as they were loaded. `reads` holds
    their raw reads, by the last runs that found them, and those that a run has noted
    since.
    """

    definitions: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict, kw_only=True)
    reads: dict[str, frozenset[RawRead] | None] = field(
        default_factory=dict, kw_only=True
    )

    def version_of(self, relation: str) -> str | None:
        """Return the one version that a stored relation's view reads.

        None if the view reads a different relation's version: it was made before the
        relation was stored.
        """
        schema, _, name = relation.lower().partition(".")
        versions = versions_read(self.definitions.get(relation.lower()))
        is_own = len(versions) == 1 and VERSION.sub("", versions[0]) == (
            f"{schema}{SUFFIX}.{name}"
        )
        return versions[0] if is_own else None

    def reads_of(self, versions: Iterable[str]) -> frozenset[RawRead]:
        """Return the union of the raw reads of versions.

        A version that lists none counts as read from itself, by a run of its own.
        """
        found: set[RawRead] = set()
        for version in versions:
            reads = self.reads.get(version)
            if reads is None:
                reads = frozenset({RawRead(version, version)})
            found |= reads
        return frozenset(found)

    def found_since(self, schema: str) -> dict[str, set[str]]:
        """Return what runs found again of what a schema's versions note, by run."""
        found: dict[str, set[str]] = {}
        for version, reads in self.reads.items():
            noted, run = raw_reads(self.versions.get(version)), run_of_all(reads)
            if run and version.startswith(f"{schema}.") and noted not in (None, reads):
                found.setdefault(run, set()).update(read.found for read in reads or ())
        return found

    def load(self, adapter: SparkAdapter, schema: str, pattern: str = "*") -> None:
        """Load the views of a schema from the metastore."""
        self._keep(schema, definitions(adapter, schema, pattern), {})

    def load_reads(
        self,
        adapter: SparkAdapter,
        schema: str,
        found: Mapping[str, set[str]],
        pattern: str = "*",
    ) -> None:
        """Load what the versions of a schema were read from.

        found  the schema's note of what later runs found again: see `found_again`
        """
        self._keep(schema, definitions_of_versions(adapter, schema, pattern), found)

    def _keep(
        self, schema: str, told: dict[str, str], found: Mapping[str, set[str]]
    ) -> None:
        for name, text in told.items():
            relation = f"{schema}.{name}".lower()
            if VERSION.search(name):
                self.versions[relation] = text
                self.reads[relation] = _as_found_last(raw_reads(text), found)
            else:
                self.definitions[relation] = text


def versions_catalog(adapter: SparkAdapter) -> str | None:
    """Return the catalog of the versions; None if it is the session's own."""
    return getattr(adapter.config.credentials, "versions_catalog", None)


def existing_schemas(adapter: SparkAdapter, catalog: str = "") -> set[str]:
    """Return the schemas of a catalog; of the session's, if none is named.

    Empty if there is no such catalog.
    """
    # Imported here: reading the published state needs no dbt.
    from dbt_common.exceptions import DbtRuntimeError

    of = f" in {catalog}" if catalog else ""
    try:
        return {str(row[0]).lower() for row in rows_of(adapter, f"show schemas{of}")}
    except DbtRuntimeError as failure:
        if not catalog or "NOT_FOUND" not in str(failure):
            raise
        return set()


def tables_in(adapter: SparkAdapter, schema: str, pattern: str = "") -> list[str]:
    """Return the tables of a schema of versions, where these are stored."""
    catalog = versions_catalog(adapter)
    of = f"{catalog}.{schema}" if catalog else schema
    like = f" like '{pattern}'" if pattern else ""
    return [row[1].lower() for row in rows_of(adapter, f"show tables in {of}{like}")]


def definitions_of_versions(
    adapter: SparkAdapter, schema: str, pattern: str = "*"
) -> dict[str, str]:
    """Return the definitions of a schema's versions, by name."""
    if versions_catalog(adapter) is None:
        return definitions(adapter, schema, pattern)
    return {
        name: _told(rows_of(adapter, f"describe table extended {schema}.{name}"))
        for name in tables_in(adapter, schema, pattern)
        if VERSION.search(name)
    }


def _told(rows: list[Any]) -> str:
    """Return a described table as `show table extended` tells it, which is refused."""
    # A row without a type follows the columns.
    columns = list(takewhile(lambda row: row[1], rows))
    fields = [f"{row[0]}: {row[1]}" for row in rows[len(columns) :] if row[1]]
    tree = [f" |-- {row[0]}: {row[1]} (nullable = true)" for row in columns]
    return "\n".join([*fields, "Schema: root", *tree])


def definitions(
    adapter: SparkAdapter, schema: str, pattern: str = "*"
) -> dict[str, str]:
    """Return the definitions of a schema's relations in the metastore, by name."""
    # Imported here: reading the published state needs no dbt.
    from dbt_common.exceptions import DbtRuntimeError

    query = f"show table extended in {schema} like '{pattern}'"
    attempts = 5
    while True:
        try:
            return {
                name.lower(): told
                for _, name, is_of_session, told in rows_of(adapter, query)
                if not is_of_session
            }
        except DbtRuntimeError as failure:
            if "SCHEMA_NOT_FOUND" in str(failure):
                return {}
            # Spark lists the names first, and fails if a relation is dropped before
            # Spark has read its definition.
            attempts -= 1
            if not attempts or "TABLE_OR_VIEW_NOT_FOUND" not in str(failure):
                raise


def set_properties(
    adapter: SparkAdapter, version: str, properties: Iterable[str]
) -> None:
    """Set properties of a version's table, each given as SQL; none sends nothing."""
    if told := ", ".join(properties):
        adapter.execute(f"alter table {version} set tblproperties ({told})")


def rows_of(adapter: SparkAdapter, query: str) -> list[Any]:
    """Return the rows of a statement."""
    _, table = adapter.execute(query, fetch=True)
    return list(table.rows)
