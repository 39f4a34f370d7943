"""Small worlds and questions about tiers, for the tests of why and why not."""

from __future__ import annotations

from oracle.contract import (
    TABLES,
    RawRow,
    Rights,
    World,
    stage,
    user_data_source_access,
    user_project_access,
    user_results_access,
)
from why_sandbox import Asked, Database, load_world, products

from secure_datasets.questions import missing

VIEWS = {
    "data_source": user_data_source_access,
    "project": user_project_access,
    "results": user_results_access,
}
NAMES = {
    "data_source": ("meta_data_source_id",),
    "project": ("project_id",),
    "results": ("project_id", "meta_data_source_id"),
}


def raw(table: str, **values: object) -> RawRow:
    """Return a raw row, in force since January."""
    row: RawRow = dict.fromkeys(TABLES[table])
    common = {
        "is_active": "true",
        "date_created": "2026-01-01 00:00:00",
        "date_modified": "2026-01-01 00:00:00",
        "sf_date_created": "2026-01-01 00:00:00",
    }
    given = {key: None if v is None else str(v) for key, v in values.items()}
    return row | common | given


def nobody_sees() -> World:
    """A user in a group below another, a project with a test, a data source."""
    world: World = {table: [] for table in TABLES}
    world["users"] = [raw("users", id=1, login_name="ann")]
    world["user_groups"] = [
        raw("user_groups", id=1, name="Staff", parent_user_group_id=2),
        raw("user_groups", id=2, name="Risk"),
    ]
    world["user_group_members"] = [
        raw("user_group_members", id=1, user_group_id=1, user_id=1)
    ]
    world["projects"] = [raw("projects", id=1, name="Core")]
    world["tests"] = [raw("tests", id=1, project_id=1, name="t")]
    world["meta_data_sources"] = [raw("meta_data_sources", id=1, name="crm")]
    world["project_data_sources"] = [
        raw("project_data_sources", id=1, project_id=1, meta_data_source_id=1)
    ]
    return world


def to_user(**values: object) -> RawRow:
    """Return a permission of the user on the project."""
    return raw(
        "project_permissions", **{"id": 5, "project_id": 1, "user_id": 1} | values
    )


def reached(world: World, user: int) -> dict[str, set[tuple[int, ...]]]:
    """Return by tier the objects that a user reaches, by the contract."""
    return reached_by(Rights(stage(world)), user)


def reached_by(rights: Rights, user: int) -> dict[str, set[tuple[int, ...]]]:
    """Return by tier the objects that a user reaches by rights."""
    return {
        tier: {
            tuple(row[key] for key in NAMES[tier])
            for row in view(rights)
            if row["user_id"] == user
        }
        for tier, view in VIEWS.items()
    }


class Question:
    """A user, a tier that is closed to the user, and its objects."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.database = Database()
        load_world(self.database, world)
        self.asked: Asked = products(self.database).over(world)
        self.config = self.asked.secure_datasets_config()

    def sets(self, user: int, sides: list[tuple[str, dict]]) -> list[missing.GrantSet]:
        """Return the sets that open the tier."""
        names = dict.fromkeys(("login_name", "first_name", "last_name"))
        person = {"user_id": user, "is_live": True} | names
        return missing.nearest(self.asked.state(sides, person), sides)
