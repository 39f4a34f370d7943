"""Translation of Spark's SQL to DuckDB's, where DuckDB gives exactly Spark's result.

The list of expressions, clauses and types is closed. SQL beyond it raises `NotExact`:
the caller then asks Spark instead of getting a different answer. DuckDB itself checks
the types of values: the functions of `FUNCTIONS` fail on types that the two engines
treat differently, and `Translation.check` binds only if every comparison is between
values of one kind.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from secure_datasets.engines.memory import remembered
from secure_datasets.sql.expressions import unescaped


class NotExact(Exception):
    """DuckDB can't give exactly Spark's result; the message names the reason."""


@dataclass(frozen=True)
class Translation:
    """A query in DuckDB's SQL.

    `relations` are the names it reads, in lower case; each stands in `sql` as one
    quoted name. `check`, which is never run, binds only if all comparisons are between
    values of one kind; it is None if there is no comparison.
    """

    sql: str
    check: str | None
    relations: tuple[str, ...]


# Lists of types for the checks below, by DuckDB's names.
WHOLE = "'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT'"
PLAIN = f"'VARCHAR', 'BOOLEAN', 'DATE', {WHOLE}, '\"NULL\"'"
MOMENT = "'TIMESTAMP WITH TIME ZONE'"
BEYOND = "error('not exact: {0}, of the type ' || typeof({1}))"


def _fails(what: str, value: str = "a") -> str:
    return BEYOND.format(what, value)


WHOLE_TEXT = "'[+-]?[0-9]+'"
# Spark ignores white space and control characters around the text that it casts.
SPACE = r"[\x00-\x20\x7f-\x{a0}\x{1680}\x{2000}-\x{206f}\x{3000}\x{feff}]"
AROUND = f"'^{SPACE}|{SPACE}$'"


def _from_text(pattern: str, to: str, otherwise: str) -> str:
    return (
        f"when typeof(a) = 'VARCHAR' then case when a is null then null"
        f" when regexp_full_match(try_cast(a as varchar), {pattern})"
        f" then try_cast(a as {to}) else {otherwise} end"
    )


def _whole(to: str, otherwise: str, beyond: str = "null") -> str:
    same = (
        f"when typeof(a) in ({WHOLE}, 'BOOLEAN', '\"NULL\"') then case when a is not"
        f" null and try_cast(a as {to}) is null then {beyond}"
        f" else try_cast(a as {to}) end"
    )
    text = _from_text(WHOLE_TEXT, to, otherwise)
    return f"case {same} {text} else {_fails(f'a cast to {to}')} end"


def _unless_spaced(what: str) -> str:
    """Return null for a text that no cast reads; white space is for Spark to judge."""
    spaced = f"regexp_matches(try_cast(a as varchar), {AROUND})"
    return f"case when {spaced} then {_fails(what)} end"


DAY_TEXT = "'[0-9]{4}-[0-9]{2}-[0-9]{2}'"
MOMENT_TEXT = (
    "'[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}"
    "([.][0-9]{1,9})?Z'"
)
DECIMAL_TEXT = "'[+-]?[0-9]+([.][0-9]+)?'"
SAME_CASE = r"'[\x00-\x7f]*'"

# Temporary macros of each connection, by name and parameters.
FUNCTIONS = {
    # A day beyond the years 1 to 9999 has a sign for Spark.
    "spark_text(a)": f"case when typeof(a) in ({PLAIN}) then case when typeof(a) ="
    " 'DATE' and year(try_cast(a as date)) not between 1 and 9999"
    f" then {_fails('a day')} else try_cast(a as varchar) end"
    f" else {_fails('a cast to text')} end",
    "spark_try_bigint(a)": _whole("bigint", _unless_spaced("a text as a number")),
    "spark_try_int(a)": _whole("int", _unless_spaced("a text as a number")),
    "spark_bigint(a)": _whole("bigint", _fails("a text as a number")),
    "spark_int(a)": _whole("int", _fails("a text as a number"), _fails("an int of")),
    "spark_boolean(a)": "case when typeof(a) in ('BOOLEAN', '\"NULL\"')"
    f" then try_cast(a as boolean) else {_fails('a cast to boolean')} end",
    "spark_date(a)": "case when typeof(a) in ('DATE', '\"NULL\"')"
    f" then try_cast(a as date)"
    f" {_from_text(DAY_TEXT, 'date', _fails('a text as a date'))}"
    f" else {_fails('a cast to date')} end",
    "spark_timestamp(a)": f"case when typeof(a) in ({MOMENT}, '\"NULL\"')"
    " then try_cast(a as timestamptz)"
    f" {_from_text(MOMENT_TEXT, 'timestamptz', _fails('a text as a timestamp'))}"
    f" else {_fails('a cast to timestamp')} end",
    "spark_lower(a)": f"case when a is null or regexp_full_match(a, {SAME_CASE})"
    f" then lower(a) else error('not exact: lower case beyond ASCII') end",
    "spark_upper(a)": f"case when a is null or regexp_full_match(a, {SAME_CASE})"
    f" then upper(a) else error('not exact: upper case beyond ASCII') end",
    "spark_pmod(a, b)": "((a % b) + b) % b",
    "spark_contains(a, b)": "case when a is null or b is null then null"
    " when list_contains(a, b) then true when list_count(a) < len(a) then null"
    " else false end",
    "spark_join(a, b)": "case when a is null or b is null then null"
    " else coalesce(array_to_string(a, b), '') end",
    "spark_flatten(a)": "case when list_count(a) = len(a) then flatten(a) end",
    "spark_size(a)": "case when a is null then error('not exact: the size of null')"
    " else try_cast(len(a) as int) end",
    "spark_csv(a)": "case when typeof(a) in ('TIMESTAMP WITH TIME ZONE', '\"NULL\"')"
    " then strftime(try_cast(a as timestamptz), '%Y-%m-%d %H:%M:%S.%f')"
    f" else {_fails('a value written as CSV')} end",
    "spark_date_add(a, b)": "case when typeof(a) in ('DATE', '\"NULL\"')"
    " then try_cast(try_cast(a as date) + to_days(b) as date)"
    f" else {_fails('days added')} end",
    "spark_month(a)": "case when typeof(a) in ('DATE', '\"NULL\"')"
    " then try_cast(date_trunc('month', try_cast(a as date)) as date)"
    f" else {_fails('a month of')} end",
    "spark_year(a)": "case when typeof(a) in ('DATE', '\"NULL\"')"
    f" then try_cast(year(try_cast(a as date)) as int) else {_fails('a year of')} end",
    "spark_day(a)": "case when a is not null and try_cast(a as int) is null"
    f" then {_fails('a day')}"
    " else try_cast(date '1970-01-01' + to_days(try_cast(a as int)) as date) end",
    "spark_micros(a)": f"case when typeof(a) in ({MOMENT}, '\"NULL\"')"
    f" then epoch_us(try_cast(a as timestamptz)) else {_fails('microseconds of')} end",
    "spark_typeof(a)": "case typeof(a) when 'VARCHAR' then 'string'"
    " when 'BIGINT' then 'bigint' when 'INTEGER' then 'int'"
    " when 'SMALLINT' then 'smallint' when 'TINYINT' then 'tinyint'"
    " when 'BOOLEAN' then 'boolean' when 'DATE' then 'date'"
    " when 'TIMESTAMP WITH TIME ZONE' then 'timestamp' when '\"NULL\"' then 'void'"
    f" else {_fails('the type')} end",
    # DuckDB alone rewrites `a + 1 > 1` as `a > 0`, and misses the overflow, which wraps
    # around in Spark. Spark gives up places of a decimal with more than 38 digits, and
    # counts one more than DuckDB for each product.
    "spark_computed(a)": "case when regexp_full_match(typeof(a), 'DECIMAL.3.,.*')"
    f" then {_fails('a sum or product')} else coalesce(a, null) end",
    "spark_ordered(a)": "case when regexp_matches(typeof(a), '[][(]')"
    " and not typeof(a) like 'DECIMAL%'"
    f" then {_fails('an order of values with nulls')} else a end",
    "spark_div(a, b)": f"case when typeof(a) in ({WHOLE}, '\"NULL\"') then a // b"
    f" else {_fails('a division')} end",
    "spark_at_least_0(a)": "case when a < 0 then 0 else a end",
    # Spark's parser takes single quotes and what follows an object, refuses a comma
    # before the end, and looks behind a null for the same field.
    "spark_field(a, b)": "case when a is null then null"
    " when not regexp_matches(a, '^\\s*[{]') then null"
    " when not json_valid(a) or regexp_matches(a, ',\\s*[}\\]]')"
    " or json_type(a, b) = 'NULL'"
    " and len(json_keys(a)) <> len(list_distinct(json_keys(a)))"
    " then error('not exact: a text that is no plain JSON')"
    " when coalesce(json_type(a, b), 'NULL') = 'NULL' then null"
    " when json_type(a, b) = 'VARCHAR' then json_extract_string(a, b)"
    " else error('not exact: a value of JSON that is no text') end",
    "spark_length(a)": "case when typeof(a) in ('VARCHAR', '\"NULL\"')"
    f" then try_cast(length(a) as int) else {_fails('the length')} end",
    # A sum of decimals is a decimal; a sum of whole numbers wraps around past a bigint.
    "spark_sum(a)": "case when typeof(sum(a)) not in ('HUGEINT', '\"NULL\"')"
    " or try_cast(sum(a) as bigint) is null and sum(a) is not null"
    " then error('not exact: a sum, of the type ' || typeof(sum(a)))"
    " else try_cast(sum(a) as bigint) end",
}

# Only for an engine whose queries compare fingerprints and show none, since the hash is
# DuckDB's own. DuckDB's hash of a list is a sum of its elements' hashes, so that the
# hashes of (1, 1), (1, 2), (2, 1) and (2, 2) would cancel each other out. Therefore the
# hash is hashed once more.
FINGERPRINT = "spark_fingerprint(a) as try_cast(hash(hash(a)) >> 1 as bigint)"

# The arguments that each part of a query may have; no other is known to be exact.
PARTS: dict[type[exp.Expression], str] = {
    exp.Add: "this expression",
    exp.Alias: "this alias",
    exp.Aliases: "this expressions",
    exp.And: "this expression",
    exp.Anonymous: "this expressions",
    exp.ArgMax: "this expression",
    exp.ArgMin: "this expression",
    exp.Array: "expressions",
    exp.ArrayAgg: "this nulls_excluded",
    exp.ArrayAppend: "this expression null_propagation",
    exp.ArrayContains: "this expression",
    exp.ArraySize: "this",
    exp.ArraySlice: "this start end is_length",
    exp.ArraySort: "this nulls_first",
    exp.ArrayToString: "this expression",
    exp.ArrayUniqueAgg: "this",
    exp.Between: "this low high",
    exp.Boolean: "this",
    exp.Bracket: "this expressions offset safe",
    exp.CTE: "this alias",
    exp.Case: "this ifs default",
    exp.Cast: "this to",
    exp.Coalesce: "this expressions",
    exp.Column: "this table db",
    exp.Concat: "expressions safe",
    exp.ConcatWs: "expressions safe coalesce flatten",
    exp.Count: "this big_int",
    exp.CountIf: "this",
    exp.CurrentTimestamp: "",
    exp.DPipe: "this expression safe",
    exp.DataType: "this expressions nested",
    exp.DataTypeParam: "this",
    exp.DateFromUnixDate: "this",
    exp.DateTrunc: "this unit",
    exp.DenseRank: "",
    exp.Distinct: "expressions",
    exp.Dot: "this expression",
    exp.EQ: "this expression",
    exp.BitwiseOrAgg: "this",
    exp.BitwiseXorAgg: "this",
    exp.Except: "this expression distinct with_",
    exp.Exists: "this expression",
    exp.Explode: "this",
    exp.ArrayFilter: "this expression",
    exp.Filter: "this expression",
    exp.FirstValue: "this",
    exp.Rank: "expressions",
    exp.Flatten: "this",
    exp.From: "this",
    exp.GT: "this expression",
    exp.GTE: "this expression",
    exp.Greatest: "this expressions ignore_nulls",
    exp.Group: "expressions",
    exp.Having: "this",
    exp.Identifier: "this quoted",
    exp.If: "this true false",
    exp.IgnoreNulls: "this",
    exp.In: "this expressions query",
    exp.Inline: "this",
    exp.IntDiv: "this expression",
    exp.Intersect: "this expression distinct with_",
    exp.Is: "this expression",
    exp.JSONExtractScalar: "this expression",
    exp.JSONFormat: "this options",
    exp.Join: "this on using kind side",
    exp.LastValue: "this",
    exp.LT: "this expression",
    exp.LTE: "this expression",
    exp.Lag: "this",
    exp.Lambda: "this expressions",
    exp.Least: "this expressions ignore_nulls",
    exp.Lateral: "this view alias",
    exp.Lead: "this",
    exp.Left: "this expression",
    exp.Length: "this",
    exp.Like: "this expression negate",
    exp.Limit: "expression",
    exp.Literal: "this is_string",
    exp.LogicalAnd: "this",
    exp.LogicalOr: "this",
    exp.Lower: "this",
    exp.Max: "this",
    exp.Min: "this",
    exp.Mod: "this expression",
    exp.Mul: "this expression",
    exp.NEQ: "this expression",
    exp.Neg: "this",
    exp.Not: "this",
    exp.Null: "",
    exp.NullSafeEQ: "this expression",
    exp.NullSafeNEQ: "this expression",
    exp.Nullif: "this expression",
    exp.Or: "this expression",
    exp.Order: "expressions",
    exp.Ordered: "this desc nulls_first",
    exp.Paren: "this",
    exp.PropertyEQ: "this expression",
    exp.Rank: "",
    exp.Reduce: "this initial merge",
    exp.RegexpLike: "this expression",
    exp.Right: "this expression",
    exp.RowNumber: "",
    exp.SHA2: "this length",
    exp.Select: "distinct expressions from_ group having joins where windows with_"
    " order limit laterals",
    exp.Star: "except_",
    exp.StartsWith: "this expression",
    exp.Struct: "expressions",
    exp.Sub: "this expression",
    exp.Subquery: "this alias with_",
    exp.Substring: "this start length",
    exp.SubstringIndex: "this delimiter count",
    exp.Sum: "this",
    exp.Table: "this db catalog alias joins",
    exp.TableAlias: "this columns",
    exp.Transform: "this expression",
    exp.Translate: "this from_ to",
    exp.Trim: "this",
    exp.TryCast: "this to safe",
    exp.TsOrDsAdd: "this expression unit",
    exp.TsOrDsToDate: "this",
    exp.Tuple: "expressions",
    exp.Typeof: "this",
    exp.Union: "this expression distinct with_ order limit",
    exp.UnixMicros: "this",
    exp.Upper: "this",
    exp.Values: "expressions alias",
    exp.Var: "this",
    exp.VarMap: "keys values",
    exp.Where: "this",
    exp.Window: "this alias partition_by order over spec",
    exp.WindowSpec: "kind start start_side end end_side",
    exp.With: "expressions recursive",
    exp.Year: "this",
}
KNOWN_PARTS = {part: frozenset(names.split()) for part, names in PARTS.items()}
# Arguments that sqlglot keeps for its own use.
NOTES = {"_type"}
ORDERS = (exp.GT, exp.GTE, exp.LT, exp.LTE)
COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, *ORDERS)
TYPES = {"TEXT", "BIGINT", "INT", "BOOLEAN", "DATE", "TIMESTAMPTZ", "DECIMAL"}
JSON_FIELD = re.compile(r"\$\.[A-Za-z_][A-Za-z0-9_]*")
BARRIERS = {"monotonically_increasing_id", "spark_partition_id"}
CSV_OPTIONS = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS"}

# A text, a name or a comment of Spark's SQL: its content is not code.
TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|`(?:[^`]|``)*`"
    r"|[rR]'[^']*'|[rR]\"[^\"]*\""
    r"|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"",
    re.S,
)
FIRST_TEXT = 10**15


@lru_cache(maxsize=4096)
def translated(sql: str) -> Translation:
    """Return a query of Spark as one of DuckDB, or raise `NotExact`."""
    text, check, relations = remembered(("translation", sql), lambda: _translate(sql))
    return Translation(text, check, tuple(relations))


def _translate(sql: str) -> tuple[str, str | None, tuple[str, ...]]:
    # sqlglot warns if it can't parse a part further; such a part is refused below.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    skeleton, texts = _without_texts(sql)
    try:
        trees = sqlglot.parse(skeleton, read="spark")
    except (SqlglotError, RecursionError) as error:
        raise NotExact(f"the query can't be read: {str(error)[:300]}") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise NotExact("the text is not one query")
    (tree,) = trees
    nodes = list(tree.walk(bfs=True))
    _put_back(nodes, texts)
    _check_parts(nodes)
    relations = _name_relations(nodes)
    for node in reversed(nodes):
        change = REWRITES.get(type(node))
        if change is None:
            continue
        changed = change(node)
        if changed is node:
            continue
        if node is tree:
            tree = changed
        else:
            node.replace(changed)
    text = tree.sql("duckdb", comments=False)
    return text, _check_text(tree), relations


def _without_texts(sql: str) -> tuple[str, dict[str, str]]:
    """Return the query with a number in the place of each text, and the texts.

    Two adjacent texts are one text, as in Spark.
    """
    texts: dict[str, str] = {}

    def stand_in(token: re.Match[str]) -> str:
        raw = token[0]
        if raw.startswith("--"):
            if raw.endswith("\\"):
                raise NotExact("a comment ends with a backslash")
            return " "
        if raw.startswith("/*"):
            # A hint is about the plan: it changes no row.
            if "/*" in raw[2:]:
                raise NotExact("a comment in a comment")
            return " "
        if raw.startswith("`"):
            return raw
        before = sql[token.start() - 1 : token.start()]
        if before.isalnum() and before.isascii():
            raise NotExact(f"the literal {before}{raw[:20]}")
        value = raw[2:-1] if raw[0] in "rR" else unescaped(raw[1:-1], raw[0])
        number = str(FIRST_TEXT + len(texts))
        texts[number] = value
        return f"'{number}'"

    skeleton = TOKEN.sub(stand_in, sql)
    if len(re.findall(r"['\"]", re.sub(r"'\d+'|`(?:[^`]|``)*`", "", skeleton))):
        raise NotExact("a quote without its other end")
    return skeleton, texts


def _put_back(nodes: list[exp.Expression], texts: dict[str, str]) -> None:
    missing = set(texts)
    for node in nodes:
        if isinstance(node, exp.PropertyEQ):
            # The fields of `named_struct` are names for the parser.
            if node.name in texts:
                missing.discard(node.name)
                node.set("this", exp.to_identifier(texts[node.name], quoted=True))
        elif isinstance(node, exp.Literal) and node.is_string and node.this in texts:
            missing.discard(node.this)
            node.set("this", texts[node.this])
    if missing:
        lost = texts[min(missing)]
        raise NotExact(f"the parser changes the text '{lost[:40]}'")


def _check_parts(nodes: list[exp.Expression]) -> None:
    """Raise `NotExact` at a part of the query that is not on the list."""
    for node in nodes:
        known = KNOWN_PARTS.get(type(node))
        if known is None:
            raise NotExact(f"{_named(node)} is not on the list")
        for name, value in node.args.items():
            if value in (None, False, []) or name in NOTES or name in known:
                continue
            raise NotExact(f"'{name}' of {_named(node)} is not on the list")


def _named(node: exp.Expression) -> str:
    text = node.sql("spark", comments=False)
    return f"{type(node).__name__} ({text[:60]})"


def _name_relations(nodes: list[exp.Expression]) -> tuple[str, ...]:
    """Make each relation one quoted name, and return the names."""
    found: dict[str, None] = {}
    for table in (node for node in nodes if isinstance(node, exp.Table)):
        parts = [part.name for part in table.parts]
        if len(parts) == 1 and _is_step(table, parts[0].lower()):
            continue
        name = ".".join(parts).lower()
        found[name] = None
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(parts[-1])))
        table.set("this", exp.to_identifier(name, quoted=True))
        table.set("db", None)
        table.set("catalog", None)
    return tuple(found)


def _is_step(table: exp.Table, name: str) -> bool:
    """Return whether a name is a step (`with`) that is visible at this place."""
    node: exp.Expression = table
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.With):
            steps = parent.expressions
            # A step sees the earlier steps, and itself if it may be recursive.
            seen = steps[: _place(steps, node) + bool(parent.args.get("recursive"))]
            # This has covered the query that has the steps.
            parent = parent.parent
        else:
            steps = parent.args.get("with_")
            seen = steps.expressions if steps is not None else []
        if any(step.alias.lower() == name for step in seen):
            return True
        node = parent
    return False


def _place(steps: list[exp.Expression], node: exp.Expression) -> int:
    """Return the index of a step, by identity and not by equality."""
    return next(place for place, step in enumerate(steps) if step is node)


def _call(name: str, *arguments: exp.Expression) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


TAKES_LITERALS = (
    *(exp.Cast, exp.VarMap, exp.RegexpLike, exp.Like, exp.Bracket, exp.DateTrunc),
    *(exp.SHA2, exp.TsOrDsAdd, exp.JSONExtractScalar, exp.SubstringIndex),
)


def _text_literal(node: exp.Literal) -> exp.Expression:
    """Return a text as a varchar, so that DuckDB makes no date or number of it."""
    if not node.is_string:
        _check_number(node)
        return node
    if isinstance(node.parent, TAKES_LITERALS):
        return node
    if isinstance(node.parent, exp.Array) and isinstance(
        node.parent.parent, exp.VarMap
    ):
        return node
    return exp.Cast(this=exp.Literal.string(node.this), to=_text_type())


def _text_type() -> exp.DataType:
    return exp.DataType(this=exp.DataType.Type.TEXT, nested=False)


# Up to this number of digits, both engines make the same decimal in any context.
MOST_DIGITS = 18


def _check_number(node: exp.Literal) -> None:
    """Raise `NotExact` at a number that is a decimal for Spark, and longer for DuckDB.

    Such a number is a whole number beyond the longest type, or a decimal with more than
    MOST_DIGITS digits.
    """
    whole, point, _ = node.this.lower().partition(".")
    if not node.this.replace(".", "").isdigit():
        return
    is_least = isinstance(node.parent, exp.Neg) and node.this in EDGES
    digits = len(node.this.replace(".", "").lstrip("0"))
    is_long = digits > MOST_DIGITS if point else int(whole or 0) >= 2**63
    if is_long and not is_least:
        raise NotExact(f"the number {node.this[:60]}, which is no bigint")


def _cast(node: exp.Cast) -> exp.Expression:
    """Return a cast as a call of the function for its type."""
    name = node.to.this.name if hasattr(node.to.this, "name") else str(node.to.this)
    this = node.this
    if isinstance(this, exp.Null):
        return node
    if isinstance(this, exp.Array) and not this.expressions and name == "ARRAY":
        return node
    if name not in TYPES:
        raise NotExact(f"a cast to {node.to.sql('spark').lower()}")
    if name == "TEXT" and _is_text(this):
        return this.copy()
    is_text = isinstance(this, exp.Literal) and this.is_string
    this = exp.Cast(this=this.copy(), to=_text_type()) if is_text else this.copy()
    tries = bool(node.args.get("safe")) or isinstance(this, exp.RowNumber)
    if name == "DECIMAL":
        return _decimal(node, this)
    function = {
        "TEXT": "spark_text",
        "BIGINT": "spark_try_bigint" if tries else "spark_bigint",
        "INT": "spark_try_int" if tries else "spark_int",
        "BOOLEAN": "spark_boolean",
        "DATE": "spark_date",
        "TIMESTAMPTZ": "spark_timestamp",
    }[name]
    return _call(function, this)


def _decimal(node: exp.Cast, this: exp.Expression) -> exp.Expression:
    """Return a cast to a decimal, of a text with a sign, digits and a point."""
    to = node.to.sql("duckdb")
    value = this.sql("duckdb")
    is_text = f"regexp_full_match(try_cast({value} as varchar), {DECIMAL_TEXT})"
    text = (
        f"case when typeof({value}) in ({WHOLE}, '\"NULL\"', '{to.replace(' ', '')}')"
        f" then try_cast({value} as {to})"
        f" when typeof({value}) = 'VARCHAR' then case when {value} is null then null"
        f" when {is_text} then try_cast({value} as {to})"
        f" else {_fails('a text as a decimal', value)} end"
        f" else {_fails('a cast to a decimal', value)} end"
    )
    return sqlglot.parse_one(text, read="duckdb")


def _concat(node: exp.Concat | exp.DPipe) -> exp.Expression:
    """Return a concatenation of texts: null if one is null."""
    parts = node.expressions or [node.this, node.expression]
    made = [_as_text(part) for part in parts]
    together: exp.Expression = made[0]
    for part in made[1:]:
        together = exp.DPipe(this=together, expression=part)
    return exp.Paren(this=together)


def _concat_ws(node: exp.ConcatWs) -> exp.Expression:
    """Return a concatenation with a separator: it skips null texts."""
    separator, *parts = node.expressions
    if not parts:
        return exp.Cast(this=exp.Literal.string(""), to=_text_type())
    return _call("concat_ws", separator.copy(), *map(_as_text, parts))


# Functions whose result is a text.
TEXTS = ("spark_text", "spark_lower", "spark_upper", "concat_ws")


def _as_text(value: exp.Expression) -> exp.Expression:
    """Return a translated value as a text.

    A function of FUNCTIONS repeats its value, so that nested calls double it each time:
    what is a text already has none.
    """
    return value.copy() if _is_text(value) else _call("spark_text", value.copy())


def _is_text(value: exp.Expression | None) -> bool:
    """Return whether a translated value is a text whatever its columns' types are."""
    if isinstance(value, exp.Paren):
        return _is_text(value.this)
    if isinstance(value, exp.Cast):
        return value.to == _text_type() and isinstance(value.this, exp.Literal)
    if isinstance(value, exp.Coalesce):
        return all(map(_is_text, (value.this, *value.expressions)))
    if isinstance(value, exp.Case):
        given = [branch.args["true"] for branch in value.args["ifs"]]
        default = value.args.get("default")
        return all(map(_is_text, [*given, default] if default else given))
    if isinstance(value, exp.Nullif):
        return _is_text(value.this)
    is_call = isinstance(value, exp.Anonymous) and value.name.lower() in TEXTS
    return is_call or isinstance(value, exp.DPipe)


def _like(node: exp.Like) -> exp.Expression:
    """Return a comparison with a pattern, with the backslash as escape."""
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise NotExact("a pattern of LIKE that is no text")
    if re.sub(r"\\[\\%_]", "", pattern.this).count("\\"):
        raise NotExact("a pattern of LIKE that escapes what needs none")
    negate, like = node.args.get("negate"), node.copy()
    like.set("negate", None)
    escaped = exp.Escape(this=like, expression=exp.Literal.string("\\"))
    return exp.Not(this=exp.Paren(this=escaped)) if negate else escaped


# Letters, classes of ranges, groups and counts: Java and RE2 read them alike.
REGULAR = re.compile(
    r"\^?(?:[A-Za-z0-9 _:,@/!-]|\[\^?(?:[A-Za-z0-9 _:,.@/+!~-]+)\]|\((?![?])|\)|[|]"
    r"|(?<=[\])A-Za-z0-9 ])(?:[?*+]|\{[0-9]+(?:,[0-9]+)?\})(?![?+*{]))*\$?"
)
# Java's `$` also stands before the end of the last line.
LAST_LINE = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?$"


def _regexp(node: exp.RegexpLike) -> exp.Expression:
    """Return a search for a pattern, within the syntax that Java and RE2 share."""
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise NotExact("a pattern of RLIKE that is no text")
    if not REGULAR.fullmatch(pattern.this):
        raise NotExact(f"the regular expression {pattern.this[:60]}")
    text = pattern.this
    if text.endswith("$"):
        text = text[:-1] + LAST_LINE
    return _call("regexp_matches", node.this.copy(), exp.Literal.string(text))


def _literal_number(node: exp.Expression, what: str) -> int:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        return int(node.this)
    raise NotExact(f"{what} that is no plain number")


def _divided(node: exp.IntDiv | exp.Mod) -> exp.Expression:
    """Return an integer division or a remainder, by a number that is not 0."""
    if not _literal_number(node.expression, "a divisor"):
        raise NotExact("a division by 0")
    if isinstance(node, exp.Mod):
        return node
    return _call("spark_div", node.this.copy(), node.expression.copy())


def _slice(node: exp.ArraySlice) -> exp.Expression:
    """Return a slice of an array, by place and length."""
    first = _literal_number(node.args["start"], "a place in an array")
    number = _literal_number(node.args["end"], "a number of values")
    if not first or not number:
        raise NotExact("a place in an array, or a number of values, that is 0")
    ends = (exp.Literal.number(first), exp.Literal.number(first + number - 1))
    return _call("list_slice", node.this.copy(), *ends)


def _ends(node: exp.Left | exp.Right) -> exp.Expression:
    _literal_number(node.expression, "a length")
    return node


def _substring(node: exp.Substring) -> exp.Expression:
    if not _literal_number(node.args["start"], "a place in a text"):
        raise NotExact("a place in a text that is 0")
    if length := node.args.get("length"):
        # DuckDB counts backwards for a negative length.
        node.set("length", _call("spark_at_least_0", length.copy()))
    return node


def _before(node: exp.SubstringIndex) -> exp.Expression:
    """Return the text before the first occurrence of a delimiter."""
    delimiter, count = node.args["delimiter"], node.args["count"]
    if _literal_number(count, "a count of delimiters") != 1 or not delimiter.name:
        raise NotExact("a text before other than the first delimiter")
    return _call("split_part", node.this.copy(), delimiter.copy(), count.copy())


def _trim(node: exp.Trim) -> exp.Expression:
    """Return a text without spaces at its ends: DuckDB alone takes away more."""
    return _call("trim", node.this.copy(), exp.Literal.string(" "))


def _sha(node: exp.SHA2) -> exp.Expression:
    if _literal_number(node.args["length"], "a length") != 256:
        raise NotExact("a digest of other than 256 bits")
    return _call("sha256", node.this.copy())


def _options(node: exp.Expression | None) -> dict[str, str]:
    if not isinstance(node, exp.VarMap):
        raise NotExact("options that are no map")
    keys, values = node.args["keys"].expressions, node.args["values"].expressions
    return {k.name: v.name for k, v in zip(keys, values, strict=True)}


def _json(node: exp.JSONFormat) -> exp.Expression:
    """Return a value as JSON, including null fields."""
    options = dict(_options(node.args.get("options")))
    if options.pop("ignoreNullFields", None) != "false" or options:
        raise NotExact("JSON with other options than ignoreNullFields=false")
    return exp.Cast(this=_call("to_json", node.this.copy()), to=_text_type())


def _json_field(node: exp.JSONExtractScalar) -> exp.Expression:
    """Return the text in a field of a JSON object, or null."""
    path = node.expression
    if not isinstance(path, exp.Literal) or not JSON_FIELD.fullmatch(path.name):
        raise NotExact("a path in JSON that is no field of an object")
    return _call("spark_field", node.this.copy(), path.copy())


def _anonymous(node: exp.Anonymous) -> exp.Expression:
    """Return a function that has no class of its own in sqlglot."""
    name, given = node.name.lower(), node.expressions
    if name == "btrim" and len(given) == 2:
        return _call("trim", *(each.copy() for each in given))
    if name == "pmod" and len(given) == 2:
        if not _literal_number(given[1], "a divisor"):
            raise NotExact("a division by 0")
        return _call("spark_pmod", *(each.copy() for each in given))
    if name == "timestamp_micros" and len(given) == 1:
        return _call("make_timestamptz", given[0].copy())
    if name == "to_csv" and len(given) == 2 and isinstance(given[0], exp.Struct):
        (field,) = given[0].expressions
        if _options(given[1]) == CSV_OPTIONS:
            return _call("spark_csv", _value(field).copy())
        raise NotExact("CSV with other options")
    if name == "xxhash64" and given:
        texts = [_as_text(each) for each in given]
        return _call("spark_fingerprint", exp.Array(expressions=texts))
    if name in BARRIERS and not given:
        # A condition on it is always true; it only keeps Spark from moving others.
        return exp.Literal.number(0)
    raise NotExact(f"the function {name}")


def _inline(node: exp.Inline) -> exp.Expression:
    """Return the structs of an array as rows of columns."""
    if isinstance(node.parent, exp.Lateral):
        return node
    if not isinstance(node.parent, exp.Select):
        raise NotExact("INLINE but in a list of columns")
    recursive = exp.Kwarg(this=exp.var("max_depth"), expression=exp.Literal.number(2))
    return _call("unnest", node.this.copy(), recursive)


def _select(node: exp.Select) -> exp.Expression:
    """Return a query whose `lateral view` is a join with the structs as rows."""
    for view in node.args.get("laterals") or []:
        alias, array = view.args["alias"], view.this.this
        structs = array.expressions if isinstance(array, exp.Array) else []
        if not structs or not all(isinstance(each, exp.Struct) for each in structs):
            raise NotExact("a lateral view of other than listed structs")
        if len(structs) == 1 and _put_in(node, alias, structs[0]):
            continue
        rows = [
            exp.select(*(_value(field).copy() for field in each.expressions))
            for each in structs
        ]
        made = rows[0] if len(rows) == 1 else exp.union(*rows, distinct=False)
        lateral = exp.Lateral(this=exp.Subquery(this=made), alias=alias.copy())
        node.append("joins", exp.Join(this=lateral, kind="CROSS"))
    node.set("laterals", None)
    return node


def _put_in(node: exp.Select, alias: exp.TableAlias, row: exp.Struct) -> bool:
    """Replace the columns of a one-row view by its values; return whether it did.

    Thus a filter on a row's user still reaches the sources of the row.
    """
    names = [column.name.lower() for column in alias.columns]
    values = dict(zip(names, map(_value, row.expressions), strict=True))
    named = [
        column for column in node.find_all(exp.Column) if column.name.lower() in values
    ]
    name = alias.name.lower()
    is_plain = len(node.args.get("laterals") or []) == 1 and all(
        column.parent_select is node and column.table for column in named
    )
    stars = [star for star in node.expressions if star.is_star]
    if not is_plain or stars or node.find(exp.Subquery):
        return False
    for column in named:
        if column.table.lower() != name:
            continue
        value: exp.Expression = exp.paren(values[column.name.lower()].copy())
        if column.parent is node and column.arg_key == "expressions":
            value = exp.alias_(value, column.name, quoted=True)
        column.replace(value)
    return True


def _value(field: exp.Expression) -> exp.Expression:
    """Return the value of a field of a struct."""
    return field.expression if isinstance(field, exp.PropertyEQ) else field


def _sorted(node: exp.ArraySort) -> exp.Expression:
    is_first = node.args["nulls_first"].this
    ends = "NULLS FIRST" if is_first else "NULLS LAST"
    order = (exp.Literal.string("ASC"), exp.Literal.string(ends))
    return _call("list_sort", node.this.copy(), *order)


def _collected(node: exp.ArrayAgg | exp.ArrayUniqueAgg) -> exp.Expression:
    """Return the values of a group as an array, empty rather than null."""
    if isinstance(node.parent, exp.Window | exp.Filter):
        raise NotExact("a window or a filter of collected values")
    value = node.this.sql("duckdb")
    each = "distinct " if isinstance(node, exp.ArrayUniqueAgg) else ""
    text = f"coalesce(list({each}{value}) filter (where {value} is not null), [])"
    return sqlglot.parse_one(text, read="duckdb")


def _extreme_of(node: exp.ArgMin | exp.ArgMax) -> exp.Expression:
    name = "arg_min_null" if isinstance(node, exp.ArgMin) else "arg_max_null"
    return _call(name, node.this.copy(), node.expression.copy())


def _sum(node: exp.Sum) -> exp.Expression:
    if isinstance(node.parent, exp.Window):
        raise NotExact("a sum over a window")
    return _call("spark_sum", node.this.copy())


def _count(node: exp.Count) -> exp.Expression:
    distinct = node.this
    if isinstance(distinct, exp.Distinct) and len(distinct.expressions) != 1:
        raise NotExact("a count of distinct values of several columns")
    return node


def _count_if(node: exp.CountIf) -> exp.Expression:
    """Return a count that is 0 if all values are null; DuckDB's own would be null."""
    ifs = [exp.If(this=node.this.copy(), true=exp.Literal.number(1))]
    return exp.Count(this=exp.Case(ifs=ifs), big_int=True)


def _window(node: exp.Window) -> exp.Expression:
    if isinstance(node.this, exp.ArgMin | exp.ArgMax):
        raise NotExact("a window of the value at an extreme")
    if isinstance(node.this, exp.RowNumber | exp.Rank | exp.DenseRank):
        return exp.Cast(this=node.copy(), to=exp.DataType.build("int"))
    return node


# With a sign, each is the least number of a type; DuckDB gives it a longer type.
EDGES = {"2147483648": "int", "9223372036854775808": "bigint"}


def _compared(node: exp.Expression) -> exp.Expression:
    """Return a comparison of structs by the places of their fields.

    DuckDB compares them by their names.
    """
    sides = [node.this, node.args.get("expression"), *node.expressions]
    structs = [each.unnest() for each in sides if each is not None]
    structs = [each for each in structs if isinstance(each, exp.Struct)]
    if structs and isinstance(node, ORDERS):
        raise NotExact("an order of structs, in which a null may come first")
    if len({len(each.expressions) for each in structs}) > 1:
        raise NotExact("a comparison of structs of other fields")
    if len(structs) > 1:
        for struct in structs:
            fields = [
                exp.PropertyEQ(
                    this=exp.to_identifier(f"c{number}"), expression=_value(each).copy()
                )
                for number, each in enumerate(struct.expressions)
            ]
            struct.set("expressions", fields)
    return node


def _sum_or_product(node: exp.Add | exp.Sub | exp.Mul) -> exp.Expression:
    """Return a sum or product, checked as a whole."""
    place: exp.Expression = node
    while isinstance(place.parent, exp.Paren):
        place = place.parent
    if isinstance(place.parent, exp.Add | exp.Sub | exp.Mul):
        return node
    return _call("spark_computed", node.copy())


def _ordered(node: exp.Greatest | exp.Least) -> exp.Expression:
    return _call("spark_ordered", node.copy())


def _negated(node: exp.Neg) -> exp.Expression:
    if isinstance(node.this, exp.Literal):
        kind = None if node.this.is_string else EDGES.get(node.this.name)
        to = kind and exp.DataType.build(kind)
        return exp.Cast(this=node.copy(), to=to) if to else node
    # DuckDB's own minus gives the least number a longer type.
    zero = exp.Literal.number(0)
    less = exp.Paren(this=exp.Sub(this=zero, expression=node.this.copy()))
    return _call("spark_computed", less)


def _trunc(node: exp.DateTrunc) -> exp.Expression:
    if node.args["unit"].name.upper() != "MONTH":
        raise NotExact("a date cut at other than a month")
    return _call("spark_month", node.this.copy())


def _days(node: exp.TsOrDsAdd) -> exp.Expression:
    days = node.expression
    if node.args["unit"].name.upper() != "DAY":
        raise NotExact("a date moved by other than days")
    return _call("spark_date_add", node.this.copy(), days.copy())


def _field(node: exp.Bracket) -> exp.Expression:
    """Return the field of a struct by its name."""
    (key,) = node.expressions
    if not (isinstance(key, exp.Literal) and key.is_string):
        raise NotExact("a place in an array")
    return _call("struct_extract", node.this.copy(), key.copy())


def _join(node: exp.Join) -> exp.Expression:
    if (node.side, node.kind) not in JOINS:
        raise NotExact(f"the join {node.side} {node.kind}".strip())
    return node


JOINS = {
    *(("", ""), ("", "INNER"), ("", "CROSS"), ("LEFT", ""), ("LEFT", "OUTER")),
    *(("LEFT", "SEMI"), ("LEFT", "ANTI"), ("", "SEMI"), ("", "ANTI")),
    *(("FULL", ""), ("FULL", "OUTER")),
}


def _one(name: str) -> Callable[[exp.Expression], exp.Expression]:
    return lambda node: _call(name, node.this.copy())


def _contains(node: exp.ArrayContains) -> exp.Expression:
    return _call("spark_contains", node.this.copy(), node.expression.copy())


def _array_text(node: exp.ArrayToString) -> exp.Expression:
    return _call("spark_join", node.this.copy(), node.expression.copy())


REWRITES: dict[type[exp.Expression], Callable[..., exp.Expression]] = {
    **dict.fromkeys((*COMPARISONS, exp.In), _compared),
    exp.Literal: _text_literal,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Concat: _concat,
    exp.DPipe: _concat,
    exp.ConcatWs: _concat_ws,
    exp.Like: _like,
    exp.RegexpLike: _regexp,
    exp.IntDiv: _divided,
    exp.Mod: _divided,
    exp.Left: _ends,
    exp.Length: _one("spark_length"),
    exp.Add: _sum_or_product,
    exp.Sub: _sum_or_product,
    exp.Mul: _sum_or_product,
    exp.Neg: _negated,
    exp.Right: _ends,
    exp.Greatest: _ordered,
    exp.Least: _ordered,
    exp.SHA2: _sha,
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.SubstringIndex: _before,
    exp.JSONFormat: _json,
    exp.JSONExtractScalar: _json_field,
    exp.Anonymous: _anonymous,
    exp.Typeof: _one("spark_typeof"),
    exp.Inline: _inline,
    exp.Explode: _one("unnest"),
    exp.ArraySlice: _slice,
    exp.ArraySort: _sorted,
    exp.ArrayAgg: _collected,
    exp.ArrayUniqueAgg: _collected,
    exp.ArgMin: _extreme_of,
    exp.ArgMax: _extreme_of,
    exp.Sum: _sum,
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Window: _window,
    exp.DateTrunc: _trunc,
    exp.TsOrDsAdd: _days,
    exp.TsOrDsToDate: _one("spark_date"),
    exp.Year: _one("spark_year"),
    exp.DateFromUnixDate: _one("spark_day"),
    exp.UnixMicros: _one("spark_micros"),
    exp.Lower: _one("spark_lower"),
    exp.Upper: _one("spark_upper"),
    exp.ArraySize: _one("spark_size"),
    exp.Flatten: _one("spark_flatten"),
    exp.ArrayContains: _contains,
    exp.ArrayToString: _array_text,
    exp.Bracket: _field,
    exp.Join: _join,
    exp.Select: _select,
}


def _check_text(tree: exp.Expression) -> str | None:
    """Return the query with each comparison in a form that binds for one kind only.

    DuckDB compares a number with a text as texts, and Spark as numbers. DuckDB refuses
    a `coalesce` of the two when it binds. This function modifies the tree.
    """
    found = [
        node
        for node in tree.find_all(*COMPARISONS, exp.In, exp.Nullif)
        if not isinstance(node, exp.In) or node.expressions
    ]
    for node in reversed(found):
        others = node.expressions if isinstance(node, exp.In) else [node.expression]
        place = exp.Null()
        node.replace(place)
        both = exp.Coalesce(this=node.this, expressions=others)
        if isinstance(node, exp.Nullif):
            place.replace(both)
        else:
            place.replace(exp.Paren(this=exp.Is(this=both, expression=exp.null())))
    return tree.sql("duckdb", comments=False, copy=False) if found else None
