"""The part of PySpark's data frames that the Python models use, as queries.

A frame becomes a query in Spark's SQL for the quick engine, so that a Python model runs
there unchanged:

    module = load_model(Path("models/intermediate/int_user_group_memberships.py"))
    frame = module.model(Dbt(session, refs), session)
    session.engine.store("secure_datasets.int_user_group_memberships", frame.sql())

A name of PySpark that this module lacks fails where the model uses it.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from secure_datasets.engines.duckdb import DuckDB, NotExact, Rows
from secure_datasets.sql.expressions import sql_text

Resolve = Callable[[str], str]
JOINS = {
    "inner": "inner join",
    "left": "left join",
    "left_semi": "left semi join",
    "left_anti": "left anti join",
}


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Column:
    """An expression: `write` returns it in SQL, once names can be resolved."""

    write: Callable[[Resolve], str]
    name: str | None = None
    # The rows of a JSON text, which `inline` makes a relation of.
    rows: Rows | None = None

    def alias(self, name: str) -> Column:
        """Name the expression."""
        return replace(self, name=name)

    def cast(self, data_type: str) -> Column:
        """Cast the expression."""
        return Column(
            lambda names: f"cast({self.write(names)} as {data_type})", self.name
        )

    def when(self, condition: Column, value: Any) -> Column:
        """Add a case to `F.when`."""
        before = self.write
        return Column(
            lambda names: (
                f"{before(names).removesuffix(' end')} when"
                f" {condition.write(names)} then {_lit(value).write(names)} end"
            )
        )

    def otherwise(self, value: Any) -> Column:
        """End `F.when` with the value of all remaining rows."""
        return Column(
            lambda names: (
                f"{self.write(names).removesuffix(' end')} else"
                f" {_lit(value).write(names)} end"
            )
        )

    def isNull(self) -> Column:
        """Test whether the value is null."""
        return Column(lambda names: f"({self.write(names)} is null)")

    def isNotNull(self) -> Column:
        """Test whether the value is not null."""
        return Column(lambda names: f"({self.write(names)} is not null)")

    def __invert__(self) -> Column:
        return Column(lambda names: f"(not {self.write(names)})")

    __hash__ = None  # type: ignore[assignment]


def _operator(sign: str) -> Callable[[Column, Any], Column]:
    def operate(left: Column, right: Any) -> Column:
        return Column(
            lambda names: f"({left.write(names)} {sign} {_lit(right).write(names)})"
        )

    return operate


for _method, _sign in {
    "__eq__": "=", "__ne__": "<>", "__lt__": "<", "__le__": "<=", "__gt__": ">",
    "__ge__": ">=", "__and__": "and", "__or__": "or", "__add__": "+", "__sub__": "-",
}.items():  # fmt: skip
    setattr(Column, _method, _operator(_sign))


def _lit(value: Any) -> Column:
    """Return a value as a literal, and a column as it is."""
    if isinstance(value, Column):
        return value
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, int):
        text = str(value)
    elif isinstance(value, str):
        text = sql_text(value)
    else:
        raise TypeError(f"no literal of the type {type(value).__name__}")
    column = Column(lambda names: text)
    return replace(column, rows=value) if isinstance(value, str) else column


def _col(name: str) -> Column:
    return Column(lambda names: names(name), name.rsplit(".", 1)[-1])


def _of(value: str | Column) -> Column:
    """Return a function's argument as a column; a text is the name of one."""
    return _col(value) if isinstance(value, str) else value


def _function(name: str) -> Callable[..., Column]:
    def call(*given: str | Column) -> Column:
        columns = [_of(each) for each in given]
        return Column(
            lambda names: f"{name}({', '.join(c.write(names) for c in columns)})"
        )

    return call


def _struct(*given: str | Column) -> Column:
    columns = [_of(each) for each in given]
    return Column(
        lambda names: (
            "struct("
            + ", ".join(f"{c.write(names)} as {_name(c.name)}" for c in columns)
            + ")"
        )
    )


def _when(condition: Column, value: Any) -> Column:
    return Column(
        lambda names: (
            f"case when {condition.write(names)} then {_lit(value).write(names)} end"
        )
    )


STRUCTS = re.compile(r"array<struct<(.+)>>")


def _from_json(text: Column, schema: str) -> Column:
    """Return the structs of a JSON text that is a literal, for `inline`."""
    found = STRUCTS.fullmatch(schema)
    if not found or not isinstance(text.rows, str):
        raise NotExact("from_json of other than a literal array of structs")
    types = dict(
        (part.strip() for part in field.split(":")) for field in found[1].split(",")
    )
    rows = [tuple(row[name] for name in types) for row in json.loads(text.rows)]
    return Column(text.write, rows=Rows(types, rows))


def _inline(structs: Column) -> Column:
    if not isinstance(structs.rows, Rows):
        raise NotExact("inline of other than from_json")
    return structs


FUNCTIONS = SimpleNamespace(
    col=_col,
    lit=_lit,
    when=_when,
    struct=_struct,
    from_json=_from_json,
    inline=_inline,
    # Partitioning changes no row.
    broadcast=lambda frame: frame,
    **{
        name: _function(name)
        for name in (
            *("array", "bit_or", "bool_or", "coalesce", "explode", "greatest"),
            *("least", "max", "min"),
        )
    },
)


@dataclass(frozen=True)
class Named:
    """A column of a frame: its name, the name of its frame if any, and its SQL."""

    name: str
    frame: str | None
    sql: str


class Grouped:
    """A frame by groups."""

    def __init__(self, frame: Frame, keys: Sequence[str]) -> None:
        self.frame, self.keys = frame, keys

    def agg(self, *columns: Column) -> Frame:
        """Return one row per group."""
        names = self.frame.resolve
        keys = [_col(key) for key in self.keys]
        listed = self.frame.listed([*keys, *columns])
        grouped = ", ".join(key.write(names) for key in keys)
        sql = f"select {listed} from {self.frame.step} group by {grouped}"
        return self.frame.next(sql, [*self.keys, *(c.name for c in columns)])


class Frame:
    """Rows and columns, as a query that has a step for each operation."""

    def __init__(
        self,
        session: Session,
        steps: Mapping[str, str],
        step: str,
        named: Sequence[Named],
        called: str | None = None,
    ) -> None:
        self.sparkSession = session
        self.steps, self.step, self.named, self.called = steps, step, named, called

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.named]

    def sql(self) -> str:
        """Return the query."""
        steps = ",\n".join(f"{name} as ({sql})" for name, sql in self.steps.items())
        listed = ", ".join(f"{c.sql} as {_name(c.name)}" for c in self.named)
        with_steps = f"with {steps}\n" if steps else ""
        return f"{with_steps}select {listed} from {self.step}"

    def resolve(self, name: str) -> str:
        """Return a column, or the field of a struct, in SQL."""
        first, _, rest = name.partition(".")
        for column in self.named:
            if rest and column.frame == first and column.name == rest:
                return column.sql
        found = [column.sql for column in self.named if column.name == first]
        if len(found) != 1:
            raise LookupError(f"{len(found)} columns are called {name}: {self.columns}")
        return f"{found[0]}.{_name(rest)}" if rest else found[0]

    def listed(self, columns: Iterable[Column]) -> str:
        """Return columns as a list of a query."""
        return ", ".join(f"{c.write(self.resolve)} as {_name(c.name)}" for c in columns)

    def next(self, sql: str, columns: Iterable[str], *others: Frame) -> Frame:
        """Return a frame that reads this frame, and further ones."""
        steps = dict(self.steps)
        for other in others:
            steps |= other.steps
        name = self.sparkSession.new_name()
        steps[name] = sql
        named = [Named(column, None, _name(column)) for column in columns]
        return Frame(self.sparkSession, steps, name, named)

    def select(self, *given: str | Column) -> Frame:
        """Return these columns."""
        columns = [_of(each) for each in given]
        if len(columns) == 1 and isinstance(columns[0].rows, Rows):
            return self.sparkSession.of_rows(columns[0].rows)
        sql = f"select {self.listed(columns)} from {self.step}"
        return self.next(sql, [column.name for column in columns])

    def where(self, condition: Column) -> Frame:
        """Return the rows for which a condition is true."""
        listed = self.listed(_col(name) for name in self.columns)
        sql = f"select {listed} from {self.step} where {condition.write(self.resolve)}"
        return self.next(sql, self.columns)

    def withColumn(self, name: str, column: Column) -> Frame:
        """Add a column, or replace one."""
        others = [_col(each) for each in self.columns if each != name]
        sql = f"select {self.listed([*others, column.alias(name)])} from {self.step}"
        return self.next(sql, [*(each.name for each in others), name])

    def withColumnRenamed(self, old: str, new: str) -> Frame:
        """Rename a column."""
        return self.select(
            *(_col(c).alias(new if c == old else c) for c in self.columns)
        )

    def drop(self, *names: str) -> Frame:
        """Leave columns out."""
        return self.select(*(column for column in self.columns if column not in names))

    def distinct(self) -> Frame:
        """Return each row once."""
        listed = self.listed(_col(name) for name in self.columns)
        return self.next(f"select distinct {listed} from {self.step}", self.columns)

    def alias(self, name: str) -> Frame:
        """Name the frame, for conditions of joins."""
        return Frame(self.sparkSession, self.steps, self.step, self.named, name)

    def repartition(self, *_: Any) -> Frame:
        """Return the frame: partitioning changes no row."""
        return self

    def join(self, other: Frame, on: str | list[str] | Column, how: str) -> Frame:
        """Join by columns of the same names, or on a condition."""
        if isinstance(on, Column):
            return self._join_on(other, on, how)
        keys = [on] if isinstance(on, str) else list(on)
        condition = " and ".join(f"l.{_name(key)} = r.{_name(key)}" for key in keys)
        columns = [(name, "l") for name in [*keys, *self._without(keys)]]
        if how not in ("left_semi", "left_anti"):
            columns += [(name, "r") for name in other._without(keys)]
        else:
            columns = [(name, "l") for name in self.columns]
        listed = ", ".join(f"{side}.{_name(name)}" for name, side in columns)
        sql = (
            f"select {listed} from {self.step} as l"
            f" {JOINS[how]} {other.step} as r on {condition}"
        )
        return self.next(sql, [name for name, _ in columns], other)

    def _without(self, keys: list[str]) -> list[str]:
        return [name for name in self.columns if name not in keys]

    def _join_on(self, other: Frame, on: Column, how: str) -> Frame:
        """Join two named frames, whose columns keep the names of their frames."""
        named, listed = [], []
        for frame in (self, other):
            for name in frame.columns:
                made = f"{frame.called}.{name}"
                listed.append(f"{frame.called}.{_name(name)} as {_name(made)}")
                named.append(Named(name, frame.called, _name(made)))

        def resolve(name: str) -> str:
            called, _, column = name.partition(".")
            return f"{called}.{_name(column)}"

        sql = (
            f"select {', '.join(listed)} from {self.step} as {self.called}"
            f" {JOINS[how]} {other.step} as {other.called} on {on.write(resolve)}"
        )
        made = self.next(sql, [], other)
        return Frame(self.sparkSession, made.steps, made.step, named)

    def unionByName(self, other: Frame) -> Frame:
        """Return the rows of both."""
        if {*self.columns} != {*other.columns}:
            raise ValueError(f"a union of {self.columns} and {other.columns}")
        sides = (
            f"select {frame.listed(_col(name) for name in self.columns)}"
            f" from {frame.step}"
            for frame in (self, other)
        )
        return self.next(" union all ".join(sides), self.columns, other)

    def groupBy(self, *keys: str) -> Grouped:
        """Group by columns."""
        return Grouped(self, keys)

    def limit(self, rows: int) -> Frame:
        """Return at most this number of rows."""
        listed = self.listed(_col(name) for name in self.columns)
        return self.next(f"select {listed} from {self.step} limit {rows}", self.columns)

    def localCheckpoint(self) -> Frame:
        """Compute the rows now."""
        return self.sparkSession.stored(self.sql())

    def collect(self) -> list[tuple]:
        """Return the rows."""
        rows = self.sparkSession.engine.ask(self.sql())
        return [tuple(row[name] for name in self.columns) for row in rows]

    def count(self) -> int:
        """Return how many rows there are."""
        (row,) = self.sparkSession.engine.ask(
            f"select count(*) as found from ({self.sql()}) as counted"
        )
        return row["found"]


class Session:
    """Stands for Spark's session: a quick engine."""

    def __init__(self, engine: DuckDB, prefix: str = "frame") -> None:
        """Take an engine, and the prefix of the names that it gets."""
        self.engine, self.prefix = engine, prefix
        self._made = 0

    def new_name(self) -> str:
        """Return a name that no step or relation has yet."""
        self._made += 1
        return f"{self.prefix}_{self._made}"

    def table(self, name: str) -> Frame:
        """Return a relation of the engine."""
        columns = self.engine.columns(name)
        written = ".".join(map(_name, name.split(".")))
        named = [Named(column, None, _name(column)) for column in columns]
        step = self.new_name()
        return Frame(self, {step: f"select * from {written}"}, step, named)

    def of_rows(self, rows: Rows) -> Frame:
        """Return rows as a frame."""
        name = self.new_name()
        self.engine.put(name, rows)
        return self.table(name)

    def stored(self, sql: str) -> Frame:
        """Compute a query, and return its rows as a frame."""
        name = self.new_name()
        self.engine.store(name, sql)
        return self.table(name)

    def range(self, rows: int) -> Frame:
        """Return this number of rows, with their numbers."""
        return self.of_rows(Rows({"id": "bigint"}, [(row,) for row in range(rows)]))


class Dbt:
    """Stands for `dbt` in a model; `refs` has the relation of each model."""

    def __init__(self, session: Session, refs: Callable[[str], str]) -> None:
        self.session, self.refs = session, refs

    def config(self, **_: Any) -> None:
        """Ignore the config: here no model is stored."""

    def ref(self, name: str) -> Frame:
        """Return the rows of a model."""
        return self.session.table(self.refs(name))


# The modules of PySpark that models import.
PYSPARK = SimpleNamespace(DataFrame=Frame, functions=FUNCTIONS)


def load_model(path: Path) -> ModuleType:
    """Load a Python model's file with these frames instead of PySpark's."""
    return loaded(path.stem, path.read_text("utf-8"), str(path))


def loaded(name: str, code: str, path: str = "<model>") -> ModuleType:
    """Load the code of a Python model with these frames instead of PySpark's."""

    def load(name: str, *rest: Any) -> Any:
        return PYSPARK if name == "pyspark.sql" else builtins.__import__(name, *rest)

    module = ModuleType(name)
    module.__file__ = path
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": load}
    exec(compile(code, path, "exec"), module.__dict__)
    return module
