"""What the matrix of privileges asks for, as grants in the words of an engine.

The words are those of the engines' documentation. Snowflake: "Access control
privileges", where a stored table is a dynamic table. Databricks: "Unity Catalog
privileges reference" and "Privileges and securable objects in Unity Catalog". Nothing
was ever run on either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from secure_datasets.config.problems import EngineProblem, check_engine

# A privilege, the type of the object that it is needed on, and the object's name.
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
# The privilege and the type of object, by those of the matrix. Its owner may do all
# with a table, and there is only one; `manage` is to drop, to rename and to hand over.
UNITY_CATALOG_WORDS = {
    ("USAGE", "DATABASE"): ("use catalog", "catalog"),
    ("USAGE", "SCHEMA"): ("use schema", "schema"),
    ("CREATE", "SCHEMA"): ("create table", "schema"),
    ("SELECT", "TABLE"): ("select", "table"),
    ("SELECT", "STORED TABLE"): ("select", "table"),
    ("SELECT", "VIEW"): ("select", "view"),
    ("OWNERSHIP", "STORED TABLE"): ("manage", "table"),
}
# What Unity Catalog has no privilege for, and why. `modify` is not what OPERATE is: who
# may refresh a table must not be able to write rights into it.
NOT_IN_UNITY_CATALOG = {
    ("USAGE", "COMPUTE"): "a permission of the workspace, not of the catalog",
    ("MONITOR", "STORED TABLE"): "there is no such privilege",
    ("OPERATE", "STORED TABLE"): (
        "there is no such privilege; who is to refill a table of somebody else needs"
        " modify on it, which lets a role write any row"
    ),
}
# What Spark calls the one catalog of a session that names none.
UNNAMED_CATALOG = "spark_catalog"


def check(engine: str, catalog: str | None, called: str = "'catalog: <name>'") -> None:
    """Raise a problem at an engine that is not known, or not told all that it needs.

    called  how whoever asks names the catalog
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
    """Return the statements that grant a role what it needs.

    What the engine has no privilege for is a comment after them.
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
