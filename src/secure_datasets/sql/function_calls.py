"""Checks that the functions in a rule can't fail on any value.

An error message reveals its value, even if the row is hidden or the value is masked.
Therefore a rule may call only functions that return a result for every value, as listed
in `functions`. Patterns, formats and counts must be constants, and this module checks
them. It reads calls from the pieces of the text, by the names that Spark sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter
from zoneinfo import available_timezones

from secure_datasets.sql import (
    arguments,
    days,
    expressions,
    functions,
    inference,
    spelling,
)
from secure_datasets.sql.expressions import (
    Expression,
    ExpressionProblem,
    Piece,
    pieces_of,
)

if TYPE_CHECKING:
    from sqlglot import exp

# Words that a bracket may follow and that are no calls.
SQL_WORDS = functions.names(
    """
    all and any as between by case cluster cross cube decimal dec numeric distinct div
    else end escape except from having ilike in inner intersect interval is join lateral
    like limit minus not nulls on or order over qualify regexp rlike rollup select sets
    some sort string table then try_cast union using values varchar char character
    when where with within timestampadd timestampdiff
    """
)
# Operators that Spark also has as functions; the parser reads these differently.
INFIX = functions.names("ilike like regexp rlike")
WORDS_BEFORE = functions.names(
    "and case else having in like not on or select then when where"
)
# Qualifiers that make a name Spark's own function.
OF_SPARK = functions.names("builtin session system")
WITH_LENGTH = functions.names("char character nchar nvarchar varchar")
WITH_DIGITS = functions.names("dec decimal numeric")
NESTED_TYPES = functions.names("array map struct")
CASTS = functions.names("cast try_cast")
CAST_TYPES = functions.names(
    """
    bool boolean byte tinyint short smallint int integer long bigint float real double
    dec decimal numeric string binary date timestamp timestamp_ltz timestamp_ntz
    """
)
REPEATS = functions.names("array_repeat repeat")
# Functions that fold many values into one, and functions that may grow a text or list
# in a step.
STEPS = functions.names("aggregate reduce")
GROW_BY_PARTS = functions.names("array_append concat")
NUMBERS = functions.names(
    """
    bigint boolean byte dec decimal double float int integer long numeric real short
    smallint tinyint
    """
)
EXTRACTED = functions.names(
    """
    d day dayofweek dayofweek_iso days day_of_year dow dow_iso doy h hour hours hr hrs m
    min mins minute minutes mon mons month months qtr quarter s sec second seconds secs
    w week weeks y year years yearofweek yr yrs
    """
)
# The units of differences, words before two moments.
BETWEEN = functions.names(
    """
    day dayofyear hour microsecond millisecond minute month quarter second week year
    """
)
WITH_UNIT = functions.names("date_diff datediff timestampdiff")
# The units for cutting a day and a moment, each with the place of the argument. Spark
# gives null for any other unit.
OF_A_DAY = functions.names("year yyyy yy quarter month mm mon week")
CUT = {
    "trunc": (1, OF_A_DAY),
    "date_trunc": (
        0,
        OF_A_DAY | functions.names("day dd hour minute second millisecond microsecond"),
    ),
}
MOST_REPEATED = 10_000
# The limit for the product of all repetition counts of an expression, as they may nest.
MOST_TOGETHER = 1_000_000
MOST_LAMBDAS = 2
MOST_PLACES = 1_000_000
MOST_MONTHS = 12_000
MOST_YEARS = 9999
WHOLE = re.compile(r"[0-9]{1,9}")
# Zones without a place in their name that Java has in each version.
ZONES = ("UTC", "GMT", "CET", "EET", "MET", "WET")
ZONE_OFFSET = re.compile(r"[+-](0[0-9]|1[0-7]):[0-5][0-9]")
# The letters of a format, each with its most repetitions; with more, functions fail.
FORMAT = {"y": 6, "M": 4, "d": 2, "D": 3, "a": 1, "S": 9, **dict.fromkeys("HhKkms", 2)}
BINARY_FORMATS = functions.names("base64 hex utf-8 utf8")
# One sign of each kind, and no more digits than a decimal has.
FORMAT_OF_NUMBERS = re.compile(
    r"(?!.*S.*S|.*MI.*MI|(?:[^09]*[09]){39})"
    r"(?:S|MI)?\$?(?:[09]+(?:[,G][09]+)*(?:[.D][09]*)?|[.D][09]+)(?:S|MI)?"
)
# A path of JSON with names and places.
PATH = re.compile(r"\$(\.\w+|\[\d{1,6}\])*", re.ASCII)
# A regular expression may consist of parts, each with a quantifier.
LETTERS = (
    r"\\[^A-Za-z0-9]|\\[pP]\{(?:L[lut]?|Nd?|P|S|Z|Lower|Upper|ASCII|Alpha|Digit|Alnum"
    r"|Punct|Graph|Print|Blank|Cntrl|XDigit|Space)\}"
)
# A hyphen behind a class of letters, where it stands for itself, not for a range.
HYPHEN = re.compile(r"(\\[dDwWsS]|\\[pP]\{\w+\})-(?!-)|\\.", re.DOTALL)
PART = re.compile(
    rf"\\[dDwWsSbBntrf]|{LETTERS}"
    rf"|\[\^?(?:\\[dDwWsSntrf]|{LETTERS}|(?!&&)[^\[\]\\])+\]"
    r"|\((?:\?[:=!])?|\)|[|^$.]|[^\\\[\](){}*+?|^$.]"
)
REPEATED = re.compile(r"([*+?]|\{(\d{1,4})(,\d{0,4})?\})[?+]?")
MOST_GROUPS_REPEATED = 100
# What no group begins in: an escaped letter, and a class of letters.
NO_GROUPS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]")
# They ask for the first group of a pattern, if no other is named.
OF_A_GROUP = functions.names("regexp_extract regexp_extract_all")
FIRST_GROUP = tuple(pieces_of("1"))
# A year of the calendar: of a column, or by a few letters of one.
COLUMN = r"[\w`.]+"
YEAR = re.compile(
    rf"year\({COLUMN}\)([+-]\d{{1,4}})?|int\(left\({COLUMN},[1-4]\)\)"
    rf"|cast\(left\({COLUMN},[1-4]\)asint\)"
)


@dataclass(frozen=True)
class Call:
    """A call: the name, its qualifier, and the pieces of each argument."""

    name: str
    qualifiers: tuple[str, ...]
    arguments: tuple[tuple[Piece, ...], ...]


def calls_of(text: str) -> list[Call]:
    """Return the calls of a text; an inner call comes after its outer call."""
    pieces = [piece for piece in pieces_of(text) if piece.kind != "space"]
    found = []
    for number, piece in enumerate(pieces):
        follows = pieces[number + 1].raw if number + 1 < len(pieces) else ""
        if piece.kind not in ("word", "name") or follows != "(":
            continue
        qualifiers: list[str] = []
        place = number
        while place > 1 and pieces[place - 1].raw == ".":
            place -= 2
            qualifiers.insert(0, _name(pieces[place]))
        name = _name(piece)
        is_infix = piece.kind == "word" and _follows_operand(pieces, number)
        if name in INFIX and not qualifiers and not is_infix:
            raise ExpressionProblem(
                f"'{{key}}' calls '{name}' as a function: write it between its"
                f" operands, 'x {name} ...'"
            )
        is_word = piece.kind == "word" and not qualifiers
        if is_word and (name in SQL_WORDS or piece.raw.isdecimal()):
            continue
        given, _ = arguments.between_brackets(pieces, number + 1)
        listed = tuple(map(tuple, given)) if given != [[]] else ()
        found.append(Call(name, tuple(qualifiers), listed))
    return found


def _follows_operand(pieces: list[Piece], number: int) -> bool:
    """Whether a word stands behind an operand, perhaps with a `not` between them."""
    before = pieces[number - 1] if number else None
    if before is not None and before.raw.lower() == "not":
        before = pieces[number - 2] if number > 1 else None
    if before is None:
        return False
    is_word = before.kind == "word" and before.raw.lower() in WORDS_BEFORE
    return before.raw in (")", "]") if before.kind == "symbol" else not is_word


def _name(piece: Piece) -> str:
    """Return a name as Spark compares it."""
    raw = piece.raw
    return (raw[1:-1].replace("``", "`") if piece.kind == "name" else raw).lower()


def check(expression: Expression, is_condition: bool, is_measure: bool = False) -> None:
    """Raise a problem at a part that can fail, or that the engine does not support."""
    _check_types(expression.text)
    _check_casts(expression.tree)
    _check_numbers(expression.text)
    # A list of columns behind an alias looks like a call.
    aliases = _aliases_with_columns(expression.tree)
    calls = calls_of(expression.text)
    for call in calls:
        if call.name in aliases and not call.qualifiers:
            aliases.remove(call.name)
            continue
        _check_call(call, is_condition, is_measure)
    _check_counts(calls)
    _check_lambdas(expression.tree)
    check_variants(expression, {})
    _check_operators(expression.tree)
    _check_forms(expression.tree)
    _check_writing(expression.text)
    _check_patterns(expression.tree)
    _check_moments(expression.tree)
    _check_words(expression)
    if is_measure:
        # Its types are not known.
        inference.check_json(expression.tree)


def check_types(
    expression: Expression, name: str | None, types: Mapping[str, str], asks: bool
) -> exp.Expression:
    """Raise a problem at a part that Spark refuses for the documented columns' types.

    `name` is the name of the row, `types` has its columns, and `asks` is whether the
    whole expression must be true or false. Returns the expression with types.
    """
    inference.check_brackets(expression)
    tree = inference.annotated(expression.tree, name, types)
    inference.check_boolean(tree, asks)
    inference.check_comparisons(tree)
    inference.check_parts(tree)
    inference.check_kinds(tree)
    inference.check_intervals(tree)
    arguments.check_operators(tree)
    inference.check_json(tree)
    days.check(tree)
    arguments.check(expression, name, types)
    check_decimals(tree, types)
    check_variants(expression, types)
    return tree


def _check_counts(calls: list[Call]) -> None:
    """Raise a problem if nested repetitions can multiply beyond the limit."""
    together = 1
    for call in calls:
        for place, kind in functions.CONSTANTS.get(call.name, {}).items():
            if kind == "a count" and place < len(call.arguments):
                together *= max(_number_of(call.arguments[place]) or 1, 1)
    if together > MOST_TOGETHER:
        raise ExpressionProblem(
            f"'{{key}}' has counts of {together:,} together, where one may be within"
            f" another: at most {MOST_TOGETHER:,}"
        )


def _check_lambdas(tree: exp.Expression) -> None:
    """Raise a problem at more than MOST_LAMBDAS nested lambdas."""
    from sqlglot import exp

    for node in tree.find_all(exp.Lambda):
        depth, above = 1, node.find_ancestor(exp.Lambda)
        while above is not None:
            depth, above = depth + 1, above.find_ancestor(exp.Lambda)
        if depth > MOST_LAMBDAS:
            raise ExpressionProblem(
                "'{key}' nests more than two functions with '->', which can outgrow"
                " the memory"
            )


def _aliases_with_columns(tree: exp.Expression) -> list[str]:
    from sqlglot import exp

    return [
        alias.name.lower()
        for alias in tree.find_all(exp.TableAlias)
        if alias.args.get("columns")
    ]


def _check_call(call: Call, is_condition: bool, is_measure: bool) -> None:
    """Raise a problem at a function that a rule can't call, or not in this form."""
    name = call.name
    if call.qualifiers:
        of_spark = next((name for name in call.qualifiers if name in OF_SPARK), None)
        if of_spark:
            raise ExpressionProblem(
                f"'{{key}}' calls '{name}' by '{of_spark}': write '{name}' alone"
            )
        # User-defined functions are not checked.
        return
    if name in functions.RAISES:
        advice = functions.RAISES[name]
        raise ExpressionProblem(
            f"'{{key}}' has '{name}', which fails on some values, and an error tells"
            " the value" + (f": write '{advice}'" if advice else ": leave it out")
        )
    if name in functions.SESSION:
        raise _of_session(name)
    if name in functions.OF_ORDER and (is_condition or is_measure):
        raise ExpressionProblem(
            f"'{{key}}' has '{name}', which depends on the order of rows: write 'max'"
            " or 'min'"
        )
    if name in functions.OF_ORDER_IN_WINDOWS and is_condition:
        raise ExpressionProblem(
            f"'{{key}}' has '{name}', which depends on the order of rows: write 'rank',"
            " 'max' or 'min'"
        )
    _check_arguments(call)
    known = (
        functions.PLAIN, functions.CONSTANTS, functions.AGGREGATES, functions.CHANCE,
        functions.CLOCK, functions.SESSION, functions.WINDOW_FUNCTIONS,
        functions.OF_OTHER_ROWS,
    )  # fmt: skip
    is_odd_aggregate = name in functions.AGGREGATES and not (
        name in functions.PLAIN_AGGREGATES or name in functions.OF_ORDER
    )
    unfit = functions.UNFIT | functions.FOREIGN
    if name in unfit or is_odd_aggregate or name == "counter_diff":
        raise ExpressionProblem(
            f"'{{key}}' has '{name}', which a rule can't have: it can fail, or is made"
            " for other things than rules"
        )
    if not any(name in names for names in known):
        near = spelling.hint(name, {*functions.PLAIN, *functions.CONSTANTS})
        raise ExpressionProblem(
            f"'{{key}}' has '{name}', which is no known function of Spark{near}: call a"
            f" function of your own by its schema, '<schema>.{name}'"
        )


def _check_arguments(call: Call) -> None:
    """Raise a problem at arguments on which a function can fail."""
    name = call.name
    if name in functions.CONSTANTS:
        _check_constants(call)
    if name in REPEATS and any(_calls_one_of(REPEATS, part) for part in call.arguments):
        raise ExpressionProblem(
            f"'{{key}}' has '{name}' of what is repeated already, which can outgrow the"
            " memory: repeat once"
        )
    if name == "replace" and len(call.arguments) > 2:
        texts, others = (_named(call.arguments[place]) for place in (0, 2))
        if texts & others:
            raise ExpressionProblem(
                "'{key}' has 'replace' of a text by itself, which can outgrow the"
                " memory: replace by a constant or another column"
            )
    if name in STEPS and len(call.arguments) > 2 and _can_outgrow(call):
        raise ExpressionProblem(
            f"'{{key}}' has '{name}' of a text or a list that can double with each"
            " step, and outgrow the memory: write it once, in 'concat'"
        )
    if name == "extract" and not _is_unit(call.arguments[0][0].raw):
        raise ExpressionProblem(
            "'{key}' has 'extract' of no unit that Spark knows: write 'extract(year"
            " from x)'"
        )
    if name in CUT and len(call.arguments) == 2:
        place, units = CUT[name]
        unit = _text_of(call.arguments[place])
        if unit is not None and unit.lower() not in units:
            raise ExpressionProblem(
                f"'{{key}}' has '{name}' to a unit that Spark makes null: write one"
                f" of {', '.join(sorted(units))}"
            )
    if name == "named_struct" and None in map(_text_of, call.arguments[::2]):
        raise ExpressionProblem(
            "'{key}' has 'named_struct' with a name that is no constant text: write"
            " named_struct('name', x)"
        )
    if name == "map":
        _check_keys(call)
    if name == "array_sort" and len(call.arguments) > 1:
        raise ExpressionProblem(
            "'{key}' has 'array_sort' with a comparison, which fails where that is"
            " null: write 'sort_array'"
        )
    if name == "decode" and len(call.arguments) == 2:
        raise ExpressionProblem(
            "'{key}' has 'decode' with a charset, which fails on some values: write"
            " 'cast(... as string)'"
        )
    if name in ("dateadd", "date_add") and len(call.arguments) == 3:
        raise _adds_to_moment(name)


def _calls_one_of(names: frozenset[str], argument: tuple[Piece, ...]) -> bool:
    """Whether an argument calls one of some functions."""
    return any(
        piece.kind in ("word", "name") and _name(piece) in names and after.raw == "("
        for piece, after in pairwise(argument)
    )


def _named(argument: tuple[Piece, ...]) -> set[str]:
    """Return the names in an argument, including names of functions."""
    return {_name(piece) for piece in argument if piece.kind in ("word", "name")}


def _can_outgrow(call: Call) -> bool:
    """Whether a folded value can multiply its own size with each step.

    A number can't. A text or a list that occurs once, in a function that joins parts,
    grows only by the added part.
    """
    start, step = call.arguments[1:3]
    if _is_number_or_flag(start):
        return False
    name = _name(step[1] if step[0].raw == "(" else step[0])
    arrow = next((n for n, piece in enumerate(step) if piece.raw in ("->", "-")), 0)
    body = step[arrow + 1 :]
    places = [
        number
        for number, piece in enumerate(body)
        if piece.kind in ("word", "name") and _name(piece) == name
    ]
    if len(places) > 1:
        return True
    return any(
        called not in GROW_BY_PARTS
        for place in places
        for called in _around(body, place)
    )


def _around(body: tuple[Piece, ...], place: int) -> Iterator[str]:
    """Yield the functions around a piece; a bracket without a function yields none."""
    depth = 0
    for number in range(place - 1, -1, -1):
        raw = body[number].raw
        depth += (raw in (")", "]")) - (raw in ("(", "["))
        if depth < 0:
            depth = 0
            before = body[number - 1] if number else None
            if before is not None and before.kind in ("word", "name"):
                yield _name(before)


def _is_number_or_flag(argument: tuple[Piece, ...]) -> bool:
    """Whether an argument is a number, true or false, or a cast to one of these."""
    raw = [piece.raw.lower() for piece in argument if piece.raw not in "+-"]
    if len(raw) == 1:
        return raw[0] in ("true", "false") or bool(re.match(r"\.?\d", raw[0]))
    if raw[1:2] != ["("] or _end_of_bracket(raw) != len(raw) - 1:
        return False
    if raw[0] == "cast" and "as" in raw:
        return raw[len(raw) - raw[::-1].index("as")] in NUMBERS
    return raw[0] in NUMBERS


def _end_of_bracket(raw: list[str]) -> int:
    """Return the place of the bracket that closes the bracket at the second piece."""
    depth = 0
    for number, piece in enumerate(raw[1:], 1):
        depth += (piece == "(") - (piece == ")")
        if not depth:
            return number
    return len(raw)


def _is_unit(text: str) -> bool:
    return text.lower() in EXTRACTED


def _of_session(name: str) -> ExpressionProblem:
    return ExpressionProblem(
        f"'{{key}}' has '{name}', which depends on the session, and not on the row: the"
        " reader is 'user_id', or an attribute such as 'reader.department'"
    )


def _adds_to_moment(name: str) -> ExpressionProblem:
    return ExpressionProblem(
        f"'{{key}}' has '{name}' of a unit, which fails on some values: write"
        " '... + interval ...' with a constant"
    )


def _check_constants(call: Call) -> None:
    """Raise a problem at an argument that must be a constant of a kind and is not."""
    for place, kind in functions.CONSTANTS[call.name].items():
        is_given = place < len(call.arguments)
        if not is_given and not (kind == "a group of it" and call.name in OF_A_GROUP):
            continue
        argument = call.arguments[place] if is_given else FIRST_GROUP
        if call.name == "repeat" and _is_as_long_as_a_column(call):
            continue
        problem = f"'{{key}}' has '{call.name}' with "
        if kind == "nothing":
            raise ExpressionProblem(
                f"{problem}{place + 1} arguments, which can fail: leave out the"
                f" {_ordinal(place)}"
            )
        if kind in ("a group of it", "a text without \\ or a $ that is no group of it"):
            pattern = _text_of(call.arguments[1]) or ""
            groups = len(re.findall(r"\((?!\?)", NO_GROUPS.sub("", pattern)))
            number, text = _number_of(argument), _text_of(argument)
            if kind == "a group of it":
                is_fit = number is not None and 0 <= number <= groups
            else:
                named = re.findall(r"\$([0-9]?)", text or "")
                is_fit = text is not None and "\\" not in text
                is_fit = is_fit and all(n and int(n) <= groups for n in named)
        else:
            is_fit = KINDS[kind](argument)
        if not is_fit and kind == "a year":
            raise ExpressionProblem(
                f"{problem}a year that can be any number, on which it can fail: write a"
                " constant, 'year(x)' of a column, or 'int(left(x, 4))'"
            )
        if not is_fit and call.name == "repeat":
            raise ExpressionProblem(
                f"{problem}a count that may outgrow the memory: write a constant, or"
                " one letter as often as a column is long, repeat('*', length(name))"
            )
        if not is_fit:
            raise ExpressionProblem(
                f"{problem}an argument on which it can fail: the {_ordinal(place)} must"
                f" be {kind}, as a constant"
            )
        if call.name in functions.PARSING and _text_of(call.arguments[0]) is None:
            # Under a setting of the session, which views don't keep, some values fail.
            raise ExpressionProblem(
                f"{problem}a format, by which values fail where a session has the older"
                " parser: write 'to_date(x)' or 'to_timestamp(x)' of texts such as"
                " 2026-01-31, or 'make_date' of parts"
            )


def _is_as_long_as_a_column(call: Call) -> bool:
    """Whether a letter is repeated as often as a column has letters."""
    text = _text_of(call.arguments[0])
    raw = [piece.raw.lower() for piece in call.arguments[1]]
    return (
        text is not None
        and len(text) == 1
        and text.isascii()
        and raw[:2] == ["length", "("]
        and raw[-1] == ")"
        and all(
            piece.kind in ("word", "name") or piece.raw == "."
            for piece in call.arguments[1][2:-1]
        )
    )


def _ordinal(place: int) -> str:
    return ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")[place]


def _check_keys(call: Call) -> None:
    """Raise a problem at a map whose keys could be null or duplicate."""
    keys = [_constant_of(argument) for argument in call.arguments[::2]]
    if None in keys or len(set(keys)) < len(keys):
        raise ExpressionProblem(
            "'{key}' has 'map' with keys that can be null or be there twice, on which"
            " it fails: let each be another constant"
        )


def _text_of(argument: tuple[Piece, ...]) -> str | None:
    """Return the text of an argument that is a text; None if it is none."""
    is_text = len(argument) == 1 and argument[0].kind == "text"
    return argument[0].value if is_text else None


def _number_of(argument: tuple[Piece, ...]) -> int | None:
    """Return the value of an argument that is a whole number; None if it is none."""
    sign = 1
    if len(argument) == 2 and argument[0].raw in "+-":
        sign, argument = -1 if argument[0].raw == "-" else 1, argument[1:]
    if len(argument) != 1 or not WHOLE.fullmatch(argument[0].raw):
        return None
    return sign * int(argument[0].raw)


def _constant_of(argument: tuple[Piece, ...]) -> str | None:
    """Return a text that identifies a constant; None if the argument is no constant."""
    text, number = _text_of(argument), _number_of(argument)
    return f"'{text}" if text is not None else None if number is None else str(number)


def _is_number(least: int, most: int) -> Callable[[tuple[Piece, ...]], bool]:
    def is_fit(argument: tuple[Piece, ...]) -> bool:
        number = _number_of(argument)
        return number is not None and least <= number <= most

    return is_fit


def _is_text(fits: Callable[[str], object]) -> Callable[[tuple[Piece, ...]], bool]:
    def is_fit(argument: tuple[Piece, ...]) -> bool:
        text = _text_of(argument)
        return text is not None and bool(fits(text))

    return is_fit


def _is_place(argument: tuple[Piece, ...]) -> bool:
    """Whether an argument is a place from either end, or the key of a map."""
    number = _number_of(argument)
    if number is None:
        return _text_of(argument) is not None
    return number != 0 and abs(number) <= MOST_PLACES


def _is_year(argument: tuple[Piece, ...]) -> bool:
    """Whether an argument is a year of the calendar, or near it."""
    number = _number_of(argument)
    if number is not None:
        return 1 <= number <= MOST_YEARS
    return bool(YEAR.fullmatch("".join(piece.raw for piece in argument).lower()))


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _is_zone(text: str) -> bool:
    is_offset = ZONE_OFFSET.fullmatch(text) is not None
    return text in ZONES or is_offset or ("/" in text and text in _zones())


def _is_format(text: str, allowed: Mapping[str, int] = FORMAT) -> bool:
    """Whether a format has no letters that Spark fails on, nor too many of one."""
    letters = re.finditer(r"([A-Za-z])\1*", text)
    fits = all(len(run[0]) <= allowed.get(run[1], 0) for run in letters)
    return fits and not set(text) & set("'[]#{}")


def is_pattern_of_like(text: str, escape: str = "\\") -> bool:
    """Whether each escape in a pattern is before a character that Spark allows."""
    if len(escape) != 1:
        return False
    place = 0
    while place < len(text):
        if text[place] == escape:
            if text[place + 1 : place + 2] not in ("%", "_", escape):
                return False
            place += 1
        place += 1
    return True


def is_regular_expression(text: str) -> bool:
    """Whether Java can read a pattern and match it with limited recursion.

    Java recurses for each repetition of a group, and a long text ends its process. Thus
    nested repetitions of groups multiply to at most MOST_GROUPS_REPEATED.
    """
    body = text.removeprefix("(?i)")
    place = 0
    can_repeat, closes_group = False, False
    # The repetitions inside each open group; nested groups multiply them.
    depths = [1]
    inner = 1
    while place < len(body):
        repeated = REPEATED.match(body, place) if can_repeat else None
        if repeated:
            if closes_group:
                inner *= _most(repeated)
                if inner > MOST_GROUPS_REPEATED:
                    return False
                depths[-1] = max(depths[-1], inner)
            place, can_repeat = repeated.end(), False
            continue
        part = PART.match(body, place)
        if not part:
            return False
        closes_group = part[0] == ")"
        if part[0].startswith("("):
            depths.append(1)
        if closes_group:
            inner = depths.pop()
            if not depths:
                return False
            depths[-1] = max(depths[-1], inner)
        can_repeat = part[0] not in ("|", "^", "$", "\\b", "\\B")
        can_repeat = can_repeat and not part[0].startswith("(")
        place = part.end()
    if len(depths) > 1:
        return False
    try:
        # Python does not know the properties of letters, and wants that hyphen escaped.
        body = HYPHEN.sub(lambda m: rf"{m[1]}\-" if m[1] else m[0], body)
        # A hyphen twice makes Python warn of what a later Python may read there.
        with catch_warnings():
            simplefilter("ignore", FutureWarning)
            re.compile(re.sub(r"\\[pP]\{\w+\}", r"\\w", body))
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _most(repeated: re.Match[str]) -> float:
    """Return the most repetitions of a group."""
    if repeated[1] == "?":
        return 1
    if not repeated[2] or repeated[3] == ",":
        return inf
    return int((repeated[3] or f",{repeated[2]}")[1:])


# A type and a field of a schema, where one word stands for each nested type. Dates and
# times are read by the parser of the session, and with the older one some fail.
TYPE = (
    r"(?:decimal|dec|numeric)(?:\(\d+(?:,\d+)?\))?"
    r"|(?!(?:date|timestamp\w*)(?!\w))[a-z]\w*"
)
FIELD = rf"(?:\w+|`[^`]+`)[ :](?:{TYPE})"
NESTED_TYPE = re.compile(
    rf"array<(?:{TYPE})>|map<string,(?:{TYPE})>|struct<(?:{FIELD}(?:,{FIELD})*)?>",
    re.ASCII,
)
SCHEMA = re.compile(rf"nested|{FIELD}(?:,{FIELD})*".replace("[ :]", " "), re.ASCII)


def _has_form_of_schema(text: str) -> bool:
    """Whether a text is a list of fields, or one type with others in it."""
    left = re.sub(r"\s*([<>(),:])\s*", r"\1", " ".join(text.lower().split()))
    while (shorter := NESTED_TYPE.sub("nested", left)) != left:
        left = shorter
    return SCHEMA.fullmatch(left) is not None


def _is_schema(text: str) -> bool:
    """Whether a schema of JSON has only types that rules may cast to.

    The content of the column of damaged rows depends on a setting of the reader.
    """
    if "_corrupt_record" in text.lower() or not _has_form_of_schema(text):
        return False
    try:
        pieces = pieces_of(f"struct<{text}>")
        _check_type([piece for piece in pieces if piece.kind != "space"])
    except ExpressionProblem:
        return False
    return True


KINDS: dict[str, Callable[[tuple[Piece, ...]], bool]] = {
    "a charset": _is_text(lambda text: text.lower() == "utf-8"),
    "a count": _is_number(0, MOST_REPEATED),
    "a format": _is_text(_is_format),
    # Spark writes names of days, and reads none. Its older formatter, which a session
    # may have, writes other parts of a second except for three letters.
    "a format with SSS for parts of a second": _is_text(
        lambda text: _is_format(
            re.sub(r"(?<!S)SSS(?!S)", ".", text), FORMAT | {"E": 4, "S": 0}
        )
    ),
    "a format of binary values": _is_text(lambda text: text.lower() in BINARY_FORMATS),
    "a format of numbers": _is_text(FORMAT_OF_NUMBERS.fullmatch),
    "letters and digits": _is_text(re.compile(r"\w+", re.ASCII).fullmatch),
    "a number of digits": _is_number(0, 30),
    "a number of places": _is_number(-37, 38),
    "a number of months": _is_number(-MOST_MONTHS, MOST_MONTHS),
    "a path": _is_text(PATH.fullmatch),
    "a pattern of like": _is_text(is_pattern_of_like),
    "a place": _is_place,
    "a regular expression": _is_text(is_regular_expression),
    "a schema without dates and times": _is_text(_is_schema),
    "one letter or null": lambda argument: (
        [piece.raw.lower() for piece in argument] == ["null"]
        or _is_text(lambda text: len(text) == 1 and text < "\ud800")(argument)
    ),
    "a text": _is_text(lambda text: True),
    "a time zone": _is_text(_is_zone),
    "true or false": lambda argument: (
        [piece.raw.lower() for piece in argument] in (["true"], ["false"])
    ),
    "a unit": _is_text(_is_unit),
    "a year": _is_year,
    "a type": _is_text(lambda text: text.lower() in CAST_TYPES),
}


# Casts


def _check_types(text: str) -> None:
    """Raise a problem at a type that Spark does not have, or treats differently.

    The parser takes types of other engines for Spark's, and leaves lengths out, so the
    pieces are read.
    """
    pieces = [piece for piece in pieces_of(text) if piece.kind != "space"]
    for number, (piece, after) in enumerate(pairwise(pieces)):
        if piece.raw == after.raw == ":":
            _check_type(pieces[number + 2 :])
        elif piece.raw.lower() in CASTS and after.raw == "(":
            _check_type(_after_as(pieces[number + 2 :]))
        elif piece.raw.lower() == "time" and after.kind == "text":
            raise _no_type("time")


# A number, with the letters after it that give its type.
NUMBER = re.compile(
    r"(?<![\w.])([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?(bd|[ysldf])?(?!\w)",
    re.IGNORECASE,
)
# The replacement for a text, a name or a space in the search for numbers.
NO_NUMBER = "'"
INTEGERS = {"y": ("tinyint", 7), "s": ("smallint", 15), "l": ("bigint", 63)}
DOUBLES = {"f": ("float", "3.4028235e38"), "d": ("double", "1.7976931348623157e308")}
DIGITS_OF_DECIMAL = 38


def _check_numbers(text: str) -> None:
    """Raise a problem at a number that Spark can't read: its type has no such value."""
    shown = "".join(
        piece.raw if piece.kind in ("word", "symbol") else NO_NUMBER
        for piece in pieces_of(text)
    )
    for found in NUMBER.finditer(shown):
        digits, power, letters = found[1], found[2] or "", (found[3] or "").lower()
        # The largest exponents are no numbers for Python either.
        is_huge = len(power) > 8 and "-" not in power
        value = Decimal(digits + ("e99999999" if is_huge else power[:8]))
        if letters in INTEGERS:
            name, bits = INTEGERS[letters]
            before = shown[: found.start()].rstrip(NO_NUMBER)
            is_fit = value < 2**bits or (before.endswith("-") and value == 2**bits)
            is_fit = is_fit and digits.isdecimal() and not power
            advice = f", or without {found[3]}"
        elif letters != "bd" and (letters or power):
            name, most = DOUBLES[letters or "d"]
            is_fit, advice = value <= Decimal(most), ""
        else:
            name, advice = f"decimal of {DIGITS_OF_DECIMAL} digits", ""
            shape = value.as_tuple()
            behind = max(-int(shape.exponent), 0)
            before_point = max(len(shape.digits) + int(shape.exponent), 0)
            is_fit = before_point + behind <= DIGITS_OF_DECIMAL
        if not is_fit:
            raise ExpressionProblem(
                f"'{{key}}' has the number {found[0][:60]}, which is no {name}: write a"
                f" smaller one{advice}"
            )


def _check_casts(tree: exp.Expression) -> None:
    """Raise a problem at a cast that the parser takes for one to an element."""
    from sqlglot import exp

    for cast in tree.find_all(exp.Cast):
        if not isinstance(cast.to, exp.DataType):
            raise ExpressionProblem(
                "'{key}' has a '[' behind a type: write 'cast(... as ...)[...]'"
            )


def _after_as(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces after the `as` of a cast with an open bracket."""
    depth = 0
    for number, piece in enumerate(pieces):
        if piece.kind == "symbol":
            depth += (piece.raw in "([") - (piece.raw in ")]")
        elif piece.raw.lower() == "as" and depth == 0:
            return pieces[number + 1 :]
    return []


def _no_type(name: str) -> ExpressionProblem:
    return ExpressionProblem(
        f"'{{key}}' casts to {name}, which can fail, or is no type of a column"
    )


def _check_type(pieces: list[Piece]) -> None:
    """Raise a problem if pieces begin with a type that a rule can't cast to."""
    depth = 0
    for number, piece in enumerate(pieces):
        raw = piece.raw.lower()
        after = pieces[number + 1] if number + 1 < len(pieces) else Piece("space", " ")
        depth += (raw == "<") - (raw == ">")
        is_field = depth > 0 and (after.raw == ":" or after.kind in ("word", "name"))
        if piece.kind == "word" and not is_field and not raw.isdecimal():
            if raw in WITH_LENGTH and after.raw == "(":
                raise _has_length(raw, pieces[number + 2].raw)
            if raw in WITH_DIGITS and after.raw == "(":
                _check_digits(pieces[number + 2 : number + 5])
            is_known = raw in CAST_TYPES | NESTED_TYPES
            if not is_known or (after.raw == "(" and raw not in WITH_DIGITS):
                raise _no_type(raw)
        if depth == 0 and after.raw != "<":
            return


def _check_digits(pieces: list[Piece]) -> None:
    """Raise a problem at more digits than a decimal of Spark has."""
    numbers = [int(piece.raw) for piece in pieces if piece.raw.isdecimal()]
    if not numbers:
        raise _no_type("decimal()")
    digits, places = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if not places <= digits <= 38:
        raise ExpressionProblem(
            f"'{{key}}' casts to a decimal of {digits} digits, {places} of them behind"
            " the point: Spark has 38 at most"
        )


def _has_length(name: str, length: str) -> ExpressionProblem:
    return ExpressionProblem(
        f"'{{key}}' casts to {name}({length}), which cuts and fills nothing in Spark:"
        f" write 'left(x, {length})'"
    )


VARIANTS = functions.names("try_parse_json to_variant_object")


def check_variants(expression: Expression, types: Mapping[str, str]) -> None:
    """Raise a problem at a cast beside a variant: some values would fail."""
    pieces = [piece for piece in pieces_of(expression.text) if piece.kind != "space"]
    calls = calls_of(expression.text)
    named = expressions.columns_named([expression.text], types)
    is_variant = any(call.name in VARIANTS for call in calls)
    is_variant |= any("variant" in types[name] for name in named)
    # `int(x)` is a cast as well.
    is_cast = "::" in expression.text or any(
        piece.kind in ("word", "name")
        and _name(piece) in CAST_TYPES | {"cast"}
        and after.raw == "("
        for piece, after in pairwise(pieces)
    )
    if is_cast and is_variant:
        raise ExpressionProblem(
            "'{key}' has a cast beside a variant, which fails on some values: write"
            " 'try_variant_get(..., '$.name', 'string')' or 'try_cast'"
        )


# Operators


COLLATION = re.compile(
    r"(utf8_binary|utf8_lcase|unicode(_ci|_cs)?(_ai|_as)?)(_rtrim)?", re.IGNORECASE
)


def _check_operators(tree: exp.Expression) -> None:
    """Raise a problem at an operator of other engines, which Spark can't read."""
    from sqlglot import exp

    operators = (
        exp.Add, exp.And, exp.BitwiseAnd, exp.BitwiseLeftShift, exp.BitwiseOr,
        exp.BitwiseRightShift, exp.BitwiseXor, exp.Div, exp.Dot, exp.DPipe, exp.EQ,
        exp.Escape, exp.Func, exp.GT, exp.GTE, exp.ILike, exp.IntDiv, exp.Is, exp.Kwarg,
        exp.Like, exp.LT, exp.LTE, exp.Mod, exp.Mul, exp.NEQ, exp.NullSafeEQ,
        exp.NullSafeNEQ, exp.Or, exp.PropertyEQ, exp.Sub,
    )  # fmt: skip
    lists = ("expressions", "query", "unnest", "field")
    for node in tree.walk():
        is_none = isinstance(node, exp.Binary) and not isinstance(node, operators)
        is_symmetric = isinstance(node, exp.Between) and (
            node.args.get("symmetric") is not None
        )
        is_empty = isinstance(node, exp.In) and not any(map(node.args.get, lists))
        if is_none or is_symmetric or is_empty:
            written = re.sub(r"(?<!^)([A-Z])", r" \1", type(node).__name__).lower()
            what = f"'{written} symmetric'" if is_symmetric else f"'{written}'"
            what = "an 'in' of nothing" if is_empty else what
            raise ExpressionProblem(f"'{{key}}' has {what}, which Spark has not")
        if isinstance(node, exp.Collate) and not (
            COLLATION.fullmatch(node.expression.name)
        ):
            raise ExpressionProblem(
                f"'{{key}}' has the collation '{node.expression.name}', which is not"
                " known here: write utf8_binary, utf8_lcase or unicode_ci"
            )


def _check_forms(tree: exp.Expression) -> None:
    """Raise a problem at a form of other engines, which Spark can't read."""
    from sqlglot import exp

    for node in tree.walk():
        # A function's node has the position of its name.
        is_operator = "start" not in node.meta
        problem = ""
        if isinstance(node, exp.JSONExtract | exp.JSONExtractScalar) and is_operator:
            problem = "'->' outside of a function: write 'get_json_object(x, path)'"
        elif isinstance(node, exp.AtTimeZone) and is_operator:
            problem = "'at time zone', which Spark has not: write 'from_utc_timestamp'"
        elif isinstance(node, exp.RegexpILike):
            problem = "'regexp i like', which Spark has not: write '(?i)' before it"
        elif (isinstance(node, exp.StrToDate | exp.StrToTime) and is_operator) or (
            isinstance(node, exp.Cast)
            and any(node.args.get(name) for name in ("format", "default", "action"))
        ):
            problem = "a cast with more than a type, which Spark has not"
        elif isinstance(node, exp.Is) and not isinstance(
            node.expression, exp.Null | exp.Boolean
        ):
            problem = "'is' of something else than null, true, false or unknown"
        elif isinstance(node, exp.In) and (
            node.args.get("field") or node.args.get("unnest")
        ):
            problem = "an 'in' without brackets: write 'in (...)' or 'array_contains'"
        elif isinstance(node, exp.Anonymous) and node.name.lower() == "all":
            problem = "'all' of values, which Spark has after 'like' alone"
        elif isinstance(node, exp.Slice):
            problem = "a part of a list, 'x[n:m]': write 'slice(x, n + 1, m)'"
        elif isinstance(node, exp.Distinct) and node.args.get("on"):
            problem = "'distinct on', which Spark has not"
        if problem:
            raise ExpressionProblem(f"'{{key}}' has {problem}")
        if isinstance(node, exp.Version):
            raise ExpressionProblem(
                "'{key}' reads a table as it was once, which depends on more than the"
                " rows"
            )


POSTFIX = {"isnull": "is null", "notnull": "is not null"}


def _check_writing(text: str) -> None:
    """Raise a problem at a spelling that the parser reads differently from Spark."""
    pieces = [piece for piece in pieces_of(text) if piece.kind != "space"]
    for number, piece in enumerate(pieces):
        after = pieces[number + 1].raw if number + 1 < len(pieces) else ""
        word = piece.raw.lower() if piece.kind == "word" else ""
        if word in WITH_UNIT and after == "(":
            _check_unit(word, arguments.between_brackets(pieces, number + 1)[0])
        if word in POSTFIX and after != "(":
            raise ExpressionProblem(
                f"'{{key}}' has '{word}' behind a value, where Spark has"
                f" '{POSTFIX[word]}'"
            )
        if piece.raw == "," and after == ")":
            raise ExpressionProblem("'{key}' has a comma before a bracket that ends")
        if word.startswith("0x"):
            raise ExpressionProblem(
                f"'{{key}}' has '{piece.raw}', which Spark takes for a name: write a"
                " decimal number, or x'...' for bytes"
            )
    for call in calls_of(text):
        words = {p.raw.lower() for part in call.arguments for p in part}
        is_part = call.name in ("substr", "substring")
        if is_part and "for" in words and "from" not in words:
            raise ExpressionProblem(
                f"'{{key}}' has '{call.name}' with 'for' and without 'from'"
            )


def _check_unit(name: str, given: list[list[Piece]]) -> None:
    """Raise a problem at a difference in a unit that Spark does not have."""
    unit = [(piece.kind, piece.raw.lower()) for piece in given[0]]
    if len(given) == 3 and unit not in [[("word", each)] for each in BETWEEN]:
        raise ExpressionProblem(
            f"'{{key}}' has '{name}' with a unit that Spark has not: write one of"
            f" {', '.join(sorted(BETWEEN))}, without quotes"
        )


def _check_patterns(tree: exp.Expression) -> None:
    """Raise a problem at a pattern on which `like` or `rlike` can fail."""
    from sqlglot import exp

    for node in tree.find_all(exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike):
        pattern, escape = node.expression, "\\"
        if isinstance(node.parent, exp.Escape):
            escape = node.parent.expression.name
        if isinstance(pattern, exp.Escape):
            pattern, escape = pattern.this, pattern.expression.name
        if isinstance(pattern, exp.Any | exp.All):
            pattern = pattern.this
        pattern = pattern.unnest()
        parts = pattern.expressions if isinstance(pattern, exp.Tuple) else [pattern]
        is_like = isinstance(node, exp.Like | exp.ILike)
        for part in parts:
            part = part.unnest()
            is_text = isinstance(part, exp.Literal) and part.is_string
            if is_like and not (is_text and is_pattern_of_like(part.this, escape)):
                raise ExpressionProblem(
                    "'{key}' has 'like' with a pattern on which it can fail: it must be"
                    " a constant text, and a backslash stands before %, _ or another"
                    " (or write startswith, endswith, contains)"
                )
            if not is_like and not (is_text and is_regular_expression(part.this)):
                raise ExpressionProblem(
                    "'{key}' has 'rlike' with a pattern on which it can fail: it must"
                    " be a constant text that repeats no group without end"
                )


DECIMAL = re.compile(r"(?:decimal|dec|numeric)\(\s*([0-9]+)", re.IGNORECASE)
MOST_DIGITS = 34
MOST_OF_DECIMAL = 38
ROUNDS = functions.names("bround ceil ceiling floor round")
UNITS = functions.names(
    "year month week day hour minute second millisecond microsecond"
)
MOST_UNITS = {"year": 9_999, "month": 119_988}


def _check_moments(tree: exp.Expression) -> None:
    """Raise a problem at an interval that leads out of the calendar."""
    from sqlglot import exp

    for node in tree.find_all(exp.TimestampAdd, exp.DatetimeAdd, exp.DateAdd):
        if node.args.get("unit") and not isinstance(node.expression, exp.Interval):
            raise _adds_to_moment("dateadd")
    for node in tree.find_all(exp.Interval):
        amount = node.this.name if isinstance(node.this, exp.Literal) else ""
        unit = node.text("unit").lower()
        if not unit:
            # `interval '30 days'` has both in one text.
            amount, _, unit = amount.lower().strip().partition(" ")
        unit = unit.strip().removesuffix("s")
        most = MOST_UNITS.get(unit, 10**6) if unit in UNITS else 0
        is_bounded = re.fullmatch(r"-?[0-9]{1,7}", amount) and abs(int(amount)) <= most
        adding = exp.Add | exp.SafeAdd | exp.SafeSubtract | exp.Sub
        is_added = isinstance(node.parent, adding | exp.Predicate | exp.Paren)
        if not is_bounded or not is_added:
            raise ExpressionProblem(
                "'{key}' has an interval that can lead out of the calendar, where it"
                " fails: write a constant, such as interval '30' day, beside + or -"
            )


def check_decimals(tree: exp.Expression, types: Mapping[str, str]) -> None:
    """Raise a problem at a decimal that a sign or a rounding does not keep whole.

    Spark negates decimals with 34 digits: longer ones are rounded, or fail. Rounding
    before the point may need one digit more than a decimal has.
    """
    from sqlglot import exp

    def digits(node: exp.Expression) -> list[int]:
        """Return the digits of the decimals in a part."""
        found = []
        for part in node.find_all(exp.Column, exp.Cast):
            is_column = isinstance(part, exp.Column)
            written = types.get(part.name.lower(), "") if is_column else ""
            of_type = DECIMAL.match(written if is_column else part.to.sql("spark"))
            found += [int(of_type[1])] if of_type else []
        return found

    for node in tree.find_all(exp.Neg, exp.Func):
        is_sign = isinstance(node, exp.Neg)
        name = "" if is_sign else expressions.function_name(node)
        if name in ROUNDS and max(digits(node), default=0) >= MOST_OF_DECIMAL:
            places = node.args.get("decimals") or next(iter(node.expressions[1:]), None)
            if isinstance(places, exp.Neg):
                raise ExpressionProblem(
                    f"'{{key}}' has '{name}' before the point of a decimal of"
                    f" {MOST_OF_DECIMAL} digits, which can need one more: cast it to"
                    " fewer digits"
                )
        if not isinstance(node, exp.Neg | exp.Abs) and name != "negative":
            continue
        longest = max(digits(node), default=0)
        if longest > MOST_DIGITS:
            raise ExpressionProblem(
                f"'{{key}}' has a sign or 'abs' of a decimal of {longest} digits,"
                f" of which Spark keeps {MOST_DIGITS}: write '0 - x'"
            )
        for product in node.find_all(exp.Mul, exp.Div):
            if len(digits(product)) > 1 and sum(digits(product)) >= MOST_DIGITS:
                raise ExpressionProblem(
                    "'{key}' has a sign or 'abs' of a product of decimals, of which"
                    f" Spark keeps {MOST_DIGITS} digits: write '0 - x'"
                )


def _words(expression: Expression) -> Iterator[str]:
    """Yield the words that stand by themselves, as `current_user` does."""
    pieces = [piece for piece in pieces_of(expression.text) if piece.kind != "space"]
    for number, piece in enumerate(pieces):
        before = pieces[number - 1].raw.lower() if number else ""
        follows = pieces[number + 1].raw if number + 1 < len(pieces) else ""
        if piece.kind == "word" and before not in (".", "as") and follows != ".":
            yield piece.raw.lower()


def _check_words(expression: Expression) -> None:
    """Raise a problem at a session-dependent word that does not look like a call."""
    from sqlglot import exp

    own = {
        column.name.lower()
        for column in expression.tree.find_all(exp.Column)
        if column.find_ancestor(exp.Query) is None
    }
    for word in _words(expression):
        if word in functions.SESSION - own:
            raise _of_session(word)
