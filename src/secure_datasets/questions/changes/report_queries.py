"""The facts of the report about two states, with only as many rows as it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Row = dict[str, Any]
State = dict[str, Any]
SHOWN = {"objects": 50, "users": 20, "changes": 100}
COUNTED = (
    *("rows_gained", "rows_lost", "values_newly_covered", "values_newly_shown"),
    "values_masked_otherwise",
)
SUMS = ", ".join(f"coalesce(sum({each}), 0) as {each}" for each in COUNTED)
TOTALS = """
    count(*) as all,
    count_if(change = 'gained') as gained,
    count_if(change = 'lost') as lost,
    count_if(change = 'other access_type') as other,
    count(distinct case when change = 'gained' then concat(tier, ' ', object_keys) end) as objects_gained,
    count(distinct case when change = 'lost' then concat(tier, ' ', object_keys) end) as objects_lost,
    count(distinct case when change = 'gained' then user_id end) as users_gaining,
    count(distinct case when change = 'lost' then user_id end) as users_losing"""


class ReportFacts:
    """Asks for the facts of a report.

    rows_of      returns the rows of a query
    relation_of  returns a model's or seed's relation
    schemas      the schemas of the states, before and after
    """

    def __init__(
        self,
        rows_of: Callable[[str], list[Row]],
        relation_of: Callable[[str], str],
        schemas: tuple[str, str],
    ) -> None:
        self.rows_of, (self.before, self.after) = rows_of, schemas
        self.access, self.rows = map(relation_of, ("access_changes", "row_changes"))

    def facts(self, tables: Mapping[str, Any]) -> Row:
        """Return the facts that only queries know.

        tables  the raw tables
        """
        in_order, most = "tier, object_keys, change, user_id", SHOWN["changes"]
        users = self._named(
            self._by_user(),
            "listed.gained + listed.lost desc,"
            " listed.rows_gained + listed.rows_lost desc, listed.user_id",
        )
        table_of = {table["key"]: table["name"] for table in tables.values()}
        counted = "count(*) as changes, count(distinct coalesce(user_id, -1)) as users"
        by_dataset = "group by dataset order by dataset"
        return {
            "before": self.before,
            "after": self.after,
            "totals": self.rows_of(f"select{TOTALS} from {self.access}")[0],
            "row_totals": self.rows_of(f"select {counted}, {SUMS} from {self.rows}")[0],
            "are_past": all("_as_of_" in name for name in (self.before, self.after)),
            "objects": [
                row
                for key in ("meta_data_source_id", "project_id")
                for row in self.rows_of(self._by_object(key, table_of[key]))
            ],
            "datasets": self.rows_of(
                f"select dataset, count(*) as users, {SUMS} from {self.rows} {by_dataset}"
            ),
            "users": users,
            "users_in_all": users[0]["in_all"] if users else 0,
            "changes": self._named(
                f"select * from {self.access} order by {in_order} limit {most}",
                in_order,
            ),
            "row_changes": self._named(
                f"select * from {self.rows} order by dataset, user_id limit {most}",
                "dataset, listed.user_id",
            ),
        }

    def _by_user(self) -> str:
        """Return the query of the users with the most changes of access, then of rows."""
        numbers = ", ".join(
            f"coalesce({each}, 0) as {each}"
            for each in ("gained", "lost", *COUNTED[:4])
        )
        return f"""select
    coalesce(access.user_id, seen.user_id) as user_id, {numbers},
    count(*) over () as in_all
from (
    select user_id, count_if(change = 'gained') as gained, count_if(change = 'lost') as lost
    from {self.access}
    group by user_id
) as access
full outer join (select user_id, {SUMS} from {self.rows} group by user_id) as seen
    on access.user_id <=> seen.user_id
order by
    coalesce(gained, 0) + coalesce(lost, 0) desc,
    coalesce(rows_gained, 0) + coalesce(rows_lost, 0) desc, user_id
limit {SHOWN["users"]}"""

    def _named(self, query: str, in_order: str) -> list[Row]:
        """Return rows of users with the names that the states know of them."""
        later, earlier = (
            f"(select * from {state}.stg_users where user_id is not null)"
            for state in (self.after, self.before)
        )
        names = "".join(
            f",\n    case when later.is_live then later.{name} else earlier.{name} end"
            f" as {name}"
            for name in ("login_name", "first_name", "last_name")
        )
        return self.rows_of(f"""select listed.*, names.login_name, names.first_name, names.last_name
from ({query}) as listed
left join (
    select coalesce(later.user_id, earlier.user_id) as user_id{names}
    from {later} as later
    full outer join {earlier} as earlier
        on later.user_id = earlier.user_id
) as names
    on listed.user_id = names.user_id
order by {in_order}""")

    def _by_object(self, key: str, table: str) -> str:
        """Return the query of how many users gain and lose access, by object."""
        kinds = {
            "users_gaining": "gained",
            "users_losing": "lost",
            "others": "other access_type",
        }
        numbers = "".join(
            f",\n        count(distinct case when change = '{change}' then user_id end)"
            f" as {name}"
            for name, change in kinds.items()
        )
        most = " + ".join(f"counted.{name}" for name in kinds)
        return f"""select
    '{key}' as kind,
    concat('{key}=', counted.{key}) as object_keys,
    coalesce(later.name, earlier.name) as object_name,
    {", ".join(f"counted.{name}" for name in kinds)},
    count(*) over () as in_all
from (
    select
        {key}{numbers}
    from {self.access}
    where {key} is not null
    group by {key}
) as counted
left join {self.after}.stg_{table} as later
    on counted.{key} = later.{key}
left join {self.before}.stg_{table} as earlier
    on counted.{key} = earlier.{key}
order by {most} desc, counted.{key}
limit {SHOWN["objects"]}"""
