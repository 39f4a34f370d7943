"""Masks of structs, alone or in arrays and maps: the cast to the column goes by place.

`try_cast(named_struct('name', ..., 'ssn', ...) as struct<ssn:string,name:string>)` puts
the first value into `ssn`, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from secure_datasets.sql.expressions import ExpressionProblem
from secure_datasets.sql.inference import family_of_type

if TYPE_CHECKING:
    from sqlglot import exp

# The fields of a struct, in lower case; None for one without a name.
Names = tuple[str | None, ...]


def check_structs(tree: exp.Expression, data_type: str) -> None:
    """Raise a problem at a struct whose fields are the column's, in another order.

    Every struct that the mask makes has all fields of a struct in the column's type, in
    their order, or none of them.
    """
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        built = exp.DataType.build(data_type, dialect="spark")
    except (SqlglotError, ValueError):
        return
    wanted = set(_structs_of(built))
    known = {name for names in wanted for name in names}
    for names in _made(tree):
        is_one = any(_fits(names, fields) for fields in wanted)
        if known & set(names) and not is_one:
            said = ", ".join(name or "one without a name" for name in names)
            types = " or ".join(sorted(", ".join(map(str, each)) for each in wanted))
            raise ExpressionProblem(
                f"'{{key}}' has a struct of the fields {said}, and the column's type"
                f" has {types}: Spark casts by place, so write each of them, in order"
            )


def _fits(names: Names, fields: Names) -> bool:
    return len(names) == len(fields) and all(
        name in (None, field) for name, field in zip(names, fields, strict=True)
    )


def _made(tree: exp.Expression) -> Iterator[Names]:
    """Yield the fields of each struct that an expression makes or gives."""
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.Struct):
            yield tuple(
                # Spark names a value by its place if it has no name.
                None if part.name == f"col{place}" else part.name.lower()
                for place, part in enumerate(node.expressions, 1)
            )
        elif isinstance(node, exp.Cast):
            if not isinstance(node.this.unnest(), exp.Null):
                yield from _structs_of(node.to)
        elif isinstance(node, exp.Column) and not isinstance(node.parent, exp.Dot):
            yield from _structs_of(node.type)


def _structs_of(data_type: exp.Expression | None) -> Iterator[Names]:
    """Yield the fields of each struct in a type."""
    from sqlglot import exp

    for part in data_type.find_all(exp.DataType) if data_type is not None else ():
        if family_of_type(part) == "struct" and part.expressions:
            yield tuple(field.name.lower() for field in part.expressions)
