"""Attributes of the reader: `reader.department` is a column of a relation by user.

A rule that names one is true where it is true of one of the user's rows in the
relation, and null where there is none. It is asked by `exists`, which all engines have.
"""

from __future__ import annotations

from secure_datasets.sql import expressions
from secure_datasets.sql.expressions import Expression, ExpressionProblem

READER = expressions.READER


def names_reader(expression: Expression) -> bool:
    """Whether an expression names an attribute of the reader."""
    return any(expressions.attributes_of(expression.tree))


def check(expression: Expression) -> None:
    """Raise a problem at what can't stand beside an attribute of the reader."""
    from sqlglot import exp

    if names_reader(expression) and expression.tree.find(exp.Query, exp.Lambda):
        raise ExpressionProblem(
            "'{key}' names an attribute of the reader beside a subquery or a function"
            " with `->`: let a relation with the users' attributes hold what they say"
        )


def asked(
    text: str, relation: str, key: str, name: str, user: str, may_be_null: bool
) -> str:
    """Return an expression about the reader as one about a row of a dataset.

    relation      SQL for the relation with the attributes
    key           its column with the user
    name          what the row is called
    user          SQL for the user who reads
    may_be_null   whether null is told from false; else it is false
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
