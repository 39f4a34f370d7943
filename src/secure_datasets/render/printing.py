"""Prints a rule by itself, in the SQL dialect of the engine that is to hold it.

The tree is rewritten, not the text: a row's `user_id`, a column that the base lacks,
becomes the reader, and the base gets its name in the engine. Outside Spark, only
expressions known to mean the same are printed; the error for any further expression
names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from secure_datasets.render import agreement, ansi
from secure_datasets.sql import expressions
from secure_datasets.sql.expressions import ExpressionProblem
from secure_datasets.sql.spelling import listed

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = (
    "spark", "databricks", "snowflake", "postgres", "duckdb", "trino", "bigquery",
)  # fmt: skip
# The placeholder that macros write for the row's relation.
ROW = "<the row>"
# Dialects that read Spark's SQL.
OF_SPARK = ("spark", "databricks")
# Those of them where ANSI mode is on.
WITH_ANSI = ("databricks",)
# Dialects with a backslash as the escape character of a pattern, as in Spark.
LIKE_WITH_BACKSLASH = ("postgres", "bigquery")
# Dialects whose `trim` removes spaces only, as in Spark.
TRIMS_SPACES = ("postgres", "duckdb", "snowflake")
# Dialects without `is true`, or that print it as the value itself, so null stays null.
WITHOUT_IS_TRUE = ("trino", "snowflake")
# How a dialect folds a name without quotes, if quoted names are case-sensitive.
FOLDS: Mapping[str, Callable[[str], str]] = {
    "postgres": str.lower,
    "snowflake": str.upper,
}
PLAIN = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE | re.ASCII)
# A day or a moment that every engine reads alike, whatever the session's settings.
MOMENT = re.compile(
    r"((?!0000)\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?))?", re.ASCII
)
# The text that Spark makes of a moment.
AS_SPARK_WRITES = re.compile(
    r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{0,5}[1-9])?", re.ASCII
)
NESTED = re.compile(r"(array|map|struct)<|variant$")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# How a dialect compares the reader's clock with a moment of UTC. PostgreSQL's
# `current_timestamp` is constant in a transaction. Snowflake compares numbers, because
# its session's settings decide how it reads texts.
CLOCKS = {
    "snowflake": "date_part(epoch_microsecond, current_timestamp()) {sign} {micros}",
    "postgres": "statement_timestamp() {sign} timestamptz '{moment}+00:00'",
    "duckdb": "current_timestamp {sign} timestamptz '{moment}+00:00'",
    "trino": "current_timestamp {sign} timestamp '{moment} UTC'",
    "bigquery": "current_timestamp() {sign} timestamp '{moment}+00:00'",
}
# NaN is neither equal to itself nor greater than a number there, as it is in Spark.
BY_IEEE = ("bigquery", "trino")
# Whole numbers are bigints there, and longer ones can't be read.
WITHOUT_LONG_NUMBERS = ("bigquery", "trino")
# A number with a point is a double in BigQuery, which keeps so many digits; its
# decimals have fewer digits than Spark's.
DIGITS_OF_DOUBLE = 15
MOST_BEFORE_POINT, MOST_BEHIND_POINT = 29, 9
USUAL_FORMATS = ("yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss")


@dataclass(frozen=True)
class Row:
    """The names of a dataset's rows in its rules, and in the printed text.

    `dataset`: the name of the row in policies; its user is the reader.
    `prefix`: if given, the row's columns are the arguments of a function, named by the
    prefix and the column, so that no relation's column has the same name.
    """

    dataset: str
    alias: str
    relation: str | None
    types: Mapping[str, str]
    prefix: str | None = None
    # For each relation that rules may read, its columns with types.
    relations: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Printed:
    """A rule in a dialect; with a prefix, the row's columns that it names, in order."""

    text: str
    columns: tuple[str, ...]


def printed(text: str, row: Row, user: str, reader: str, dialect: str) -> Printed:
    """Return an expression in a dialect, for a reader.

    `reader`: the name of the reader's id in the text.
    `user`: the SQL that replaces this name.

    Raises ExpressionProblem if the dialect can't express the text.
    """
    from sqlglot import ErrorLevel, exp
    from sqlglot.errors import SqlglotError

    if dialect not in DIALECTS:
        raise ExpressionProblem(
            f"unknown dialect '{dialect}'{listed(dialect, DIALECTS)}"
        )
    expression = expressions.read(text)
    if expression.lost:
        raise ExpressionProblem("a policy has a function with a format or a path")
    if dialect in WITH_ANSI:
        _check_ansi(expression, row, reader, dialect)
    # A root has no parent, so it can't be replaced.
    holder = exp.Paren(this=expression.tree.copy())
    arguments: dict[str, None] = {}
    for column in list(holder.find_all(exp.Column)):
        argument = _name(column, row, user, reader)
        if argument:
            arguments[argument] = None
    if dialect in OF_SPARK:
        _keep(holder)
        for literal in list(holder.find_all(exp.Literal)):
            # A plain literal stays: the generator prints units and intervals specially.
            if literal.is_string and not _is_plain(literal.this):
                literal.replace(exp.Var(this=expressions.sql_text(literal.this)))
    else:
        _ask_the_clock(holder, dialect)
        types = {f"{row.prefix or ''}{name}": row.types.get(name) for name in arguments}
        known = {**row.types, **types}
        for column in holder.find_all(exp.Column):
            column.meta[expressions.TYPE] = _type_of_column(column, known, row)
            _refuse_nested(column, known, row, dialect)
        _translate(holder, dialect, known, types)
    try:
        made = holder.this.sql(
            dialect=dialect,
            pretty=True,
            normalize_functions="lower",
            unsupported_level=ErrorLevel.RAISE,
            comments=False,
        )
    except SqlglotError as error:
        raise ExpressionProblem(f"{dialect} can't say it: {error}") from error
    except RecursionError as error:
        raise ExpressionProblem("{key} nests too deeply to be printed") from error
    return Printed(made, tuple(sorted(arguments)))


def _ask_the_clock(holder: exp.Expression, dialect: str) -> None:
    """Compare the reader's clock with the times of rules.

    Only the product makes these comparisons: a customer's condition has none.
    """
    from sqlglot import exp

    for clock in list(holder.find_all(exp.CurrentTimestamp)):
        compared = clock.parent
        asked = compared.args.get("expression")
        found = MOMENT.fullmatch(asked.name.removesuffix("Z")) if asked else None
        is_asked = isinstance(compared, exp.GTE | exp.LT) and asked.name.endswith("Z")
        if not is_asked or not found or not isinstance(asked, exp.Cast):
            # A mask may use the clock freely: only Spark is known to express that.
            continue
        moment = found[0]
        micros = datetime.fromisoformat(f"{moment}+00:00") - EPOCH
        text = CLOCKS[dialect].format(
            sign=">=" if isinstance(compared, exp.GTE) else "<",
            moment=moment,
            micros=micros // timedelta(microseconds=1),
        )
        compared.replace(exp.Var(this=text))


def quoted(name: str, dialect: str) -> str:
    """Return a name, quoted so that it is valid in a dialect whatever its letters."""
    from sqlglot import exp

    if dialect in OF_SPARK:
        is_plain = expressions.is_plain_name(name)
        return name if is_plain else expressions.sql_name(name)
    return _quoted(exp.to_identifier(name), dialect).sql(dialect=dialect)


def _quoted(identifier: exp.Expression, dialect: str) -> exp.Expression:
    """Quote a name, spelled as the dialect reads it without quotes."""
    fold = FOLDS.get(dialect)
    if fold and PLAIN.fullmatch(identifier.this):
        identifier.set("this", fold(identifier.this))
    identifier.set("quoted", True)
    return identifier


def _quote(holder: exp.Expression, dialect: str, arguments: Mapping[str, str]) -> None:
    """Quote names that could mean something else without quotes.

    An unquoted `user` is a function in PostgreSQL; each engine has such names.
    """
    from sqlglot import exp

    for node in list(holder.find_all(exp.Identifier)):
        is_alone = isinstance(node.parent, exp.Column) and not node.parent.table
        is_alone = is_alone and node.this not in arguments
        is_word = not expressions.is_plain_name(node.this.lower())
        if is_alone or is_word or node.quoted:
            _quoted(node, dialect)


def _type_of_column(
    column: exp.Expression, types: Mapping[str, str], row: Row
) -> str | None:
    """Return the type of a column, of the row or of a relation in a subquery."""
    from sqlglot import exp

    called = column.parts[0].name.lower() if len(column.parts) > 1 else None
    is_argument = row.prefix is not None and column.name.startswith(row.prefix)
    query = None if is_argument else column.find_ancestor(exp.Query)
    while query is not None:
        read = expressions.sources_of(query)
        for source in read:
            is_only_one = called is None and len(read) == 1
            if not is_only_one and source.alias_or_name.lower() != called:
                continue
            if not isinstance(source, exp.Table):
                return None
            found = row.relations.get(source.name.lower(), {})
            return (found.get(column.name.lower()) or "").lower() or None
        if called is None:
            return None
        query = query.find_ancestor(exp.Query)
    return (types.get(column.name.lower()) or "").lower() or None


def _refuse_nested(
    column: exp.Expression, types: Mapping[str, str], row: Row, dialect: str
) -> None:
    """Raise ExpressionProblem for a nested value, or a part of one.

    Engines order lists differently, and differ on null in nested values.
    """
    data_type = column.meta[expressions.TYPE]
    if data_type is not None and NESTED.match(data_type):
        raise _refuse(dialect, data_type.partition("<")[0])
    called = column.parts[0].name.lower()
    is_row = called in (ROW, row.dataset, row.alias, row.relation)
    is_part = len(column.parts) == 2 and not is_row and called in types
    if len(column.parts) > 2 or is_part:
        name = ".".join(part.name for part in column.parts[is_row:])
        raise _refuse(dialect, f"{name}, a part of a value")


def _keep(holder: exp.Expression) -> None:
    """Keep Spark's functions that the parser would replace or print differently."""
    from sqlglot import exp

    # The generator would drop a format that is the usual one.
    called = {
        exp.TsOrDsToDate: "to_date",
        exp.StrToUnix: "unix_timestamp",
        exp.UnixToStr: "from_unixtime",
    }
    # Inner nodes first: the outer node copies them.
    for node in reversed(list(holder.find_all(*called))):
        wanted = node.args.get("format")
        # A format that the parser added is not among Spark's usual ones.
        if isinstance(wanted, exp.Literal) and wanted.this in USUAL_FORMATS:
            parts = [node.this.copy(), wanted.copy()]
            node.replace(exp.Anonymous(this=called[type(node)], expressions=parts))
    # The parser replaces these by functions with different results: -1 for null, or
    # 2.9999999999999996 for 3.
    for node in reversed(list(holder.find_all(exp.ArraySize, exp.Log))):
        given = node.this if isinstance(node, exp.ArraySize) else node.expression
        name = node.meta.get(expressions.CALLED)
        if name in ("array_size", "log10", "log2"):
            node.replace(exp.Anonymous(this=name, expressions=[given.copy()]))
    # Without brackets, `rlike` beside a comparison is parsed in a different order.
    for node in list(holder.find_all(exp.RegexpLike)):
        if isinstance(node.this, exp.Connector | exp.Not | exp.Predicate):
            node.set("this", exp.paren(node.this, copy=True))
        if not isinstance(node.parent, exp.Connector | exp.Not | exp.Paren):
            node.replace(exp.paren(node, copy=True))
    # The parser reads an interval of several units as a sum, which prints no brackets.
    for node in list(holder.find_all(exp.Add)):
        if parts := _parts_of_interval(node):
            text = exp.Literal.string(" ".join(parts))
            node.replace(exp.Interval(this=text))


def _parts_of_interval(node: exp.Expression) -> list[str]:
    """Return the numbers and units of an interval; an empty list if it is none."""
    from sqlglot import exp

    if isinstance(node, exp.Add):
        parts = [_parts_of_interval(part) for part in (node.this, node.expression)]
        return parts[0] + parts[1] if all(parts) else []
    unit = node.args.get("unit") if isinstance(node, exp.Interval) else None
    is_told = isinstance(unit, exp.Var) and isinstance(node.this, exp.Literal)
    return [f"{node.this.this} {unit.name}"] if is_told else []


def _is_plain(text: str) -> bool:
    """Whether a text needs only quotes, no escapes."""
    return expressions.sql_text(text) == f"'{text}'"


def _reader(user: str) -> exp.Expression:
    """Return the reader's id, a bigint."""
    from sqlglot import exp

    reader = exp.Var(this=user)
    reader.meta[expressions.TYPE] = "bigint"
    return reader


def _name(column: exp.Expression, row: Row, user: str, reader: str) -> str | None:
    """Replace a column by the reader, or its qualifier by the name of the base.

    Return the column if it belongs to the row and becomes an argument. Raises
    ExpressionProblem for a name that is ambiguous.
    """
    from sqlglot import exp

    parts = [part.name for part in column.parts]
    name = column.name.lower()
    query = column.find_ancestor(exp.Query)
    if parts == [reader]:
        column.replace(_reader(user))
        return None
    if len(parts) == 1:
        if query is None and name == "user_id":
            column.replace(_reader(user))
            return None
        return _as_argument(column, row) if query is None else None
    called = parts[0].lower()
    above = set()
    while query is not None:
        read = expressions.names_read_by(query)
        if called in read:
            return None
        above |= read
        query = query.find_ancestor(exp.Query)
    is_row = called in (ROW, row.alias)
    if row.prefix is None and is_row and (row.relation or row.alias).lower() in above:
        raise ExpressionProblem(
            f"a rule reads a relation called '{row.relation or row.alias}' itself: give"
            " the base another name by 'relation'"
        )
    if called == row.dataset and name == "user_id":
        column.replace(_reader(user))
    elif row.prefix is not None:
        if not is_row or len(parts) > 2:
            raise ExpressionProblem(
                f"a policy names '{'.'.join(parts)}', a part of a column, which can't"
                " be an argument"
            )
        return _as_argument(column, row)
    elif called == ROW or (called == row.alias and row.relation):
        # The first part is the row; the name of a struct's field stands last.
        column.parts[0].replace(exp.to_identifier(row.relation or row.alias))
    return None


def _as_argument(column: exp.Expression, row: Row) -> str | None:
    """Replace a column of the row by an argument; return the column's name."""
    from sqlglot import exp

    if row.prefix is None:
        return None
    name = column.name.lower()
    column.replace(exp.column(exp.to_identifier(row.prefix + name)))
    return name


def _refuse(dialect: str, name: str) -> ExpressionProblem:
    return ExpressionProblem(
        f"{dialect} can't say '{name}' so that it means what it means in Spark"
    )


def _check_ansi(
    expression: expressions.Expression, row: Row, reader: str, dialect: str
) -> None:
    """Raise ExpressionProblem for an expression that depends on Spark's ANSI mode."""
    from sqlglot import exp

    tree = expression.tree.copy()
    types = dict.fromkeys(("user_id", reader.lower()), "bigint")
    types |= {name: kind for name, kind in row.types.items() if kind}
    for column in tree.find_all(exp.Column):
        column.meta[expressions.TYPE] = _type_of_column(column, types, row)
    names = dict.fromkeys((ROW, row.dataset, row.alias))

    def refuse(name: str) -> ExpressionProblem:
        return ExpressionProblem(
            f"{dialect} can't say '{name}' where its ANSI mode is on; print it for"
            " spark, if it is off"
        )

    ansi.Mode(tuple(names), types, refuse).check(tree, expression.text)


def _translate(
    holder: exp.Expression,
    dialect: str,
    types: Mapping[str, str],
    arguments: Mapping[str, str],
) -> None:
    """Rewrite the expressions that differ from Spark in an engine.

    Raises ExpressionProblem for an expression that the engine can't express.
    """
    from sqlglot import exp

    same = (
        exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT,
        exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.Between, exp.In, exp.Add,
        exp.Sub, exp.Mul, exp.Neg, exp.Case, exp.If, exp.Coalesce, exp.Abs, exp.Nullif,
        exp.Exists, exp.Select, exp.Subquery, exp.Union, exp.From,
        exp.Where, exp.Join, exp.Table, exp.TableAlias, exp.Alias, exp.Column,
        exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Tuple,
        exp.Var, exp.DataType, exp.DataTypeParam, exp.Distinct, exp.Group, exp.Count,
        exp.Max, exp.Min, exp.Sum, exp.Star, exp.Having, exp.With, exp.CTE,
    )  # fmt: skip
    rewrites: dict[type, Callable[..., None]] = {
        exp.Like: _like,
        exp.Trim: _trim,
        exp.Upper: _capitals,
        exp.Lower: _capitals,
        exp.Concat: _concat,
        exp.Cast: _cast,
        exp.TryCast: _cast,
        exp.Length: _length,
    }
    ordering = (exp.Between, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Max, exp.Min)
    # Inner nodes first: an outer rewrite copies them.
    for node in reversed(list(holder.walk())):
        rewrite = rewrites.get(type(node))
        if rewrite:
            rewrite(node, dialect, types)
        elif type(node) not in same:
            is_function = isinstance(node, exp.Func)
            name = expressions.function_name(node) if is_function else node.key
            raise _refuse(dialect, name)
        if isinstance(node, exp.Literal):
            _check_literal(node, dialect)
    agreement.check(holder, types, lambda name: _refuse(dialect, name))
    if dialect in BY_IEEE:
        agreement.check_doubles(holder, types, lambda name: _refuse(dialect, name))
    agreement.widen(holder, types)
    for node in reversed(list(holder.walk())):
        for parts in agreement.side_by_side(node, types):
            _check_texts_of_moments(node, parts, dialect, types)
            _align_moments(parts, dialect, types)
    _quote(holder, dialect, arguments)
    if dialect in WITHOUT_IS_TRUE:
        for node in list(holder.find_all(exp.Is)):
            _is(node)
    if dialect == "postgres":
        for node in list(holder.find_all(*ordering)):
            _order_bytes(node, types)


def _check_literal(node: exp.Expression, dialect: str) -> None:
    """Refuse a constant that the engine can't read, or not as exactly as Spark."""
    text = node.this
    if node.is_string:
        if "\0" in text:
            raise _refuse(dialect, "a text with the character 0")
        return
    is_long = text.isdigit() and int(text) >= 2**63
    if dialect == "bigquery" and not text.isdigit():
        digits = text.lower().partition("e")[0].replace(".", "").strip("0")
        is_long = len(digits) > DIGITS_OF_DOUBLE
    if is_long and dialect in WITHOUT_LONG_NUMBERS:
        raise _refuse(dialect, f"the number {text}")


def _like(node: exp.Expression, dialect: str, types: Mapping[str, str]) -> None:
    """Refuse a pattern with a backslash, which means the same in few engines."""
    from sqlglot import exp

    pattern = node.expression
    is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.this
    if not is_plain and dialect not in LIKE_WITH_BACKSLASH:
        raise _refuse(dialect, "like")


def _trim(node: exp.Expression, dialect: str, types: Mapping[str, str]) -> None:
    """Make `trim` remove spaces only, as in Spark."""
    from sqlglot import exp

    if dialect not in TRIMS_SPACES or node.args.get("expression"):
        raise _refuse(dialect, "trim")
    if not _is_text(node.this, types):
        raise _refuse(dialect, "trim of other than a text")
    if dialect == "duckdb":
        # Without an argument, DuckDB also removes Unicode spaces.
        node.set("expression", exp.Literal.string(" "))


def _length(node: exp.Expression, dialect: str, types: Mapping[str, str]) -> None:
    """Refuse the length of a number or a day, which only Spark has."""
    if not _is_text(node.this, types):
        raise _refuse(dialect, "length of other than a text")


def _capitals(node: exp.Expression, dialect: str, types: Mapping[str, str]) -> None:
    """Compute `upper` or `lower` of an ASCII constant; refuse every further argument.

    Engines and locales differ in their capitals, even for the letter i.
    """
    from sqlglot import exp

    constant = expressions.constant(node.this)
    if constant is None or constant[0] != "string" or not constant[1].isascii():
        raise _refuse(dialect, expressions.function_name(node))
    is_upper = isinstance(node, exp.Upper)
    text = constant[1].upper() if is_upper else constant[1].lower()
    node.replace(exp.Literal.string(text))


def _concat(node: exp.Expression, dialect: str, types: Mapping[str, str]) -> None:
    """Rewrite `concat` as `||`: a null part makes the result null, as in Spark."""
    from sqlglot import exp

    parts = [
        part if _is_text(part, types) else _as_text(part, dialect, types)
        for part in node.expressions
    ]
    joined = parts[0].copy()
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part.copy(), safe=False)
    node.replace(exp.paren(joined, copy=False))


def _is_text(node: exp.Expression, types: Mapping[str, str]) -> bool:
    return expressions.known_type(node, types) == "string"


def _as_text(
    node: exp.Expression, dialect: str, types: Mapping[str, str]
) -> exp.Expression:
    """Return a value as a text, if engines agree on the text.

    Raises ExpressionProblem if they do not.
    """
    from sqlglot import exp

    # A session decides how a day is written; 1e3 is '1000.0' or '1000'.
    if agreement.whole(node, types) is None:
        raise _refuse(dialect, "concat")
    return exp.Cast(this=node.copy(), to=exp.DataType.build("string", dialect="spark"))


def _cast(node: exp.Expression, dialect: str, types: Mapping[str, str]) -> None:
    """Refuse a cast that may fail: engines differ in its result."""
    from sqlglot import exp

    wanted = node.to.sql("spark").lower()
    found = expressions.known_type(node.this, types)
    constant = expressions.constant(node.this)
    if constant is not None and constant[0] != "null" and agreement.is_moment(wanted):
        moment = _moment(node.this, wanted, dialect)
        if moment is None:
            raise _refuse(dialect, f"try_cast({wanted})")
        node.replace(moment)
        return
    is_sure = found == wanted
    if constant is None and not is_sure:
        # A whole number may become a wider type, or a text.
        held = agreement.whole(node.this, types)
        is_sure = held is not None and (
            wanted == "string" or agreement.fits(held, wanted)
        )
    if constant is not None:
        is_sure = expressions.casts(*constant, wanted)
        if constant[0] == "number" and wanted in ("string", *expressions.INTEGERS):
            is_sure = is_sure and expressions.WHOLE.fullmatch(constant[1]) is not None
        if wanted in ("double", "float"):
            is_sure = is_sure and agreement.is_double(constant[1])
        if wanted.startswith("decimal"):
            # Engines round differently, and BigQuery has a fixed scale.
            behind = constant[1].strip().partition(".")[2]
            scale = int(wanted.rstrip(")").partition(",")[2] or 0)
            is_sure = is_sure and "e" not in constant[1].lower()
            is_sure = is_sure and len(behind) <= scale
    decimal = agreement.DECIMAL_TYPE.fullmatch(wanted)
    if dialect == "bigquery" and decimal:
        digits, behind = int(decimal[1] or 10), int(decimal[2] or 0)
        is_sure = is_sure and digits - behind <= MOST_BEFORE_POINT
        is_sure = is_sure and behind <= MOST_BEHIND_POINT
    if not is_sure:
        raise _refuse(dialect, f"try_cast({wanted})")
    node.replace(exp.Cast(this=node.this.copy(), to=node.to.copy()))


def _moment(
    node: exp.Expression, data_type: str, dialect: str
) -> exp.Expression | None:
    """Return a text as a day, or as a moment of UTC; none if that is not certain."""
    from sqlglot import exp

    kind, text = expressions.constant(node) or ("", "")
    read = MOMENT.fullmatch(text)
    if kind != "string" or not read or not expressions.casts(kind, text, data_type):
        return None
    day, time = read.groups()
    value: exp.Expression
    if data_type == "timestamp" and dialect != "snowflake":
        value = exp.Literal.string(f"{day} {time or '00:00:00'}+00:00")
    elif data_type != "date" or time:
        return None
    elif dialect == "snowflake":
        # In Snowflake the session's settings decide how texts are read.
        numbers = [exp.Literal.number(int(part)) for part in day.split("-")]
        value = exp.Anonymous(this="date_from_parts", expressions=numbers)
    else:
        value = exp.Literal.string(day)
    return exp.Cast(this=value, to=exp.DataType.build(data_type, dialect="spark"))


def _check_texts_of_moments(
    node: exp.Expression,
    parts: list[exp.Expression | None],
    dialect: str,
    types: Mapping[str, str],
) -> None:
    """Refuse a moment among texts where Spark compares texts, or keeps the text.

    Spark makes texts of the moments in a list, or among the values of a `case` and the
    like, and `nullif` has its first one's type.
    It compares each end of a `between` by itself.
    """
    from sqlglot import exp

    given = [part for part in parts if part is not None]
    if "timestamp" not in [agreement.type_of(part, types) for part in given]:
        return
    texts = [part for part in given if agreement.type_of(part, types) == "string"]
    is_compared = isinstance(node, exp.Case) and any(p is node.this for p in given)
    makes_texts = isinstance(node, exp.In | exp.Coalesce | exp.Case | exp.If)
    if (
        makes_texts
        and not is_compared
        and any(
            not AS_SPARK_WRITES.fullmatch((expressions.constant(text) or ("", ""))[1])
            for text in texts
        )
    ):
        raise _refuse(dialect, f"{node.key} of a timestamp and a text of another form")
    kinds = {agreement.type_of(part, types) for part in given if part not in texts}
    differ = len(kinds - {"null"}) > 1 or (node.this in texts and len(texts) > 1)
    if isinstance(node, exp.Between) and texts and differ:
        raise _refuse(dialect, "between of a timestamp, a text and another value")
    if isinstance(node, exp.Nullif) and node.this in texts:
        raise _refuse(dialect, "nullif of a text and a timestamp")


def _align_moments(
    parts: list[exp.Expression | None], dialect: str, types: Mapping[str, str]
) -> None:
    """Align days and moments that stand side by side; refuse mixed kinds.

    A cast between them, or from a text, depends on the session's settings: its time
    zone, and its date format.
    """
    from sqlglot import exp

    given = [
        (part, agreement.type_of(part, types)) for part in parts if part is not None
    ]
    if any(isinstance(part, exp.Tuple) for part, _ in given):
        of_each = (agreement.members(part) for part, _ in given)
        for members in zip(*of_each, strict=False):
            _align_moments(list(members), dialect, types)
        return
    kinds = [kind for _, kind in given if kind and agreement.is_moment(kind)]
    if not kinds:
        return
    by_hand = dialect == "postgres" and set(kinds) == {"date", "timestamp"}
    wanted = "timestamp" if by_hand else kinds[0]
    for part, kind in given:
        made = _moment(part, wanted, dialect) if kind == "string" else None
        if by_hand and kind == "date" and not _is_query(part):
            made = _midnight(part)
        if made is not None:
            part.replace(made)
        elif kind not in (wanted, "null"):
            what = f"a {kind}" if kind else "an unknown type"
            raise _refuse(dialect, f"{wanted} beside {what}")


def _is_query(part: exp.Expression) -> bool:
    """Whether a part is a whole query, or one of the columns of one."""
    from sqlglot import exp

    return part.arg_key == "query" or isinstance(part.parent, exp.Select)


def _midnight(day: exp.Expression) -> exp.Expression:
    """Return the moment when a day begins in UTC, for PostgreSQL."""
    from sqlglot import exp

    begins = exp.AtTimeZone(
        this=exp.Cast(this=day.copy(), to=exp.DataType.build("timestamp_ntz", "spark")),
        zone=exp.Literal.string("UTC"),
    )
    return exp.Cast(this=begins, to=exp.DataType.build("timestamp", dialect="spark"))


def _is(node: exp.Expression) -> None:
    """Write `is true` as a `coalesce`, for dialects without it."""
    from sqlglot import exp

    if isinstance(node.expression, exp.Boolean):
        value = node.this.copy()
        if not node.expression.this:
            value = exp.Not(this=exp.paren(value))
        node.replace(exp.func("coalesce", value, exp.false()))


def _order_bytes(node: exp.Expression, types: Mapping[str, str]) -> None:
    """Order texts by their bytes, as Spark does, and not by PostgreSQL's locale."""
    from sqlglot import exp

    name = expressions.function_name(node) if isinstance(node, exp.Func) else node.key
    kinds = {expressions.known_type(part, types) for part in node.iter_expressions()}
    if "string" not in kinds:
        if kinds <= {None, "null"}:
            raise _refuse("postgres", f"{name} of an unknown type")
        return
    if isinstance(node, exp.Between):
        raise _refuse("postgres", "between of texts")
    place = "this" if isinstance(node, exp.Func) else "expression"
    binary = exp.to_identifier("C", quoted=True)
    node.set(place, exp.Collate(this=node.args[place].copy(), expression=binary))
