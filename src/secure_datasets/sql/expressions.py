"""The SQL of the config: single expressions, read by a parser and never by patterns.

Two readers look at a text. `pieces_of` finds the quoted parts like Spark's own lexer.
sqlglot reads the SQL in the Spark dialect; an expression that it can't read is refused.
Quoted texts reach sqlglot as numbers, so that it takes none for code. They reach Spark
on one line, so that no step in between changes them. sqlglot is imported only if there
is SQL.
"""

from __future__ import annotations

import datetime
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from itertools import accumulate, combinations, pairwise
from typing import TYPE_CHECKING, Any

from secure_datasets.sql import spelling
from secure_datasets.sql.functions import (
    AGGREGATES,
    CHANCE,
    CLOCK,
    FOREIGN,
    OF_OTHER_ROWS,
    SESSION,
    WINDOW_FUNCTIONS,
)

if TYPE_CHECKING:
    from sqlglot import exp

DEEPEST = 60
# A chain such as `a or b or c` is a tree as deep as it is long.
DEEPEST_TREE = 300
# The first number that replaces a text of an expression while sqlglot reads it.
FIRST_TEXT = 10**15
SYMBOLS = set("()[].,+-*/%=<>!&|^~:")
# Code points that Python, Jinja or an editor takes for the end of a line, and invisible
# ones.
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
CODE = re.compile(r"u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})")

# The columns that name a role in the view with the roles of users.
ROLE_COLUMNS = ("role_name", "user_group_id")
# The view with the roles of users, and the view with a list of each user's roles.
ROLES_VIEW = "vw_secure_user_roles"
ROLE_LISTS, ROLE_LIST = "user_role_names", "role_names"
# The name of the reading user in a rule.
READER = "reader"
# The columns that `restricted_rows` adds.
OWN_COLUMNS = {"held_roles", "view_outcome"}
# The column that Spark adds to a relation that it reads from files.
OF_FILES = "_metadata"
# Names that Spark takes for a file format, and the name after them for a path.
FILE_FORMATS = {
    *("avro", "binaryfile", "csv", "delta", "hudi", "iceberg", "image", "jdbc"),
    *("json", "libsvm", "orc", "parquet", "text", "xml"),
}


class ExpressionProblem(Exception):
    """A fault of an expression; `{key}` in the message stands for its key."""


@dataclass(frozen=True)
class Piece:
    """A part of an SQL text: `kind` is text, name, word, symbol or space."""

    kind: str
    raw: str
    value: str = ""


def sql_text(value: str) -> str:
    r"""Return a text as an SQL literal on one line that no later step changes.

    Spark substitutes variables for `${name}`, and the functions that indent SQL split
    it at every line ending.
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{UNSEEN.sub(_as_code, escaped)}'"


def _as_code(found: re.Match[str]) -> str:
    return SHORT.get(found[0], f"\\u{ord(found[0]):04x}")


def pieces_of(text: str) -> list[Piece]:
    """Split a text into quoted and unquoted pieces."""
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    place = 0
    while place < len(text):
        start, sign = place, text[place]
        if sign in "'\"":
            place = _end_of_text(text, place)
            value = unescaped(text[start + 1 : place - 1], sign)
            yield Piece("text", text[start:place], value)
        elif sign in "rR" and text[place + 1 : place + 2] in ("'", '"'):
            quote = text[place + 1]
            place = text.find(quote, place + 2) + 1
            if not place:
                raise ExpressionProblem("'{key}' has a quote without its other end")
            yield Piece("text", text[start:place], text[start + 2 : place - 1])
        elif sign == "`":
            place = _end_of_name(text, place)
            yield Piece("name", text[start:place])
        elif sign.isascii() and (sign.isalnum() or sign == "_"):
            while place < len(text) and (
                text[place].isascii() and (text[place].isalnum() or text[place] == "_")
            ):
                place += 1
            yield Piece("word", text[start:place])
        elif sign in " \n\r\t":
            place += 1
            yield Piece("space", sign)
        elif text.startswith(("--", "/*"), place) or sign == ";":
            raise ExpressionProblem(
                "'{key}' has a comment or a semicolon, which an expression can't have"
            )
        elif sign in SYMBOLS:
            place += 1
            yield Piece("symbol", sign)
        else:
            raise ExpressionProblem(
                f"'{{key}}' has the character {sign!a} outside of quotes"
            )


def _end_of_text(text: str, start: int) -> int:
    """Return where the text ends that a quote begins."""
    quote, place = text[start], start + 1
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif text[place] != quote:
            place += 1
        elif text[place + 1 : place + 2] == quote:
            place += 2
        else:
            return place + 1
    raise ExpressionProblem("'{key}' has a quote without its other end")


def _end_of_name(text: str, start: int) -> int:
    """Return where the name ends that a backtick begins."""
    place = start + 1
    while place < len(text):
        if text[place] != "`":
            place += 1
        elif text[place + 1 : place + 2] == "`":
            place += 2
        elif UNSEEN.search(text, start, place) or "${" in text[start:place]:
            break
        else:
            return place + 1
    raise ExpressionProblem("'{key}' has a quote without its other end")


def unescaped(body: str, quote: str) -> str:
    """Return the value of a quoted text, as Spark reads it."""
    made, place = [], 0
    while place < len(body):
        sign = body[place]
        following = body[place + 1 : place + 2]
        if sign == quote:
            made.append(quote)
            place += 2
        elif sign != "\\" or not following:
            made.append(sign)
            place += 1
        elif code := CODE.match(body, place + 1):
            number = int(code[1] or code[2], 16) if not code[3] else int(code[3], 8)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise ExpressionProblem("'{key}' has a code that is no character")
            made.append(chr(number))
            place = code.end()
        else:
            kept = "\\" + following if following in "%_" else following
            made.append(ESCAPED.get(following, kept))
            place += 2
    return "".join(made)


@dataclass
class Expression:
    """One SQL expression: its text to hand on, and its tree."""

    text: str
    tree: exp.Expression
    # Texts that the parser takes apart, such as the formats of dates.
    lost: tuple[str, ...] = ()
    # The parts of the text, each with its position in the parser's input.
    parts: tuple[tuple[int, str], ...] = ()


@lru_cache(maxsize=4096)
def read(text: str) -> Expression:
    """Read one expression; raise a problem if it is none, or more than one."""
    pieces = pieces_of(text)
    _check_brackets(pieces)
    words = [piece for piece in pieces if piece.kind != "space"]
    if not words:
        raise ExpressionProblem("'{key}' must be an SQL expression")
    if any(a.kind == b.kind == "text" for a, b in pairwise(words)):
        raise ExpressionProblem("'{key}' has two texts side by side")
    if any(piece.raw.lower() == "from" for piece in words[:1]):
        raise ExpressionProblem("'{key}' is a query")
    _check_queries(words)
    texts: dict[str, str] = {}
    skeleton, handed_on = [], []
    for number, piece in enumerate(pieces):
        if piece.kind != "text":
            skeleton.append(piece.raw)
            handed_on.append(piece.raw)
            continue
        before = pieces[number - 1] if number else None
        # `x'41'` is a binary value.
        is_prefixed = before is not None and before.kind == "word"
        if is_prefixed and before.raw in "xX":
            if not re.fullmatch("([0-9a-fA-F]{2})*", piece.value):
                raise ExpressionProblem("'{key}' has an odd binary value")
            skeleton.append(f"'{piece.value}'")
            handed_on.append(f"'{piece.value}'")
            continue
        stands_for = str(FIRST_TEXT + len(texts))
        texts[stands_for] = piece.value
        gap = " " if is_prefixed else ""
        skeleton.append(f"{gap}'{stands_for}'")
        is_plain = piece.raw == f"'{piece.value}'" and "\\" not in piece.value
        is_plain = is_plain and sql_text(piece.value) == piece.raw
        handed_on.append(gap + (piece.raw if is_plain else sql_text(piece.value)))
    tree, lost = _tree("".join(skeleton), texts)
    starts = accumulate(map(len, skeleton), initial=0)
    parts = tuple(zip(starts, handed_on, strict=False))
    return Expression("".join(handed_on).strip(), tree, lost, parts)


def attributes_of(tree: exp.Expression) -> Iterator[exp.Column]:
    """Return the columns that are attributes of the reader."""
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        is_of_reader = len(column.parts) > 1 and column.parts[0].name.lower() == READER
        if is_of_reader and column.find_ancestor(exp.Query) is None:
            yield column


def qualified(text: str, name: str) -> str:
    """Return an expression with every column of the row qualified by a name."""
    from sqlglot import exp

    found = read(text)
    of_reader = set(map(id, attributes_of(found.tree)))
    places = {
        column.parts[0].meta["start"]
        for column in found.tree.find_all(exp.Column)
        if id(column) not in of_reader and column.parts[0].name.lower() != name
    }
    parts = [f"{name}." * (start in places) + part for start, part in found.parts]
    return "".join(parts).strip()


def _own_columns(tree: exp.Expression) -> Iterator[exp.Column]:
    """Yield the columns of an expression outside of subqueries, all of its row."""
    from sqlglot import exp

    of_reader = set(map(id, attributes_of(tree)))
    for column in tree.find_all(exp.Column):
        if id(column) not in of_reader and column.find_ancestor(exp.Query) is None:
            yield column


def own_columns(text: str, name: str) -> set[str]:
    """Return the columns of the row of this name that an expression names itself."""
    named = (
        [part.name.lower() for part in c.parts] for c in _own_columns(read(text).tree)
    )
    return {parts[1 if parts[0] == name and parts[1:] else 0] for parts in named}


def renamed(text: str, name: str, alias: str) -> str:
    """Return an expression with an alias in place of the row's name."""
    found = read(text)
    starts = {
        column.parts[0].meta["start"]
        for column in _own_columns(found.tree)
        if len(column.parts) > 1 and column.parts[0].name.lower() == name
    }
    return "".join(alias if start in starts else part for start, part in found.parts)


def _check_brackets(pieces: list[Piece]) -> None:
    """Raise a problem if brackets don't match, or nest too deeply."""
    pairs, opened = {")": "(", "]": "["}, []
    for piece in pieces:
        if piece.kind != "symbol":
            continue
        if piece.raw in "([":
            opened.append(piece.raw)
            if len(opened) > DEEPEST:
                raise ExpressionProblem(f"'{{key}}' nests more than {DEEPEST} brackets")
        elif piece.raw in pairs and (not opened or opened.pop() != pairs[piece.raw]):
            raise ExpressionProblem("the brackets of '{key}' don't match")
    if opened:
        raise ExpressionProblem("the brackets of '{key}' don't match")


def _check_queries(words: list[Piece]) -> None:
    """Raise a problem at a query that does not begin with `select`.

    In `from t select ...` and `from t |> ...` it is not plain whose columns a name
    means; `values` and `table` read the row's own columns.
    """
    refused = ExpressionProblem(
        "'{key}' has a subquery that does not begin with 'select'"
    )
    unions = {"union", "intersect", "except", "minus"}
    # For each open bracket, whether a `with` waits for its `select`.
    waits = [False]
    for number, piece in enumerate(words):
        word = piece.raw.lower()
        before = words[number - 1].raw.lower() if number else ""
        earlier = words[number - 2].raw.lower() if number > 1 else ""
        if piece.kind == "symbol":
            if word == "(":
                waits.append(False)
            elif word == ")":
                waits.pop()
            elif word == ">" and before == "|":
                raise refused
        if piece.kind != "word":
            continue
        begins = before == "(" or before in unions
        begins = begins or (before in ("all", "distinct") and earlier in unions)
        if word in ("with", "select"):
            waits[-1] = word == "with"
        is_source = before in ("from", "join", ",", "in")
        if word in ("from", "values", "table") and (begins or waits[-1]):
            raise refused
        if word in ("values", "lateral") and is_source:
            raise refused


def _tree(
    skeleton: str, texts: dict[str, str]
) -> tuple[exp.Expression, tuple[str, ...]]:
    """Return the tree of an expression, and the texts that the tree lacks."""
    from sqlglot import ErrorLevel, exp
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    from secure_datasets.sql.statements import clause_read_as_alias

    # sqlglot warns if it can't parse a part further, such as the path of a JSON value.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    dialect = Spark()
    try:
        tokens = dialect.tokenize(skeleton)
        parser = dialect.parser(error_level=ErrorLevel.RAISE)
        found = parser.parse_into(exp.Condition, tokens, skeleton)
    except SqlglotError as error:
        raise ExpressionProblem(_unreadable(error)) from error
    except RecursionError as error:
        raise ExpressionProblem("'{key}' nests too deeply") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # sqlglot fails with various errors on some calls with too few arguments.
        raise ExpressionProblem(_unreadable(error)) from error
    if len(found) != 1 or found[0] is None:
        raise ExpressionProblem("'{key}' is more than one expression")
    (tree,) = found
    if any(node.comments for node in tree.walk()):
        raise ExpressionProblem("'{key}' has a comment")
    if word := clause_read_as_alias(tokens):
        raise ExpressionProblem(
            f"'{{key}}' has '{word} (...)' behind a relation, and Spark takes '{word}'"
            f" for the relation's alias: write '{word}' without brackets"
        )
    for node in tree.find_all(exp.Func):
        if "start" in node.meta:
            name = skeleton[node.meta["start"] : node.meta["end"] + 1]
            node.meta[CALLED] = name.strip("`").lower()
    missing = set(texts)
    for node in list(tree.find_all(exp.Literal)):
        if node.is_string and node.this in texts:
            missing.discard(node.this)
            node.set("this", texts[node.this])
    # The parser turns the texts that name a struct's fields into names.
    fields = [part for node in tree.find_all(exp.Struct) for part in node.expressions]
    for identifier in (field.args.get("alias") or field.this for field in fields):
        if isinstance(identifier, exp.Identifier) and identifier.this in texts:
            missing.discard(identifier.this)
            identifier.set("this", texts[identifier.this])
            identifier.set("quoted", True)
    return tree, tuple(texts[text] for text in sorted(missing))


def _unreadable(error: Exception) -> str:
    """Return a sentence about the place where the parser stopped."""
    found = getattr(error, "errors", None) or []
    details = found[-1] if found else {}
    near = (details.get("highlight") or "").strip()
    return "'{key}' can't be read as one SQL expression" + (
        f': it stops at "{near.replace("{", "(").replace("}", ")")}"' if near else ""
    )


def function_name(node: exp.Expression) -> str:
    """Return Spark's name of a function."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower()


@dataclass(frozen=True)
class Scope:
    """The names that an expression about the rows of a dataset may use.

    `columns` are the row's own columns, and its user; `steps` are the names of the
    relations in the rendered query. `carried` are the columns that the tier adds, which
    no expression may name: the base has none of them, nor has a row that is written.
    """

    name: str
    columns: frozenset[str]
    steps: frozenset[str] = frozenset()
    carried: frozenset[str] = frozenset()
    # The attributes of the reader: None if it has none; an empty set allows any name.
    reader: frozenset[str] | None = None


def check(expression: Expression, scope: Scope, is_condition: bool) -> bool:
    """Raise a problem at a part that a condition or mask must not have.

    Return whether it has a correlated subquery.
    """
    _check_depth(expression.tree)
    _check_functions(expression.tree, is_condition)
    is_correlated = _check_names(expression.tree, scope)
    filters = list(_filters(expression.tree, is_condition))
    _check_plain_subqueries(expression.tree, filters)
    for each in filters:
        _check_opposites(each, scope.name)
    if is_condition:
        _check_limits(expression.tree)
    _check_values(expression.tree)
    return is_correlated


def _check_depth(tree: exp.Expression) -> None:
    """Raise a problem at a tree that is too deep for its next reader."""
    depths = {id(tree): 1}
    for node in tree.walk():
        depth = depths[id(node)]
        if depth > DEEPEST_TREE:
            raise ExpressionProblem(
                f"'{{key}}' nests or chains more than {DEEPEST_TREE} operators"
            )
        depths |= dict.fromkeys(map(id, node.iter_expressions()), depth + 1)


def _check_functions(tree: exp.Expression, is_condition: bool) -> None:
    """Raise a problem at an aggregate, window or generator, chance and the clock."""
    from sqlglot import exp

    for node in tree.walk():
        is_of_row = node.find_ancestor(exp.Query) is None
        if isinstance(node, exp.Window | exp.WithinGroup) and is_of_row:
            raise ExpressionProblem("'{key}' has a window function")
        if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
            raise ExpressionProblem("'{key}' has a parameter, which nobody fills in")
        if isinstance(node, exp.Lateral | exp.UDTF | exp.Pivot):
            raise ExpressionProblem("'{key}' has a generator or a pivot")
        if isinstance(node, exp.QueryTransform):
            raise ExpressionProblem("'{key}' calls a script, which a rule can't do")
        if isinstance(node, exp.TableSample):
            raise ExpressionProblem("'{key}' has a sample, which depends on chance")
        # `x like any (...)` compares; by itself it is what Spark also calls bool_or.
        compares = isinstance(node.parent, exp.Binary) and node.arg_key == "expression"
        if isinstance(node, exp.Any) and not compares and is_of_row:
            raise ExpressionProblem("'{key}' has the aggregate 'any'")
        is_like = isinstance(node.parent, exp.Like | exp.ILike)
        of_subquery = is_of_row and node.find(exp.Query)
        if isinstance(node, exp.Any) and compares and not (is_like or of_subquery):
            raise ExpressionProblem(
                "'{key}' compares with 'any' of values, which Spark has after 'like'"
                " alone: write 'in (...)' or 'array_contains(...)'"
            )
        if isinstance(node, exp.Command | exp.DDL | exp.DML):
            raise ExpressionProblem("'{key}' is a statement")
        if not isinstance(node, exp.Func) or isinstance(node, exp.Exists):
            continue
        name = function_name(node)
        _check_identifier(name)
        is_aggregate = isinstance(node, exp.AggFunc) or name in AGGREGATES
        if is_aggregate and not isinstance(node, exp.And | exp.Or | exp.Xor):
            query = node.find_ancestor(exp.Query)
            if query is None:
                raise ExpressionProblem(f"'{{key}}' has the aggregate '{name}'")
        if name in WINDOW_FUNCTIONS and is_of_row:
            raise ExpressionProblem(f"'{{key}}' has the window function '{name}'")
        if name in OF_OTHER_ROWS or isinstance(node, exp.Explode | exp.Posexplode):
            raise ExpressionProblem(f"'{{key}}' has the generator '{name}'")
        if name in CHANCE or (is_condition and name in FOREIGN):
            raise ExpressionProblem(
                f"'{{key}}' has '{name}', which depends on more than the row"
            )
        if is_condition and (
            name in CLOCK
            or (name == "unix_timestamp" and not list(node.iter_expressions()))
        ):
            raise ExpressionProblem(
                f"'{{key}}' has '{name}', which depends on the time"
            )


def _check_identifier(name: str) -> None:
    """Raise a problem at a function that makes a name from a text."""
    if name == "identifier":
        raise ExpressionProblem("'{key}' has 'identifier', which hides what it names")


def _check_names(tree: exp.Expression, scope: Scope) -> bool:
    """Raise a problem at a name that is not a name of the row, or may be a mistake."""
    from sqlglot import exp

    is_correlated = False
    for step in tree.find_all(exp.CTE):
        if _folded(step.alias) in scope.steps | {scope.name}:
            raise ExpressionProblem(
                f"'{{key}}' names '{step.alias}', a name that rendering uses itself"
            )
    for query in tree.find_all(exp.Query):
        if isinstance(query, exp.Subquery) and not isinstance(query.this, exp.Query):
            raise ExpressionProblem(
                "'{key}' has a relation in brackets: write it without them"
            )
        for source in sources_of(query):
            called = _folded(source.alias_or_name)
            if isinstance(source, exp.Table) and _is_file(source):
                raise ExpressionProblem(
                    f"'{{key}}' reads '{source.name}', which Spark may take for a file:"
                    " write the table's name, '<catalog>.<schema>.<table>'"
                )
            if called == scope.name:
                raise ExpressionProblem(
                    f"'{{key}}' calls a relation '{called}', as the row is called:"
                    " give it another alias"
                )
            # A bare name would be the step; an alias would hide it.
            names = {_folded(source.alias)}
            if not source.args.get("db"):
                names.add(_folded(source.name))
            for name in names & scope.steps:
                raise ExpressionProblem(
                    f"'{{key}}' names '{name}', a name that rendering uses itself"
                )
    for star in tree.find_all(exp.Star):
        if star.find_ancestor(exp.Query) is None:
            raise ExpressionProblem("'{key}' has a '*'")
    for column in tree.find_all(exp.Column):
        is_correlated |= _check_column(column, scope)
    return is_correlated


def _is_file(source: exp.Expression) -> bool:
    """Whether Spark may take a relation for files: a format and a path."""
    parts = [part.name for part in source.parts]
    is_format = len(parts) == 2 and parts[0].lower() in FILE_FORMATS
    return is_format or not all(re.fullmatch(r"[\w -]*", part) for part in parts)


def _folded(name: str) -> str:
    """Return a name as Spark compares it: letter by letter, capitals first."""
    return "".join(letter.upper().lower() for letter in name)


def columns_named(texts: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Return the columns whose names are words of these expressions.

    A word that names a column of a subquery's relation may count, too; it does no harm.
    """
    words = {
        _folded(piece.raw.strip("`"))
        for text in texts
        for piece in pieces_of(text)
        if piece.kind in ("name", "word")
    }
    return [column for column in columns if _folded(column) in words]


def reads_only(text: str, column: str) -> bool:
    """Whether an expression reads no other column than this one, and no relation."""
    from sqlglot import exp

    tree = read(text).tree
    return not any(tree.find_all(exp.Query)) and all(
        len(each.parts) == 1 and _folded(each.name) == _folded(column)
        for each in tree.find_all(exp.Column)
    )


def check_reads_of_mask(
    expression: Expression, name: str, masked: Iterable[str], bases: Iterable[str]
) -> None:
    """Raise a problem at a mask that would show the value of a second masked column.

    name    the name of the row
    masked  the columns that policies mask, without the mask's own
    bases   the relations that hold the rows before any rule
    """
    from sqlglot import exp

    hidden, unfiltered = set(map(_folded, masked)), set(map(_folded, bases))
    for column in expression.tree.find_all(exp.Column):
        first, *further = map(_folded, (part.name for part in column.parts))
        if first == name and further:
            root = further[0]
        elif column.find_ancestor(exp.Query) is None:
            root = first
        else:
            continue
        if root in hidden:
            raise ExpressionProblem(
                f"'{{key}}' names '{root}', which has a mask too, and would show its"
                " unmasked value: name the mask's own column, and columns without masks"
            )
    for source in expression.tree.find_all(exp.Table):
        if _folded(source.name) in unfiltered:
            raise ExpressionProblem(
                f"'{{key}}' reads '{source.name}', the dataset's base, whose rows and"
                " values nothing has hidden"
            )


def sources_of(query: exp.Expression) -> list[exp.Expression]:
    """Return the sources of a query, without the sources of its subqueries."""
    from sqlglot import exp

    found = []
    origin = query.args.get("from_")
    joins = query.args.get("joins") or []
    for source in [origin, *joins]:
        if source is not None and isinstance(source.this, exp.Table | exp.Subquery):
            found.append(source.this)
            found += [join.this for join in source.this.args.get("joins") or []]
    return found


def names_relation(expression: Expression, name: str) -> bool:
    """Whether an expression qualifies a column by this name."""
    from sqlglot import exp

    return any(
        len(column.parts) > 1 and column.parts[0].name.lower() == name
        for column in expression.tree.find_all(exp.Column)
    )


def roles_compared(
    expression: Expression, roles_view: str
) -> list[str | dict[str, int]]:
    """Return the roles that an expression compares with a column of the roles' view.

    A constant compared with `role_name` is a name, one compared with `user_group_id` is
    a group's id.
    `roles_view` is the relation's name as dbt renders it.
    """
    from sqlglot import exp

    view = roles_view.rpartition(".")[2].strip("`").lower()
    found: list[str | dict[str, int]] = []
    for node in expression.tree.find_all(
        exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Case, exp.Like,
        exp.ILike, exp.Nullif, exp.ArrayContains,
    ):  # fmt: skip
        if isinstance(node, exp.In):
            others = [*node.expressions, node.args.get("query")]
        elif isinstance(node, exp.Case):
            others = [branch.this for branch in node.args["ifs"]]
        else:
            others = [node.expression]
        sides = [side for side in (node.this, *others) if side is not None]
        for each in _side_by_side(sides):
            columns = {_role_column(side, view) for side in each} - {None}
            for kind, text in filter(None, map(constant, each)):
                is_pattern = isinstance(node, exp.Like | exp.ILike) and "%" in text
                if "role_name" in columns and kind == "string" and not is_pattern:
                    found.append(text)
                elif "user_group_id" in columns and WHOLE.fullmatch(text):
                    found.append({"group": int(text)})
    return found


def check_roles(expression: Expression) -> None:
    """Raise a problem at a role that is computed from a text before its comparison.

    It would be unknown which groups it means, and whether it means two of them.
    """
    from sqlglot import exp

    for column in expression.tree.find_all(exp.Column):
        if _role_column(column, ROLES_VIEW) != "role_name":
            continue
        if not _is_compared_as_it_stands(column):
            raise ExpressionProblem(
                f"'{{key}}' compares something made of '{column.name}', or with it, so"
                " that nobody can say which groups are meant: compare it as it stands"
                f" with a text, '{column.name} = ...'"
            )


def _is_compared_as_it_stands(column: exp.Expression) -> bool:
    """Whether a column is compared unchanged, or in a condition without any text."""
    from sqlglot import exp

    compares = (
        exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Case, exp.Like,
        exp.ILike, exp.Nullif, exp.ArrayContains, exp.Is, exp.StartsWith, exp.EndsWith,
        exp.Contains,
    )  # fmt: skip
    passes = (
        exp.Paren, exp.Alias, exp.Max, exp.Min, exp.Tuple, exp.Subquery, exp.Order,
        exp.Ordered, exp.Group, exp.Distinct,
    )  # fmt: skip
    ends = (exp.Where, exp.Join, exp.Having, exp.And, exp.Or, exp.Not)
    plain = (exp.Array, exp.Tuple, exp.If, exp.Query)
    node, has_text, is_itself, is_compared = column, False, True, False
    while node.parent is not None and not isinstance(node.parent, ends):
        part, node = node, node.parent
        if isinstance(node, exp.Select):
            continue
        for other in node.iter_expressions():
            if other is part or not _has_text(other):
                continue
            has_text = True
            if not is_compared and isinstance(node, compares):
                is_plain = constant(other) or other.find(exp.Column)
                is_itself &= bool(is_plain) or isinstance(other.unnest(), plain)
        is_compared |= isinstance(node, compares)
        is_itself &= is_compared or isinstance(node, passes)
        is_itself &= not isinstance(node, exp.Lambda)
    return is_itself or not has_text


def _has_text(tree: exp.Expression) -> bool:
    from sqlglot import exp

    return any(text.is_string for text in tree.find_all(exp.Literal))


def _side_by_side(sides: list[exp.Expression]) -> list[list[exp.Expression]]:
    """Return the compared values, with tuples and arrays split into their values."""
    from sqlglot import exp

    made = [side.unnest() for side in sides]
    made = [
        part
        for side in made
        for part in (side.expressions if isinstance(side, exp.Array) else [side])
    ]
    if not any(isinstance(side, exp.Tuple) for side in made):
        return [made]
    members = [
        side.selects if isinstance(side, exp.Query) else side.expressions
        for side in made
        if isinstance(side, exp.Query | exp.Tuple)
    ]
    return [list(each) for each in zip(*members, strict=False)]


def _role_column(tree: exp.Expression, view: str, depth: int = 0) -> str | None:
    """Return the column of the roles' view that an expression is; None if it is none.

    A subquery counts as its selected column. A name is followed through derived
    relations.
    """
    from sqlglot import exp

    tree = tree.unnest() if isinstance(tree, exp.Paren) else tree
    if isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.Query):
        selected = tree.selects
        return _role_column(selected[0], view, depth) if len(selected) == 1 else None
    if isinstance(tree, exp.Alias | exp.Max | exp.Min):
        return _role_column(tree.this, view, depth)
    query = tree.find_ancestor(exp.Query)
    if not isinstance(tree, exp.Column) or depth > DEEPEST:
        return None
    name, relation = tree.name.lower(), tree.table.lower()
    while query is not None:
        sources = [
            source
            for source in sources_of(query)
            if not relation or source.alias_or_name.lower() == relation
        ]
        if sources:
            of_sources = (_role_column_of(name, each, view, depth) for each in sources)
            return next(filter(None, of_sources), None)
        query = query.find_ancestor(exp.Query)
    return None


def _role_column_of(
    name: str, source: exp.Expression, view: str, depth: int
) -> str | None:
    """Return the column of the roles' view behind a source's column, or None."""
    from sqlglot import exp

    query = source.this if isinstance(source, exp.Subquery) else None
    if isinstance(source, exp.Table):
        steps = (source.root() if not source.args.get("db") else exp.Select()).find_all(
            exp.CTE
        )
        named = [step for step in steps if _folded(step.alias) == _folded(source.name)]
        if not named:
            relation = source.name.lower()
            if relation == ROLE_LISTS and name == ROLE_LIST:
                return "role_name"
            return name if relation == view and name in ROLE_COLUMNS else None
        query = named[0].this
    while isinstance(query, exp.SetOperation):
        query = query.this
    if query is None:
        return None
    for selected in query.selects:
        if isinstance(selected, exp.Star) or selected.is_star:
            of_sources = (
                _role_column_of(name, each, view, depth + 1)
                for each in sources_of(query)
            )
            return next(filter(None, of_sources), None)
        if selected.alias_or_name.lower() == name:
            return _role_column(selected, view, depth + 1)
    return None


def names_read_by(query: exp.Expression) -> set[str]:
    """Return a query's names for the relations that it reads."""
    return {source.alias_or_name.lower() for source in sources_of(query)}


def _check_column(column: exp.Expression, scope: Scope) -> bool:
    """Check one column; return whether it is the row's own column in a subquery."""
    from sqlglot import exp

    parts = [part.name.lower() for part in column.parts]
    first, name = parts[0], column.name
    query = column.find_ancestor(exp.Query)
    own = scope.columns | scope.carried | OWN_COLUMNS
    if query is not None and OF_FILES in parts:
        raise ExpressionProblem(
            f"'{{key}}' has '{OF_FILES}', which says where a row is stored: compare"
            " columns of the relation"
        )
    if query is None:
        if isinstance(column.this, exp.Star):
            raise ExpressionProblem("'{key}' has a '*'")
        if scope.reader is not None and first == READER and len(parts) > 1:
            if scope.reader and parts[1] not in scope.reader:
                raise ExpressionProblem(
                    f"'{{key}}' names '{'.'.join(parts)}', which the relation of"
                    f" '{READER}' has not{spelling.hint(parts[1], scope.reader)}"
                )
            return False
        is_qualified = first == scope.name and len(parts) > 1
        named = parts[1] if is_qualified else first
        if named not in scope.columns:
            is_of_reader = first == READER and len(parts) > 1
            hint = spelling.hint(named, scope.columns)
            if not hint and len(parts) == 1:
                hint = f"; a text has quotes of its own: \"'{name}'\""
            if is_of_reader:
                hint = f"; '{READER}' is named once in the config, for conditions alone"
            raise _no_column(parts, named, scope, hint)
        return False
    if len(parts) == 1:
        if first in own:
            raise ExpressionProblem(
                f"'{{key}}' names '{name}' in a subquery without its relation: write"
                f" '<relation>.{name}', or '{scope.name}.{name}' for the row's own"
            )
        if first in SESSION | CLOCK:
            raise ExpressionProblem(
                f"'{{key}}' names '{name}' in a subquery, which may be the session or"
                f" the clock to Spark: write '<relation>.{name}' for a column that is"
                " called so"
            )
        return False
    while query is not None:
        if first in names_read_by(query):
            return False
        query = query.find_ancestor(exp.Query)
    if first == scope.name:
        if parts[1] not in scope.columns:
            hint = spelling.hint(parts[1], scope.columns)
            raise _no_column(parts, parts[1], scope, hint)
        aggregate = column.find_ancestor(exp.AggFunc, exp.Query)
        if isinstance(aggregate, exp.AggFunc):
            raise ExpressionProblem(
                f"'{{key}}' has an aggregate of the row's own '{'.'.join(parts)}'"
            )
        return True
    raise ExpressionProblem(
        f"'{{key}}' names '{'.'.join(parts)}' in a subquery, and '{first}' is none of"
        " the relations that it reads: give each an alias"
    )


def _no_column(
    parts: list[str], named: str, scope: Scope, hint: str
) -> ExpressionProblem:
    """Return the problem of a name that is no column of the row."""
    why = f"which the dataset has not{hint}"
    if named in scope.carried:
        why = (
            "which the tier carries and the base has not: ask for a role, or write the"
            " rule on a dataset over this one"
        )
    return ExpressionProblem(f"'{{key}}' names '{'.'.join(parts)}', {why}")


def _filters(tree: exp.Expression, is_condition: bool) -> Iterator[exp.Expression]:
    """Return the filters of rows and of a mask's branches: null counts as false."""
    from sqlglot import exp

    if is_condition:
        yield tree
    for node in tree.find_all(exp.Where, exp.Having, exp.Join, exp.If):
        if isinstance(node, exp.Join):
            yield from filter(None, [node.args.get("on")])
        elif not isinstance(node, exp.If):
            yield node.this
        elif not is_condition and node.find_ancestor(exp.Query) is None:
            compares = is_when(node) and node.parent.this
            yield from [] if compares else [node.this]


def _check_plain_subqueries(
    tree: exp.Expression, filters: Iterable[exp.Expression]
) -> None:
    """Raise a problem at an `in (select ...)` where Spark takes null for false.

    Beneath and, or and not in one of the filters this makes no difference.
    """
    from sqlglot import exp

    tops = set(map(id, filters))
    for found in tree.find_all(exp.In, exp.Any, exp.All):
        if not isinstance(found, exp.In):
            if found.find(exp.Query):
                raise ExpressionProblem(
                    "'{key}' compares with 'any' or 'all' of a subquery: write"
                    " 'exists (select ...)'"
                )
            continue
        if not found.args.get("query") and not found.find(exp.Query):
            continue
        top: exp.Expression = found
        while id(top) not in tops and isinstance(
            top.parent, exp.Paren | exp.And | exp.Or | exp.Not
        ):
            top = top.parent
        if id(top) not in tops:
            raise ExpressionProblem(
                "'{key}' has an 'in (select ...)' under something else than and, or"
                " and not, where Spark takes null for false: write"
                " 'exists (select ...)'"
            )


def _check_limits(tree: exp.Expression) -> None:
    """Raise a problem at a `limit` or window that takes whichever rows come first."""
    from sqlglot import exp

    for query in tree.find_all(exp.Query):
        is_cut = any(query.args.get(key) for key in ("limit", "offset", "fetch"))
        # For `exists`, it does not matter which row comes first.
        counts = isinstance(query.parent, exp.Exists) and not query.args.get("offset")
        if not is_cut or counts:
            continue
        if not query.args.get("order"):
            raise ExpressionProblem(
                "'{key}' has a 'limit' without 'order by', which takes rows by chance:"
                " add 'order by'"
            )
        _check_order(query.args["order"], query, "limit")
    for window in tree.find_all(exp.Window):
        query = window.find_ancestor(exp.Query)
        if query is not None and window.args.get("order"):
            _check_order(window.args["order"], query, "window")
        elif query is not None and _is_of_some_rows(window.args.get("spec")):
            raise ExpressionProblem(
                "'{key}' has a window of rows without 'order by', which takes rows by"
                " chance: add 'order by'"
            )


def _is_of_some_rows(spec: exp.Expression | None) -> bool:
    """Whether a window's frame counts rows, and is not all of them."""
    if spec is None or (spec.args.get("kind") or "").upper() != "ROWS":
        return False
    sides = (str(spec.args.get(side)).upper() for side in ("start", "end"))
    return set(sides) != {"UNBOUNDED"}


def _check_order(order: exp.Expression, query: exp.Expression, what: str) -> None:
    """Raise a problem at an order that is the same for all rows of a query."""
    from sqlglot import exp

    of: exp.Expression = query
    while isinstance(of, exp.SetOperation | exp.Subquery):
        of = of.this
    names = names_read_by(of)
    items = {_folded(item.alias_or_name): item.unalias() for item in of.selects}

    def differs(node: exp.Expression, depth: int = 0) -> bool:
        # `order by all`, and `select *`.
        if isinstance(node, exp.Var | exp.Star):
            return True
        for found in node.find_all(exp.Column, exp.Count):
            if found.find_ancestor(exp.Query) not in (query, of):
                continue
            if not isinstance(found, exp.Column):
                return True
            if found.table:
                if _folded(found.parts[0].name) in names:
                    return True
                continue
            meant = items.get(_folded(found.name))
            if meant is None or meant == found:
                return True
            # A name may stand for a selected expression, which may hold such a name.
            if depth < len(items) and differs(meant, depth + 1):
                return True
        return False

    for term in order.expressions:
        node = term.this
        is_place = isinstance(node, exp.Literal) and node.name.isdecimal()
        # `order by 2` means the second selected expression, but not in a window.
        if is_place and what == "limit" and 0 < int(node.name) <= len(of.selects):
            node = of.selects[int(node.name) - 1].unalias()
        if differs(node):
            return
    raise ExpressionProblem(
        f"'{{key}}' has a {what} whose 'order by' names no column of the relation, and"
        " takes rows by chance: order by a column"
    )


def _check_values(tree: exp.Expression) -> None:
    """Raise a problem at a scalar subquery that may return several rows: it fails.

    Spark refuses several columns of it, and other columns behind `in` than before it.
    """
    from sqlglot import exp

    for node in tree.find_all(exp.In):
        before = node.this.unnest()
        if node.args.get("query") and not isinstance(before, exp.Struct):
            is_row = isinstance(before, exp.Tuple)
            _check_columns(node, len(before.expressions) if is_row else 1)
    others = (exp.From, exp.Join, exp.In, exp.Exists, exp.SetOperation, exp.Subquery)
    for found in tree.find_all(exp.Subquery):
        place: exp.Expression = found
        while isinstance(place.parent, exp.Paren):
            place = place.parent
        is_value = not isinstance(place.parent, others)
        is_value |= isinstance(place.parent, exp.In) and place.arg_key != "query"
        if is_value:
            _check_columns(found, 1)
        if is_value and not _has_one_row(found.unnest()):
            raise ExpressionProblem(
                "'{key}' has a subquery as a value that can have several rows, where it"
                " fails: select one 'max(...)' or 'min(...)', or write 'in (select"
                " ...)' or 'exists (select ...)'"
            )


def _check_columns(place: exp.Expression, wanted: int) -> None:
    """Raise a problem at a query with another number of columns; `*` may be any."""
    from sqlglot import exp

    query = place.args["query"] if isinstance(place, exp.In) else place
    selects = query.unnest().selects
    if len(selects) != wanted and not any(each.is_star for each in selects):
        raise ExpressionProblem(
            f"'{{key}}' has a subquery of {len(selects)} columns where Spark wants"
            f" {wanted}: select as many as are compared"
        )


def _has_one_row(query: exp.Expression) -> bool:
    """Whether a query has at most one row for any content of its relations."""
    from sqlglot import exp

    if not isinstance(query, exp.Select):
        return False
    limit = query.args.get("limit")
    if limit is not None and limit.expression and limit.expression.name in ("0", "1"):
        return True
    if query.args.get("from_") is None:
        return not query.args.get("laterals")
    has_aggregate = any(
        (isinstance(node, exp.AggFunc) or function_name(node) in AGGREGATES)
        and node.find_ancestor(exp.Window, exp.Query) is query
        for selected in query.selects
        for node in selected.find_all(exp.Func)
        if not isinstance(node, exp.Connector)
    )
    return has_aggregate and not query.args.get("group")


def _check_opposites(tree: exp.Expression, name: str) -> None:
    """Raise a problem at an `in (select ...)` that stands beside its own opposite.

    Spark simplifies `x in (...) or x not in (...)` to true, although a null in the
    query's result makes it null for most rows. Spark compares the two after it has
    expanded views and simplified both, so here they count as opposites if they test the
    same columns. `and` between them is false for Spark, and hides no further row.
    `name` is the name of the row.
    """
    from sqlglot import exp

    # By what each part is reached: the steps of `or` and `and`, as they are once `not`
    # stands inside.
    found: list[tuple[str, bool, list[tuple[bool, int]]]] = []
    waiting: list[tuple[exp.Expression, bool, list[tuple[bool, int]]]] = [
        (tree, True, [])
    ]
    while waiting:
        node, is_so, way = waiting.pop()
        if isinstance(node, exp.Paren):
            waiting.append((node.this, is_so, way))
        elif isinstance(node, exp.Not):
            waiting.append((node.this, not is_so, way))
        elif isinstance(node, exp.And | exp.Or):
            is_or = isinstance(node, exp.Or) is is_so
            for side, part in enumerate((node.left, node.right)):
                waiting.append((part, is_so, [*way, (is_or, side)]))
        elif isinstance(node, exp.In) and node.args.get("query"):
            found.append((_tested(node.this, name), is_so, way))
    for (one, is_so, way), (other, is_also_so, its_way) in combinations(found, 2):
        if one != other or is_so is is_also_so:
            continue
        parted = next(
            is_or
            for (is_or, side), (_, its_side) in zip(way, its_way, strict=False)
            if side != its_side
        )
        if parted:
            raise ExpressionProblem(
                "'{key}' has an 'in (select ...)' beside its own opposite, which"
                " Spark takes for true where the query gives a null: write"
                " 'exists (select ...)'"
            )


def _tested(node: exp.Expression, name: str) -> str:
    """Return the columns that an `in` tests, or its text if it tests none."""
    from sqlglot import exp

    columns = sorted(
        ".".join(_folded(part.name) for part in column.parts).removeprefix(f"{name}.")
        for column in node.find_all(exp.Column)
    )
    return ", ".join(columns) or node.sql("spark")


def known_type(tree: exp.Expression, types: Mapping[str, str]) -> str | None:
    """Return the type of an expression, as far as it can be known."""
    from sqlglot import exp

    tree = tree.unnest()
    if isinstance(tree, exp.Literal):
        return "string" if tree.is_string else "number"
    if isinstance(tree, exp.Null):
        return "null"
    if isinstance(tree, exp.Cast):
        return tree.to.sql("spark").lower()
    if TYPE in tree.meta:
        return tree.meta[TYPE]
    if isinstance(tree, exp.Column):
        return types.get(tree.name.lower())
    if isinstance(tree, exp.Boolean | exp.Predicate | exp.Connector | exp.Not):
        return "boolean"
    if isinstance(tree, exp.Neg | exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod):
        return "number"
    if isinstance(
        tree,
        exp.Concat | exp.DPipe | exp.Upper | exp.Lower | exp.Trim | exp.Substring,
    ):
        return "string"
    if isinstance(tree, exp.Length | exp.Count):
        return "number"
    if isinstance(tree, exp.Case):
        branches = [branch.args["true"] for branch in tree.args["ifs"]]
        return _common([*branches, tree.args.get("default")], types)
    if isinstance(tree, exp.Coalesce):
        return _common([tree.this, *tree.expressions], types)
    if isinstance(tree, exp.If):
        return _common([tree.args["true"], tree.args.get("false")], types)
    if isinstance(tree, exp.Nullif):
        return known_type(tree.this, types)
    return None


def _common(branches: Iterable[exp.Expression | None], types: Mapping[str, str]) -> Any:
    """Return the common type of all branches that are not null."""
    found = {known_type(branch, types) for branch in branches if branch is not None}
    found.discard("null")
    return found.pop() if len(found) == 1 else None


# The key of a column's type in `meta`, once its relation is known.
TYPE = "type in spark"
# The key of a function's original name in `meta`.
CALLED = "called"
INTEGERS = {
    "tinyint": 7, "byte": 7, "smallint": 15, "short": 15, "int": 31, "integer": 31,
    "bigint": 63, "long": 63,
}  # fmt: skip
WHOLE = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
DECIMAL_TYPE = re.compile(
    r"(?:decimal|dec|numeric)(?:\(\s*([0-9]+)\s*(?:,\s*([0-9]+)\s*)?\))?"
)
# The texts that Spark reads as a day or a moment; any text may follow a day.
DAY = re.compile(
    r"[+-]?([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL
)
MOMENT = re.compile(
    r"([^ T]*)(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.[0-9]*)?"
    r"(?: ?(?:Z|UTC|GMT|[+-](?:0?[0-9]|1[0-7])(?::[0-5]?[0-9])?))?)?)?)?"
)
# Spark's moments end with LAST_SECOND, and LAST_YEAR, the limit of days, is near it.
LAST_YEAR = 290_000
LAST_SECOND = (2**63 - 1) // 10**6
# The texts besides numbers that Spark reads as a double.
NO_NUMBERS = {"nan", "inf", "infinity"}
NO_NUMBERS |= {f"{sign}{name}" for sign in "+-" for name in ("inf", "infinity")}
FLAGS = {"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"}


def is_signed(node: exp.Expression) -> bool:
    """Whether an expression is a number with one sign, which Spark reads as one."""
    from sqlglot import exp

    is_number = isinstance(node.this, exp.Literal) and not node.this.is_string
    return isinstance(node, exp.Neg) and is_number


def constant(tree: exp.Expression) -> tuple[str, str] | None:
    """Return the kind and the text of a constant; None if it is no constant."""
    from sqlglot import exp

    tree = tree.unnest()
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal):
        return ("number", f"-{tree.this.this}") if not tree.this.is_string else None
    if isinstance(tree, exp.Literal):
        return ("string" if tree.is_string else "number", tree.this)
    if isinstance(tree, exp.Concat | exp.DPipe):
        parts = tree.flatten() if isinstance(tree, exp.DPipe) else tree.expressions
        found = [constant(part) for part in parts]
        if any(part is None or part[0] not in ("string", "null") for part in found):
            return None
        is_null = any(part and part[0] == "null" for part in found)
        joined = "".join(part[1] for part in found if part)
        return ("null", "null") if is_null else ("string", joined)
    if isinstance(tree, exp.Boolean):
        return ("boolean", str(tree.this).lower())
    if isinstance(tree, exp.Null):
        return ("null", "null")
    return None


def casts(kind: str, text: str, data_type: str) -> bool:
    """Whether a constant casts to a type; true where that can't be known."""
    data_type = data_type.lower().strip()
    text = text.strip()
    if kind == "null" or data_type == "string" or "char" in data_type:
        return True
    if data_type == "binary":
        return kind == "string"
    if kind == "boolean":
        kind, text = ("number", "1" if text == "true" else "0")
        if data_type == "date" or data_type.startswith("timestamp"):
            return False
    if data_type in INTEGERS:
        limit = 2 ** INTEGERS[data_type]
        is_number = WHOLE.fullmatch(text) or (
            kind == "number" and DECIMAL.fullmatch(text)
        )
        return bool(is_number) and -limit <= int(Decimal(text)) < limit
    if data_type in ("double", "float"):
        return bool(DECIMAL.fullmatch(text)) or text.lower() in NO_NUMBERS
    if found := DECIMAL_TYPE.fullmatch(data_type):
        return _fits(text, int(found[1] or 10), int(found[2] or 0))
    if data_type == "boolean":
        return kind == "number" or text.lower() in FLAGS
    if data_type == "date":
        return kind == "string" and _is_day(text)
    if data_type in ("timestamp", "timestamp_ltz") and kind == "number":
        return abs(Decimal(text)) <= LAST_SECOND
    if data_type.startswith("timestamp"):
        return kind == "string" and _is_moment(text)
    return True


def _fits(text: str, precision: int, scale: int) -> bool:
    """Whether a number, rounded to the scale, has no more digits than a decimal."""
    if not DECIMAL.fullmatch(text):
        return False
    exact = Context(prec=2000 + len(text) + scale)
    rounded = Decimal(text).quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, exact)
    return abs(rounded) < Decimal((0, (1,), precision - scale))


def _is_day(text: str) -> bool:
    """Whether a text begins with a day of the calendar, as Spark reads it."""
    found = DAY.fullmatch(text)
    if not found or int(found[1]) > LAST_YEAR:
        return False
    try:
        # The calendar repeats itself every 400 years.
        year = int(found[1]) * (-1 if text.startswith("-") else 1)
        datetime.date(2000 + year % 400, int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    """Whether a text is a moment of the calendar, as Spark reads it."""
    found = MOMENT.fullmatch(text)
    if not found or not _is_day(found[1]):
        return False
    if found[2] and not re.fullmatch("[^-]+(-[^-]+){2}", found[1].lstrip("+-")):
        return False
    hour, minute, second = (int(part or 0) for part in found.groups()[1:])
    return hour < 24 and minute < 60 and second < 60


def check_mask(expression: Expression, data_type: str) -> None:
    """Raise a problem at a constant that does not cast to the column's type."""
    for value in _values(expression.tree):
        found = constant(value)
        if found and not casts(*found, data_type):
            is_whole = value is expression.tree.unnest()
            raise ExpressionProblem(
                f"'{{key}}' {'is' if is_whole else 'gives'} a constant that does not"
                f" cast to the column's type {data_type}"
            )


def _values(tree: exp.Expression) -> list[exp.Expression]:
    """Return the possible values of an expression: the branches of a `case`."""
    from sqlglot import exp

    tree = tree.unnest()
    is_choice = isinstance(tree, exp.Coalesce)
    given = [tree.this, *tree.expressions] if is_choice else branches(tree)
    return [value for each in given for value in _values(each)] or [tree]


def is_when(node: exp.Expression) -> bool:
    """Whether a node is a `when` of a `case`, which the parser writes as an if()."""
    return node.arg_key == "ifs"


def branches(node: exp.Expression) -> list[exp.Expression]:
    """Return the values of a `case`, an if() or an nvl2(); no other node has any."""
    from sqlglot import exp

    if not isinstance(node, exp.Case | exp.If | exp.Nvl2):
        return []
    given = [each.args["true"] for each in node.args.get("ifs", ())]
    given += [node.args.get(name) for name in ("true", "false", "default")]
    return [each for each in given if each is not None]


def check_measure(
    expression: Expression, fact: str | None, relations: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Raise a problem at a part that a measure must not have; return its columns.

    A column without a relation belongs to the fact, once the fact is known.
    """
    from sqlglot import exp

    tree = expression.tree
    _check_depth(tree)
    if tree.find(exp.Query):
        raise ExpressionProblem("'{key}' has a subquery, which a measure can't have")
    for star in tree.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count | exp.Column):
            raise ExpressionProblem("'{key}' has a '*' of all that is joined")
    has_aggregate = False
    for node in tree.walk():
        if isinstance(node, exp.Window):
            raise ExpressionProblem("'{key}' has a window function")
        if not isinstance(node, exp.Func) or isinstance(node, exp.Connector):
            continue
        name = function_name(node)
        _check_identifier(name)
        has_aggregate |= isinstance(node, exp.AggFunc) or name in AGGREGATES
        if name in OF_OTHER_ROWS:
            raise ExpressionProblem(f"'{{key}}' has the generator '{name}'")
        if name in CHANCE | CLOCK | FOREIGN:
            raise ExpressionProblem(
                f"'{{key}}' has '{name}', which depends on more than the rows"
            )
    if not has_aggregate:
        raise ExpressionProblem("'{key}' is no aggregate")
    found = []
    for column in tree.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts]
        if isinstance(column.this, exp.Star):
            raise ExpressionProblem("'{key}' has a '*' of a relation")
        if len(parts) == 1:
            if fact is None:
                continue
            parts = [fact, *parts]
        relation, name = parts[0], parts[1]
        columns = [f"{r}.{c}" for r, said in relations.items() for c in said["columns"]]
        if f"{relation}.{name}" not in columns:
            raise ExpressionProblem(
                f"'{{key}}' names '{'.'.join(parts)}', which is no column of the fact"
                f" nor of 'relations'{spelling.hint('.'.join(parts), columns)}"
            )
        found.append((relation, name))
    return found


# Names that Spark does not read as names without backticks.
WORDS = {
    "all", "and", "anti", "any", "as", "asc", "authorization", "between", "both",
    "by", "case", "cast", "check", "collate", "column", "constraint", "create",
    "cross", "cube", "current_date", "current_time", "current_timestamp",
    "current_user", "date", "desc", "describe", "distinct", "div", "drop", "else",
    "end", "escape", "except", "exists", "explain", "extract", "false", "fetch",
    "filter", "following", "for", "foreign", "from", "full", "function", "grant",
    "group", "grouping", "having", "if", "in", "inner", "insert", "intersect",
    "interval", "into", "is", "join", "lateral", "leading", "left", "like", "limit",
    "merge", "minus", "natural", "not", "null", "offset", "on", "only", "or",
    "order", "outer", "over", "overlaps", "partition", "percentile_cont",
    "percentile_disc", "pivot", "position", "preceding", "primary", "references",
    "right", "rlike", "rollup", "row", "rows", "select", "semi", "session_user",
    "set", "sets", "some", "start", "struct", "substring", "table", "tablesample",
    "then", "time", "timestamp", "to", "trailing", "trim", "true", "truncate",
    "union", "unique", "unknown", "unpivot", "update", "user", "using", "values",
    "when", "where", "window", "with", "within",
}  # fmt: skip


def is_plain_name(name: str) -> bool:
    """Whether a name needs no backticks."""
    is_lower = name.isascii() and name.isidentifier() and name == name.lower()
    return is_lower and name not in WORDS


def sql_name(name: str) -> str:
    """Return a name between backticks."""
    return "`" + name.replace("`", "``") + "`"


def schema_and_name(text: str) -> list[str] | None:
    """Return the two parts of `<schema>.<name>`; None for any different text."""
    parts = text.split(".")
    return parts if len(parts) == 2 and is_relation(text) else None


def is_relation(text: str) -> bool:
    """Whether a text is the name of a relation, of any catalog or of none."""
    return re.fullmatch(r"(\w+\.)?\w+\.\w+", text) is not None


def is_account(value: Any) -> bool:
    """Whether a value is the name of an account or role, which needs no escaping."""
    return isinstance(value, str) and re.fullmatch(r"[\w.@-]+", value) is not None
