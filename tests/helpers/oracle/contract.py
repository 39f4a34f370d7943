"""An independent oracle of the data contract, in plain Python.

It answers, from the raw rows alone, what every published relation must contain. It
is written to be read beside the contract, section by section, and shares nothing with
the project it checks.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

RawRow = dict[str, str | None]
World = dict[str, list[RawRow]]
Row = dict[str, Any]

# ---------------------------------------------------------------------------
# 1. Raw tables
# ---------------------------------------------------------------------------

BIGINT, STRING, TIMESTAMP, FLAG, DECIMAL = "bigint", "s", "ts", "boolean", "decimal"

_OWN_COLUMNS = {
    "users": "id, login_name s, first_name s, last_name s, email s, time_zone s,"
    " date_last_login ts",
    "user_global_roles": "id, user_id, role_name s",
    "user_groups": "id, name s, parent_user_group_id",
    "user_group_members": "id, user_group_id, user_id",
    "meta_data_sources": "id, name s, owner_user_id",
    "data_source_permissions": "id, meta_data_source_id, user_id, user_group_id,"
    " role_name s",
    "projects": "id, name s",
    "project_permissions": "id, project_id, user_id, user_group_id, role_name s",
    "project_data_sources": "id, project_id, meta_data_source_id",
    "reports": "id, name s, owner_user_id",
    "report_permissions": "id, report_id, user_id, user_group_id, role_name s",
    "meta_schemas": "id, meta_data_source_id, name s",
    "meta_tables": "id, meta_schema_id, name s, table_type s, trust_score decimal,"
    " quality_score decimal, coverage_score decimal",
    "meta_columns": "id, meta_table_id, name s, data_type s, sequence",
    "tests": "id, project_id, name s, test_type s, test_data_source_id,"
    " control_data_source_id, quality_dimension s",
    "jobs": "id, project_id, name s",
    "job_executions": "id, job_id, batch_id, date_started ts, date_completed ts,"
    " passed_count, failed_count, error_count",
    "test_executions": "id, test_id, test_version_id, test_version_number,"
    " is_active_version boolean, job_step_execution_id, batch_id,"
    " code_test_evaluation_result_id, date_started ts, date_completed ts,"
    " passed_count, failed_count, error_count, test_row_count, control_row_count,"
    " matched_row_count, error_message s, test_data_source_id, control_data_source_id",
    "template_test_executions": "id, test_id, batch_id, code_test_evaluation_result_id,"
    " date_started ts, date_completed ts, child_test_count, meta_data_source_id,"
    " control_data_source_id",
    "events": "id, context s, category s, object_type s, event_name s, project_id,"
    " meta_data_source_id, actor_user_id, event_date ts",
}
_COMMON_COLUMNS = (
    "is_active boolean, date_created ts, date_modified ts, created_by s,"
    " modified_by s, sf_date_created ts"
)


def _columns(text: str) -> dict[str, str]:
    """Read a column list as the contract writes it: bigint unless said."""
    words = (column.split() for column in text.split(","))
    return {word[0]: word[1] if len(word) == 2 else BIGINT for word in words}


TABLES: dict[str, dict[str, str]] = {
    table: _columns(own) | _columns(_COMMON_COLUMNS)
    for table, own in _OWN_COLUMNS.items()
}

REQUIRED_KEYS: dict[str, tuple[str, ...]] = {
    "user_global_roles": ("user_id",),
    "user_group_members": ("user_group_id", "user_id"),
    "project_data_sources": ("project_id", "meta_data_source_id"),
    "data_source_permissions": ("meta_data_source_id",),
    "project_permissions": ("project_id",),
    "report_permissions": ("report_id",),
    "meta_schemas": ("meta_data_source_id",),
    "meta_tables": ("meta_schema_id",),
    "meta_columns": ("meta_table_id",),
    "tests": ("project_id",),
    "jobs": ("project_id",),
    "job_executions": ("job_id",),
    "test_executions": ("test_id",),
    "template_test_executions": ("test_id",),
}

HOLDER_TABLES = ("data_source_permissions", "project_permissions", "report_permissions")

ROLE_TABLES = {
    "data_source_permissions": "Data Source",
    "project_permissions": "Project",
    "report_permissions": "Report",
    "user_global_roles": "Global",
}

# What gives a right, which may begin and end.
GIVING_TABLES = (
    *("user_global_roles", "user_group_members", "project_data_sources"),
    *HOLDER_TABLES,
)
LIMITS = ("valid_from", "valid_until")

CONTEXTS = ("Global", "Project", "Data Source")

PARENT_TABLES = {
    "user_id": "users",
    "owner_user_id": "users",
    "actor_user_id": "users",
    "user_group_id": "user_groups",
    "parent_user_group_id": "user_groups",
    "meta_data_source_id": "meta_data_sources",
    "test_data_source_id": "meta_data_sources",
    "control_data_source_id": "meta_data_sources",
    "project_id": "projects",
    "report_id": "reports",
    "meta_schema_id": "meta_schemas",
    "meta_table_id": "meta_tables",
    "test_id": "tests",
    "job_id": "jobs",
}

# ---------------------------------------------------------------------------
# 2. Roles and what they grant
# ---------------------------------------------------------------------------

ROLE_PERMISSIONS: dict[str, dict[str | None, tuple[str, ...]]] = {
    "Data Source": {
        "ViewMetadata": ("View Metadata",),
        "ViewTestResults": ("View Test Results",),
        "CreateTests": ("Create Tests",),
        "RunTests": ("Run Tests",),
        "RunProfileSets": ("Run Profile Sets",),
        "EditMetadata": ("Edit Metadata",),
        "ManageConnections": ("Manage Connections",),
        "ManageProfiles": ("Manage Profiles",),
        "ManagePermissions": ("Manage Permissions",),
        "Viewer": ("View Metadata", "View Test Results"),
        "Tester": (
            "View Metadata",
            "View Test Results",
            "Create Tests",
            "Run Tests",
            "Run Profile Sets",
        ),
    },
    "Project": {
        "Admin": ("Project Admin",),
        "CreateJobs": ("Create Jobs",),
        "CreateTests": ("Create Tests",),
        "Export": ("Export",),
        "Import": ("Import",),
        "LabelManager": ("Label Manager",),
        None: ("Project Member",),
    },
    "Report": {
        "View": ("View Report",),
        "Edit": ("Edit Report",),
        "Manage": ("Manage Report",),
    },
    "Global": {
        "Global.Admin": ("Global Admin",),
        "Global.DataSourceAdmin": ("Global Data Source Admin",),
        "Global.SecurityAdmin": (),
        "Global.ConfigurationAdmin": (),
        "Global.CustomMetadataAdmin": (),
    },
}

OBJECT_TABLES = {
    "Data Source": ("meta_data_sources", "data_source_permissions"),
    "Project": ("projects", "project_permissions"),
    "Report": ("reports", "report_permissions"),
}

OBJECT_KEYS = {
    "data_source_permissions": "meta_data_source_id",
    "project_permissions": "project_id",
    "report_permissions": "report_id",
}


def permission_names(object_type: str) -> set[str]:
    """Every permission name that the role table knows for the object type."""
    roles = ROLE_PERMISSIONS[object_type]
    return {name for names in roles.values() for name in names}


# ---------------------------------------------------------------------------
# 4. to 6. The published relations
# ---------------------------------------------------------------------------

_ACCESS_VIEWS = {
    "vw_secure_user_data_source_access": "meta_data_source_id, user_id, access_type",
    "vw_secure_user_project_access": "project_id, user_id, access_type",
    "vw_secure_user_results_access": "meta_data_source_id, project_id, user_id",
}
_DATASETS = {
    "tables": "data_source_id, data_source_name, schema_id, schema_name, table_id,"
    " table_name, table_type, full_path, trust_score, quality_score, coverage_score",
    "columns": "data_source_id, data_source_name, schema_id, schema_name, table_id,"
    " table_name, column_id, column_name, full_path, data_type, sequence",
    "metadata_objects": "data_source_id, data_source_name, object_type, object_id,"
    " object_name, full_path",
    "tests": "project_id, project_name, test_id, test_name, test_type,"
    " test_data_source_id, control_data_source_id, quality_dimension,"
    " overall_result_status",
    "jobs": "project_id, project_name, job_id, job_name",
    "job_executions": "project_id, project_name, job_id, job_name, job_execution_id,"
    " batch_id, date_started, date_completed, duration, passed_count, failed_count,"
    " error_count",
    "test_executions": "test_execution_id, job_step_execution_id, batch_id, test_id,"
    " test_name, test_version_id, test_version_number, is_active_version, project_id,"
    " project_name, test_data_source_id, test_data_source, control_data_source_id,"
    " control_data_source, code_test_evaluation_result_id, result, date_started,"
    " date_completed, duration, passed_count, failed_count, error_count,"
    " test_row_count, control_row_count, matched_row_count, error_message,"
    " latest_test_execution_index, earliest_test_execution_index",
    "template_test_executions": "template_test_execution_id, test_id, test_name,"
    " project_id, project_name, meta_data_source_id, meta_data_source,"
    " control_data_source_id, control_data_source, batch_id,"
    " code_test_evaluation_result_id, result, date_started, date_completed, duration,"
    " child_test_count",
    "event_history": "event_id, context, category, object_type, event_name,"
    " project_id, data_source_id, actor_user_id, event_date",
}
_AUDIT = (
    "user_id, user_login_name, user_first_name, user_last_name, user_email,"
    " user_date_last_login, user_date_created, user_date_modified, user_created_by,"
    " user_modified_by, user_time_zone, object_type, object_id, object_name,"
    " permission_name, permission_date_created, permission_date_modified,"
    " permission_created_by, permission_modified_by"
)
AUDIT_VIEW = "vw_dataset_effective_user_permissions"

DATA_SOURCE_TIER = ("tables", "columns", "metadata_objects")
PROJECT_TIER = ("tests", "jobs", "job_executions")
RESULTS_TIER = {
    "test_executions": ("test_data_source_id", "control_data_source_id"),
    "template_test_executions": ("meta_data_source_id", "control_data_source_id"),
}

RESULTS = {24: "Passed", 25: "Failed", 26: "Error"}


def _relation_columns() -> dict[str, list[str]]:
    """The columns of the 22 relations, in the contract's order."""
    texts = dict(_ACCESS_VIEWS)
    texts |= {f"vw_dataset_{name}": text for name, text in _DATASETS.items()}
    texts[AUDIT_VIEW] = _AUDIT
    for name, text in _DATASETS.items():
        extra = ", user_id" if name in RESULTS_TIER else ", user_id, access_type"
        texts[f"vw_secure_dataset_{name}"] = text + extra
    return {name: text.replace(" ", "").split(",") for name, text in texts.items()}


COLUMNS = _relation_columns()


@dataclass
class Evaluation:
    """What the contract says must come out of a world."""

    relations: dict[str, list[tuple]]
    columns: dict[str, list[str]]
    rejected: list[tuple]  # table_name, raw_id, reason, sf_date_created as read
    dangling: list[tuple]  # table_name, column_name, rows, example_id


# ---------------------------------------------------------------------------
# Worlds on disk: one CSV per raw table
# ---------------------------------------------------------------------------


def read_world(folder: Path) -> World:
    """Read one CSV per raw table, every value the text as delivered."""
    world: World = {}
    for table, columns in TABLES.items():
        path = Path(folder) / f"{table}.csv"
        with path.open(newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        if header != list(columns):
            raise ValueError(f"{path} has columns {header}")
        world[table] = [
            {name: text or None for name, text in zip(columns, line, strict=True)}
            for line in lines
        ]
    return world


def write_world(world: World, folder: Path) -> None:
    """Write one CSV per raw table, with exactly the contract's columns."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for table, columns in TABLES.items():
        path = folder / f"{table}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(columns))
            writer.writeheader()
            writer.writerows(world.get(table, []))


# ---------------------------------------------------------------------------
# 1. How rows arrive: reading one value
# ---------------------------------------------------------------------------

# Named one by one, because str.strip() also takes U+001C to U+001F.
WHITE_SPACE = "".join(
    chr(code)
    for code in (
        *range(0x0009, 0x000E),
        0x0020,
        0x0085,
        0x00A0,
        0x1680,
        *range(0x2000, 0x200B),
        0x2028,
        0x2029,
        0x202F,
        0x205F,
        0x3000,
    )
)

UNREADABLE = object()

_BIGINT = re.compile(r"([+-]?)0*([0-9]+)")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[ T]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?"
)
_DECIMAL = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def ascii_lower(text: str) -> str:
    """Fold ASCII letters only."""
    return text.translate(_ASCII_LOWER)


def read_bigint(text: str) -> Any:
    """`[+-]?[0-9]+` within range."""
    match = _BIGINT.fullmatch(text)
    # No bigint has more than 19 digits; Python refuses to read far longer ones.
    if not match or len(match[2]) > 19:
        return UNREADABLE
    number = int(match[1] + match[2])
    return number if -(2**63) <= number < 2**63 else UNREADABLE


def read_flag(text: str) -> Any:
    """`true`, `false`, `1`, `0` in any case."""
    return _FLAGS.get(ascii_lower(text), UNREADABLE)


def read_timestamp(text: str) -> Any:
    """A real calendar moment in UTC, its fraction cut to microseconds."""
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        return UNREADABLE
    *parts, fraction = match.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    try:
        return datetime(*map(int, parts), micros)
    except ValueError:
        return UNREADABLE


def read_decimal(text: str) -> Any:
    """decimal(9,4): rounded half away from zero, then within its range."""
    if not _DECIMAL.fullmatch(text):
        return UNREADABLE
    with localcontext() as context:
        context.prec = len(text) + 10
        number = Decimal(text).quantize(Decimal("0.0001"), rounding=ROUND_HALF_UP)
        if abs(number) > Decimal("99999.9999"):
            return UNREADABLE
        return number if number else Decimal("0.0000")  # there is no minus nought


def read_string(text: str) -> Any:
    """Any text is readable."""
    return text


_READERS = {
    BIGINT: read_bigint,
    STRING: read_string,
    TIMESTAMP: read_timestamp,
    FLAG: read_flag,
    DECIMAL: read_decimal,
}


# Random worlds draw from few values, and read them again and again.
@lru_cache(maxsize=200_000)
def read_value(kind: str, raw: str | None) -> Any:
    """Trim, take empty as null, then read; UNREADABLE if it can't be."""
    text = (raw or "").strip(WHITE_SPACE)
    return _READERS[kind](text) if text else None


# ---------------------------------------------------------------------------
# 1. Staging: the newest delivery per id, judged
# ---------------------------------------------------------------------------


@dataclass
class Delivery:
    """One raw row and what could be read of it."""

    raw: RawRow
    read: Row

    @property
    def active(self) -> bool:
        """Whether is_active is true: false, null and unreadable are not."""
        return self.read["is_active"] is True


@dataclass
class Staging:
    """The winners that were not rejected, and those that were."""

    winners: dict[str, dict[int, Row]] = field(default_factory=dict)
    rejected: list[tuple] = field(default_factory=list)
    # The moment of reading; without it every right is in its time.
    at: datetime | None = None

    def winner(self, table: str, key: int | None) -> Row:
        """The winning delivery of an id; with no values if rejected or missing."""
        return self.winners[table].get(key) or defaultdict(lambda: None)

    def live(self, table: str) -> dict[int, Row]:
        """Rule 3: winners, not rejected, whose is_active is true, in their time."""
        return {
            key: row
            for key, row in self.winners[table].items()
            if row["is_active"] is True and self.holds(row)
        }

    def holds(self, row: Row) -> bool:
        """Whether the moment lies from the beginning on, and before the end."""
        if self.at is None:
            return True
        begin, end = row.get("valid_from"), row.get("valid_until")
        return (begin is None or begin <= self.at) and (end is None or self.at < end)


def read_delivery(table: str, raw: RawRow) -> Delivery:
    """Read every column of one raw row."""
    columns: dict[str, str] = {}
    for name, kind in TABLES[table].items():
        if name == "is_active":
            # The limits of a right are judged after what it is of.
            columns |= {limit: TIMESTAMP for limit in LIMITS if limit in raw}
        columns[name] = kind
    values = _read_row(tuple(columns.values()), tuple(map(raw.__getitem__, columns)))
    return Delivery(raw, dict(zip(columns, values, strict=True)))


# The same rows are staged again and again.
@lru_cache(maxsize=200_000)
def _read_row(kinds: tuple[str, ...], raw: tuple[str | None, ...]) -> tuple:
    return tuple(map(read_value, kinds, raw))


def sort_time(time: Any, active: bool) -> tuple:
    """Rule 1: what can't be dated must not hide a revocation."""
    if time is UNREADABLE or (time is None and not active):
        return (2,)
    if time is None:
        return (0,)
    return (1, time)


def recency(delivery: Delivery) -> tuple:
    """Rule 1: the sort key of deliveries, the newest the greatest."""
    return (
        sort_time(delivery.read["date_modified"], delivery.active),
        sort_time(delivery.read["sf_date_created"], delivery.active),
        not delivery.active,
    )


def newest(deliveries: list[Delivery]) -> list[Delivery]:
    """Rule 1: the newest delivery of an id, or all that tie for it."""
    latest = max(recency(delivery) for delivery in deliveries)
    return [delivery for delivery in deliveries if recency(delivery) == latest]


def differ(deliveries: list[Delivery]) -> bool:
    """Whether the deliveries differ in any column as delivered."""
    return any(delivery.raw != deliveries[0].raw for delivery in deliveries)


def known_name(name: str | None, known: Iterable[str | None]) -> Any:
    """Rule 6: the name as the contract spells it; UNREADABLE if unknown."""
    if name is None:
        return None if None in known else UNREADABLE
    for spelling in known:
        if spelling is not None and ascii_lower(spelling) == ascii_lower(name):
            return spelling
    return UNREADABLE


def canonical(table: str, row: Row) -> Row:
    """Rule 6: the row with its role or context spelled as in the contract."""
    if table in ROLE_TABLES:
        roles = ROLE_PERMISSIONS[ROLE_TABLES[table]]
        return row | {"role_name": known_name(row["role_name"], roles)}
    if table == "events":
        return row | {"context": known_name(row["context"], CONTEXTS)}
    return row


def rejection(table: str, row: Row) -> str | None:
    """Rule 2: the first reason why a sole winner can't be used."""
    for column in row:
        if row[column] is UNREADABLE:
            return f"unreadable {column}"
    for column in TABLES[table]:
        if column in REQUIRED_KEYS.get(table, ()) and row[column] is None:
            return f"missing {column}"
    if table in HOLDER_TABLES:
        holders = [row["user_id"], row["user_group_id"]]
        if holders.count(None) != 1:
            return "holder"
    named = canonical(table, row)
    if table in ROLE_TABLES and named["role_name"] is UNREADABLE:
        return "role"
    if table == "events":
        if named["context"] is UNREADABLE:
            return "context"
        if named["context"] == "Project" and row["project_id"] is None:
            return "context key"
        if named["context"] == "Data Source" and row["meta_data_source_id"] is None:
            return "context key"
    return None


def stage(world: World) -> Staging:
    """Rules 1 and 2 for every table."""
    staging = Staging()
    for table in TABLES:
        winners = staging.winners[table] = {}
        by_id: dict[int, list[Delivery]] = defaultdict(list)

        def reject(delivery: Delivery, reason: str, table: str = table) -> None:
            loaded = delivery.read["sf_date_created"]
            loaded = None if loaded is UNREADABLE else loaded
            staging.rejected.append((table, delivery.raw["id"], reason, loaded))

        for raw in world.get(table, []):
            delivery = read_delivery(table, raw)
            key = delivery.read["id"]
            if key is None or key is UNREADABLE:
                reject(delivery, "unreadable id")
            else:
                by_id[key].append(delivery)
        for key in sorted(by_id):
            tied = newest(by_id[key])
            # Any of them will do; this one does not depend on the order of the rows.
            winner = min(tied, key=lambda delivery: delivery.raw["id"] or "")
            if differ(tied):
                reject(winner, "conflict")
            elif reason := rejection(table, winner.read):
                reject(winner, reason)
            else:
                winners[key] = canonical(table, winner.read)
    return staging


def dangling_references(staging: Staging) -> list[tuple]:
    """Rule 4: references of live rows that give nothing."""
    groups = Groups(staging)
    found = []
    for table, columns in TABLES.items():
        for column in columns:
            if column not in PARENT_TABLES:
                continue
            parents = staging.live(PARENT_TABLES[column])
            ids = [
                key
                for key, row in staging.live(table).items()
                if (row[column] is not None and row[column] not in parents)
                or (column == "parent_user_group_id" and groups.in_ring(key))
            ]
            if ids:
                found.append((table, column, len(ids), min(ids)))
    return found


# ---------------------------------------------------------------------------
# 3. Who counts
# ---------------------------------------------------------------------------


class Groups:
    """The live groups, how they nest, and who holds what they hold."""

    def __init__(self, staging: Staging) -> None:
        self.live = staging.live("user_groups")
        self.users = staging.live("users")
        self.members = staging.live("user_group_members").values()

    def parent(self, group: int) -> int | None:
        """The parent of a live group, if that is live too."""
        parent = self.live[group]["parent_user_group_id"]
        return parent if parent in self.live else None

    def in_ring(self, group: int) -> bool:
        """Whether the group is its own ancestor."""
        passed: set[int] = set()
        ancestor = self.parent(group)
        while ancestor is not None and ancestor not in passed:
            if ancestor == group:
                return True
            passed.add(ancestor)
            ancestor = self.parent(ancestor)
        return False

    def chain(self, group: int | None) -> list[int]:
        """The group and its ancestors, to the first group in a ring."""
        found: list[int] = []
        while group in self.live:
            found.append(group)
            group = None if self.in_ring(group) else self.parent(group)
        return found

    def holders(self) -> dict[int, set[int]]:
        """The live users who hold what each group holds."""
        holders: dict[int, set[int]] = {group: set() for group in self.live}
        for member in self.members:
            if member["user_id"] in self.users:
                for group in self.chain(member["user_group_id"]):
                    holders[group].add(member["user_id"])
        return holders


class Grant(NamedTuple):
    """A live permission row as it reaches one live user on one live object."""

    user_id: int
    object_id: int
    direct: bool
    entry: Row

    @property
    def kind(self) -> str:
        """How the row reaches the user."""
        return "User" if self.direct else "Group"


class Rights:
    """Everything live that gives a live user something."""

    def __init__(self, staging: Staging) -> None:
        self.users = staging.live("users")
        self.objects = {
            object_type: staging.live(table)
            for object_type, (table, _) in OBJECT_TABLES.items()
        }
        self.links = staging.live("project_data_sources").values()
        self.grants = self._grants(staging)
        self.global_roles = self._global_roles(staging)

    def _grants(self, staging: Staging) -> dict[str, list[Grant]]:
        """The explicit grants of each object type."""
        group_holders = Groups(staging).holders()
        grants: dict[str, list[Grant]] = {}
        for object_type, (_, table) in OBJECT_TABLES.items():
            found = grants[object_type] = []
            for entry in staging.live(table).values():
                object_id = entry[OBJECT_KEYS[table]]
                if object_id not in self.objects[object_type]:
                    continue
                if entry["user_id"] in self.users:
                    found.append(Grant(entry["user_id"], object_id, True, entry))
                for user in group_holders.get(entry["user_group_id"], ()):
                    found.append(Grant(user, object_id, False, entry))
        return grants

    def _global_roles(self, staging: Staging) -> dict[str, set[int]]:
        """The users who hold each global permission."""
        holders: dict[str, set[int]] = defaultdict(set)
        for row in staging.live("user_global_roles").values():
            if row["user_id"] in self.users:
                for name in ROLE_PERMISSIONS["Global"][row["role_name"]]:
                    holders[name].add(row["user_id"])
        return holders

    def owners(self, object_type: str) -> Iterator[tuple[int, int]]:
        """(user, object) of what live users own."""
        for object_id, row in self.objects[object_type].items():
            if row.get("owner_user_id") in self.users:
                yield row["owner_user_id"], object_id

    def implicit(self) -> Iterator[tuple[int, str, int, str]]:
        """(user, object type, object, name) of global roles and ownership."""
        for object_type, objects in self.objects.items():
            names = ["Global Admin"]
            if object_type == "Data Source":
                names.append("Global Data Source Admin")
            for name in names:
                for user in self.global_roles[name]:
                    for object_id in objects:
                        yield user, object_type, object_id, name
            for user, object_id in self.owners(object_type):
                yield user, object_type, object_id, f"{object_type} Owner"


# ---------------------------------------------------------------------------
# 4. The three access-resolution views
# ---------------------------------------------------------------------------

Paths = dict[tuple[int, int], set[str]]


def data_source_paths(rights: Rights, permission: str) -> Paths:
    """The path kinds by which (data source, user) holds the permission."""
    paths: Paths = defaultdict(set)
    for grant in rights.grants["Data Source"]:
        role = grant.entry["role_name"]
        if permission in ROLE_PERMISSIONS["Data Source"][role]:
            kind = f"{grant.kind} - {permission}"
            paths[grant.object_id, grant.user_id].add(kind)
    for user, object_type, object_id, name in rights.implicit():
        if object_type == "Data Source":
            paths[object_id, user].add(name)
    return paths


def user_data_source_access(rights: Rights) -> list[Row]:
    """vw_secure_user_data_source_access."""
    return [
        {
            "meta_data_source_id": data_source,
            "user_id": user,
            "access_type": "Multiple" if len(kinds) > 1 else min(kinds),
        }
        for (data_source, user), kinds in data_source_paths(
            rights, "View Metadata"
        ).items()
    ]


def user_project_access(rights: Rights) -> list[Row]:
    """vw_secure_user_project_access: any role, or none."""
    paths: Paths = defaultdict(set)
    for grant in rights.grants["Project"]:
        paths[grant.object_id, grant.user_id].add(grant.kind)
    return [
        {
            "project_id": project,
            "user_id": user,
            "access_type": "User and Group" if len(kinds) > 1 else min(kinds),
        }
        for (project, user), kinds in paths.items()
    ]


def user_results_access(rights: Rights) -> list[Row]:
    """vw_secure_user_results_access."""
    links = {(row["project_id"], row["meta_data_source_id"]) for row in rights.links}
    members = user_project_access(rights)
    return [
        {"meta_data_source_id": data_source, "project_id": project, "user_id": user}
        for data_source, user in data_source_paths(rights, "View Test Results")
        for project in [row["project_id"] for row in members if row["user_id"] == user]
        if (project, data_source) in links
    ]


# ---------------------------------------------------------------------------
# 5. Base datasets
# ---------------------------------------------------------------------------


def joined(*names: str | None) -> str | None:
    """full_path: the names joined by dots, null if any is null."""
    return None if None in names else ".".join(map(str, names))


def duration(row: Row) -> int | None:
    """Whole seconds, cut toward zero, null if either end is null."""
    if row["date_started"] is None or row["date_completed"] is None:
        return None
    difference = row["date_completed"] - row["date_started"]
    seconds = abs(difference) // timedelta(seconds=1)
    return -seconds if difference < timedelta(0) else seconds


def catalogue_schemas(staging: Staging) -> list[Row]:
    """The live schemas of live data sources."""
    data_sources = staging.live("meta_data_sources")
    return [
        {
            "data_source_id": schema["meta_data_source_id"],
            "data_source_name": data_source["name"],
            "schema_id": schema["id"],
            "schema_name": schema["name"],
            "full_path": joined(data_source["name"], schema["name"]),
        }
        for schema in staging.live("meta_schemas").values()
        if (data_source := data_sources.get(schema["meta_data_source_id"]))
    ]


def dataset_tables(staging: Staging) -> list[Row]:
    """vw_dataset_tables."""
    schemas = {row["schema_id"]: row for row in catalogue_schemas(staging)}
    return [
        schema
        | {
            "table_id": table["id"],
            "table_name": table["name"],
            "table_type": table["table_type"],
            "full_path": joined(
                schema["data_source_name"], schema["schema_name"], table["name"]
            ),
            "trust_score": table["trust_score"],
            "quality_score": table["quality_score"],
            "coverage_score": table["coverage_score"],
        }
        for table in staging.live("meta_tables").values()
        if (schema := schemas.get(table["meta_schema_id"]))
    ]


def dataset_columns(staging: Staging) -> list[Row]:
    """vw_dataset_columns."""
    tables = {row["table_id"]: row for row in dataset_tables(staging)}
    return [
        table
        | {
            "column_id": column["id"],
            "column_name": column["name"],
            "full_path": joined(
                table["data_source_name"],
                table["schema_name"],
                table["table_name"],
                column["name"],
            ),
            "data_type": column["data_type"],
            "sequence": column["sequence"],
        }
        for column in staging.live("meta_columns").values()
        if (table := tables.get(column["meta_table_id"]))
    ]


def dataset_metadata_objects(staging: Staging) -> list[Row]:
    """vw_dataset_metadata_objects."""
    levels = (
        ("Schema", catalogue_schemas(staging)),
        ("Table", dataset_tables(staging)),
        ("Column", dataset_columns(staging)),
    )
    return [
        {
            "data_source_id": row["data_source_id"],
            "data_source_name": row["data_source_name"],
            "object_type": level,
            "object_id": row[f"{level.lower()}_id"],
            "object_name": row[f"{level.lower()}_name"],
            "full_path": row["full_path"],
        }
        for level, rows in levels
        for row in rows
    ]


def dataset_tests(staging: Staging) -> list[Row]:
    """vw_dataset_tests."""
    projects = staging.live("projects")
    status = {
        row["test_id"]: row["result"]
        for row in dataset_test_executions(staging)
        if row["latest_test_execution_index"] == 1
    }
    return [
        {
            "project_id": test["project_id"],
            "project_name": project["name"],
            "test_id": test["id"],
            "test_name": test["name"],
            "test_type": test["test_type"],
            "test_data_source_id": test["test_data_source_id"],
            "control_data_source_id": test["control_data_source_id"],
            "quality_dimension": test["quality_dimension"],
            "overall_result_status": status.get(test["id"]),
        }
        for test in staging.live("tests").values()
        if (project := projects.get(test["project_id"]))
    ]


def dataset_jobs(staging: Staging) -> list[Row]:
    """vw_dataset_jobs."""
    projects = staging.live("projects")
    return [
        {
            "project_id": job["project_id"],
            "project_name": project["name"],
            "job_id": job["id"],
            "job_name": job["name"],
        }
        for job in staging.live("jobs").values()
        if (project := projects.get(job["project_id"]))
    ]


def dataset_job_executions(staging: Staging) -> list[Row]:
    """vw_dataset_job_executions."""
    rows = []
    for execution in staging.live("job_executions").values():
        job = staging.winner("jobs", execution["job_id"])
        project = staging.winner("projects", job["project_id"])
        rows.append(
            execution
            | {
                "job_execution_id": execution["id"],
                "job_name": job["name"],
                "project_id": job["project_id"],
                "project_name": project["name"],
                "duration": duration(execution),
            }
        )
    return rows


def newest_first(executions: Iterable[Row]) -> list[Row]:
    """By date_started desc nulls last, id desc."""
    return sorted(
        executions,
        key=lambda row: (
            row["date_started"] is not None,
            row["date_started"] or datetime.min,
            row["id"],
        ),
        reverse=True,
    )


def of_a_test(staging: Staging, execution: Row) -> Row:
    """What both kinds of test execution take from their test, and work out."""
    test = staging.winner("tests", execution["test_id"])
    project = staging.winner("projects", test["project_id"])
    return {
        "test_name": test["name"],
        "project_id": test["project_id"],
        "project_name": project["name"],
        "result": RESULTS.get(execution["code_test_evaluation_result_id"]),
        "duration": duration(execution),
    }


def data_source_name(staging: Staging, data_source: int | None) -> str | None:
    """The name of a data source, live or not."""
    return staging.winner("meta_data_sources", data_source)["name"]


def dataset_test_executions(staging: Staging) -> list[Row]:
    """vw_dataset_test_executions."""
    by_test: dict[int, list[Row]] = defaultdict(list)
    for execution in staging.live("test_executions").values():
        by_test[execution["test_id"]].append(execution)
    return [
        execution
        | of_a_test(staging, execution)
        | {
            "test_execution_id": execution["id"],
            "test_data_source": data_source_name(
                staging, execution["test_data_source_id"]
            ),
            "control_data_source": data_source_name(
                staging, execution["control_data_source_id"]
            ),
            "latest_test_execution_index": index,
            "earliest_test_execution_index": len(executions) + 1 - index,
        }
        for executions in by_test.values()
        for index, execution in enumerate(newest_first(executions), start=1)
    ]


def dataset_template_test_executions(staging: Staging) -> list[Row]:
    """vw_dataset_template_test_executions."""
    return [
        execution
        | of_a_test(staging, execution)
        | {
            "template_test_execution_id": execution["id"],
            "meta_data_source": data_source_name(
                staging, execution["meta_data_source_id"]
            ),
            "control_data_source": data_source_name(
                staging, execution["control_data_source_id"]
            ),
        }
        for execution in staging.live("template_test_executions").values()
    ]


def dataset_event_history(staging: Staging) -> list[Row]:
    """vw_dataset_event_history."""
    return [
        event
        | {"event_id": event["id"], "data_source_id": event["meta_data_source_id"]}
        for event in staging.live("events").values()
    ]


DATASET_FUNCTIONS = {
    "tables": dataset_tables,
    "columns": dataset_columns,
    "metadata_objects": dataset_metadata_objects,
    "tests": dataset_tests,
    "jobs": dataset_jobs,
    "job_executions": dataset_job_executions,
    "test_executions": dataset_test_executions,
    "template_test_executions": dataset_template_test_executions,
    "event_history": dataset_event_history,
}


def precedence(grant: Grant) -> tuple:
    """Direct before group, then the earliest date_created, then the smallest id."""
    created = grant.entry["date_created"]
    return (
        not grant.direct,
        created is None,
        created or datetime.min,
        grant.entry["id"],
    )


def effective_user_permissions(rights: Rights) -> list[Row]:
    """vw_dataset_effective_user_permissions."""
    # (user, object type, object, permission) -> the explicit grants, if any
    held: dict[tuple[int, str, int, str], list[Grant]] = defaultdict(list)
    for object_type, grants in rights.grants.items():
        for grant in grants:
            names = set(ROLE_PERMISSIONS[object_type][grant.entry["role_name"]])
            if object_type == "Project":
                names.add("Project Member")
            for name in names:
                held[grant.user_id, object_type, grant.object_id, name].append(grant)
    for user, object_type, object_id, implicit_name in rights.implicit():
        names = {implicit_name}
        if object_type != "Project":
            names |= permission_names(object_type)
        for name in names:
            held.setdefault((user, object_type, object_id, name), [])

    rows = []
    for (user, object_type, object_id, name), grants in held.items():
        source = min(grants, key=precedence).entry if grants else {}
        rows.append(
            {f"user_{key}": value for key, value in rights.users[user].items()}
            | {
                "object_type": object_type,
                "object_id": object_id,
                "object_name": rights.objects[object_type][object_id]["name"],
                "permission_name": name,
                "permission_date_created": source.get("date_created"),
                "permission_date_modified": source.get("date_modified"),
                "permission_created_by": source.get("created_by"),
                "permission_modified_by": source.get("modified_by"),
            }
        )
    return rows


# ---------------------------------------------------------------------------
# 6. Secure datasets
# ---------------------------------------------------------------------------


class Access:
    """The three access views, ready to be looked up."""

    def __init__(self, rights: Rights) -> None:
        self.data_source: dict[int | None, list[Row]] = defaultdict(list)
        self.project: dict[int | None, list[Row]] = defaultdict(list)
        self.results: dict[tuple, set[int]] = defaultdict(set)
        for row in user_data_source_access(rights):
            self.data_source[row["meta_data_source_id"]].append(row)
        for row in user_project_access(rights):
            self.project[row["project_id"]].append(row)
        for row in user_results_access(rights):
            side = row["project_id"], row["meta_data_source_id"]
            self.results[side].add(row["user_id"])


def grant_to(row: Row, accesses: list[Row]) -> list[Row]:
    """The row once for each user that has access."""
    return [
        row | {"user_id": access["user_id"], "access_type": access["access_type"]}
        for access in accesses
    ]


def secure_results(row: Row, access: Access, test: str, control: str) -> list[Row]:
    """Results access on the test side and on the control side, if named."""
    users = access.results.get((row["project_id"], row[test]), set())
    if row[control] is not None:
        users = users & access.results.get((row["project_id"], row[control]), set())
    return [row | {"user_id": user} for user in users]


def secure_event(row: Row, access: Access) -> list[Row]:
    """An event by its context."""
    if row["context"] == "Project":
        return grant_to(row, access.project.get(row["project_id"], []))
    if row["context"] == "Data Source":
        return grant_to(row, access.data_source.get(row["data_source_id"], []))
    return [row | {"user_id": None, "access_type": None}]


def secure(name: str, row: Row, access: Access) -> list[Row]:
    """A dataset's row as each user sees it."""
    if name in DATA_SOURCE_TIER:
        return grant_to(row, access.data_source.get(row["data_source_id"], []))
    if name in PROJECT_TIER:
        return grant_to(row, access.project.get(row["project_id"], []))
    if name in RESULTS_TIER:
        return secure_results(row, access, *RESULTS_TIER[name])
    return secure_event(row, access)


# ---------------------------------------------------------------------------
# As of a moment
# ---------------------------------------------------------------------------


def load_time(raw: RawRow) -> datetime | None:
    """The load time of a delivery; None if it has none, or none that can be read."""
    loaded = read_value(TIMESTAMP, raw["sf_date_created"])
    return None if loaded is UNREADABLE else loaded


def delivered_until(world: World, moment: datetime) -> World:
    """The deliveries whose load time is not after a moment.

    One without a load time was there from the beginning.
    """
    return {
        table: [row for row in rows if (load_time(row) or datetime.min) <= moment]
        for table, rows in world.items()
    }


# The raw tables that say who has access to what.
ACCESS_TABLES = (
    *("users", "user_global_roles", "user_groups", "user_group_members"),
    *("meta_data_sources", "data_source_permissions", "projects"),
    *("project_permissions", "project_data_sources"),
)
# Tier, user, data source and project; a tier on one of the two has none of the other.
AccessKey = tuple[str, int, int | None, int | None]
AccessState = dict[AccessKey, str | None]


class AccessChange(NamedTuple):
    """What one load changed of a user's access to an object."""

    at: datetime | None  # None: from the beginning
    key: AccessKey
    had: bool
    has: bool
    access_type_before: str | None
    access_type: str | None


def access_state(world: World) -> AccessState:
    """Who has access to what, of all tiers, with the access type where there is one."""
    rights = Rights(stage({table: world[table] for table in ACCESS_TABLES}))
    found: AccessState = {}
    for row in user_data_source_access(rights):
        key = ("data_source", row["user_id"], row["meta_data_source_id"], None)
        found[key] = row["access_type"]
    for row in user_project_access(rights):
        key = ("project", row["user_id"], None, row["project_id"])
        found[key] = row["access_type"]
    for row in user_results_access(rights):
        source, project = row["meta_data_source_id"], row["project_id"]
        found["results", row["user_id"], source, project] = None
    return found


def loads(world: World) -> list[datetime | None]:
    """The load times of the tables that decide access; first what has none."""
    times = {load_time(row) for table in ACCESS_TABLES for row in world[table]}
    return [None, *sorted(times - {None})]


def loaded_until(world: World, moment: datetime | None) -> World:
    """The deliveries until a load; None: those that were there from the beginning."""
    if moment is not None:
        return delivered_until(world, moment)
    return {
        table: [row for row in rows if load_time(row) is None]
        for table, rows in world.items()
    }


def access_changes(before: AccessState, after: AccessState) -> list[tuple]:
    """What differs: key, had, has, and the access types."""
    return [
        (key, key in before, key in after, before.get(key), after.get(key))
        for key in sorted({*before, *after}, key=str)
        if (key in before, before.get(key)) != (key in after, after.get(key))
    ]


def timeline(world: World) -> list[AccessChange]:
    """When access to what began, ended or became another type, over all load times."""
    found: list[AccessChange] = []
    before: AccessState = {}
    for moment in loads(world):
        after = access_state(loaded_until(world, moment))
        found += [AccessChange(moment, *each) for each in access_changes(before, after)]
        before = after
    return found


# ---------------------------------------------------------------------------
# All together
# ---------------------------------------------------------------------------


def evaluate(world: World, at: datetime | None = None) -> Evaluation:
    """Evaluate the contract over a world of raw rows, as read at a moment."""
    staging = stage(world)
    staging.at = at
    rights = Rights(staging)
    access = Access(rights)
    rows = {
        "vw_secure_user_data_source_access": user_data_source_access(rights),
        "vw_secure_user_project_access": user_project_access(rights),
        "vw_secure_user_results_access": user_results_access(rights),
        AUDIT_VIEW: effective_user_permissions(rights),
    }
    for name, function in DATASET_FUNCTIONS.items():
        base = rows[f"vw_dataset_{name}"] = function(staging)
        rows[f"vw_secure_dataset_{name}"] = [
            seen for row in base for seen in secure(name, row, access)
        ]
    relations = {
        relation: [tuple(row[column] for column in columns) for row in rows[relation]]
        for relation, columns in COLUMNS.items()
    }
    return Evaluation(
        relations, COLUMNS, staging.rejected, dangling_references(staging)
    )


def main() -> None:
    """Print the number of rows of each relation."""
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/helpers/oracle/contract.py FOLDER")
    evaluation = evaluate(read_world(Path(sys.argv[1])))
    for relation, rows in evaluation.relations.items():
        print(f"{relation} {len(rows)}")
    print(f"rejected {len(evaluation.rejected)}")
    print(f"dangling {len(evaluation.dangling)}")


if __name__ == "__main__":
    main()
