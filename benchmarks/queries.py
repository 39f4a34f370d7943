"""What one user asks: through a secure dataset, and by hand with that user's keys."""

from __future__ import annotations

from dataclasses import dataclass

from policies import CONDITIONS, MASKED_COLUMNS, MASKS
from pyspark.sql import SparkSession

SCHEMA = "secure_datasets"
# The datasets asked, by what decides.
TIERS = {
    "tables": "data source",
    "columns": "data source",
    "tests": "project",
    "test_executions": "results",
    "event_history": "context",
}
DATASETS = TIERS | {
    "masked_columns": "conditions, masks",
    "unit_results": "security object",
}
BASES = {name: f"vw_dataset_{name}" for name in TIERS} | {
    "masked_columns": "vw_dataset_columns",
    "unit_results": "fct_test_executions",
}
# A key that no row has: what is left to write by hand for a user without rights.
NOBODYS_KEY = 0


@dataclass(frozen=True)
class Rights:
    """One user's keys, as a person would look them up before writing a filter."""

    kind: str
    user_id: int
    data_sources: list[int]
    projects: list[int]
    results: list[tuple[int, int]]
    roles: list[str]
    sources_of_units: list[int]

    @classmethod
    def of(cls, spark: SparkSession, kind: str, user_id: int) -> Rights:
        """Look them up in the access views, and along the security object's path."""

        def keys(query: str) -> list[tuple]:
            return [tuple(row) for row in spark.sql(query).collect()]

        def access(view: str, columns: str) -> list[tuple]:
            return keys(
                f"select {columns} from {SCHEMA}.vw_secure_user_{view}_access"
                f" where user_id = {user_id} order by {columns}"
            )

        roles = f"from {SCHEMA}.vw_secure_user_roles where user_id = {user_id}"
        units = (
            f"select business_unit from {SCHEMA}.map_user_group_business_units"
            f" where user_group_id in (select user_group_id {roles})"
        )
        sources = (
            f"select data_source_id from {SCHEMA}.dim_data_sources"
            f" where business_unit in ({units}) order by 1"
        )
        return cls(
            kind,
            user_id,
            [key for (key,) in access("data_source", "meta_data_source_id")],
            [key for (key,) in access("project", "project_id")],
            access("results", "project_id, meta_data_source_id"),
            [name for (name,) in keys(f"select role_name {roles}") if name],
            [key for (key,) in keys(sources)],
        )


def secure(dataset: str, user_id: int) -> str:
    """The query through the secure dataset, as the README tells readers to ask."""
    for_all = " or user_id is null" if dataset == "event_history" else ""
    return (
        f"select * from {SCHEMA}.vw_secure_dataset_{dataset}"
        f" where user_id = {user_id}{for_all}"
    )


def by_hand(dataset: str, rights: Rights) -> str:
    """The query on the base dataset with the user's keys as literals: the limit."""
    base = f"select * from {SCHEMA}.{BASES[dataset]} where "
    if dataset in ("tables", "columns"):
        return base + _in("data_source_id", rights.data_sources)
    if dataset == "tests":
        return base + _in("project_id", rights.projects)
    if dataset == "event_history":
        return base + (
            f"(context = 'Project' and {_in('project_id', rights.projects)})"
            " or (context = 'Data Source'"
            f" and {_in('data_source_id', rights.data_sources)})"
            " or context = 'Global'"
        )
    if dataset == "masked_columns":
        return _masked_columns(rights)
    if dataset == "unit_results":
        base += f"{_in('data_source_id', rights.sources_of_units)} and "
    test_side = "data_source_id" if dataset == "unit_results" else "test_data_source_id"
    projects = sorted({project for project, _ in rights.results})
    return base + (
        f"{_in('project_id', projects)}"
        f" and {_in(f'(project_id, {test_side})', rights.results)}"
        " and (control_data_source_id is null"
        f" or {_in('(project_id, control_data_source_id)', rights.results)})"
    )


def keys_of(dataset: str, rights: Rights) -> int:
    """How many keys the filter by hand names, those of each side once."""
    if dataset in ("tables", "columns", "masked_columns"):
        return len(rights.data_sources)
    if dataset == "tests":
        return len(rights.projects)
    if dataset == "event_history":
        return len(rights.projects) + len(rights.data_sources)
    return len(rights.results)


def _masked_columns(rights: Rights) -> str:
    """The columns of the user's data sources under the roles that the user has."""
    shown = list(MASKED_COLUMNS)
    for column, (role, condition, mask) in MASKS.items():
        if role in rights.roles:
            case = f"case when {condition} then {mask} else {column} end as {column}"
            shown[shown.index(column)] = case
    seen = [held for role, held in CONDITIONS.items() if role in rights.roles]
    return (
        f"select {', '.join(shown)} from {SCHEMA}.vw_dataset_columns"
        f" where {_in('data_source_id', rights.data_sources)}"
        f" and ({' or '.join(f'({condition})' for condition in seen) or 'false'})"
    )


def _in(column: str, keys: list) -> str:
    """`column in (...)`; the keys of pairs are written as pairs.

    In pairs Spark asks for literals of the columns' own type.
    """
    if column.startswith("("):
        pairs = keys or [(NOBODYS_KEY, NOBODYS_KEY)]
        return f"{column} in ({', '.join(f'({a}L, {b}L)' for a, b in pairs)})"
    return f"{column} in ({', '.join(map(str, keys or [NOBODYS_KEY]))})"


def users_to_ask(spark: SparkSession) -> list[Rights]:
    """A typical user, one with many rights, an admin, and one with none."""
    ranked = f"""
        select user_id, percent_rank() over (order by held, user_id) as place
        from (
            select user_id, count(*) as held
            from (
                select user_id from {SCHEMA}.vw_secure_user_data_source_access
                union all
                select user_id from {SCHEMA}.vw_secure_user_project_access
                union all
                select user_id from {SCHEMA}.vw_secure_user_results_access
            )
            where user_id not in (
                select user_id from {SCHEMA}.stg_user_global_roles where is_live
            )
            group by user_id
        )
    """
    median, many = spark.sql(
        f"select min_by(user_id, abs(place - 0.5)), min_by(user_id, abs(place - 0.999))"
        f" from ({ranked})"
    ).first()
    admin, none = spark.sql(
        f"select (select min(user_id) from {SCHEMA}.stg_user_global_roles"
        " where is_live and role_name = 'Global.Admin'), max(user_id)"
        f" from {SCHEMA}.stg_users"
    ).first()
    chosen = {"typical": median, "many rights": many, "admin": admin, "none": none}
    return [Rights.of(spark, kind, user) for kind, user in chosen.items()]
