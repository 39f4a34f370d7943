"""Small adversarial worlds of raw rows, made from a seed.

Most rows are valid, so that every relation has rows. The remaining rows have the faults
that the data contract warns about. The same seed always gives the same world.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from oracle.contract import (
    BIGINT,
    DECIMAL,
    FLAG,
    HOLDER_TABLES,
    PARENT_TABLES,
    REQUIRED_KEYS,
    ROLE_PERMISSIONS,
    ROLE_TABLES,
    STRING,
    TABLES,
    TIMESTAMP,
    RawRow,
    World,
)

# Rows per table at size 1. Parents come before the rows that refer to them.
COUNTS = {
    "users": 20,
    "user_groups": 20,
    "meta_data_sources": 9,
    "projects": 8,
    "reports": 7,
    "user_global_roles": 14,
    "user_group_members": 48,
    "data_source_permissions": 60,
    "project_permissions": 40,
    "report_permissions": 26,
    "project_data_sources": 36,
    "meta_schemas": 14,
    "meta_tables": 24,
    "meta_columns": 36,
    "tests": 24,
    "jobs": 12,
    "job_executions": 24,
    "test_executions": 64,
    "template_test_executions": 24,
    "events": 40,
}

# The first rows of these tables are hubs: mostly valid, and often referred to.
HUB_TABLES = (
    "users",
    "user_groups",
    "meta_data_sources",
    "projects",
    "reports",
    "meta_schemas",
    "meta_tables",
    "tests",
    "jobs",
)
HUBS = 3

WHITE_SPACE = (
    *(" ", "  ", "\t", "\n", "\r\n", "\x0b", "\x85", "\xa0", "\u1680", "\u2003"),
    *("\u2007", "\u2028", "\u202f", "\u205f", "\u3000", " \u00a0\t"),
)
NOT_WHITE_SPACE = ("\x1f", "\x1c", "\u200b", "\ufeff", "\u180e", "\u2060")

TEXTS = (
    *("it's", 'say "hi"', '"', "back\\slash", "\\", "\\n", "a, b", ",", "''", "`b`"),
    *("line\nbreak", "two\r\nlines", "tab\tbed", "null", "None", "NULL", "true", "7"),
    *("\u00dcnal", "Ren\u00e9e", "Rene\u0301e", "\u6570\u636e", "\U0001f600", "a.b"),
    *("{{ x }}", "${x}", "%_", "-- x", ";", "\x1fkept\x1f", "\u200bkept", "kept\ufeff"),
    *("no\u00a0break", "1e1", "yes", "#", "|", "NaN", "\u0130\u0131\u017f\u00df"),
)

GARBLED = {
    BIGINT: (
        *("5.7", "1e1", "9223372036854775808", "-9223372036854775809", "5.0", "abc"),
        *("0x1F", "1_000", "1 000", "1,000", "--1", "+", "-", "+-1", "1L", "NaN"),
        *("null", "None", "true", "\u0665", "\uff11\uff12", "\u00b2", "5\u200b"),
        *("\ufeff5", "5\x1f", "\x1c5", "1\n2", "\u22125", "9" * 30, "1d", "5f"),
    ),
    FLAG: (
        *("yes", "no", "y", "t", "f", "2", "-1", "01", "1.0", "on", "off", "null"),
        *("None", "truee", "fal\u017fe", "true\x1f", "\u200bfalse", "\uff11", "+1"),
    ),
    TIMESTAMP: (
        *("yesterday", "now", "epoch", "2026-02-30 00:00:00", "2025-02-29 12:00:00"),
        *("1900-02-29 00:00:00", "2026-01-01 24:00:00", "2026-01-01 00:00:60"),
        *("2026-13-01 00:00:00", "2026-00-10 00:00:00", "0000-01-01 00:00:00"),
        *("2026-01-01 00:00:00.1234567890", "2026-01-01 00:00:00.", "2026-01-01"),
        *("2026-01-01 00:00", "2026-01-01t00:00:00", "2026-01-01T00:00:00Z"),
        *("2026-01-01 00:00:00+00:00", "2026-01-01  00:00:00", "2026-1-1 0:0:0"),
        *("10000-01-01 00:00:00", "-2026-01-01 00:00:00", "+2026-01-01 00:00:00"),
        *("2026-01-01 00:60:00", "2026-01-01 00:00:00,5", "1767225600", "infinity"),
        *("\u0662\u0660\u0662\u0666-01-01 00:00:00", "2026-01-01 00:00:00\x1f"),
        *("2026-01-01\u00a000:00:00", "2026-04-31 00:00:00", "01/02/2026 00:00:00"),
        *("2026-01-01 00:00:00 UTC", "null", "12:00:00", "2026-01-01 -1:00:00"),
    ),
    DECIMAL: (
        *("1e1", "5.", ".5", "100000", "-100000", "99999.99995", "-99999.99995"),
        *("1,5", "abc", "NaN", "Infinity", "1.5.5", "+", "1.5\x1f", "\u0661.5"),
        *("1 000", "--1.5", "1.5d", "0x1", "null", "1" * 40),
    ),
}

BIGINTS = (
    *("9223372036854775807", "-9223372036854775808", "9223372036854775806", "0"),
    *("9007199254740993", "9007199254740992", "-1", "2147483648"),
)
DECIMALS = (
    *("99999.9999", "99999.99994", "-99999.99994999", "0.00005", "-0.00005", "-0"),
    *("-0.00004", "0.000049999999999999", "12.34565", "-12.34565", "87.5", "100"),
    *("+1.5", "007.25", "33.333333333333333333333333", "0.99995", "12.34575"),
)
# Local clocks skip or repeat some of these. The remaining ones test two calendars, the
# epoch and the precision.
MOMENTS = (
    *("2026-03-08 02:30:00", "2026-03-29 02:30:00", "2026-03-29 01:30:00"),
    *("2026-11-01 01:30:00", "2026-10-25 02:30:00.25", "2026-03-08 02:30:00.999999"),
    *("1582-10-10 12:00:00", "1969-12-31 23:59:59.5", "1900-01-01 00:00:00"),
    *("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999999", "2024-02-29 12:00:00"),
    *("2026-06-30 23:59:59.9999999", "1883-11-18 12:03:57", "2000-02-29 23:59:59"),
)
# Pairs (older, newer). A reader that shifts the clock or drops digits swaps them.
SUCCESSIONS = (
    ("2026-03-08 02:30:00", "2026-03-08 03:10:00"),
    ("2026-03-29 02:30:00", "2026-03-29 03:10:00"),
    ("2026-03-29 01:30:00", "2026-03-29 02:10:00"),
    ("2026-11-01 01:30:00", "2026-11-01 01:30:00.000001"),
    ("2026-05-05 05:05:05.123456999", "2026-05-05 05:05:05.123457"),
    ("2026-05-05 05:05:05.09", "2026-05-05 05:05:05.1"),
    ("1969-12-31 23:59:58.75", "1969-12-31 23:59:59.25"),
    ("0999-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
)

UNKNOWN_ROLES = (
    *("Owner", "View Metadata", "Viewers", "Admins", "Global", "GlobalAdmin", "null"),
    *("ViewTe\u017ftResults", "V\u0131ewer", "ADM\u0130N", "Global.Adm\u0131n"),
    *("Viewer\x1f", "View Metadata, View Test Results", "\u200bAdmin"),
)
UNKNOWN_CONTEXTS = (
    *("System", "DataSource", "Data  Source", "Data\u00a0Source", "Projects"),
    *("Data \u017fource", "Global\x1f", "None"),
)

ENTRY_TIMES = (
    *("2026-01-05 00:00:00", "2026-01-05T00:00:00.000001", "2026-01-06 00:00:00"),
    *("2026-01-07 00:00:00", "2026-03-08 02:30:00"),
)


class _Maker:
    """Makes one world."""

    def __init__(self, seed: int, size: int) -> None:
        self.random = random.Random(seed)
        self.ids = {
            table: self.make_ids(count * size) for table, count in COUNTS.items()
        }
        self.rows: dict[str, dict[int, RawRow]] = {}
        self.links: dict[str | None, list[str | None]] = {}

    # -- chance ------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def weighted(self, **weights: float) -> str:
        """One of the names, by weight."""
        return self.random.choices(list(weights), list(weights.values()))[0]

    def pick(self, values: Iterable[str | None]) -> str | None:
        """One of the values, nulls included."""
        return self.random.choice(list(values))

    # -- single values -----------------------------------------------------

    def make_ids(self, count: int) -> list[int]:
        """The ids 1, 2, 3 and so on, sometimes with extreme numbers at the end."""
        ids = list(range(1, count + 1))
        if self.chance(0.4):
            ids[-2:] = [9007199254740992, 9007199254740993]
        if self.chance(0.3):
            ids[-1] = self.random.choice([2**63 - 1, -(2**63), 0, -1])
        return ids

    def reference(self, table: str) -> str:
        """An id of the table, often of a hub, and now and then of no row."""
        if self.chance(0.05):
            return str(self.random.choice([900, -900, 2**62]))
        ids = self.ids[table]
        return str(self.random.choice(ids[:HUBS] if self.chance(0.45) else ids))

    def moment(self) -> str:
        """A readable moment."""
        if self.chance(0.12):
            return self.random.choice(MOMENTS)
        seconds = self.random.randrange(200 * 86400)
        moment = datetime(2026, 1, 1) + timedelta(seconds=seconds)
        digits = self.random.choice([0, 0, 0, 1, 3, 6, 7, 9])
        fraction = f".{self.random.randrange(10**digits):0{digits}}" if digits else ""
        return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"

    def later(self, moment: str | None) -> str | None:
        """Mostly a moment near this one, before or after it."""
        if moment is None or self.chance(0.15):
            return self.pick([None, self.moment()])
        start = datetime.fromisoformat(f"{moment[:19]}.000000")
        shift = self.random.choice([0.4, 0.999999, 59.5, 3600, -0.5, -61.25, 90000])
        try:
            return str(start + timedelta(seconds=shift))
        except OverflowError:
            return None

    def words(self, plain: str) -> str | None:
        """A string: mostly plain."""
        kind = self.weighted(plain=70, odd=24, null=6)
        return {"plain": plain, "odd": self.random.choice(TEXTS), "null": None}[kind]

    def number(self) -> str | None:
        """A bigint: mostly small."""
        kind = self.weighted(small=75, odd=15, null=10)
        small = str(self.random.randrange(10))
        return {"small": small, "odd": self.random.choice(BIGINTS), "null": None}[kind]

    def odd_case(self, name: str) -> str:
        """The name in a different ASCII case."""
        return self.random.choice(
            [name.lower(), name.upper(), name.swapcase(), name.title()]
        )

    def role(self, table: str) -> str | None:
        """A role of the table's object type: mostly a known one."""
        known = [name for name in ROLE_PERMISSIONS[ROLE_TABLES[table]] if name]
        if table == "data_source_permissions":
            known += ["ViewMetadata", "ViewTestResults", "Viewer", "Tester"] * 3
        nulls = 30 if table == "project_permissions" else 3
        kind = self.weighted(known=72, odd_case=18, unknown=4, foreign=2, null=nulls)
        if kind == "null":
            return None
        if kind == "unknown":
            return self.random.choice(UNKNOWN_ROLES)
        if kind == "foreign":
            every = [name for roles in ROLE_PERMISSIONS.values() for name in roles]
            return self.pick(every)
        name = self.random.choice(known)
        return self.odd_case(name) if kind == "odd_case" else name

    def context(self) -> str | None:
        """A context of an event: mostly a known one."""
        kind = self.weighted(known=70, odd_case=20, unknown=7, null=3)
        name = self.random.choice(["Global", "Project", "Project", "Data Source"])
        if kind == "unknown":
            return self.random.choice(UNKNOWN_CONTEXTS)
        if kind == "null":
            return None
        return self.odd_case(name) if kind == "odd_case" else name

    def value(self, table: str, column: str, kind: str, key: int) -> str | None:
        """A value of a column, mostly a valid one."""
        if column == "id":
            return str(key)
        if column == "is_active":
            return self.weighted(true=88, false=9, null=3).replace("null", "") or None
        if column == "role_name":
            return self.role(table)
        if column == "context":
            return self.context()
        if column in PARENT_TABLES:
            missing = 0 if column in REQUIRED_KEYS.get(table, ()) else 0.12
            nothing = self.chance(missing)
            return None if nothing else self.reference(PARENT_TABLES[column])
        if column == "code_test_evaluation_result_id":
            return self.pick(["24", "24", "25", "25", "26", "27", "0", None])
        if column == "date_created" and table in HOLDER_TABLES:
            return self.pick([*ENTRY_TIMES, None])
        if kind == STRING:
            return self.words(f"{column} {key}")
        if kind == TIMESTAMP:
            return None if self.chance(0.05) else self.moment()
        if kind == DECIMAL:
            if self.chance(0.03):
                return self.random.choice(GARBLED[DECIMAL])
            return self.pick([*DECIMALS, f"{self.random.uniform(0, 100):.4f}", None])
        if kind == FLAG:
            return self.pick(["true", "false", "1", "0", None])
        return self.number()

    # -- clean rows --------------------------------------------------------

    def row(self, table: str, key: int) -> RawRow:
        """A row as the application might mean it."""
        row = {
            column: self.value(table, column, kind, key)
            for column, kind in TABLES[table].items()
        }
        if table in HOLDER_TABLES:
            holder = self.weighted(user=46, group=46, both=3, none=3)
            user, group = self.reference("users"), self.reference("user_groups")
            row["user_id"] = user if holder in ("user", "both") else None
            row["user_group_id"] = group if holder in ("group", "both") else None
        if table == "tests":
            row |= self.sides(row["project_id"], "test_data_source_id")
        if table in ("test_executions", "template_test_executions"):
            row |= self.execution(table, row)
        if table == "job_executions":
            row["date_completed"] = self.later(row["date_started"])
        if table == "events" and self.chance(0.85):
            keys = ("project_id", "meta_data_source_id")
            row |= {
                column: self.reference(PARENT_TABLES[column])
                for column in keys
                if row[column] is None
            }
        return row

    def sides(self, project: str | None, test_side: str) -> RawRow:
        """Two data sources, mostly linked to the project."""
        linked = self.links.get(project) or [self.reference("meta_data_sources")]
        everywhere = [str(key) for key in self.ids["meta_data_sources"]]
        first = self.pick(linked if self.chance(0.8) else [*everywhere, "900", None])
        second = self.pick(linked if self.chance(0.7) else [*everywhere, "900"])
        kind = self.weighted(none=35, equal=15, different=45, no_test_side=5)
        return {
            test_side: None if kind == "no_test_side" else first,
            "control_data_source_id": {"none": None, "equal": first}.get(kind, second),
        }

    def execution(self, table: str, row: RawRow) -> RawRow:
        """The two sides of an execution, often as in its test, and its times."""
        side = "meta" if table.startswith("template") else "test"
        test_id = row["test_id"] or ""
        known = test_id.isdigit() and int(test_id) in self.rows["tests"]
        test = self.rows["tests"][int(test_id)] if known else {}
        sides = self.sides(test.get("project_id"), f"{side}_data_source_id")
        if test and self.chance(0.4):
            sides = {
                f"{side}_data_source_id": test["test_data_source_id"],
                "control_data_source_id": test["control_data_source_id"],
            }
        started = row["date_started"]
        if self.chance(0.5):
            # Few moments, so that the executions of a test tie.
            started = self.pick(["2026-02-01 00:00:00", "2026-02-01T00:00:00.0", None])
        return {
            **sides,
            "date_started": started,
            "date_completed": self.later(started),
        }

    def make_rows(self) -> None:
        """Make every row once, in its final version."""
        for table, keys in self.ids.items():
            rows = {key: self.row(table, key) for key in keys}
            self.rows[table] = rows
            if table == "user_groups":
                self.nest(list(rows.values()))
            if table == "user_group_members":
                self.fill_groups(list(rows.values()))
            if table == "project_data_sources":
                self.arrange()
                for link in rows.values():
                    linked = self.links.setdefault(link["project_id"], [])
                    linked.append(link["meta_data_source_id"])

    def nest(self, groups: list[RawRow]) -> None:
        """Chains, rings, chains below rings and broken rings."""
        parents = [None, 0, 1, 2, 5, 6, 4, 4, 7, 10, 9, 9, 12, 12, 15, 14, 17, 18, 16]
        for group, parent in zip(groups, parents, strict=False):
            group["parent_user_group_id"] = (
                None if parent is None else groups[parent]["id"]
            )
            if self.chance(0.1):
                group["parent_user_group_id"] = self.reference("user_groups")
            group["is_active"] = "true" if self.chance(0.95) else "false"
        groups[15]["is_active"] = self.pick(["false", "0", None, "yes"])
        groups[18]["date_created"] = "2026-02-30 00:00:00"

    def fill_groups(self, members: list[RawRow]) -> None:
        """Add a member to each group, so that no group is empty."""
        for member, group in zip(members, self.ids["user_groups"], strict=False):
            member |= {"user_group_id": str(group), "is_active": "true"}

    def arrange(self) -> None:
        """Several paths at once for the hubs."""
        users, groups, sources, projects = (
            [str(key) for key in self.ids[table][:HUBS]]
            for table in ("users", "user_groups", "meta_data_sources", "projects")
        )
        reports = [str(key) for key in self.ids["reports"][:HUBS]]
        self.overlay(
            "user_group_members",
            [
                {"user_id": user, "user_group_id": group}
                for user in users[:2]
                for group in groups[1:]
            ],
            start=len(self.ids["user_groups"]),
        )
        self.overlay(
            "data_source_permissions",
            [
                {"user_id": user, "user_group_id": group, "role_name": role}
                | {"meta_data_source_id": source}
                for source in sources[:2]
                for user, group, role in (
                    (users[0], None, "ViewMetadata"),
                    (users[0], None, "viewer"),
                    (None, groups[1], "Viewer"),
                    (None, groups[2], "Tester"),
                    (users[2], None, "ViewTestResults"),
                )
            ],
        )
        self.overlay(
            "project_permissions",
            [
                {"user_id": user, "user_group_id": group, "role_name": role}
                | {"project_id": project}
                for project in projects[:2]
                for user, group, role in (
                    (users[0], None, "Admin"),
                    (users[0], None, None),
                    (None, groups[1], "EXPORT"),
                    (users[2], None, None),
                )
            ],
        )
        self.overlay(
            "report_permissions",
            [
                {"user_id": users[0], "user_group_id": None, "role_name": "View"}
                | {"report_id": reports[0]},
                {"user_id": None, "user_group_id": groups[1], "role_name": "view"}
                | {"report_id": reports[0]},
            ],
        )
        self.overlay(
            "user_global_roles",
            [
                {"user_id": users[0], "role_name": "Global.Admin"},
                {"user_id": users[0], "role_name": "global.datasourceadmin"},
                {"user_id": self.reference("users"), "role_name": "Global.Admin"},
                {
                    "user_id": self.reference("users"),
                    "role_name": "Global.DataSourceAdmin",
                },
            ],
        )
        self.overlay("meta_data_sources", [{"owner_user_id": users[0]}])
        self.overlay("reports", [{"owner_user_id": users[0]}])
        self.overlay(
            "project_data_sources",
            [
                {"project_id": project, "meta_data_source_id": source}
                for project in projects[:2]
                for source in sources[:2]
            ],
        )

    def overlay(self, table: str, values: Sequence[RawRow], start: int = 0) -> None:
        """Overwrite the table's rows with these values, most of the time."""
        for row, value in zip(
            list(self.rows[table].values())[start:], values, strict=False
        ):
            if self.chance(0.8):
                row.update(value, is_active="true")

    # -- faults and spellings ----------------------------------------------

    def spell(self, kind: str, text: str | None) -> str | None:
        """The same value, sometimes in a different valid spelling."""
        if text is None:
            return self.random.choice(WHITE_SPACE) if self.chance(0.01) else None
        if kind == BIGINT and self.chance(0.04) and text.isdigit():
            text = self.random.choice(["00", "+", "+0"]) + text
        if kind == FLAG and self.chance(0.3):
            alias = {"true": "1", "false": "0"}.get(text, text)
            text = self.random.choice([text.upper(), text.title(), alias])
        if kind == TIMESTAMP and self.chance(0.05):
            text = text.replace(" ", "T")
        if self.chance(0.03):
            before, after = self.random.choices(("", *WHITE_SPACE), k=2)
            text = before + text + after
        return text

    def spelled(self, table: str, row: RawRow) -> RawRow:
        """The same row, some values in a different valid spelling."""
        return {
            column: self.spell(kind, row[column])
            for column, kind in TABLES[table].items()
        }

    def spoiled(self, table: str, row: RawRow) -> RawRow:
        """The row with a fault or two."""
        row = dict(row)
        columns = TABLES[table]
        typed = {
            kind: [name for name in columns if columns[name] == kind and name != "id"]
            for kind in GARBLED
        }
        kinds = [kind for kind in typed if typed[kind]]
        required = REQUIRED_KEYS.get(table, ())
        for _ in range(2 if self.chance(0.3) else 1):
            fault = self.weighted(garbled=60, missing=24, id=7, end=9)
            if fault == "missing" and required:
                gone = required if self.chance(0.3) else [self.random.choice(required)]
                row |= dict.fromkeys(gone)
            elif fault == "id":
                row["id"] = self.pick([None, *GARBLED[BIGINT]])
            elif fault == "end":
                column = self.random.choice(list(columns))
                ends = self.random.choice(NOT_WHITE_SPACE)
                row[column] = (row[column] or "") + ends
            else:
                kind = self.random.choice(kinds)
                column = self.random.choice(typed[kind])
                row[column] = self.random.choice(GARBLED[kind])
        return row

    def blurred(self, table: str, row: RawRow) -> RawRow:
        """The same row, with a difference that disappears when it is read."""
        row = dict(row)
        spelled = [
            column
            for column, text in row.items()
            if text and column not in ("date_modified", "sf_date_created", "id")
        ]
        column = self.random.choice(spelled) if spelled else "id"
        kind = self.weighted(space=40, case=30, id=30)
        if kind == "case" and row["is_active"]:
            row["is_active"] = row["is_active"].swapcase()
        elif kind == "id":
            row["id"] = self.random.choice([f" {row['id']}", f"{row['id']}\u3000"])
        else:
            row[column] = (row[column] or "") + self.random.choice(WHITE_SPACE)
        return row

    # -- deliveries --------------------------------------------------------

    def another(self, table: str, key: int) -> RawRow:
        """A different version of the row, delivered at a different time."""
        row = self.row(table, key)
        row["is_active"] = self.pick(["true", "true", "false", None])
        if self.chance(0.08):
            dates = {name: row[name] for name in ("date_modified", "sf_date_created")}
            row = self.spoiled(table, row) | dates | {"id": str(key)}
        return self.spelled(table, row)

    def succession(self) -> tuple[str | None, str | None]:
        """An older and a newer moment."""
        if self.chance(0.4):
            return self.random.choice(SUCCESSIONS)
        first, second = sorted(self.random.sample(range(1, 28), 2))
        hour = self.random.randrange(24)
        return (
            f"2026-05-{first:02} {hour:02}:00:00",
            f"2026-05-{second:02} {23 - hour:02}:30:00",
        )

    def deliveries(self, table: str, key: int) -> list[RawRow]:
        """The deliveries of one id."""
        main = self.rows[table][key]
        hub = table in HUB_TABLES and key in self.ids[table][:HUBS]
        if hub and self.chance(0.85):
            main = main | {"is_active": "true"}
            kind = self.weighted(single=50, older=25, reloaded=15, repeated=10)
        else:
            if self.chance(0.07):
                main = self.spoiled(table, main)
            kind = self.weighted(
                single=58,
                older=14,
                reloaded=5,
                repeated=4,
                conflict=2,
                blurred=2,
                revoked=3,
                undated=6,
                chaos=6,
            )
        main = self.spelled(table, main)
        others = [self.another(table, key) for _ in range(self.random.choice([1, 2]))]
        return getattr(self, f"deliver_{kind}")(table, main, others)

    def deliver_single(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """One delivery."""
        return [main]

    def deliver_older(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """The row and older versions, some of them loaded later."""
        older, newer = self.succession()
        return [
            main | {"date_modified": newer},
            *(other | {"date_modified": older} for other in others),
        ]

    def deliver_reloaded(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """Versions modified at one moment, with the row loaded last."""
        older, newer = self.succession()
        modified = self.pick(["2026-04-01 00:00:00", "2026-03-08 02:30:00"])
        return [
            main | {"date_modified": modified, "sf_date_created": newer},
            *(
                other | {"date_modified": modified, "sf_date_created": older}
                for other in others
            ),
        ]

    def deliver_repeated(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """The same delivery two or three times."""
        return [main] * self.random.choice([2, 2, 3])

    def deliver_conflict(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """Two different versions that tie, and perhaps a third one that does not."""
        same = ("date_modified", "sf_date_created", "is_active", "id")
        tied = others[0] | {column: main[column] for column in same}
        if self.chance(0.3) and (main["date_modified"] or "").startswith("2026-"):
            # Cut to microseconds, they are the same moment.
            moment = f"{(main['date_modified'] or '').strip()[:19]}.654321"
            main = main | {"date_modified": moment}
            tied["date_modified"] = moment + "9"
        return [main, tied, *others[1:]]

    def deliver_blurred(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """Deliveries that tie and differ only in spelling."""
        return [main, self.blurred(table, main)]

    def deliver_revoked(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """A revocation that ties with what it revokes."""
        active = main | {"is_active": self.pick(["true", "1"])}
        revoked = main | {"is_active": self.pick(["false", "0", None, "garbled"])}
        return [active, revoked]

    def deliver_undated(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """The row, and a version without a readable time, mostly active."""
        column = self.pick(["date_modified", "date_modified", "sf_date_created"]) or ""
        time = self.weighted(null=70, garbled=30)
        undated = others[0] | {
            "date_modified": main["date_modified"],
            column: None if time == "null" else self.pick(GARBLED[TIMESTAMP]),
            "is_active": self.pick(["true", "true", "true", "false", None]),
        }
        return [main, undated]

    def deliver_chaos(
        self, table: str, main: RawRow, others: list[RawRow]
    ) -> list[RawRow]:
        """Deliveries that share few moments, so that many tie."""
        moments = ["2026-04-01 00:00:00", "2026-04-02 00:00:00", None]
        if self.chance(0.25):
            moments.append("yesterday")
        return [
            row
            | {
                "date_modified": self.pick(moments),
                "sf_date_created": self.pick(moments),
                "is_active": self.pick(["true", "true", "true", "false", None]),
            }
            for row in [main, *others, *([main] if self.chance(0.5) else [])]
        ]

    def world(self) -> World:
        """All deliveries of all rows, in random order."""
        self.make_rows()
        world: World = {}
        for table in TABLES:
            world[table] = [
                dict(delivery)
                for key in self.ids[table]
                for delivery in self.deliveries(table, key)
            ]
            self.random.shuffle(world[table])
        if self.chance(0.25):
            for table in self.random.sample(list(TABLES), self.random.choice([1, 2])):
                world[table] = []
        return world


def random_world(seed: int, size: int = 1) -> World:
    """A world that is always the same for the same seed and size."""
    return _Maker(seed, size).world()
