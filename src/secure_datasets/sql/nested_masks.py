"""Masks of structs, arrays and maps: the cast to the column's type goes by place.

`try_cast(named_struct('name', ..., 'ssn', ...) as struct<ssn:string,name:string>)` puts
the first value into `ssn`, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from secure_datasets.sql.expressions import ExpressionProblem
from secure_datasets.sql.inference import (
    CASTS,
    NESTED,
    family,
    family_of_type,
)

if TYPE_CHECKING:
    from sqlglot import exp


class _Field(NamedTuple):
    """A field of a struct: its name, if it has one, and its value or its type."""

    name: str | None
    value: exp.Expression


def check_nested(tree: exp.Expression, data_type: str) -> None:
    """Raise a problem at a mask whose fields or elements are not the column's."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        wanted = exp.DataType.build(data_type, dialect="spark")
    except (SqlglotError, ValueError):
        return
    if family_of_type(wanted) in NESTED:
        _check(tree, wanted)


def _check(given: exp.Expression, wanted: exp.DataType) -> None:
    """Compare a value, or its type, with the type that it is cast to."""
    for value in _results(given):
        kind = family_of_type(wanted)
        found = _family(value)
        if found in (None, "null") or kind is None:
            continue
        if found != kind:
            fits = kind == "string" and found not in NESTED
            if not fits and kind not in CASTS.get(found, ()):
                raise ExpressionProblem(
                    f"'{{key}}' has the type {found} where the column's type has {kind}"
                )
        elif kind == "struct":
            _check_fields(value, wanted)
        elif kind in NESTED:
            for part, of_type in _parts(value, wanted):
                _check(part, of_type)


def _results(value: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the values that an expression may give."""
    from sqlglot import exp

    value = value.unnest()
    if isinstance(value, exp.Case):
        for each in value.args["ifs"]:
            yield from _results(each.args["true"])
        if value.args.get("default"):
            yield from _results(value.args["default"])
    elif isinstance(value, exp.If):
        for key in ("true", "false"):
            if value.args.get(key):
                yield from _results(value.args[key])
    elif isinstance(value, exp.Coalesce):
        for each in (value.this, *value.expressions):
            yield from _results(each)
    else:
        yield value


def _family(given: exp.Expression) -> str | None:
    from sqlglot import exp

    return family_of_type(given) if isinstance(given, exp.DataType) else family(given)


def _type_of(given: exp.Expression) -> exp.DataType | None:
    from sqlglot import exp

    return given if isinstance(given, exp.DataType) else given.type


def _check_fields(given: exp.Expression, wanted: exp.DataType) -> None:
    fields, own = _fields(given), _fields(wanted)
    if not fields or not own:
        return
    have = [name.lower() for name, _ in own if name]
    names = [name and name.lower() for name, _ in fields]
    if len(names) != len(have) or any(
        name not in (None, at) for name, at in zip(names, have, strict=False)
    ):
        said = ", ".join(name or "one without a name" for name in names)
        raise ExpressionProblem(
            f"'{{key}}' has a struct of the fields {said}, and the column's type has"
            f" {', '.join(have)}: Spark casts by place, so write each of them, in order"
        )
    for field, at in zip(fields, own, strict=True):
        _check(field.value, at.value)


def _fields(given: exp.Expression) -> list[_Field]:
    """Return the fields of a struct that is built, or of the type of any other one."""
    from sqlglot import exp

    if isinstance(given, exp.Struct):
        found = []
        for place, part in enumerate(given.expressions, 1):
            if not isinstance(part, exp.PropertyEQ):
                return []
            # Spark names a value by its place if it has no name.
            name = None if part.name == f"col{place}" else part.name
            found.append(_Field(name, part.expression))
        return found
    parts = getattr(_type_of(given), "expressions", [])
    return [
        _Field(part.name, part.args["kind"])
        for part in parts
        if isinstance(part, exp.ColumnDef) and part.args.get("kind")
    ]


def _parts(
    given: exp.Expression, wanted: exp.DataType
) -> Iterator[tuple[exp.Expression, exp.DataType]]:
    """Yield the elements or values, or their type, each with the column's type."""
    from sqlglot import exp

    of_type = wanted.expressions[-1] if wanted.expressions else None
    if not isinstance(of_type, exp.DataType):
        return
    body = given.args.get("expression")
    if isinstance(given, exp.Transform) and isinstance(body, exp.Lambda):
        yield body.this, of_type
    elif isinstance(given, exp.Array):
        yield from ((each, of_type) for each in given.expressions)
    elif isinstance(given, exp.VarMap):
        yield from ((each, of_type) for each in given.args["values"].expressions)
    else:
        for each in getattr(_type_of(given), "expressions", [])[-1:]:
            if isinstance(each, exp.DataType):
                yield each, of_type
