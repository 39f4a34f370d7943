"""The findings of an access review in small worlds, in DuckDB, without Spark."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from oracle.contract import (
    ROLE_PERMISSIONS,
    TABLES,
    Groups,
    Rights,
    Staging,
    World,
    newest,
    read_delivery,
)
from own_config import PRODUCTS, document_of
from projects import ROOT
from rendering import VARS
from why_sandbox import (
    PATH_COLUMNS,
    Asked,
    Database,
    access_paths,
    load_world,
    repository_tables,
)

from secure_datasets.questions.facts.built import Built
from secure_datasets.review.pack import Pack
from secure_datasets.review.queries import review_queries

# Each after the models that it reads.
MODELS = ("judged_grants", "judged_decisions", "review_status", "access_findings")
SETTINGS = {
    "dormant_days": 90, "global_admins_limit": 3, "finding_severities": {},
    "review_days": 100, "review_deciders": "anybody",
}  # fmt: skip
# The seeds of a root project, with the types of their columns.
SEEDS = {
    "finding_exceptions": {
        "rule": "VARCHAR", "subject": "VARCHAR", "owner": "VARCHAR",
        "reason": "VARCHAR", "expires_on": "DATE",
    },
    "toxic_pairs": {
        "object_type": "VARCHAR", "permission_name": "VARCHAR",
        "other_permission_name": "VARCHAR", "reason": "VARCHAR",
    },
    "review_decisions": dict.fromkeys(
        ("object_type", "object_id", "user_id", "seen", "decision", "decided_by",
         "decided_on"), "VARCHAR"
    ),
}  # fmt: skip
ONE_PATH = (
    *("user_id", "object_type", "object_id", "permission_name", "path_kind"),
    *("user_group_id", "grant_table", "grant_id"),
)
TYPES = {
    "user_id": "BIGINT", "object_id": "BIGINT", "user_group_id": "BIGINT",
    "grant_id": "BIGINT",
}  # fmt: skip
SINCE = "2026-06-30 01:02:03"
NAMED_GLOBAL = ("Global Admin", "Global Data Source Admin")


def asked_with(document: str, day: str, settings: str) -> Asked:
    """Return the macros for a day, with settings instead of variables."""
    asked = Asked(document, Database())
    variables = VARS | SETTINGS | json.loads(settings)
    for template in asked._templates.values():
        template.globals["var"] = variables.__getitem__
    tables = repository_tables()
    asked._called["repository_tables"] = lambda: tables
    asked._called["judged_on"] = lambda: f"'{day}'"
    # The session of DuckDB is in UTC.
    asked._called["utc_day"] = lambda moment: f"cast({moment} as date)"
    return asked


@cache
def queries(
    document: str, day: str, settings: str, replaced: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the queries of the models, as the project's files have them.

    replaced  raw tables with a version before
    """
    asked = asked_with(document, day, settings)
    asked._called["version_before"] = {
        name: {"version": f"before_stg_{name}", "since": SINCE} for name in replaced
    }.get
    files = {model: ROOT / f"models/review/{model}.sql" for model in MODELS}
    return {
        model: asked.rendered(file.read_text(encoding="utf-8"))
        for model, file in files.items()
    }


class Reviewed:
    """A world, and its rows in the models of a review."""

    def __init__(
        self,
        world: World,
        document: str = document_of(PRODUCTS),
        day: str = "2026-07-01",
        settings: dict[str, Any] | None = None,
        before: World | None = None,
        **seeds: list[tuple],
    ) -> None:
        self.world, self.document, self.day = world, document, day
        self.database = Database()
        if before:
            load_world(self.database, before)
            for table in TABLES:
                rename = f"alter table stg_{table} rename to before_stg_{table}"
                self.database.connection.execute(rename)
        self.database.connection.execute("create macro btrim(a, b) as trim(a, b)")
        self.staging = load_world(self.database, world)
        self.published()
        for name, columns in SEEDS.items():
            self.database.table(name, columns, seeds.get(name, []), columns)
        replaced = tuple(TABLES) if before else ()
        made = queries(document, day, json.dumps(settings or {}), replaced)
        for name, query in made.items():
            self.database.make(name, query)

    def _raw_row(self, table: str, raw_id: str | None) -> str:
        """Return the newest delivery of a row, unchanged, as JSON."""
        of_row = [
            read_delivery(table, row)
            for row in self.world[table]
            if (row["id"] or None) == raw_id
        ]
        return json.dumps(newest(of_row)[0].raw)

    def published(self) -> None:
        """Make the relations that the review reads and the sandbox lacks."""
        places = [PATH_COLUMNS.index(column) for column in ONE_PATH]
        paths = {
            tuple(row[place] for place in places) for row in access_paths(self.staging)
        }
        self.database.table("int_access_paths", ONE_PATH, list(paths), TYPES)
        # A column without values needs a type.
        for place in (
            "stg_users alter date_last_login type timestamp",
            "stg_users alter date_created type timestamp",
            "stg_users alter is_live type boolean",
            "stg_project_data_sources alter date_created type timestamp",
            "stg_project_data_sources alter is_live type boolean",
            "explained_access_paths alter date_created type timestamp",
            "explained_access_paths alter member_date_created type timestamp",
            "explained_access_paths alter group_ids type bigint[]",
        ):
            self.database.connection.execute(f"alter table {place}")
        self.database.table(
            "rejected_rows",
            ("table_name", "raw_id", "reason", "sf_date_created", "raw_row"),
            [
                (*rejected, self._raw_row(*rejected[:2]))
                for rejected in self.staging.rejected
            ],
            {"sf_date_created": "TIMESTAMP", "raw_id": "VARCHAR"},
        )
        groups, rights = Groups(self.staging), Rights(self.staging)
        members = [
            (user, group) for group, held in groups.holders().items() for user in held
        ]
        columns = ("user_id", "user_group_id")
        self.database.table("int_user_group_memberships", columns, members, TYPES)
        self.database.table(
            "int_securable_objects",
            ("object_type", "object_id", "object_name", "owner_user_id"),
            [
                (kind, key, row["name"], row.get("owner_user_id"))
                for kind, found in rights.objects.items()
                for key, row in found.items()
            ],
            {"owner_user_id": "BIGINT"} | TYPES,
        )
        self.database.table(
            "vw_secure_user_roles",
            ("user_id", "user_group_id", "role_name"),
            sorted(roles(self.staging)),
            TYPES,
        )

    @property
    def built(self) -> Built:
        """What is built, as macros ask it on this day."""
        return Built(asked_with(self.document, self.day, "{}")._called)

    def queries(self, *who: Any, **named: Any) -> dict[str, str]:
        """Return the queries of a pack, or of the pages of some people."""
        return review_queries(self.built, *who, **named)

    def pack(self, folder: Path, ids: list[int] | None = None) -> dict[str, Any]:
        """Write the pack of a review, and return its totals."""
        rows = {name: self.rows(q) for name, q in self.queries(ids).items()}
        return Pack(folder, "Judged in DuckDB", ids is None).write(**rows)

    def person(self, folder: Path, user: int) -> list[str]:
        """Write the page of a person beside a pack, and return its name."""
        queries = self.queries(people=[user])
        rows = {name: self.rows(query) for name, query in queries.items()}
        return Pack(folder, "Judged in DuckDB").write_people(**rows)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query."""
        return self.database.rows(query)

    def findings(self, rule: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the findings by subject, all or those of a rule."""
        found = [
            row
            for row in self.rows("select * from access_findings")
            if rule in (None, row["rule"])
        ]
        by_subject = {
            row["subject"] if rule else f"{row['rule']}: {row['subject']}": row
            for row in found
        }
        assert len(by_subject) == len(found), "a subject that is there twice"
        return by_subject


def roles(staging: Staging) -> set[tuple]:
    """Return people's global roles, in the form of the view of roles."""
    users = staging.live("users")
    return {
        (row["user_id"], None, name)
        for row in staging.live("user_global_roles").values()
        for name in ROLE_PERMISSIONS["Global"][row["role_name"]]
        if row["user_id"] in users and name in NAMED_GLOBAL
    }
