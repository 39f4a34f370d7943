"""Attributes of the reader: `reader.department` is a column of a relation by user.

A rule that names an attribute is true if it holds for one of the user's rows in the
relation, and null if the user has no row. Its SQL is `exists`, which all engines have.
"""

from __future__ import annotations

from secure_datasets.sql import expressions
from secure_datasets.sql.expressions import Expression, ExpressionProblem

READER = expressions.READER


def names_reader(expression: Expression) -> bool:
    """Whether an expression names an attribute of the reader."""
    return any(expressions.attributes_of(expression.tree))


def check(expression: Expression) -> None:
    """Raise ExpressionProblem for a subquery or lambda beside a reader's attribute."""
    from sqlglot import exp

    if names_reader(expression) and expression.tree.find(exp.Query, exp.Lambda):
        raise ExpressionProblem(
            "'{key}' names an attribute of the reader beside a subquery or a function"
            " with `->`: let a relation with the users' attributes hold what they say"
        )


def asked(
    text: str, relation: str, key: str, name: str, user: str, may_be_null: bool
) -> str:
    """Return an expression about the reader, rewritten for a row of a dataset.

    relation      SQL for the relation with the attributes
    key           its column with the user
    name          the name of the row
    user          SQL for the reader's user id
    may_be_null   whether a null result stays null; else it is false
    """
    found = expressions.qualified(text, name)
    rows = f"select 1 from {relation} as {READER} where {READER}.{key} = {user}"
    is_true = f"exists ({rows} and ({found}))"
    if not may_be_null:
        return is_true
    return (
        f"case when {is_true} then true when exists ({rows} and ({found}) is not null)"
        f" and not exists ({rows} and ({found}) is null) then false end"
    )
