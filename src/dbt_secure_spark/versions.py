"""What is published: which version each view reads, and what the version was read from.

A stored relation is a view over an immutable table, its *version*, in the schema
``<schema>_versions``. What the metastore tells of a view names the version that it
reads and, in the property ``kept_versions``, those before that stay. A version's
property ``raw_reads`` says which raw tables its rows come from, read by which run.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
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
SUFFIX = "_versions"
# Of characters: older metastores keep no longer property.
LONGEST_COMMENT = 2_000
# What an encoded value begins with.
ENCODED = "hex_"
# In the name or value of a property that Spark shows to nobody.
HIDDEN = re.compile(r"(?i)secret|password|token|access[.]?key|credential|url")
# Hive keeps no property whose value is empty.
NOTHING = "none"


def encoded(text: str) -> str:
    """Return a text as a property's value in which Spark finds nothing to hide."""
    return f"{ENCODED}{text.encode().hex()}" if text else ""


def shown(text: str) -> str:
    """Return a text as a property's value that people write: encoded if it must be."""
    return encoded(text) if HIDDEN.search(text) else text


def decoded(value: str) -> str:
    """Return the text of a property's value, which may be of before it was encoded."""
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
    """Return the versions that a view reads, by what the metastore tells of it."""
    told = definition or ""
    if found := _property_kept(told):
        told = told[: found.start()] + told[found.end() :]
    return named_versions(told)


def versions_kept(definition: str | None) -> list[str]:
    """Return the versions that a view no longer reads and that stay all the same."""
    found = _property_kept(definition or "")
    return named_versions(decoded(found[1])) if found else []


def _property_kept(told: str) -> re.Match[str] | None:
    """Find the property, told after the query, in which the same may be a text."""
    return KEPT_VERSIONS.search(told, max(0, told.rfind("kept_versions=")))


def comment(adapter: SparkAdapter, text: str) -> str:
    """Return a description as a comment in SQL: its first paragraph, on one line.

    What the metastore tells of a relation is searched for versions and properties, so
    what a description says of such is written with a space in it.
    """
    first = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0]
    line = textwrap.shorten(first, LONGEST_COMMENT, placeholder=" ...")
    for sought in (NAMED_VERSION, KEPT_VERSIONS, RAW_READS, RAW_FILES, MADE_OF):
        line = sought.sub(
            lambda found: re.sub(r"(?=[.=])", " ", found[0], count=1), line
        )
    return sql_text(line)


def is_published(definition: str | None) -> bool:
    """Say whether a relation was made by this project, by what the metastore tells."""
    told = definition or ""
    return bool(KEPT_VERSIONS.search(told) or versions_read(told))


@dataclass(frozen=True)
class RawRead:
    """What one run found in one raw table.

    `rows` and `content` tell whether the table has changed since; `newest` is the
    latest load time that was not in the future, in microseconds since 1970. Of a table
    that keeps its snapshots, `snapshot` is the id of the one that was read.
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
        """Read what `str` wrote."""
        table, run, *values = text.split(":")
        return cls(table, run, *(int(value) if value else None for value in values))

    @property
    def read_at(self) -> int:
        """When the run began, in microseconds since 1970; 0 if that is not known."""
        return began(self.run)

    def found_the_same(self, other: RawRead) -> bool:
        """Say whether another reading of the table found the same rows."""
        known = self.content is not None or self.rows == 0
        return known and (self.rows, self.content) == (other.rows, other.content)


def is_data(name: str) -> bool:
    """Say whether Spark reads a file or folder of this name as rows."""
    return not name.startswith(("_", "."))


def began(run: str) -> int:
    """Return when a run began, in microseconds since 1970; 0 if that is not known."""
    if not RUN.fullmatch(run):
        return 0
    return int(_began(run).replace(tzinfo=timezone.utc).timestamp()) * 1_000_000


def _began(run: str) -> datetime:
    """Return when a run began, in UTC."""
    return datetime.strptime(run[:14], "%Y%m%d%H%M%S")


def written_on(version: str) -> str | None:
    """Return when the run began that wrote a version, as a timestamp of UTC."""
    found = VERSION.search(version)
    return str(_began(found["run"])) if found else None


def raw_reads(definition: str | None) -> frozenset[RawRead] | None:
    """Return what a version was read from; None where its table does not say."""
    found = RAW_READS.search(definition or "")
    if not found:
        return None
    texts = decoded(found[1]).split()
    try:
        return frozenset(map(RawRead.parse, texts if texts != [NOTHING] else ()))
    except ValueError:
        # Somebody's own text, or that of another version of this project.
        return None


def raw_files(definition: str | None) -> dict[tuple[str, str], RawRead]:
    """Return what raw tables held that a version was read from, by table and files."""
    found = RAW_FILES.search(definition or "")
    read = {}
    for text in decoded(found[1]).split() if found else ():
        digest, _, reading = text.partition(":")
        try:
            raw = RawRead.parse(reading)
        except ValueError:
            # Somebody's own text, or that of another version of this project.
            return {}
        read[raw.table, digest] = raw
    return read


@dataclass
class Published:
    """What the metastore tells of the relations of some schemas, by lower-case name."""

    definitions: dict[str, str] = field(default_factory=dict)
    reads: dict[str, frozenset[RawRead] | None] = field(default_factory=dict)

    def version_of(self, relation: str) -> str | None:
        """Return the one version that a stored relation's view reads.

        A view that reads another relation's version is of before it was stored.
        """
        schema, _, name = relation.lower().partition(".")
        versions = versions_read(self.definitions.get(relation.lower()))
        is_own = len(versions) == 1 and VERSION.sub("", versions[0]) == (
            f"{schema}{SUFFIX}.{name}"
        )
        return versions[0] if is_own else None

    def reads_of(self, versions: Iterable[str]) -> frozenset[RawRead]:
        """Return what versions were read from, together.

        A version that does not say counts as read from itself, by a run of its own.
        """
        found: set[RawRead] = set()
        for version in versions:
            reads = self.reads.get(version)
            if reads is None:
                reads = frozenset({RawRead(version, version)})
            found |= reads
        return frozenset(found)

    def load(self, adapter: SparkAdapter, schema: str, pattern: str = "*") -> None:
        """Ask the metastore for the relations of a schema, versions or views."""
        for name, told in definitions(adapter, schema, pattern).items():
            relation = f"{schema}.{name}".lower()
            if VERSION.search(name):
                self.reads[relation] = raw_reads(told)
            else:
                self.definitions[relation] = told


def definitions(
    adapter: SparkAdapter, schema: str, pattern: str = "*"
) -> dict[str, str]:
    """Return what the metastore tells of the relations of a schema, by their names."""
    # Here: whoever reads the published state needs no dbt.
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
            # Spark lists the names first, and fails where somebody drops one before it
            # has asked for it.
            attempts -= 1
            if not attempts or "TABLE_OR_VIEW_NOT_FOUND" not in str(failure):
                raise


def rows_of(adapter: SparkAdapter, query: str) -> list[Any]:
    """Return the rows of a statement."""
    _, table = adapter.execute(query, fetch=True)
    return list(table.rows)
