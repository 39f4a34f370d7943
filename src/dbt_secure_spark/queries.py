"""Find the relations that a query reads, and replace some of them by queries."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dbt_common.exceptions import CompilationError

from dbt_secure_spark.hidden_reads import first_that_hides
from dbt_secure_spark.python_columns import are_columns_in, makes_query
from dbt_secure_spark.versions import NAMED_VERSION

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokens import Token

# Table functions that read no relation.
READ_NOTHING = {"explode", "explode_outer", "inline", "inline_outer", "json_tuple"}
READ_NOTHING |= {"posexplode", "posexplode_outer", "range", "stack"}
# Functions of Python models with a text for Spark, and the query that each makes.
QUERIES = {
    "call_function": "select {}()",
    "call_udf": "select {}()",
    "expr": "select {}",
    "filter": "select {}",
    "selectExpr": "select {}",
    "sql": "{}",
    "table": "select * from {}",
    "where": "select {}",
}
# The keys of `QUERIES` that are functions, and may be called without an object.
FUNCTIONS = {"call_function", "call_udf", "expr"}
# The keys of `QUERIES` that also take a column in place of the text.
TAKE_COLUMNS = {"filter", "where"}
# Attributes of a session that read files, streams and table functions.
READERS = {"read", "readStream", "sparkContext", "tvf"}
TEMPORARY_VIEW = re.compile(r"create(OrReplace)?TempView")
# The rendered words of rows for everyone.
OF_NOBODY = ["cast", "(", "null", "as", "bigint", ")", "as", "user_id"]
# The pieces of a query in Spark's lexer: texts, raw or not, names, signs and the
# beginnings of comments. The reader of the config's expressions refuses comments and
# unknown signs; a view may have any.
PIECE = re.compile(
    "|".join(
        (
            # A backslash at its end continues the comment on the next line.
            r"(?P<line>--(?:\\\n|[^\r\n])*)",
            r"(?P<hint>/\*\+)",
            r"(?P<comment>/\*)",
            r"(?P<end>\*/)",
            r"(?P<text>r'[^']*'|r\"[^\"]*\"|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")",
            r"(?P<name>`(?:[^`]|``)*`|\w+)",
            r"(?P<space>\s+)",
            r"(?P<sign>.)",
        )
    ),
    re.I | re.S,
)
# In a comment, a nested comment begins or one ends. A hint is no comment.
OF_COMMENT = re.compile(r"/\*(?!\+)|\*/")
NARROWED = re.compile(r"\bwith (narrowed_before|untested)_\w+ as \(")
# The snapshot of a version of Iceberg, after its name.
AS_OF = re.compile(r"\s+version\s+as\s+of\s+(?P<snapshot>[0-9]+)\b", re.I)
PART_OF_NAME = re.compile(r"`(?:[^`]|``)*`|[^.`]+")


class DottedName(NamedTuple):
    """A name `<part>.<part>` in a query, outside of texts and comments.

    parts      in lower case, without backticks; the last may be a star
    places     where each begins and ends
    is_called  whether a parenthesis follows, as after a function's name
    """

    parts: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    is_called: bool


def names(sql: str | None, relation: str) -> bool:
    """Return whether a query names a relation."""
    return bool(_places(sql or "", relation))


def replaced(sql: str, name: str, by: str) -> str:
    """Replace a relation's name in a query, outside of texts and comments."""
    return _changed(sql, [(*place, by) for place in _places(sql, name)])


def in_catalog(
    sql: str, relations: str, catalog: str, schemas: Iterable[str] = ()
) -> str:
    """Put a catalog in front of the relations and functions that a query names.

    relations  a pattern of the relations' names
    schemas    the functions' schemas
    """
    pattern = re.compile(relations, re.I)
    found = [
        (name, 2)
        for name in _dotted_names(sql)
        if not name.is_called and pattern.fullmatch(".".join(name.parts[:2]))
    ]
    functions = [name for name in _functions(sql, 2) if name.parts[0] in schemas]
    starts = [name.places[0][0] for name in _of_relations(sql, found) + functions]
    return _changed(sql, [(start, start, f"{catalog}.") for start in starts])


def in_catalog_of_versions(sql: str, catalog: str) -> str:
    """Put a catalog in front of each version that a statement of any kind names."""
    starts = [
        name.places[0][0]
        for name in _dotted_names(sql)
        if NAMED_VERSION.fullmatch(".".join(name.parts[:2]))
    ]
    return _changed(sql, [(start, start, f"{catalog}.") for start in starts])


def without_catalog(sql: str, catalog: str, relations: str = ".*") -> str:
    """Remove a catalog wherever `in_catalog`, or a person, has put it.

    relations  a pattern of the names that lose it
    """
    (own,) = _parts(catalog)
    pattern = re.compile(relations, re.I | re.S)
    found = [
        (name, 3)
        for name in _dotted_names(sql)
        if not name.is_called
        and len(name.parts) > 2
        and name.parts[0] == own
        and pattern.fullmatch(".".join(name.parts[1:3]))
    ]
    functions = [
        name
        for name in _functions(sql, 3)
        if name.parts[0] == own and pattern.fullmatch(".".join(name.parts[1:]))
    ]
    return _changed(
        sql,
        [
            (name.places[0][0], name.places[1][0], "")
            for name in _of_relations(sql, found) + functions
        ],
    )


def with_snapshots(sql: str, snapshots: Mapping[str, int]) -> str:
    """Add the snapshot to each version that a query reads, unless it names one."""
    return _changed(
        sql,
        [
            (end, end, f" version as of {snapshots[version]}")
            for version, end, found in _snapshots(sql)
            if version in snapshots and found is None
        ],
    )


def without_snapshots(sql: str, snapshots: Mapping[str, int]) -> str:
    """Remove what `with_snapshots` has added; a different snapshot stays."""
    return _changed(
        sql,
        [
            (end, found.end(), "")
            for version, end, found in _snapshots(sql)
            if found and int(found["snapshot"]) == snapshots.get(version)
        ],
    )


def versions_with_snapshots(sql: str) -> list[str]:
    """Return the versions that a query reads as of a snapshot, wherever it does."""
    found = [(version, is_pinned) for version, _, is_pinned in _snapshots(sql)]
    pinned = {version for version, is_pinned in found if is_pinned}
    return sorted(pinned - {version for version, is_pinned in found if not is_pinned})


def _snapshots(sql: str) -> Iterator[tuple[str, int, re.Match[str] | None]]:
    """Yield each version that a query reads, where its name ends, and its snapshot."""
    for name in _dotted_names(sql):
        version = ".".join(name.parts[-2:])
        # A column has a further part, and a metadata table too.
        if len(name.parts) < 4 and NAMED_VERSION.fullmatch(version):
            end = name.places[-1][1]
            yield version, end, AS_OF.match(sql, end)


def schemas_of_functions(sql: str) -> set[str]:
    """Return the schemas of the functions that a query calls by two-part names."""
    return {name.parts[0] for name in _functions(sql, 2)}


def _functions(sql: str, number: int) -> list[DottedName]:
    return [
        name
        for name in _dotted_names(sql)
        if name.is_called and len(name.parts) == number
    ]


def _places(sql: str, relation: str) -> list[tuple[int, int]]:
    """Return where a query names a relation, or a column by the relation's name.

    The spelling counts: dbt-spark writes no backticks around a relation's parts.
    """
    if relation.lower() not in sql.lower():
        return []
    parts = _parts(relation)
    number = len(parts)
    found = [
        (name, number)
        for name in _dotted_names(sql)
        if not name.is_called
        and name.parts[:number] == parts
        and sql[slice(*_place(name, number))].lower() == relation.lower()
    ]
    return [_place(name, number) for name in _of_relations(sql, found)]


def _place(name: DottedName, number: int) -> tuple[int, int]:
    return name.places[0][0], name.places[number - 1][1]


def _of_relations(sql: str, found: list[tuple[DottedName, int]]) -> list[DottedName]:
    """Leave out columns: an alias may have the name of a schema or catalog.

    found  names that may be a relation's, and the relation's number of parts

    If the query can't be parsed, all names stay.
    """
    if not found:
        return []
    places = _places_of_names(sql)
    if places is None:
        return [name for name, _ in found]
    bare, of_tables, of_columns = places

    def is_named(name: DottedName, number: int) -> bool:
        start, is_longer = name.places[0][0], len(name.parts) > number
        if start in of_columns:
            return is_longer and name.parts[:number] in bare
        # A longer name is a table in a different catalog.
        return not (start in of_tables and is_longer)

    return [name for name, number in found if is_named(name, number)]


@lru_cache(maxsize=256)
def _places_of_names(
    sql: str,
) -> tuple[set[tuple[str, ...]], set[int], set[int]] | None:
    """Return the tables without an alias, and where tables and columns begin.

    None if the query can't be parsed.
    """
    from sqlglot import exp

    try:
        tree = _tree("a query", sql)
    except CompilationError:
        return None
    tables = [t for t in _tables(tree) if isinstance(t.this, exp.Identifier)]
    bare = {_lower(table.parts) for table in tables if not table.args.get("alias")}
    of_tables = {_start(table.parts[0]) for table in tables}
    return bare, of_tables, _starts_of_columns(tree)


def _starts_of_columns(tree: exp.Expression) -> set[int]:
    """Return where the columns and the field accesses of a query begin."""
    from sqlglot import exp

    firsts = [
        column.parts[0]
        for column in tree.find_all(exp.Column)
        # `f(table(<relation>))`
        if not (isinstance(column.parent, exp.Anonymous) and _is_table(column.parent))
    ]
    firsts += [dot.this for dot in tree.find_all(exp.Dot)]
    return {first.meta["start"] for first in firsts if "start" in first.meta}


def _is_table(function: exp.Anonymous) -> bool:
    return function.name.lower() == "table"


def _changed(sql: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """Replace parts of a query by texts."""
    for start, end, text in sorted(changes, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


@lru_cache(maxsize=256)
def _dotted_names(sql: str) -> tuple[DottedName, ...]:
    """Return the names of a query that have several parts."""
    found: list[DottedName] = []
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    is_after_dot = is_part = False

    def end(is_called: bool = False) -> None:
        if len(parts) > 1 and not is_part:
            found.append(DottedName(tuple(parts), tuple(places), is_called))
        parts.clear()
        places.clear()

    for kind, start, stop in _pieces(sql):
        piece = sql[start:stop]
        if kind == "name" or (piece == "*" and is_after_dot):
            if not is_after_dot:
                end()
                is_part = False
            parts.append(_unquoted(piece))
            places.append((start, stop))
            is_after_dot = False
        elif piece == ".":
            # After any piece but a name, a dot accesses a field of a value.
            is_part = is_part if parts else True
            is_after_dot = True
        else:
            end(is_called=piece == "(")
            is_after_dot = is_part = False
    end()
    return tuple(found)


def reads_narrowed(sql: str) -> bool:
    """Return whether a query contains a narrowed view's query, or an untested one's."""
    return bool(NARROWED.search(sql))


def name_of_untested(identifier: str) -> str:
    """Return the name of the first CTE of a new view, until its tests."""
    return f"untested_{_word_of(identifier)}"


def names_of_narrowed(identifier: str) -> tuple[str, str]:
    """Return the names of the two CTEs with which a narrowed view begins.

    Each view has its own names, since its query may contain a narrowed view's query.
    """
    word = _word_of(identifier)
    return f"narrowed_before_{word}", f"narrowed_now_{word}"


def _word_of(identifier: str) -> str:
    """Return a view's name as a part of names that need no quotes."""
    return re.sub(r"[^a-z0-9]", "_", identifier.lower())


def parts_of_narrowed(text: str, identifier: str) -> tuple[str, str]:
    """Return a view's last query before it was narrowed, and its current query.

    Both are its text, unless the view is narrowed to the rows that both queries show.
    """
    parts, rest = [], text
    for start, name in zip(
        ("with", "),\n\n"), names_of_narrowed(identifier), strict=True
    ):
        head = f"{start}{'' if parts else ' '}{name} as (\n"
        if not rest.startswith(head):
            return text, text
        rest = rest.removeprefix(head)
        end = _end_of_brackets(rest)
        parts.append(rest[:end].removesuffix("\n"))
        rest = rest[end:]
    return parts[0], parts[1]


def _end_of_brackets(sql: str) -> int:
    """Return where the bracket around a query closes."""
    depth = 1
    for _, start, end in _pieces(sql):
        depth += {"(": 1, ")": -1}.get(sql[start:end], 0)
        if not depth:
            return start
    return len(sql)


def _pieces(sql: str) -> Iterator[tuple[str, int, int]]:
    """Yield names, texts and signs with their places, no comments, hints nor spaces."""
    place, is_hint = 0, False
    while found := PIECE.match(sql, place):
        place = found.end()
        kind = str(found.lastgroup)
        if kind == "comment":
            place = _end_of_comment(sql, place)
        elif kind in ("hint", "end"):
            is_hint = kind == "hint"
        elif kind not in ("line", "space") and not is_hint:
            yield kind, found.start(), place


def pieces_of_statement(sql: str) -> list[str]:
    """Return the pieces of a query, without spaces and comments.

    Two adjacent texts are one text that contains a quote.
    """
    found: list[str] = []
    ended = -1
    for kind, start, end in _pieces(sql):
        if kind == "text" and start == ended:
            found[-1] += sql[start:end]
        elif sql[start:end] != ";":
            found.append(sql[start:end])
        ended = end if kind == "text" else -1
    return found


def _end_of_comment(sql: str, place: int) -> int:
    """Return where a comment ends; comments may be nested."""
    depth = 1
    for found in OF_COMMENT.finditer(sql, place):
        depth += 1 if found[0] == "/*" else -1
        if not depth:
            return found.end()
    return len(sql)


def _parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name, as `_dotted_names` gives them."""
    return tuple(map(_unquoted, PART_OF_NAME.findall(name)))


def _unquoted(part: str) -> str:
    inner = part[1:-1].replace("``", "`") if part.startswith("`") else part
    return inner.lower()


def relations_read(node_name: str, sql: str) -> list[str]:
    """Return the relations that a query reads, its own CTEs aside, in lower case.

    Table functions are included, unless they are known to read none.
    """
    with _told(node_name):
        return list(_relations_of(sql))


@lru_cache(maxsize=256)
def _relations_of(sql: str) -> tuple[str, ...]:
    from sqlglot import exp

    found, tree = [], _parsed(sql)
    if isinstance(tree, exp.Alias):
        # `table t`, whose first word the parser takes for a column's name.
        found.append(tree.alias.lower())
    for table in _tables(tree):
        if isinstance(table.this, exp.Identifier):
            found.append(_name(table.parts))
        elif table.db or not _reads_nothing(table.this):
            found.append(table.sql("spark"))
    return tuple(dict.fromkeys(found))


def read_by_conditions(node_name: str, sql: str) -> set[str]:
    """Return the relations that a query reads in a condition or a mask."""
    from sqlglot import exp

    return {
        _name(table.parts)
        for table in _tables(_tree(node_name, sql))
        if isinstance(table.this, exp.Identifier)
        and table.find_ancestor(exp.Where, exp.Case)
    }


def values_made(node_name: str, sql: str, columns: Collection[str]) -> dict[str, set]:
    """Return the expressions, except plain columns, that a query has for columns.

    Each column maps to all expressions with its name as alias; a case counts as its
    branches.
    """
    from sqlglot import exp

    found: dict[str, set[str]] = {column: set() for column in columns}
    for alias in _tree(node_name, sql).find_all(exp.Alias):
        if (name := alias.alias.lower()) in found:
            value = alias.this
            values = [value]
            if isinstance(value, exp.Case) and not value.this:
                values = [each.args["true"] for each in value.args["ifs"]]
                values += filter(None, [value.args.get("default")])
            found[name] |= {
                each.sql("spark") for each in values if not isinstance(each, exp.Column)
            }
    return found


def names_read(node_name: str, sql: str) -> list[list[str]]:
    """Return the names of the relations that a query reads, by their parts."""
    from sqlglot import exp

    return [
        [part.name for part in table.parts]
        for table in _tables(_tree(node_name, sql))
        if isinstance(table.this, exp.Identifier)
    ]


def _reads_nothing(function: exp.Expression) -> bool:
    from sqlglot import exp

    names = {function.name.lower()}
    if isinstance(function, exp.Func):
        names.add(function.sql_name().lower())
    return bool(names & READ_NOTHING)


def with_queries(
    node_name: str, sql: str, views: Iterable[str], text_of: Callable[[str], str]
) -> str:
    """Replace the views that a query reads by their queries.

    The remaining text is unchanged.

    views    the relations that are views, in lower case
    text_of  gives the query of one of them
    """
    from sqlglot import exp

    tree = _tree(node_name, sql)
    changes, bare = [], set()
    for table in _tables(tree):
        view = _name(table.parts)
        if view in views:
            query = text_of(view)
            for read in relations_read(view, query):
                if "." not in read:
                    raise CompilationError(
                        f"'{node_name}' reads {view}, which names {read} without its"
                        " schema: another relation could be meant where it is read."
                    )
            # Without an alias, columns may be qualified by the view's name.
            is_bare = {key for key, value in table.args.items() if value} <= {
                "this",
                "db",
            }
            alias = f" as {table.name}" if is_bare else ""
            if not table.args.get("alias"):
                bare.add(view)
            place = (_start(table.parts[0]), _end(table.parts[-1]))
            changes.append((*place, f"(\n{query}\n){alias}"))
    for column in tree.find_all(exp.Column):
        if len(column.parts) > 2 and _name(column.parts[:2]) in bare:
            changes.append((_start(column.parts[0]), _start(column.parts[1]), ""))
    return _changed(sql, changes)


class Match(NamedTuple):
    """A condition `<alias>.<column> = <other column>` of an inner join."""

    end: int
    column: str
    other: str


class Text(NamedTuple):
    """A condition `<alias>.<column> = '<value>'` that every row of a query meets."""

    start: int
    column: str
    value: str


class PlainRead(NamedTuple):
    """How a query reads a relation: its alias as written, and what rows must meet."""

    alias: str
    matches: list[Match]
    texts: list[Text]


def plain_reads(
    node_name: str, sql: str, relation: str, unnamed: str
) -> list[PlainRead]:
    """Return how a query reads a relation, one `PlainRead` for each time.

    Empty unless each read is plain: the relation is read directly and under an alias,
    no star selects its columns, and the query does not contain the name `unnamed`.
    """
    if unnamed.lower() in sql.lower():
        return []
    found = []
    for table in _tables(_tree(node_name, sql)):
        if _name(table.parts) == relation.lower():
            read = _plain_read(table)
            if read is None:
                return []
            # The parser may read an escape differently from Spark.
            found.append(read._replace(texts=[]) if "\\" in sql else read)
    return found


def _plain_read(table: exp.Table) -> PlainRead | None:
    """Return how a query reads a table; None if the read is not plain."""
    from sqlglot import exp

    select = table.find_ancestor(exp.Select)
    if select is None:
        return None
    joins = select.args.get("joins") or []
    members = [select.args.get("from_") or select.args.get("from"), *joins]
    is_direct = any(table is getattr(member, "this", None) for member in members)
    is_bare = {name for name, value in table.args.items() if value} == {
        *("this", "db", "alias")
    }
    alias = table.args.get("alias")
    if not (is_direct and is_bare and _is_plain(alias)):
        return None
    if any(part.quoted for part in table.parts) or _has_star(select):
        return None
    if any(join.args.get("method") or join.args.get("using") for join in joins):
        return None
    # A pivot groups by all columns that it does not name.
    if any(
        each.find_ancestor(exp.Select) is select for each in select.find_all(exp.Pivot)
    ):
        return None
    called = [member.this.alias_or_name.lower() for member in members]
    own = alias.name.lower()
    if called.count(own) != 1:
        return None
    others = {name for name in called if called.count(name) == 1} - {own}
    conditions = [
        join.args["on"]
        for join in joins
        if not join.side and join.kind in ("", "INNER") and join.args.get("on")
    ]
    matches = [
        match
        for condition in conditions
        for equality in _all_of(condition)
        if (match := _match(equality, own, others))
    ]
    where = select.args.get("where")
    texts = [
        text
        for equality in _all_of(where.this if where else None)
        if (text := _text(equality, own))
    ]
    return PlainRead(alias.name, matches, texts)


def _match(condition: exp.Expression, own: str, others: set[str]) -> Match | None:
    """Return a condition as a `Match` between two relations' columns, if it is one."""
    from sqlglot import exp

    sides = [condition.args.get("this"), condition.args.get("expression")]
    if not isinstance(condition, exp.EQ) or not all(map(_is_of_an_alias, sides)):
        return None
    sides.sort(key=lambda side: side.table.lower() != own)
    if sides[0].table.lower() != own or sides[1].table.lower() not in others:
        return None
    end = max(_end(side.parts[-1]) for side in sides)
    return Match(end, sides[0].name.lower(), sides[1].sql("spark"))


def _text(condition: exp.Expression, own: str) -> Text | None:
    """Return a condition as a `Text`, between a column and a text, if it is one."""
    from sqlglot import exp

    column, text = condition.args.get("this"), condition.args.get("expression")
    if not isinstance(condition, exp.EQ) or not _is_of_an_alias(column):
        return None
    if not (isinstance(text, exp.Literal) and text.is_string):
        return None
    if column.table.lower() != own:
        return None
    return Text(_start(column.parts[0]), column.name.lower(), text.this)


def _is_of_an_alias(side: exp.Expression | None) -> bool:
    """Return whether this is a column qualified by one name."""
    from sqlglot import exp

    return isinstance(side, exp.Column) and len(side.parts) == 2


def _is_plain(alias: exp.TableAlias | None) -> bool:
    """Return whether an alias is one unquoted word, without names of columns."""
    is_word = alias is not None and alias.this is not None and not alias.this.quoted
    return is_word and not alias.args.get("columns")


def _has_star(select: exp.Select) -> bool:
    """Return whether a query has a star, except in counting rows."""
    from sqlglot import exp

    return any(
        star.find_ancestor(exp.Select) is select
        and not (
            isinstance(star.parent, exp.Count)
            and not star.parent.args.get("expressions")
            and not any(star.args.values())
        )
        for star in select.find_all(exp.Star)
    )


def _all_of(condition: exp.Expression | None) -> list[exp.Expression]:
    """Return the conditions that must all hold for one to hold."""
    from sqlglot import exp

    if condition is None:
        return []
    if isinstance(condition, exp.Paren):
        return _all_of(condition.this)
    if isinstance(condition, exp.And):
        return _all_of(condition.this) + _all_of(condition.expression)
    return [condition]


def functions_of_people(node_name: str, sql: str) -> dict[str, bool]:
    """Return the functions that a query may call beyond Spark's own, quoted.

    The value is whether the name may also be no function at all.
    """
    with _told(node_name):
        return dict(_functions_of(sql))


@lru_cache(maxsize=256)
def _functions_of(sql: str) -> tuple[tuple[str, bool], ...]:
    # Only a run needs the parser, and every dbt command would wait for it.
    from secure_datasets.sql import statements

    called = statements.functions_of_people(*_tokens_and_tree(sql))
    return tuple((quoted(parts), may_be_none) for parts, may_be_none in called)


def quoted(parts: Iterable[str]) -> str:
    """Return a name of several parts, each in backticks."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def shows_rows_of_nobody(sql: str | None) -> bool | None:
    """Return whether a secure dataset's query has rows without a user, for everyone.

    None if the query is unknown, or can't be read. True also for a query that reads
    such rows and gives each a user.
    """
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError
    from sqlglot.tokens import TokenType

    if sql is None:
        return None
    try:
        tokens = Spark().tokenize(sql)
    except SqlglotError:
        return None
    texts = (TokenType.STRING, TokenType.RAW_STRING)
    words = [
        "a text" if token.token_type in texts else token.text.lower()
        for token in tokens
    ]
    return any(
        words[at : at + len(OF_NOBODY)] == OF_NOBODY
        for at, word in enumerate(words)
        if word == OF_NOBODY[0]
    )


def words_and_texts(node_name: str, sql: str) -> tuple[set[str], set[str]]:
    """Return the words of a query, in lower case, and its texts, without comments.

    Adjacent texts are one text.
    """
    from sqlglot.tokens import TokenType

    with _told(node_name):
        tokens, _ = _tokens_and_tree(sql)
    found: tuple[set[str], set[str]] = (set(), set())
    before = ""
    for token in tokens:
        is_text = token.token_type in (TokenType.STRING, TokenType.RAW_STRING)
        before = before + token.text if is_text else ""
        found[is_text].add(before if is_text else token.text.lower())
    return found


def queries_of_python(node_name: str, code: str) -> tuple[list[str], set[str]]:
    """Return the queries in a Python model's texts, and the temporary views it makes.

    Reads by ref() and source() are not among the queries. The views are in lower case.
    Raises CompilationError if the code does not show everything that it reads.
    """
    tree = ast.parse(code)
    called = {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    _refuse_what_leaves_the_code(node_name, tree, called)
    if hidden := first_that_hides(tree):
        raise CompilationError(
            f"What '{node_name}' reads can't be found out:"
            f" {ast.unparse(hidden)[:80]} may read what it does not name."
        )
    queries, readings = [], []
    are_columns = are_columns_in(tree, QUERIES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            word = node.attr
        elif node in called and isinstance(node, ast.Name) and node.id in FUNCTIONS:
            # Remaining bare names are the model's own variables or functions.
            word = node.id
        else:
            continue
        texts = _texts(word, called.get(node), are_columns)
        if word in QUERIES.keys() | READERS or word.startswith("read_"):
            if texts is None:
                raise CompilationError(
                    f"What '{node_name}' reads can't be found out: line {node.lineno}"
                    f" uses {word} with what is no plain text."
                )
            queries += [QUERIES[word].format(text) for text in texts]
            readings += [(node, text) for text in texts]
    return queries, _views_made_first(tree, readings)


def _views_made_first(
    tree: ast.Module, readings: list[tuple[ast.expr, str]]
) -> set[str]:
    """Return the temporary views that the model makes before a text reads them.

    Only a statement of the function `model` itself makes a view in every run, and only
    what stands in its own statements is carried out in their order.

    readings  the texts of queries, each with its place in the code
    """
    statements = [
        statement
        for function in tree.body
        if isinstance(function, ast.FunctionDef) and function.name == "model"
        for statement in function.body
    ]
    own, waiting = set(), [*statements]
    while waiting:
        node = waiting.pop()
        own.add(node)
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    found = set()
    for statement in statements:
        call = statement.value if isinstance(statement, ast.Expr) else None
        is_made = (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and TEMPORARY_VIEW.fullmatch(call.func.attr)
        )
        texts = _texts(call.func.attr, call) if is_made else None
        for name in map(str.lower, texts or ()):
            word = re.compile(rf"\b{re.escape(name)}\b", re.I)
            before = [
                node
                for node, text in readings
                if word.search(text)
                and (node not in own or node.lineno <= statement.end_lineno)
            ]
            found |= set() if before else {name}
    return found


def _refuse_what_leaves_the_code(
    node_name: str, tree: ast.Module, called: dict[ast.expr, ast.Call]
) -> None:
    """Raise CompilationError if the session is handed over or a function renamed."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    own = {function.name for function in functions}
    sessions = {
        function.args.args[1].arg
        for function in functions
        if function.name == "model" and len(function.args.args) > 1
    }
    # The caller checks `session.sql` and the model's own functions separately.
    in_sight = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    for function, call in called.items():
        if isinstance(function, ast.Name) and function.id in own:
            in_sight |= {id(argument) for argument in call.args}
            in_sight |= {id(keyword.value) for keyword in call.keywords}
    for node in ast.walk(tree):
        is_session = isinstance(node, ast.Name) and node.id in sessions
        is_renamed = isinstance(node, ast.alias) and node.name in FUNCTIONS
        if (is_session and id(node) not in in_sight) or (is_renamed and node.asname):
            name = node.id if isinstance(node, ast.Name) else node.name
            raise CompilationError(
                f"What '{node_name}' reads can't be found out: line {node.lineno} hands"
                f" {name} over."
            )


def _texts(
    word: str,
    call: ast.Call | None,
    are_columns: Callable[[list[ast.expr]], bool] = lambda given: True,
) -> list[str] | None:
    """Return the texts that a call passes; None if they are unknown.

    are_columns  decides whether arguments are columns and no texts
    """
    if word in READERS or word.startswith("read_") or call is None:
        return None
    # Only selectExpr takes several texts; further arguments are values.
    given = call.args if word == "selectExpr" else call.args[:1]
    keywords = call.keywords
    if word in TAKE_COLUMNS:
        # As the function of a class it takes the rows first.
        of = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(of, ast.Name) and of.id == "DataFrame":
            given = call.args[1:2]
        if any(key.arg is None for key in keywords):
            return None
        given = given + [key.value for key in keywords if key.arg == "condition"]
        keywords = []
        others = [each for each in given if not isinstance(each, ast.Constant)]
        if any(map(makes_query, others)) or not are_columns(others):
            return None
        given = [argument for argument in given if isinstance(argument, ast.Constant)]
    texts = [arg.value for arg in given if isinstance(arg, ast.Constant)]
    texts = [text for text in texts if isinstance(text, str)]
    is_told = (texts or word in TAKE_COLUMNS) and len(texts) == len(given)
    return texts if is_told and not keywords else None


def _tree(node_name: str, sql: str) -> exp.Expression:
    with _told(node_name):
        return _parsed(sql)


def _parsed(sql: str) -> exp.Expression:
    return _tokens_and_tree(sql)[1]


@lru_cache(maxsize=8)
def _tokens_and_tree(sql: str) -> tuple[list[Token], exp.Expression]:
    """Return a query's tokens and tree, cached: callers must not change them."""
    from secure_datasets.sql import statements

    return statements.tokens_and_tree(sql)


@contextmanager
def _told(node_name: str) -> Iterator[None]:
    """Name the node in the error for a query that can't be read.

    Raises CompilationError.
    """
    from secure_datasets.sql.statements import NotUnderstood

    try:
        yield
    except NotUnderstood as reason:
        raise CompilationError(
            f"What '{node_name}' reads can't be found out: {reason}."
        ) from None


def _tables(tree: exp.Expression) -> list[exp.Table]:
    """Return the tables that a query reads, without its own CTEs."""
    from sqlglot import exp

    return [
        table
        for table in tree.find_all(exp.Table)
        if not table.find_ancestor(exp.Hint)
        and not (
            isinstance(table.this, exp.Identifier)
            and len(table.parts) == 1
            and _is_cte(table)
        )
    ]


def _is_cte(table: exp.Table) -> bool:
    """Return whether a table is a CTE that is defined before it."""
    from sqlglot import exp

    inner, outer = table, table.parent
    while outer is not None:
        if isinstance(outer, exp.With):
            before = outer.expressions
            is_inside = [cte is inner for cte in before]
            if any(is_inside):
                # A recursive CTE may read itself.
                is_recursive = bool(outer.args.get("recursive"))
                before = before[: is_inside.index(True) + is_recursive]
                if any(_is_called(cte, table) for cte in before):
                    return True
            inner, outer = outer.parent, outer.parent.parent
            continue
        if isinstance(outer, exp.Query) and any(
            _is_called(cte, table) for cte in outer.ctes
        ):
            return True
        inner, outer = outer, outer.parent
    return False


def _is_called(cte: exp.CTE, table: exp.Table) -> bool:
    """Return whether a CTE has a table's name; only ASCII letters ignore case."""
    name = table.name
    return cte.alias == name or (name.isascii() and cte.alias.lower() == name.lower())


def _name(parts: list[exp.Expression]) -> str:
    return ".".join(_lower(parts))


def _lower(parts: list[exp.Expression]) -> tuple[str, ...]:
    return tuple(part.name.lower() for part in parts)


def _start(part: exp.Expression) -> int:
    return part.meta["start"]


def _end(part: exp.Expression) -> int:
    return part.meta["end"] + 1
