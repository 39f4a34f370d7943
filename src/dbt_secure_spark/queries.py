"""Which relations a query reads, and other queries in the place of some of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dbt_common.exceptions import CompilationError

from dbt_secure_spark.hidden_reads import first_that_hides

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokens import Token

# Table functions that read no relation.
READ_NOTHING = {"explode", "explode_outer", "inline", "inline_outer", "json_tuple"}
READ_NOTHING |= {"posexplode", "posexplode_outer", "range", "stack"}
# What a Python model hands texts to that Spark reads, and the query that each makes.
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
# Those that are functions, and may be called by their name alone.
FUNCTIONS = {"call_function", "call_udf", "expr"}
# Where a column may stand in the text's place.
TAKE_COLUMNS = {"filter", "where"}
# What reads files, streams and table functions, of a session.
READERS = {"read", "readStream", "sparkContext", "tvf"}
TEMPORARY_VIEW = re.compile(r"create(OrReplace)?(Global)?TempView")
# What rows for everyone are rendered with, word by word.
OF_NOBODY = ["cast", "(", "null", "as", "bigint", ")", "as", "user_id"]
# A text, raw ones among them, a name or the beginning of a comment, as Spark's lexer
# takes a query apart. What reads the config's expressions refuses comments, and signs
# that it does not know; a view may have any.
PIECE = re.compile(
    "|".join(
        (
            # A backslash before its end takes the next line in.
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
# In a comment, another one begins or one ends. A hint is none.
OF_COMMENT = re.compile(r"/\*(?!\+)|\*/")
NARROWED = re.compile(r"\bwith narrowed_before_\w+ as \(")
PART_OF_NAME = re.compile(r"`(?:[^`]|``)*`|[^.`]+")


class DottedName(NamedTuple):
    """What stands in a query as `<part>.<part>`, outside of texts and comments.

    parts      in lower case, without backticks; the last may be a star
    places     where each begins and ends
    is_called  whether a parenthesis follows, so that it is a function's
    """

    parts: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    is_called: bool


def names(sql: str | None, relation: str) -> bool:
    """Say whether a query names a relation."""
    return bool(_places(sql or "", relation))


def replaced(sql: str, name: str, by: str) -> str:
    """Put something else where a query names a relation, not in texts and comments."""
    return _changed(sql, [(*place, by) for place in _places(sql, name)])


def in_catalog(
    sql: str, relations: str, catalog: str, schemas: Iterable[str] = ()
) -> str:
    """Put a catalog in front of the relations and functions that a query names.

    relations  a pattern of the relations' names
    schemas    those of the functions
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


def without_catalog(sql: str, catalog: str) -> str:
    """Leave out a catalog wherever `in_catalog` puts it, or a person has."""
    (own,) = _parts(catalog)
    found = [
        (name, 3)
        for name in _dotted_names(sql)
        if not name.is_called and len(name.parts) > 2 and name.parts[0] == own
    ]
    functions = [name for name in _functions(sql, 3) if name.parts[0] == own]
    return _changed(
        sql,
        [
            (name.places[0][0], name.places[1][0], "")
            for name in _of_relations(sql, found) + functions
        ],
    )


def schemas_of_functions(sql: str) -> set[str]:
    """Return what stands before the functions that a query calls by two parts."""
    return {name.parts[0] for name in _functions(sql, 2)}


def _functions(sql: str, number: int) -> list[DottedName]:
    return [
        name
        for name in _dotted_names(sql)
        if name.is_called and len(name.parts) == number
    ]


def _places(sql: str, relation: str) -> list[tuple[int, int]]:
    """Return where a query names a relation, or a column by the relation's name.

    Spelled as it is: what stands in backticks is no relation that dbt-spark wrote.
    """
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
    """Leave out what is a column: an alias may be called as a schema or catalog is.

    found  names that may be a relation's, and how many parts that has. Where the query
           can't be read, all may be.
    """
    from sqlglot import exp

    if not found:
        return []
    try:
        tree = _tree("a query", sql)
    except CompilationError:
        return [name for name, _ in found]
    tables = [t for t in _tables(tree) if isinstance(t.this, exp.Identifier)]
    bare = {_lower(table.parts) for table in tables if not table.args.get("alias")}
    of_tables = {_start(table.parts[0]) for table in tables}
    of_columns = _starts_of_columns(tree)

    def is_named(name: DottedName, number: int) -> bool:
        start, is_longer = name.places[0][0], len(name.parts) > number
        if start in of_columns:
            return is_longer and name.parts[:number] in bare
        # One of more parts is a table in another catalog.
        return not (start in of_tables and is_longer)

    return [name for name, number in found if is_named(name, number)]


def _starts_of_columns(tree: exp.Expression) -> set[int]:
    """Return where the columns of a query begin, and the names that are taken apart."""
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
    """Put texts in the place of parts of a query."""
    for start, end, text in sorted(changes, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


@lru_cache(maxsize=32)
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
            # After anything else than a name, what follows is a part of its value.
            is_part = is_part if parts else True
            is_after_dot = True
        else:
            end(is_called=piece == "(")
            is_after_dot = is_part = False
    end()
    return tuple(found)


def reads_narrowed(sql: str) -> bool:
    """Say whether the query of a narrowed view stands in a query."""
    return bool(NARROWED.search(sql))


def names_of_narrowed(identifier: str) -> tuple[str, str]:
    """Return the names of the two CTEs with which a narrowed view begins.

    They are its own: those of another view may stand in its query.
    """
    word = re.sub(r"[^a-z0-9]", "_", identifier.lower())
    return f"narrowed_before_{word}", f"narrowed_now_{word}"


def parts_of_narrowed(text: str, identifier: str) -> tuple[str, str]:
    """Return the query that a view was last switched to whole, and that of now.

    Both are its text, unless the view is narrowed to what they both show.
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
    """Return where the bracket is closed in which a query stands."""
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
    """Return what a query consists of, whatever stands between: spaces and comments.

    Two texts with nothing between are one: a quote within it.
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
    """Return where a comment ends that has begun: others may stand in it."""
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

    Table functions among them, unless they are known to read none.
    """
    with _told(node_name):
        return list(_relations_of(sql))


@lru_cache(maxsize=256)
def _relations_of(sql: str) -> tuple[str, ...]:
    from sqlglot import exp

    found = []
    for table in _tables(_parsed(sql)):
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
    """Return the values that a query makes for columns, where it takes over none.

    With each column the expressions, those of a case one by one, wherever one is
    called by the column's name.
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
    """Put queries in the place of the views that a query reads.

    The rest of its text stays as it is written.

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
            # Its columns may be called by its name, where it has no other one.
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
    """Return how a query reads a relation, each time that it does.

    There is none unless it is plain of each time: the relation is read directly and
    under an alias, no star asks for its columns, and nothing is called like a column
    that is `unnamed`.
    """
    if unnamed.lower() in sql.lower():
        return []
    found = []
    for table in _tables(_tree(node_name, sql)):
        if _name(table.parts) == relation.lower():
            read = _plain_read(table)
            if read is None:
                return []
            # The parser may read an escape in another way than Spark does.
            found.append(read._replace(texts=[]) if "\\" in sql else read)
    return found


def _plain_read(table: exp.Table) -> PlainRead | None:
    """Return how the query that reads a table does so; None if that is not plain."""
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
    # A pivot groups by what it does not name.
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
    """Return a condition as one between a column and another relation's, if it is."""
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
    """Return a condition as one between a column and a text, if it is."""
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
    """Say whether this is a column, called by the name of a relation and its own."""
    from sqlglot import exp

    return isinstance(side, exp.Column) and len(side.parts) == 2


def _is_plain(alias: exp.TableAlias | None) -> bool:
    """Say whether an alias is one word, without names of columns."""
    is_word = alias is not None and alias.this is not None and not alias.this.quoted
    return is_word and not alias.args.get("columns")


def _has_star(select: exp.Select) -> bool:
    """Say whether a query asks for columns by a star, but for counting rows."""
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
    """Return what a query may call that is no function of Spark's own, quoted.

    With each, whether it may also be no function at all.
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
    """Say whether a secure dataset's query has rows that bear no user, for everyone.

    None where the query is not told, or can't be read. One that reads such rows and
    gives each a user may be told as one that has them.
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
    """Return the words of a query, in lower case, and its texts: no comments."""
    from sqlglot.tokens import TokenType

    with _told(node_name):
        tokens, _ = _tokens_and_tree(sql)
    found: tuple[set[str], set[str]] = (set(), set())
    for token in tokens:
        is_text = token.token_type in (TokenType.STRING, TokenType.RAW_STRING)
        found[is_text].add(token.text if is_text else token.text.lower())
    return found


def queries_of_python(node_name: str, code: str) -> tuple[list[str], set[str]]:
    """Return what a Python model asks Spark for by texts of its own, as queries.

    What it reads by ref() and source() is not among them. Beside them, in lower case,
    the temporary views that it makes. Raises CompilationError where what is read can't
    be told from the code.
    """
    tree = ast.parse(code)
    called = {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    _refuse_what_leaves_the_code(node_name, tree, called)
    if hidden := first_that_hides(tree):
        raise CompilationError(
            f"What '{node_name}' reads can't be found out:"
            f" {ast.unparse(hidden)[:80]} may read what it does not name."
        )
    queries, views = [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            word = node.attr
        elif node in called and isinstance(node, ast.Name) and node.id in FUNCTIONS:
            # Any other bare name is a variable's, or a function's of the model.
            word = node.id
        else:
            continue
        texts = _texts(word, called.get(node))
        if TEMPORARY_VIEW.fullmatch(word) and texts:
            views |= {text.lower() for text in texts}
        elif word in QUERIES.keys() | READERS or word.startswith("read_"):
            if texts is None:
                raise CompilationError(
                    f"What '{node_name}' reads can't be found out: line {node.lineno}"
                    f" uses {word} with what is no plain text."
                )
            queries += [QUERIES[word].format(text) for text in texts]
    return queries, views


def _refuse_what_leaves_the_code(
    node_name: str, tree: ast.Module, called: dict[ast.expr, ast.Call]
) -> None:
    """Raise where the session, or a function under another name, goes out of sight."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    own = {function.name for function in functions}
    sessions = {
        function.args.args[1].arg
        for function in functions
        if function.name == "model" and len(function.args.args) > 1
    }
    # `session.sql` is looked at by itself, and so are the model's own functions.
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


def _texts(word: str, call: ast.Call | None) -> list[str] | None:
    """Return the texts that a call hands over; None if they can't be told."""
    if word in READERS or word.startswith("read_") or call is None:
        return None
    # Of the others, what follows are arguments.
    given = call.args if word == "selectExpr" else call.args[:1]
    keywords = call.keywords
    if word in TAKE_COLUMNS:
        given = given + [key.value for key in keywords if key.arg == "condition"]
        keywords = []
        if any(map(_makes_query, given)):
            return None
        given = [argument for argument in given if isinstance(argument, ast.Constant)]
    texts = [arg.value for arg in given if isinstance(arg, ast.Constant)]
    texts = [text for text in texts if isinstance(text, str)]
    is_told = (texts or word in TAKE_COLUMNS) and len(texts) == len(given)
    return texts if is_told and not keywords else None


def _makes_query(argument: ast.expr) -> bool:
    """Say whether an argument puts a text together that may be a query's."""
    if isinstance(argument, ast.Constant):
        return False
    return isinstance(argument, ast.JoinedStr) or any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"\b(select|from)\b", node.value, re.I)
        for node in ast.walk(argument)
    )


def _tree(node_name: str, sql: str) -> exp.Expression:
    with _told(node_name):
        return _parsed(sql)


def _parsed(sql: str) -> exp.Expression:
    return _tokens_and_tree(sql)[1]


@lru_cache(maxsize=8)
def _tokens_and_tree(sql: str) -> tuple[list[Token], exp.Expression]:
    """Return how a query is read, which nobody changes: it is asked for many times."""
    from secure_datasets.sql import statements

    return statements.tokens_and_tree(sql)


@contextmanager
def _told(node_name: str) -> Iterator[None]:
    """Say of which node a query can't be read."""
    from secure_datasets.sql.statements import NotUnderstood

    try:
        yield
    except NotUnderstood as reason:
        raise CompilationError(
            f"What '{node_name}' reads can't be found out: {reason}."
        ) from None


def _tables(tree: exp.Expression) -> list[exp.Table]:
    """Return what stands where a query reads relations, its own CTEs aside."""
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
    """Say whether a table is one of the CTEs that stand before it."""
    from sqlglot import exp

    inner, outer = table, table.parent
    while outer is not None:
        if isinstance(outer, exp.With):
            before = outer.expressions
            is_inside = [cte is inner for cte in before]
            if any(is_inside):
                # One that is recursive may read itself.
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
    """Say whether a CTE has a table's name, of other letters than ASCII exactly."""
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
