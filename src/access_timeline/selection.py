"""Of the raw rows, those that the timeline of a user or an object needs.

What a delivery ever named counts, so that nothing is missing of any moment. Too much
does no harm: it gives access to somebody or something that was not asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from access_timeline.moments import Table

USERS, GROUPS = "users", "user_groups"
MEMBERS, ROLES = "user_group_members", "user_global_roles"
PARENT = "parent_user_group_id"
GROUP, USER = "user_group_id", "user_id"


class Selection:
    """Finds rows by what their deliveries named.

    deliveries  of each raw table, the id and the references of its deliveries
    objects     the raw tables of objects
    """

    def __init__(
        self,
        deliveries: Mapping[str, DataFrame],
        tables: Mapping[str, Table],
        objects: list[str],
    ) -> None:
        self.deliveries = deliveries
        self.tables = tables
        self.objects = objects
        # Rows that give a holder a right on an object.
        self.grants = {
            name: column
            for name, table in tables.items()
            for column, parent in table.references.items()
            if GROUP in table.references and parent in self.objects
        }
        # Rows that link objects.
        self.links = {
            name: [
                c for c, parent in table.references.items() if parent in self.objects
            ]
            for name, table in tables.items()
            if name not in self.grants
            and sum(parent in self.objects for parent in table.references.values()) > 1
        }

    def naming(self, table: str, column: str, ids: DataFrame) -> DataFrame:
        """Return the rows of a table of which a delivery named one of these ids."""
        wanted = ids.select(F.col("id").alias(column)).distinct()
        found = self.deliveries[table].join(wanted, on=column, how="left_semi")
        return found.select("id")

    def named(self, table: str, rows: DataFrame, column: str) -> DataFrame:
        """Return the ids that deliveries of these rows of a table named in a column."""
        found = self.deliveries[table].join(rows.distinct(), on="id", how="left_semi")
        return found.select(F.col(column).alias("id")).where(F.col("id").isNotNull())

    def all_of(self, table: str) -> DataFrame:
        """Return all rows of a table."""
        return self.deliveries[table].select("id")

    def groups(self, start: DataFrame, is_up: bool) -> DataFrame:
        """Return groups and all above them, or all below them."""
        links = (
            self.deliveries[GROUPS]
            .select("id", F.col(PARENT).alias("parent"))
            .where(F.col("parent").isNotNull())
            .distinct()
            .localCheckpoint()
        )
        near, far = ("id", "parent") if is_up else ("parent", "id")
        found, size = start.distinct().localCheckpoint(), -1
        while size != (size := found.count()):
            further = links.join(
                found.withColumnRenamed("id", "_near"),
                on=F.col(near) == F.col("_near"),
                how="inner",
            ).select(F.col(far).alias("id"))
            found = found.union(further).distinct().localCheckpoint()
        return found

    def owned_by(self, users: DataFrame) -> dict[str, DataFrame]:
        """Return the objects that deliveries gave to these users, by table."""
        return {
            name: self.naming(name, column, users)
            for name in self.objects
            for column, parent in self.tables[name].references.items()
            if parent == USERS
        }

    def of_users(self, users: DataFrame) -> dict[str, DataFrame]:
        """Return the rows that give these users access, by table."""
        members = self.naming(MEMBERS, USER, users)
        groups = self.groups(self.named(MEMBERS, members, GROUP), is_up=True)
        roles = self.naming(ROLES, USER, users).localCheckpoint()
        found = {USERS: users, MEMBERS: members, GROUPS: groups, ROLES: roles}
        objects = self.owned_by(users)
        has_role = not roles.isEmpty()
        for table, column in self.grants.items():
            found[table] = (
                self.naming(table, USER, users)
                .union(self.naming(table, GROUP, groups))
                .localCheckpoint()
            )
            of = self.tables[table].references[column]
            named = self.named(table, found[table], column)
            objects[of] = objects[of].union(named) if of in objects else named
        for name in self.objects:
            # A global role may reach all of them.
            objects[name] = (
                self.all_of(name) if has_role else objects[name]
            ).distinct()
            found[name] = objects[name].localCheckpoint()
        return found | self._links_of(found)

    def of_objects(self, asked: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """Return the rows that give access to these objects, by table."""
        links = self._links_of(asked)
        objects = dict(asked)
        for table, columns in self.links.items():
            for column in columns:
                of = self.tables[table].references[column]
                named = self.named(table, links[table], column)
                objects[of] = objects[of].union(named) if of in objects else named
        nothing = self.all_of(USERS).limit(0)
        found = {
            name: objects.get(name, nothing).distinct().localCheckpoint()
            for name in self.objects
        }
        users, groups = [nothing], [nothing]
        for table, column in self.grants.items():
            of = self.tables[table].references[column]
            found[table] = self.naming(table, column, found[of]).localCheckpoint()
            groups.append(self.named(table, found[table], GROUP))
            if of in asked:
                rows = self.naming(table, column, asked[of])
                users.append(self.named(table, rows, USER))
                below = self.groups(self.named(table, rows, GROUP), is_up=False)
                members = self.naming(MEMBERS, GROUP, below)
                users.append(self.named(MEMBERS, members, USER))
        for name, ids in asked.items():
            for column, parent in self.tables[name].references.items():
                if parent == USERS:
                    users.append(self.named(name, ids, column))
        # A global role may reach them.
        users.append(self.named(ROLES, self.all_of(ROLES), USER))
        everybody = _union(users).distinct().localCheckpoint()
        found[USERS] = everybody
        found[GROUPS] = self.groups(_union(groups), is_up=False)
        found[MEMBERS] = self.naming(MEMBERS, USER, everybody)
        found[ROLES] = self.naming(ROLES, USER, everybody)
        return found | links

    def _links_of(self, objects: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """Return the rows that link objects, one of which is among these."""
        return {
            table: _union(
                [
                    self.naming(table, column, objects[parent])
                    for column, parent in self.tables[table].references.items()
                    if column in columns and parent in objects
                ]
                or [self.all_of(table).limit(0)]
            ).distinct()
            for table, columns in self.links.items()
        }


def _union(frames: list[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, frames)
