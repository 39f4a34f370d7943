"""Prints the matrix of privileges as grants of an engine.

The words follow the engines' documentation. Snowflake: "Access control privileges"; a
stored table is a dynamic table. Databricks: "Unity Catalog privileges reference" and
"Privileges and securable objects in Unity Catalog". The statements were never run on
either engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from secure_datasets.config.problems import EngineProblem, check_engine

# A privilege, the type of its object, and the object's name.
Need = tuple[str, str, str]

SNOWFLAKE = "snowflake"
UNITY_CATALOG = "unity_catalog"
ENGINES = (SNOWFLAKE, UNITY_CATALOG)
SNOWFLAKE_TYPES = {
    "COMPUTE": "warehouse",
    "DATABASE": "database",
    "SCHEMA": "schema",
    "STORED TABLE": "dynamic table",
    "TABLE": "table",
    "VIEW": "view",
}
SNOWFLAKE_PRIVILEGES = {
    "CREATE": "create dynamic table",
    **{
        privilege: privilege.lower()
        for privilege in ("MONITOR", "OPERATE", "OWNERSHIP", "SELECT", "USAGE")
    },
}
# Unity Catalog's privilege and type of object for each pair of the matrix. OWNERSHIP
# becomes `manage` (drop, rename, hand over): a table has only one owner, who may do
# everything with it.
UNITY_CATALOG_WORDS = {
    ("USAGE", "DATABASE"): ("use catalog", "catalog"),
    ("USAGE", "SCHEMA"): ("use schema", "schema"),
    ("CREATE", "SCHEMA"): ("create table", "schema"),
    ("SELECT", "TABLE"): ("select", "table"),
    ("SELECT", "STORED TABLE"): ("select", "table"),
    ("SELECT", "VIEW"): ("select", "view"),
    ("OWNERSHIP", "STORED TABLE"): ("manage", "table"),
}
# The privileges that Unity Catalog lacks, and why. `modify` does not replace OPERATE: a
# role that may refresh a table must not be able to write rights into it.
NOT_IN_UNITY_CATALOG = {
    ("USAGE", "COMPUTE"): "a permission of the workspace, not of the catalog",
    ("MONITOR", "STORED TABLE"): "there is no such privilege",
    ("OPERATE", "STORED TABLE"): (
        "there is no such privilege; who is to refill a table of somebody else needs"
        " modify on it, which lets a role write any row"
    ),
}
# Spark's name for the only catalog of a session that names none.
UNNAMED_CATALOG = "spark_catalog"


def check(engine: str, catalog: str | None, called: str = "'catalog: <name>'") -> None:
    """Raise EngineProblem for an unknown engine, or a missing or needless catalog.

    called  the caller's option for the catalog
    """
    check_engine(engine, ENGINES)
    if engine == UNITY_CATALOG and not catalog:
        raise EngineProblem(
            f"{UNITY_CATALOG} names relations with their catalog: add {called}"
        )
    if engine != UNITY_CATALOG and catalog:
        raise EngineProblem(f"{called} is for {UNITY_CATALOG} alone")


def grants(
    engine: str, role: str, needs: Iterable[Need], catalog: str | None = None
) -> list[str]:
    """Return the statements that grant a role its needs.

    A need without a privilege in the engine becomes a comment after them.
    """
    check(engine, catalog)
    if engine == SNOWFLAKE:
        return [_snowflake(role, *need) for need in needs]
    statements: list[str] = []
    missing: dict[tuple[str, str], list[str]] = {}
    for privilege, object_type, name in needs:
        if (privilege, object_type) in NOT_IN_UNITY_CATALOG:
            missing.setdefault((privilege, object_type), []).append(name)
        else:
            statements.append(
                _unity_catalog(role, privilege, object_type, name, str(catalog))
            )
    return statements + [
        f"-- Not granted, {privilege.lower()} on {object_type.lower()}"
        f" {', '.join(names)}: {NOT_IN_UNITY_CATALOG[privilege, object_type]}."
        for (privilege, object_type), names in missing.items()
    ]


def _snowflake(role: str, privilege: str, object_type: str, name: str) -> str:
    if privilege not in SNOWFLAKE_PRIVILEGES or object_type not in SNOWFLAKE_TYPES:
        raise _without_words(SNOWFLAKE, privilege, object_type)
    return (
        f"grant {SNOWFLAKE_PRIVILEGES[privilege]} on {SNOWFLAKE_TYPES[object_type]}"
        f" {name} to role {role};"
    )


def _unity_catalog(
    role: str, privilege: str, object_type: str, name: str, catalog: str
) -> str:
    words = UNITY_CATALOG_WORDS.get((privilege, object_type))
    if words is None:
        raise _without_words(UNITY_CATALOG, privilege, object_type)
    if object_type != "DATABASE":
        called = f"{_quoted_if_odd(catalog)}.{name}"
    elif name in (UNNAMED_CATALOG, catalog):
        called = _quoted_if_odd(catalog)
    else:
        raise EngineProblem(
            f"'{name}' is another catalog than '{catalog}', and which relations are in"
            " it is not told here"
        )
    return f"grant {words[0]} on {words[1]} {called} to {_quoted(role)};"


def _without_words(engine: str, privilege: str, object_type: str) -> EngineProblem:
    return EngineProblem(f"{engine} has no words for {privilege} on {object_type}")


def _quoted_if_odd(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else _quoted(name)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
