"""R20, R22: rules call functions that can't fail and that Spark carries out as written.

Every function that a rule may have goes through hostile values in Spark without ANSI
mode, and its example gives what its words say. The engine's own list of functions has
none that stands in no list here.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from asked_types import ASKED_OPERATORS, COLUMNS, KINDS, Asked, held, lines
from spark_functions import AGGREGATES, FUNCTIONS, OPERATORS, VALUES, columns_of

from secure_datasets.render import ansi
from secure_datasets.sql import (
    argument_types,
    arguments,
    expressions,
    functions,
    inference,
)
from secure_datasets.sql import function_calls as calls
from secure_datasets.sql.argument_types import table
from secure_datasets.sql.expressions import ExpressionProblem

NOT_ANSI = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
# Newer Sparks have others than the oldest one that is supported.
NOT_EVERYWHERE = {"current_datetime", "curtime"}
LISTS = {
    "AGGREGATES": functions.AGGREGATES,
    "WINDOW_FUNCTIONS": functions.WINDOW_FUNCTIONS,
    "OF_OTHER_ROWS": functions.OF_OTHER_ROWS,
    "CHANCE": functions.CHANCE,
    "FOREIGN": functions.FOREIGN,
    "CLOCK": functions.CLOCK,
    "SESSION": functions.SESSION,
    "RAISES": functions.RAISES.keys(),
    "UNFIT": functions.UNFIT,
    "CONSTANTS": functions.CONSTANTS.keys(),
    "PLAIN": functions.PLAIN,
}
TYPES = {letter: kind for letters, (kind, _) in VALUES.items() for letter in letters}
TYPES |= {"o": "decimal(38,2)", "e": "variant"}


def refusal(text: str, is_condition: bool = True) -> str | None:
    """Return why a rule can't have an expression; none if it can."""
    try:
        found = expressions.read(text)
        calls.check(found, is_condition)
        calls.check_types(found, None, TYPES, asks=False)
    except ExpressionProblem as problem:
        return str(problem)
    return None


def test_each_function_stands_in_one_list():
    for name, members in LISTS.items():
        for other, others in LISTS.items():
            if name < other:
                assert not set(members) & set(others), (name, other)


def test_R22_each_function_that_a_rule_may_have_is_held_against_spark():
    allowed = functions.PLAIN | functions.CONSTANTS.keys()
    assert sorted(item.name for item in FUNCTIONS) == sorted(allowed)
    aggregates = {item.name for item in AGGREGATES}
    assert aggregates <= functions.PLAIN_AGGREGATES
    rest = functions.PLAIN_AGGREGATES - aggregates
    # They ask for a window, for `grouping sets`, or are fits of lines.
    assert all(name.startswith(("regr_", "grouping", "covar_", "percentile_"))
               or name in {"kurtosis", "skewness"} for name in rest)  # fmt: skip


# Which grow by what is added to them, or are numbers.
STEPS = [
    "aggregate(v, '', (g, h) -> concat(g, ',', cast(h as string)))",
    "aggregate(v, '', (g, h) -> g || cast(h as string), g -> concat(g, g))",
    "aggregate(v, array(0), (g, h) -> array_append(g, h))",
    "reduce(v, -1, (g, h) -> case when g > h then g else h end)",
    "reduce(v, cast(0 as bigint), (g, h) -> g + g + h)",
    "reduce(v, true, (g, h) -> g and h > 0)",
]
UNITS = [
    "extract(quarter from d) = 1",
    "extract(DOW from z) = 1",
    "extract(hours from z) = 1",
    "date_part('dayofweek', z) = 1",
]


# What is known of what is behind an arrow, and what is not.
TAKEN_BY_SPARK = [
    "aggregate(array(n), n, (g, h) -> cast(h as decimal(34,2))) > 1",
    "aggregate(array(o), o, (g, h) -> case when h > 1 then -h else g end) > 1",
    "aggregate(array(o), 0.5, (g, h) -> 0.1) > 1",
    "aggregate(array(1), cast(0 as decimal), (g, h) -> cast(h as decimal(10,0))) > 1",
    "try_subtract(d, d) > interval '3' day and try_add(d, 1) > d",
    "try_subtract(z, interval '1' day) > z and try_subtract(b, 1) > 3",
    "s like any ('a%', 'b%') or s not ilike any ('a%')",
    "exists(a, h -> h like some ('x', 'y')) or s like all ('a%')",
    "datediff(month, d, d) = 0 and date_diff(HOUR, z, z) = 0",
    "date_sub(d, '7') < d and date_add(d, '1') > d",
    "array_contains(array(x'00', x'01'), cast(s as binary))",
    "array_contains(array(z), z)",
    "filter(v, h -> h in (1, 2) or h is null)",
    "exists(a, s -> s = 'x') and exists(a, `h` -> null)",
    "filter(a, (h, g) -> g > 1)",
    "forall(array(v, v), g -> exists(g, h -> h > 1))",
    "exists(flatten(array(array(y))), h -> h) is null",
    "aggregate(v, 0, (g, h) -> g + h, g -> g > 1)",
    "aggregate(array(b), cast(0 as bigint), (g, h) -> g + h)",
    "aggregate(v, 0, (g, h) -> greatest(g, h))",
    "aggregate(v, null, (g, h) -> null)",
    "size(v || v) = 1 and array_contains(a || array(s), 'x')",
    "size(concat(v, v)) = 1 and exists(reverse(v), h -> h > 1)",
    "size(array_max(array(v))) = 1 and size(from_json(s, 'x array<int>').x) = 1",
    "exists(map_entries(m), h -> h.key = 'x' and h.value = 'y')",
    "exists(transform(v, h -> h > 1), k -> k) and exists(array(null, y), k -> k)",
    "aggregate(v, cast(0 as double), (g, h) -> g + h) > 1",
    "size(null) = 1 and size(filter(v, h -> h > 1)) = cardinality(m)",
    "boolean(z) and boolean(d) or cast(d as boolean) or cast(z as boolean)",
    "cast(d as bigint) is null and bigint(d) is null and coalesce(b, int(z)) = 1",
    "hash(s, a, r) = xxhash64(b) and to_json(a) = to_json(m)",
    "(b & i) = ~cast(s as int) and shiftleft(n, 1) = 2",
    "own.size(s) = 1 and own.hash(m) = 1",
    "exists (select 1 from t where size(t.x) > 1)",
    "f > 1e308 and f > -1.7976931348623157E308 and f > 1e-99999",
    "i > -128Y and i > 127y and b > -9223372036854775808L",
    "n > 12345678901234567890123456789012345678 and n > 1e37BD",
    "n > 0000000000000000000000000000000000000000000000000001.50",
    "s = '1e400' and s rlike '^[0-9]{400}$' and r.x = 128",
    "d - q > interval '1' day and z - w < interval '2' days",
    "cast(d - q as int) > 1",
    "position('a' in s) = 1 and substr(s from 2) = trim(leading from s)",
    "overlay(s placing 'x' from 2) = 'x' and nullif(d, '2026-01-01') is null",
    "year(cast(s as date)) = 1 and mask(s, null) = 'x' and right(i, 2) = '1'",
    "i like '1%' and d like '2026%' and x like 'a' and y like 't%'",
    "datediff(year, d, q) = 1 and date_diff(DAYOFYEAR, z, w) = 1",
    "timestampdiff(day, d, q) = 1",
    "aggregate(v, 0D, (g, h) -> g + 1.5) = aggregate(v, 0L, (g, h) -> g div h)",
    "aggregate(v, 0, (g, h) -> if(h > 1, abs(g - h), coalesce(g % h, g))) = 1",
    "aggregate(v, cast(0 as decimal(38, 2)), (g, h) -> g + h) = 0.5",
    "from_json(s, 'a int, `b c` decimal(10, 2), 1x struct<y:int,z array<int>>').a = 1",
    "from_json(s, 'map<string, struct<>>') is null",
    "from_json(s, 'array<int>') is null",
    "try_to_number(s, 'S$9,999.99') = try_to_number(t, '.9MI')",
    "try_to_number(s, '09G999D') = try_to_number(t, 'S9MI')",
]
# What Spark refuses too, when the view is made.
REFUSED_BY_SPARK = [
    ("filter(a, h -> h) is null", "'filter' with a '->' that gives the type"),
    ("exists(v, h -> h + 1)", "'exists' with a '->' that gives the type number"),
    ("forall(split(s, ','), (`h`) -> upper(h))", "gives the type string: write"),
    ("map_filter(m, (g, h) -> h) is null", "'map_filter' with a '->' that gives"),
    ("filter(a, (h, g) -> g) is null", "'filter' with a '->' that gives the type"),
    ("filter(v, s -> s) is null", "'filter' with a '->' that gives the type"),
    ("exists(array(v), g -> exists(g, h -> h))", "'exists' with a '->' that gives"),
    ("exists(array(r), h -> h.z = 1)", "asks for the field 'z', and there"),
    ("exists(v, h -> h = date'2026-01-01')", "'=' of int and date, which Spark"),
    ("transform(a, h -> h and true) is null", "where something true or false must"),
    ("aggregate(array(o), cast(0 as decimal(10,2)), (g, h) -> g + h) > 1",
     "starts with the type decimal(10, 2) and whose steps give decimal(38, 2), where"),
    ("aggregate(array(o), 0.00, (g, h) -> 0.1) > 1",
     "starts with the type decimal(2, 2) and whose steps give decimal(1, 1), where"),
    ("aggregate(array(o), 0.5, (g, h) -> greatest(h, 1)) > 1", "give other digits"),
    ("aggregate(array(o), o, (g, h) -> round(h)) > 1", "give other digits"),
    ("cast(b as decimal()) > 1", "casts to decimal(), which can fail, or is no type"),
    ("1 < y", "has '<' of int and boolean, which Spark does not take together"),
    ("x in (s)", "has 'in' of binary and string, which Spark does not take together"),
    ("case when null then true end", "has 'when' of the type null, and Spark takes"),
    ("b in (select 1 where null)", "has 'where null': write 'where false'"),
    ("-y is null", "has 'negative' of the type boolean, and Spark takes"),
    ("exists(a, h -> h * y > 1)", "has '*' of the type boolean, and Spark takes"),
    ("try_parse_json(s) = try_parse_json(t)", "compares variants, which Spark never"),
    ("e in (e, null)", "compares variants, which Spark never"),
    ("m['a']['b'] = 'x'", "has a place in a string, which has none"),
    ("m['a'] = d and m['a'][0] = 1", "has a place in a string, which has none"),
    ("~s = 1", "has '~' of the type string, and Spark takes number there"),
    ("try_subtract(d, d) > 3", "write 'datediff(x, y)' for days"),
    ("try_add(d, 1) > 3", "compares a date with '3', which is none"),
    ("try_subtract(z, interval '1' day) = true", "a timestamp with 'true'"),
    ("aggregate(array(b), 0, (g, h) -> g + h) > 1",
     "starts with the type int and whose steps give bigint"),
    ("aggregate(v, '', (g, h) -> h) = 'x'",
     "starts with the type string and whose steps give number"),
    ("reduce(v, 0, (g, h) -> g > h)", "starts with the type number and"),
    ("size(s) > 1", "has 'size' of the type string, and Spark takes array or map"),
    ("`Size` (upper(s)) > 1", "takes array or map there: write 'length(x)'"),
    ("exists(a, h -> size(h) > 1)", "has 'size' of the type string, and Spark"),
    ("array_contains(s, 'a')", "Spark takes array there: write 'contains(x, y)'"),
    ("array_union(a, s) is null", "of the type string, and Spark takes array"),
    ("map_keys(a) is null", "'map_keys' of the type array<string>, and Spark takes"),
    ("abs(a) is null", "has 'abs' of the type array<string>, and Spark takes"),
    ("concat(a, m) is null", "has 'concat' of the type map<string>, and Spark takes"),
    ("concat(s, a) = 'x'", "has 'concat' of string and array<string>, which"),
    ("array_append(a, m) is null", "which Spark does not take together: write a cast"),
    ("ascii(a) = 1", "has 'ascii' of the type array<string>, and Spark takes binary"),
    ("bit_count(f) = 1", "has 'bit_count' of the type double, and Spark takes"),
    ("boolean(i, b)", "has 'boolean' with 2 arguments, and Spark takes 1"),
    ("coalesce(s, v) is null", "has 'coalesce' of string and array<int>, which Spark"),
    ("to_json(s) = 'x'", "has 'to_json' of the type string, and Spark takes array"),
    ("hash(s, m) = 1", "has 'hash' of a map, which Spark never takes"),
    ("xxhash64(array(array(m))) = 1", "has 'xxhash64' of a map, which Spark never"),
    ("xxhash64(array(m)) = 1", "has 'xxhash64' of a map, which Spark never takes"),
    ("b & n = 1", "has '&' of the type decimal, and Spark takes bigint or int there"),
    ("b | (1.5) = 1", "has '|' of the type decimal, and Spark takes"),
    ("~f = 1", "has '~' of the type double, and Spark takes bigint or int there"),
    ("b ^ y = 1", "has '^' of the type boolean, and Spark takes"),
    ("f > 1e400", "has the number 1e400, which is no double: write a smaller"),
    ("f > 1e9999999999999999999999", "which is no double: write a smaller"),
    ("f > 1e39F", "has the number 1e39F, which is no float"),
    ("i > 128Y", "the number 128Y, which is no tinyint: write a smaller"),
    ("i > 1.5Y", "has the number 1.5Y, which is no tinyint"),
    ("b > 1e3L", "has the number 1e3L, which is no bigint"),
    ("i > 40000s", "has the number 40000s, which is no smallint"),
    ("b > 9223372036854775808L", "which is no bigint: write a smaller one, or"),
    ("d - q > 30", "write 'datediff(x, y)' for days"),
    ("z - d = '1'", "has '=' of interval and string, which Spark"),
    ("(d - q) + 1 > d", "adds or subtracts what Spark does not: write 'datediff(x,"),
    ("coalesce(z - w, 0) is null", "'coalesce' of interval and int, which Spark"),
    ("cast(d - q as date) > d", "casts an interval to date, which Spark never does"),
    ("year(b) = 2026", "has 'year' of the type bigint, and Spark takes date or string"),
    ("nullif(d, 1) is null", "has 'nullif' of date and int, which Spark does not take"),
    ("mask(i) = 'x'", "has 'mask' of the type int, and Spark takes string there"),
    ("months_between(i, d) > 1", "has 'months_between' of the type int, and Spark"),
    ("round(d, 1) = 1", "has 'round' of the type date, and Spark takes number or"),
    ("right(a, 1) = 'x'", "has 'right' of the type array<string>, and Spark takes"),
    ("weekday(i) = 1", "has 'weekday' of the type int, and Spark takes date"),
    ("hour(i) = 1 or minute(b) = 1", "has 'hour' of the type number, and Spark takes"),
    ("a like 'x%'", "compares an array with a pattern, which only a text"),
    ("m rlike 'x' or r ilike any ('x')", "compares a map with a pattern"),
    ("datediff('day', d, q) = 1", "has 'datediff' with a unit that Spark has not"),
    ("date_diff(days, d, q) = 1", "has 'date_diff' with a unit that Spark has not"),
    ("timestampdiff(foo, d, q) = 1", "has 'timestampdiff' with a unit that Spark has"),
    ("aggregate(v, 0, (g, h) -> g + 1.5) = 1", "starts with the type int and whose"),
    ("aggregate(v, 0, (g, h) -> g / h) = 1", "whose steps give double, where Spark"),
    ("aggregate(v, 0, (g, h) -> greatest(g, b)) = 1", "whose steps give bigint"),
    ("aggregate(v, 0.5, (g, h) -> h) = 1", "the type decimal and whose steps give int"),
    *((f"from_json(s, '{schema}') is null", "the second must be a schema")
      for schema in ("", "int", "a int,", "a int b int", "a: int", "a struct<int>",
                     "a array<int, int>", "map<int, int>", "a decimal(10,2,3)")),
    *((f"try_to_number(s, '{form}') = 1", "the second must be a format of numbers")
      for form in ("S9S", "9.9.9", ",9", "9,", "$", "9$", "$S9", "M9", "9" * 39)),
    ("(b, b) in ((1, 2), (3, 4))", "has 'row' of bigint and int, which Spark"),
    ("(i, s) = (1, 2)", "has 'row' of string and int, which Spark"),
    ("y in ('true')", "has 'in' of boolean and string, which Spark"),
    ("y in (true, 1)", "has 'in' of boolean and int, which Spark"),
    ("s div 2 > 1", "has 'div' of the type string, and Spark takes"),
    ("f div 2 = 1", "has 'div' of the type double, and Spark takes"),
    ("i & s = 1", "has '&' of the type string, and Spark takes"),
    ("z + '1 day' > z", "adds or subtracts what Spark does not: write 'x + interval"),
    ("d + '1 day' > d", "adds or subtracts what Spark does not: write 'x + interval"),
    ("e = 1", "compares variants, which Spark never does"),
    ("try_variant_get(e, '$.a') = 1", "compares variants, which Spark never does"),
    ("array[1, 2] = v", "has a list in brackets, which Spark has not"),
    ("[1, 2] = v", "has a list in brackets, which Spark has not"),
    # What other engines have.
    ("s -> 'a' = 'x'", "has '->' outside of a function: write 'get_json_object(x,"),
    ("s ->> 'a' = 'x'", "has '->' outside of a function"),
    ("s ~* 'x'", "has 'regexp i like', which Spark has not"),
    ("z at time zone 'UTC' > z", "'at time zone', which Spark has not: write"),
    ("cast(s as int format 'x') = 1", "has a cast with more than a type"),
    ("cast(s as date format 'yyyy') is not null", "a cast with more than a type"),
    ("cast(s as timestamp format 'yyyy') > t", "a cast with more than a type"),
    ("cast(s as int default 1 on conversion error) = 1", "a cast with more than a"),
    ("substring(s for 3) = 'x'", "has 'substring' with 'for' and without 'from'"),
    ("s is json", "has 'is' of something else than null, true, false or unknown"),
    ("(s isnull)", "has 'isnull' behind a value, where Spark has 'is null'"),
    ("s notnull and y", "has 'notnull' behind a value, where Spark has 'is not null'"),
    ("i in (1, 2,)", "has a comma before a bracket that ends"),
    ("i in 1", "has an 'in' without brackets"),
    ("s in a", "has an 'in' without brackets"),
    ("i = all (1, 2)", "has 'all' of values, which Spark has after 'like' alone"),
    ("a[0:1] is null", "has a part of a list, 'x[n:m]': write 'slice(x, n + 1, m)'"),
    ("i > 0x1F", "has '0x1F', which Spark takes for a name"),
    ("n > 1e38BD", "has the number 1e38BD, which is no decimal of 38 digits"),
    ("n > 123456789012345678901234567890123456789", "no decimal of 38 digits"),
    ("n > 0.123456789012345678901234567890123456789", "no decimal of 38 digits"),
]  # fmt: skip


@pytest.mark.parametrize(
    "call", [f.hostile for f in FUNCTIONS] + OPERATORS + STEPS + UNITS
)
def test_R20_a_rule_may_have_what_is_held_against_spark(call):
    assert refusal(call) is None


@pytest.mark.parametrize(
    "call",
    [
        "cast(r as struct<`x`:int,`char`:string>).char = 'x'",
        "cast(a as array<decimal(10, 2)>)[0] = 1",
        "n::decimal(10, 2) = 1 and b::int = 3",
        "from_json(s, 'text string, time string, x array<struct<y: int>>').time = 'x'",
        "from_json(s, 'map<string,string>')['a'] = 'x'",
        "slice(a, 2, 3)[0] = 'x'",
        "s rlike '^([0-9]{1,3}[.]){3}[0-9]{1,3}$'",
        "s rlike '((a{9}){10}){10}'",
        "try_cast(e as int) = 1",
        "repeat('*', length(s)) = s",
        "repeat('*', length(r.x)) = s",
        "struct(1, 'a').col1 = 1",
        *TAKEN_BY_SPARK,
    ],
)
def test_R20_what_is_harmless_is_taken(call):
    assert refusal(call) is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("raise_error(s)", "has 'raise_error', which fails on some values"),
        ("case when s = 'x' then assert_true(false) end", "has 'assert_true', which"),
        ("cast(parse_json(s) as string)", "write 'try_parse_json'"),
        ("cast(try_parse_json(s) as string)", "has a cast beside a variant, which"),
        ("try_parse_json(s)::string", "has a cast beside a variant, which fails"),
        ("`raise_error`(s)", "has 'raise_error', which fails on some values"),
        ("RAISE_ERROR  (s)", "has 'raise_error', which fails on some values"),
        ("builtin.raise_error(s)", "calls 'raise_error' by 'builtin'"),
        ("system.builtin.raise_error(s)", "calls 'raise_error' by 'system'"),
        ("exists (with raise_error (x) as (select 1) select raise_error('a'))",
         "has 'raise_error', which fails"),
        ("from_json(s, 'a int', map('mode', 'FAILFAST'))", "leave out the third"),
        ("try_parse_url(s, 'QUERY', t)", "the third must be letters and digits"),
        ("try_parse_url(s, 'QUERY', 'a(')", "the third must be letters and digits"),
        ("get_json_object(s, t)", "the second must be a path, as a constant"),
        ("round(n, i)", "the second must be a number of places, as a constant"),
        ("bround(n, i)", "the second must be a number of places, as a constant"),
        ("ceil(n, i)", "the second must be a number of places, as a constant"),
        ("floor(n, i)", "the second must be a number of places, as a constant"),
        ("date_part(s, z)", "the first must be a unit, as a constant"),
        ("date_part('s s', z)", "the first must be a unit, as a constant"),
        ("extract(s from z)  = 1 and extract(job_name from z) = 1", "of no unit that"),
        ("sort_array(a, i = 1)", "the second must be true or false, as a constant"),
        ("named_struct(s, 1).x", "has 'named_struct' with a name that is no constant"),
        ("aggregate(v, 'a', (g, h) -> concat(g, g))", "can double with each step"),
        ("reduce(v, 'a', (`g`, h) -> G || `g`)", "can double with each step"),
        ("aggregate(v, 'a', (g, h) -> replace(g, 'a', 'aa'))", "can double with"),
        ("aggregate(v, 'a', (g, h) -> concat(hex(g), 'a'))", "can double with each"),
        ("aggregate(v, 'a', (g, h) -> (concat(repeat((g), 2))))", "can double with"),
        ("aggregate(v, array(1), (g, h) -> flatten(array(g, g)))", "can double with"),
        ("aggregate(v, cast(0 as string), (g, h) -> concat(g, g))", "can double"),
        ("aggregate(v, cast(0 as int) || s, (g, h) -> g || g)", "can double"),
        ("aggregate(v, int(0) || s, (g, h) -> g || g)", "can double"),
        ("aggregate(v, s || cast(0 as int), (g, h) -> g || g)", "can double"),
        ("aggregate(v, 'a', (g, h) -> concat_ws(g, s, s, s))", "can double"),
        ("extract(microsecond from z) = 1", "of no unit that Spark knows"),
        ("date_part('millisecond', z) = 1", "the first must be a unit, as a constant"),
        ("from_json(s, t)", "the second must be a schema without dates and times"),
        ("element_at(a, 0)", "the second must be a place, as a constant"),
        ("element_at(a, i)", "the second must be a place, as a constant"),
        ("try_element_at(a, i)", "the second must be a place, as a constant"),
        ("split_part(s, ',', 0)", "the third must be a place, as a constant"),
        ("slice(a, i, 2)", "the second must be a place, as a constant"),
        ("s rlike t", "has 'rlike' with a pattern on which it can fail"),
        ("s rlike '['", "has 'rlike' with a pattern on which it can fail"),
        ("s rlike '(a|b)*c'", "repeats no group without end"),
        ("s rlike '(?:ab)+'", "repeats no group without end"),
        ("s rlike '((a|b)+){2}'", "repeats no group without end"),
        ("s rlike '([0-9]-){1,4000}'", "repeats no group without end"),
        # A range that ends before it begins, to Java too.
        *((f"s rlike '{each}'", "has 'rlike' with a pattern on which it can fail")
          for each in (r"[\\\\w-a]", "[z-a]", r"[a-\\w]", r"[\\w--\\d]", r"\\p{Nope}",
                       r"[\\w-&&a]")),
        ("try_add(cast(s as timestamp), interval '1' day) + interval '1' day > z",
         "moves a moment made of a text or a number"),
        ("try_add(z, interval '99999' years) > z", "that can lead out of the calendar"),
        ("from_utc_timestamp(z, 'EST')", "must be a time zone, as a constant"),
        ("s rlike '[[a]'", "has 'rlike' with a pattern on which it can fail"),
        ("s rlike 'a{,3}'", "has 'rlike' with a pattern on which it can fail"),
        ("s rlike '(?P<x>a)'", "has 'rlike' with a pattern on which it can fail"),
        ("s regexp t", "has 'rlike' with a pattern on which it can fail"),
        ("rlike(s, t)", "calls 'rlike' as a function: write it between"),
        ("not like(s, t)", "calls 'like' as a function: write it between"),
        ("`like`('a', s)", "calls 'like' as a function: write it between"),
        ("s like t", "has 'like' with a pattern on which it can fail"),
        (r"s like 'a\\'", "has 'like' with a pattern on which it can fail"),
        (r"s like 'a\\b'", "has 'like' with a pattern on which it can fail"),
        ("s like any ('a', t)", "has 'like' with a pattern on which it can fail"),
        ("s ilike all (t)", "has 'like' with a pattern on which it can fail"),
        ("s like 'a!b' escape '!'", "has 'like' with a pattern on which it can"),
        ("regexp_replace(s, t, 'x')", "the second must be a regular expression"),
        ("regexp_replace(s, 'a', t)", "the third must be a text without \\ or a $"),
        ("regexp_replace(s, 'a', '$1')", "the third must be a text without \\ or a $"),
        ("regexp_extract(s, '(a)', 2)", "the third must be a group of it"),
        ("regexp_extract(s, '\\\\(a', 1)", "the third must be a group of it"),
        ("regexp_extract(s, 'ID-[0-9]+') = 'x'", "the third must be a group of it"),
        ("regexp_extract_all(s, '[0-9]+') = a", "the third must be a group of it"),
        ("regexp_instr(s, 'a', 1) = 1", "the third must be a group of it"),
        ("regexp_extract(s, '[\\\\](]a', 1)", "the third must be a group of it"),
        ("regexp_replace(s, '[\\\\](]a', '$1')", "the third must be a text without"),
        ("make_date(i, j, k) = d", "with a year that can be any number"),
        ("make_date(cast(left(s, 8) as int), 1, 1) = d", "with a year that can be any"),
        ("make_date(year(date_add(d, i)), 1, 1) = d", "with a year that can be any"),
        ("make_timestamp(i, 1, 1, 1, 1, 1) = z", "with a year that can be any number"),
        ("try_make_timestamp(i, 1, 1, 1, 1, 1) = z", "with a year that can be any"),
        ("make_timestamp_ntz(i, 1, 1, 1, 1, 1) = z", "with a year that can be any"),
        ("make_date(10000, 1, 1) = d", "with a year that can be any number"),
        ("split(s, t)", "the second must be a regular expression"),
        ("sequence(i, j)", "has 'sequence', which fails on some values"),
        ("repeat(s, i)", "a count that may outgrow the memory: write a constant"),
        ("repeat(s, 2147483647)", "a count that may outgrow the memory"),
        ("lpad(s, i, t)", "the second must be a count, as a constant"),
        ("map(s, t)", "has 'map' with keys that can be null or be there twice"),
        ("map('a', s, 'a', t)", "has 'map' with keys that can be null or be there"),
        ("array_sort(v, (g, h) -> null)", "write 'sort_array'"),
        ("date_format(z, s)", "must be a format with SSS for parts of a"),
        ("date_format(z, 'yyyyyyyyyyy')", "must be a format with SSS for parts of a"),
        ("exists (select distinct on (t.x) t.x from t)", "has 'distinct on', which"),
        ("exists (select 1 from t for system_time as of '2026')",
         "reads a table as it was once"),
        ("trunc(d, s) = d", "the second must be a text, as a constant"),
        ("date_trunc(s, z) = z", "the first must be a text, as a constant"),
        ("to_date(s, t)", "the second must be a format, as a constant"),
        ("to_date(s, 'yyyy-MM-dd')", "a format, by which values fail where a session"),
        ("from_json(s, 'a int, _corrupt_record string').a", "must be a schema"),
        ("unix_timestamp(s) > 1", "'unix_timestamp' of a text, by which values fail"),
        ("unix_timestamp(s, 'yyyy')", "'unix_timestamp' with a format, by which"),
        ("try_to_timestamp(s, 'yyyy')", "a format, by which values fail"),
        ("from_utc_timestamp(z, s)", "the second must be a time zone, as a constant"),
        ("from_utc_timestamp(z, 'Europe/Nowhere')", "must be a time zone, as a"),
        ("dateadd(month, i, z)", "has 'dateadd' of a unit, which fails on some"),
        ("timestampadd(second, b, z) > z", "of a unit, which fails on some values"),
        ("(z - w) * i", "works with the time between two moments"),
        ("abs(cast(s as decimal(38, 2))) > 1", "a decimal of 38 digits, of which"),
        ("-cast(s as decimal(38,2)) > 1", "a decimal of 38 digits, of which"),
        ("abs(n * n) > 1", "a product of decimals"),
        ("-(n * n) > 1", "a product of decimals"),
        ("round(cast(s as decimal(38, 0)), -1) > 1", "of a decimal of 38 digits, "),
        ("floor(cast(s as decimal(38, 0)), -1) > 1", "of a decimal of 38 digits, "),
        ("cast(s as date) - d > interval '1' day", "day made of a text or a number"),
        ("trunc(date_from_unix_date(i), 'quarter') = d", "day made of a text or a"),
        ("cast(b as timestamp) + interval '1' day > z", "moves a moment made"),
        ("timestamp_micros(b) + interval '1' day > z", "moves a moment made"),
        ("z > coalesce(z, timestamp(s)) - interval '1' month", "moves a moment made"),
        ("from_utc_timestamp(cast(b as timestamp), 'Asia/Seoul') = z", "moves a"),
        ("convert_timezone('UTC', 'Asia/Tokyo', cast(s as timestamp)) = z", "moves"),
        ("date_trunc('year', timestamp_micros(b)) = z", "moves a moment made"),
        ("timestamp_micros(b) - z > interval '1' day", "moves a moment made"),
        ("s rlike '" + "(" * 1200 + "a" + ")" * 1200 + "'", "has 'rlike' with a"),
        ("add_months(d, i)", "the second must be a number of months, as a constant"),
        ("z + interval '300000' years", "interval that can lead out of the calendar"),
        ("z + make_interval(i)", "has 'make_interval', which fails on some values"),
        ("decode(x, 'utf-8')", "write 'cast(... as string)'"),
        ("encode(s, 'us-ascii')", "the second must be a charset, as a constant"),
        ("to_number(s, '999')", "write 'try_to_number'"),
        ("url_decode(s)", "write 'try_url_decode'"),
        ("cast(s as interval day)", "casts to interval, which can fail"),
        ("cast(s as varchar(3))", "write 'left(x, 3)'"),
        ("s::char(3)", "write 'left(x, 3)'"),
        ("try_cast(s as char (3))", "write 'left(x, 3)'"),
        ("cast(a as array<varchar(3)>)", "write 'left(x, 3)'"),
        ("cast(m as map<string,char(3)>)", "write 'left(x, 3)'"),
        ("cast(r as struct<x:int,y:char(3)>)", "write 'left(x, 3)'"),
        ("cast(r as struct<x int, y varchar(3)>)", "write 'left(x, 3)'"),
        ("cast(r as struct<x:int,`char`:char(3)>)", "write 'left(x, 3)'"),
        ("cast(s as text)", "casts to text, which can fail, or is no type"),
        ("s::uuid", "casts to uuid, which can fail, or is no type"),
        ("cast(s as time)", "casts to time, which can fail, or is no type"),
        ("time'10:00:00'", "casts to time, which can fail, or is no type"),
        ("cast(s as varchar)", "casts to varchar, which can fail, or is no type"),
        ("cast(s as string(3))", "casts to string, which can fail, or is no type"),
        ("cast(a as array<struct<x:uuid>>)", "casts to uuid, which can fail"),
        ("a::array<string>[0]", "has a '[' behind a type"),
        ("from_json(s, 'a varchar(3)')", "the second must be a schema"),
        ("from_json(s, 'a variant')", "the second must be a schema"),
        ("from_json(s, 'nonsense')", "the second must be a schema"),
        ("int(try_parse_json(s))", "has a cast beside a variant, which fails"),
        ("`date`(try_parse_json(s))", "has a cast beside a variant, which fails"),
        ("string(try_parse_json(s))", "has a cast beside a variant, which fails"),
        ("slice(a, 1, i)", "the third must be a count, as a constant"),
        ("slice(a, 1, -1)", "the third must be a count, as a constant"),
        ("negative(o)", "a decimal of 38 digits"),
        ("-o", "a decimal of 38 digits"),
        ("try_to_binary(s, 'x')", "the second must be a format of binary values"),
        ("repeat(repeat(s, 10000), 10000)", "what is repeated already"),
        ("transform(array_repeat(1, 9999), a -> transform(array_repeat(1, 9999), b"
         " -> a)) is null", "counts of 99,980,001 together"),
        ("repeat(lpad(s, 9999, 'x'), 200) = 'x'", "counts of 1,999,800 together"),
        ("array_repeat(`array_repeat`(s, 9), 9)", "what is repeated already"),
        ("s rlike '((a{0,9}b){20}){20}'", "repeats no group without end"),
        ("s rlike '((a|b)?){9}{9}'", "has 'rlike' with a pattern on which it can"),
        ("s like 'a' escape 'ab'", "has 'like' with a pattern on which it can fail"),
        ("spark_catalog.builtin.raise_error(s)", "calls 'raise_error' by 'builtin'"),
        ("cast(e as int)", "has a cast beside a variant, which fails"),
        ("s[0] = 'x'", "has a place in a string, which has none"),
        ("upper(s)[0] = 'x'", "has a place in a string, which has none"),
        ("i['a'] = 1", "has a place in a number, which has none"),
        ("d[0] is null", "has a place in a date, which has none"),
        ("s.x = 'a'", "has the field 'x' in a string, which has none"),
        ("r.nope = 1", "asks for the field 'nope', and there are: x, y"),
        ("r['nope'] = 1", "asks for the field 'nope', and there are: x, y"),
        ("r.x.y = 1", "has the field 'y' in a number, which has none"),
        ("transform(a, g -> transform(a, h -> transform(a, k -> g))) is null",
         "nests more than two functions with '->'"),
        ("r[0] = 1", "asks a struct for a place: write the field's name"),
        ("r[s] = 1", "asks a struct for a place: write the field's name"),
        ("a['x'] = 'a'", "has a string as a place in an array"),
        ("a[true] = 'a'", "has a boolean as a place in an array"),
        ("ceil(i, -38) > 0", "the second must be a number of places"),
        ("replace(s, 'a', s) = 'x'", "'replace' of a text by itself"),
        ("replace(s, 'a', concat(s, 'b')) = 'x'", "'replace' of a text by itself"),
        ("coalesce(i, d) is null", "'coalesce' of int and date, which Spark"),
        ("case when true then i else d end is null", "'case' of int and date, which"),
        ("case i when d then true end", "'=' of int and date, which Spark"),
        ("if(true, i, true) is null", "'if' of boolean and int and boolean, which"),
        ("greatest(i, d) is null", "'greatest' of int and date, which Spark"),
        ("array(s, a) is null", "'array' of string and array<string>, which Spark"),
        ("cast(i as date) is null", "casts a number to date, which Spark never does"),
        ("cast(s as array<int>) is null", "casts a string to array<int>"),
        ("date '2024-02-30' = d", "has '2024-02-30', which is no date"),
        ("d = timestamp 'x'", "has 'x', which is no timestamp"),
        ("d + b > d", "write 'date_add(x, cast(n as int))'"),
        ("z + 1 > z", "write '... + interval ...' with a constant"),
        ("(s = 'x') + 1 > 1", "adds or subtracts what Spark does not"),
        ("m = m", "compares maps, which Spark never does"),
        ("map('a')", "can't be read as one SQL expression"),
        ("cast(s as date) < z", "reads a day made of a text or a number as a moment"),
        *REFUSED_BY_SPARK,
        # Spark takes it, and gives null.
        ("date_trunc('foo', z) is null", "has 'date_trunc' to a unit that Spark"),
        ("trunc(d, 'hour') is null", "has 'trunc' to a unit that Spark makes null"),
        # Spark takes it, and the parser reads it as something else.
        ("substring(s, 1 for 3) > ''", "has 'substring' with 'for' and without 'from'"),
        ("hll_sketch_estimate(x)", "which a rule can't have: it can fail, or is made"),
        ("a_function(s)", "is no known function of Spark"),
    ],
)  # fmt: skip
def test_R20_R22_a_rule_is_refused_that_can_fail_or_does_not_say(call, sentence):
    for is_condition in (True, False):
        found = refusal(call, is_condition)
        assert found is not None and sentence in found, found


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("current_user() = s", "current_user"), ("current_user = s", "current_user"),
        ("session_user = s", "session_user"), ("user() = s", "user"),
        ("current_timezone() = s", "current_timezone"),
        ("version() = s", "version"),
        ("exists (select 1 from t where t.x = current_database)", "current_database"),
        ("exists (select first(t.x) from t)", "first"),
        ("exists (select max_by(t.x, t.y) from t)", "max_by"),
        ("exists (select any_value(t.x) from t)", "any_value"),
    ],
)  # fmt: skip
def test_R15_a_condition_depends_on_no_session_and_no_order(call, name):
    found = refusal(call)
    assert found is not None and f"has '{name}', which depends on the" in found


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        *((f"to_json({each}) = 'x'", "to_json' of a struct, or of a type that is not")
          for each in ("r", "array(r)", "struct(s)", "map('a', r)", "unknown",
                       "from_json(s, 'a int')", "(select max(t.x) from t)")),
        ("exists (select 1 from t where to_json(t.x) = 'x')", "that is not known: a"),
        ("exists(array(r), h -> to_json(h) = 'x')", "that is not known: a setting"),
        *((f"from_json(s, '{schema}') is null", "be a schema without dates and times")
          for schema in ("a date", "a timestamp", "a int, b timestamp_ntz", "map<string"
                         ",date>", "array<struct<x: int, y: Timestamp_LTZ>>")),
        *((f"date_format(z, '{form}') = '1'", "a format with SSS for parts of a second")
          for form in ("S", "HH:mm:ss.SS", "SSSSSS", "yyyySSSS")),
    ],
)  # fmt: skip
def test_R15_nothing_is_written_or_read_as_the_reader_s_session_says(call, sentence):
    for is_condition in (True, False):
        assert sentence in (refusal(call, is_condition) or "")


@pytest.mark.spark
def test_R15_what_a_rule_may_have_follows_no_setting_of_who_reads(spark):
    """The view keeps the zone; its reader has another, and further settings."""
    moments = ("1500-01-01 00:00:00.1", "2026-01-31 23:30:00.123456")
    rows = ", ".join(f"(timestamp'{each}', date'{each[:10]}')" for each in moments)
    calls = [
        *(
            "cast(z as string)",
            "cast(array(z) as string)",
            "cast(map('a', z) as string)",
        ),
        *("cast(named_struct('x', z) as string)", "to_json(array(z))", "date(z)"),
        *("to_json(map('a', d))", "to_json(array(null, z))", "hour(z)", "concat(z, d)"),
        *("date_format(z, 'yyyy-MM-dd HH:mm:ssSSS')", "array_join(array(z), ',')"),
        *("from_json('{\"a\": \"2026-02-30\"}', 'a string').a", "date_format(z, 'D')"),
    ]
    for call in calls:
        assert refusal(call, is_condition=False) is None
    values = ", ".join(f"{call} as c{number}" for number, call in enumerate(calls))
    from dbt_secure_spark.session import with_settings

    with with_settings(spark, NOT_ANSI):
        spark.sql(
            f"create table moments_kept using parquet as select * from values {rows}"
            " as t (z, d)"
        )
        spark.sql(f"create view view_kept as select {values} from moments_kept")
    other = spark.newSession()
    wanted = other.sql("select * from view_kept").collect()
    for name, value in {
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.jsonGenerator.ignoreNullFields": "false",
    }.items():
        other.conf.set(name, value)
    found = other.sql("select * from view_kept").collect()
    spark.sql("drop view view_kept")
    spark.sql("drop table moments_kept")
    assert found == wanted


@pytest.mark.parametrize("name", sorted(functions.FOREIGN))
def test_R20_a_mask_runs_no_code_of_java_and_encrypts_nothing(name):
    found = refusal(f"{name}(s, t)", is_condition=False)
    assert found is not None and f"has '{name}', which a rule can't have" in found


@pytest.mark.spark
def test_R20_each_function_of_the_engine_stands_in_a_list(spark):
    known = set().union(*LISTS.values())
    names = {row[0] for row in spark.sql("show functions").collect()}
    own = {row[0].split(".")[-1] for row in spark.sql("show user functions").collect()}
    named = {name for name in names if name[:1].isalpha() and "." not in name}
    assert sorted(named - own - known) == []
    # What is in no engine would be a list of guesses.
    assert known - NOT_EVERYWHERE <= named


@pytest.mark.spark
def test_R20_nothing_that_a_rule_may_have_fails_on_a_value(spark):
    from dbt_secure_spark.session import with_settings

    failed = []
    with with_settings(spark, NOT_ANSI):
        for letters, (kind, values) in VALUES.items():
            items = ", ".join(f"cast({value} as {kind})" for value in values)
            for letter in letters:
                spark.sql(
                    f"create or replace temp view hostile_{letter} as"
                    f" select explode(array({items})) as {letter}"
                )
        together: dict[str, list[str]] = {}
        for call in [item.hostile for item in FUNCTIONS] + OPERATORS:
            joined = " cross join ".join(f"hostile_{name}" for name in columns_of(call))
            together.setdefault(joined or "range(1)", []).append(call)

        def failure(source: str, calls: list[str]) -> str | None:
            values = ", ".join(f"{call} as c{n}" for n, call in enumerate(calls))
            try:
                found = spark.sql(f"select {values} from {source}")
                found.write.format("noop").mode("overwrite").save()
            except Exception as error:
                return str(error)[:200]
            return None

        for source, calls in together.items():
            # One by one only to name the one that fails.
            if failure(source, calls):
                failed += [(each, failure(source, [each])) for each in calls]
    assert failed == []


def with_ansi(call: str) -> str | None:
    """Return why a call is not printed where ANSI mode is on; none if it is."""
    tree = expressions.read(call).tree
    try:
        ansi.Mode(("t",), TYPES, ExpressionProblem).check(tree, call)
    except ExpressionProblem as problem:
        return str(problem)
    return None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        *(
            (f"{call} > 1", "overflow: write try_")
            for call in ("b + 1", "-b", "n * 2", "abs(b)", "b - c", "i + j")
        ),
        *((f"{call} = 1", "write try_divide or try_mod")
          for call in ("b / c", "b % 0", "b div c", "n / 2", "mod(b, c)")),
        *((f"{call} = 1", "of a text, or of an unknown type")
          for call in ("round(s)", "sqrt(u)", "year(s)", "bigint(s)")),
        *((f"cast(s as {kind}) is null", f"cast({kind}): write try_cast")
          for kind in ("bigint", "date", "boolean", "timestamp", "array<int>")),
        ("cast(f as bigint) = 1", "write try_cast"),
        ("s = 1", "text beside number"), ("s in (b, c)", "text beside number"),
        ("s > d", "text beside date"), ("y = 'maybe'", "text beside boolean"),
        ("coalesce(s, 1) = 1", "coalesce of number and string"),
        ("case s when 1 then true end", "text beside number"),
        ("array(d, '2026-01-31') is null", "array of moment and string"),
        ("nvl2(s, t, 1) is null", "nvl2 of number and string"),
        ("map('k', s, 'l', 1)['k'] = 'x'", "map of number and string"),
        ("concat(v, split(s, ',')) is null", "concat of number and string"),
        ("array_contains(array(s), 1)", "array_contains of number and string"),
        ("exists(v, h -> h = s)", "text beside number"),
        ("exists(a, s -> s = 1)", "text beside number"),
        ("exists(array(a), h -> exists(h, g -> g = 1))", "text beside number"),
        ("zip_with(a, v, (g, h) -> g = h) is null", "text beside number"),
        ("filter(unknown, h -> h = 'x') is null", "values of an unknown type"),
        ("s in (select u.s from u where exists(a, h -> h = 'x'))", "an unknown type"),
        ("array(s, 1.5) is null", "array of number and string"),
        ("a in (v, null)", "list of number and string"),
        ("a in (select v from u)", "list of number and string"),
        ("(a || v) is null", "list of number and string"),
        ("if(y, a, v) is null", "list of number and string"),
        ("if(y, n, '12') > 1", "text beside number"), ("null in (b)", "null in a list"),
        ("case when y then '12' else f end > 1", "text beside number"),
        ("y = 1", "a flag beside a number"), ("i in (y)", "a flag beside a number"),
        ("try_cast(i as float) > b", "a float beside another number"),
        ("try_cast(i as float) * b > 1D", "a float beside another number"),
        ("d between '2026-01-01' and s", "text beside date"),
        ("w < '2026-01-01 00:00:00 Europe/Berlin'", "text beside timestamp"),
        ("unknown = 1", "a value of an unknown type beside a number"),
        ("v[0] = 1", "a place in an array"), ("element_at(a, 1) = 'x'", "element_at"),
        ("size(a) = 1", "size"), ("pmod(b, c) = 1", "pmod"),
        ("elt(i, s, t) = 'x'", "elt"),
        ("make_date(year(d), i, j) = d", "make_date"),
        ("next_day(d, s) = d", "next_day"),
        *((f"{call} is null", "of a number that may be no int: write try_cast")
          for call in ("left(s, b)", "substring(s, i, b)", "locate(s, t, n)",
                       "overlay(s placing t from i for b)", "get(a, b)",
                       "substring(s from b)",
                       "date_from_unix_date(b)", "shiftleft(b, c)",
                       "try_make_timestamp(i, j, k, i, j, n)")),
    ],
)  # fmt: skip
def test_Z5_what_depends_on_ansi_mode_is_not_printed_where_it_is_on(call, sentence):
    assert sentence in (with_ansi(call) or "")


@pytest.mark.parametrize(
    "call",
    [
        *("s = 'x' and t in ('a', 'b') or s is null", "b > 1 and i in (1, 2)"),
        *("d = '2026-01-31' and w < '2026-01-31 00:00:00'", "b = '12'", "y"),
        *("i / 2 > 1 and i div 2 = 1 and f / 2 > 1", "f * g > 1 and -f < 1"),
        "cast(i as bigint) + 1 > 1",
        *("cast(i as string) = '1'", "cast('1' as int) < b"),
        *("try_cast(s as bigint) = 1", "try_add(b, 1) > 1", "m['a'] = 'x'", "-1 < b"),
        *("d - interval '1' day < q", "length(s) > 1", "upper(s) like 'A%'"),
        *("s || t = s", "bigint(1) = b"),
        *("left(s, i) = t", "right(s, try_cast(b as int)) = t", "left(s, 3) = t"),
        "substring(s, length(t), i) = t",
        *("concat(s, b) = 'x'", "round(n, 1) > 1", "year(d) = 2026", "date(z) = d"),
        "case when b > 1 then s else 'x' end = t",
        *("exists(a, h -> h = 'x')", "filter(v, s -> s > 1) is null"),
        "nvl2(s, t, 'x') = t",
        *("array_contains(v, 1)", "zip_with(a, a, (g, h) -> g = h) is null"),
        *("concat(a, split(s, ',')) is null", "map('k', s, 'l', t)['k'] = 'x'"),
    ],
)  # fmt: skip
def test_Z5_what_is_the_same_in_ansi_mode_is_printed(call):
    assert with_ansi(call) is None


def with_bigints(call: str) -> list[str]:
    """Return what a rule may have of a call with a bigint for each int that it has."""
    int_letters = "".join(letter for letter, kind in TYPES.items() if kind == "int")
    found = re.finditer(rf"(?<![.\w'])([{int_letters}]|\d+)(?![\w.'(])", call)
    larger = [f"{call[: each.start()]}b{call[each.end() :]}" for each in found]
    return [each for each in larger if not (refusal(each) and refusal(each, False))]


@pytest.mark.nightly
@pytest.mark.spark
def test_Z5_what_is_printed_for_ansi_mode_gives_the_same_in_it(spark):
    from dbt_secure_spark.session import with_settings

    together: dict[str, list[str]] = {}
    hostile = [item.hostile for item in FUNCTIONS] + OPERATORS
    larger = {each for call in hostile for each in with_bigints(call)}
    for call in [*hostile, *sorted(larger)]:
        if with_ansi(call) is None:
            joined = " cross join ".join(f"ansi_{name}" for name in columns_of(call))
            together.setdefault(joined or "range(1)", []).append(call)
    assert sum(map(len, together.values())) > 150

    def found(source: str, asked: list[str], mode: str) -> object:
        values = ", ".join(f"bit_xor(xxhash64(cast({c} as string)))" for c in asked)
        with with_settings(spark, NOT_ANSI | {"spark.sql.ansi.enabled": mode}):
            try:
                return spark.sql(f"select {values} from {source}").first()
            except Exception as error:
                return str(error)[:200]

    with with_settings(spark, NOT_ANSI):
        for letters, (kind, values) in VALUES.items():
            items = ", ".join(f"cast({value} as {kind})" for value in values)
            for letter in letters:
                spark.sql(
                    f"create or replace temp view ansi_{letter} as"
                    f" select explode(array({items})) as {letter}"
                )
    differing = []
    for source, of_source in together.items():
        if found(source, of_source, "true") != found(source, of_source, "false"):
            differing += [
                (call, found(source, [call], "true"))
                for call in of_source
                if found(source, [call], "true") != found(source, [call], "false")
            ]
    assert differing == []


# Calls that read days or moments, in whose place a made day may stand.
OF_DAYS = [
    *(f.hostile for f in FUNCTIONS if set(columns_of(f.hostile)) & set("dqzw")),
    *(each for each in OPERATORS if set(columns_of(each)) & set("dqzw")),
    *("d in (cast(k as timestamp))", "d between q and cast('2026-01-01' as date)"),
    *("cast('2026-01-01' as timestamp) <= d", "coalesce(cast(k as timestamp), d)"),
    *("nvl2(s, d, cast(k as timestamp))", "array(d, cast(k as timestamp))"),
    *("if(k = 2, d, cast(k as timestamp))", "case when k = 1 then d else q end"),
    *("nullif(d, cast(k as timestamp))", "greatest(d, cast(k as timestamp))"),
    *("d - cast(k as timestamp)", "date_trunc('month', last_day(d))"),
    *("trunc(d, 'month') + interval '1' month", "hour(coalesce(d, q))"),
    *("case d when cast(k as timestamp) then 1 end", "cast(d as timestamp_ntz)"),
    *("d <=> cast(k as timestamp)", "concat(d, s)", "cast(d as string)"),
]
MADE_DAYS = (
    *("cast(t as date)", "to_date(t)", "t::date", "date_add(d, j)", "(d - j)"),
    *("date_from_unix_date(j)", "coalesce(null, cast(t as date))", "try_add(d, j)"),
    "try_add(cast(t as date), interval '1' day)",
)


def made(call: str, day: str) -> str:
    """Return a call with a made day for each day and moment that it has."""
    parts = re.split(r"('[^']*')", call)
    bare = r"(?<![.\w])[dqzw](?!\w)"
    return "".join(
        part if place % 2 else re.sub(bare, day, part)
        for place, part in enumerate(parts)
    )


@pytest.mark.parametrize("day", MADE_DAYS)
@pytest.mark.parametrize(
    "call",
    [
        *("d > q", "d in (q)", "datediff(d, q) > 1", "year(d) = 1", "d is null"),
        *("date_part('year', d) = 1", "extract(month from d) = 1", "concat(d, s) = s"),
        *("trunc(d, 'month') = q", "last_day(d) = q", "cast(d as string) = s"),
    ],
)
def test_R20_a_made_day_is_taken_where_days_are(call, day):
    assert refusal(made(call, day)) is None


@pytest.mark.spark
def test_R20_a_made_day_is_refused_wherever_it_fails(spark):
    from dbt_secure_spark.session import with_settings

    def fails(*calls: str) -> bool:
        found = ", ".join(f"{call} as c{place}" for place, call in enumerate(calls))
        try:
            frame = spark.sql(f"select {found} from far_days")
            frame.write.format("noop").mode("overwrite").save()
        except Exception:
            return True
        return False

    spark.sql(
        "create or replace temp view far_days as select *, date '2026-01-01' as d,"
        " 1 as i, 1 as k, 'MON' as s from values ('300000-01-01', 1000000000),"
        " ('5881580-07-11', 2147483647), ('-5877641-06-23', -2147483648) as far (t, j)"
    )
    taken = [made(call, day) for call in OF_DAYS for day in MADE_DAYS]
    taken = [call for call in taken if refusal(call) is None]
    assert len(taken) > 100
    with with_settings(spark, NOT_ANSI):
        # One query for all is ten times as fast, and names none.
        if fails(*taken):
            assert [call for call in taken if fails(call)] == []
            raise AssertionError("they fail only together")


@pytest.mark.spark
def test_R22_what_a_rule_may_have_gives_what_its_words_say(spark):
    from dbt_secure_spark.session import with_settings

    examples = [(item.example, item.value) for item in FUNCTIONS]
    with with_settings(spark, NOT_ANSI):
        values = ", ".join(
            f"cast({example} as string) as c{number}"
            for number, (example, _) in enumerate(examples)
        )
        (row,) = spark.sql(f"select {values}").collect()
        found = [("null" if value is None else value) for value in row]
        for item in AGGREGATES:
            call, source = item.example.split(" from ")
            query = f"select cast({call} as string) from {source}"
            examples.append((item.example, item.value))
            found.append(spark.sql(query).collect()[0][0])
    wrong = [
        (example, gotten, wanted)
        for (example, wanted), gotten in zip(examples, found, strict=True)
        if gotten != wanted
    ]
    assert wrong == []


@pytest.mark.spark
def test_R15_what_is_known_of_types_is_what_spark_says(spark):
    from dbt_secure_spark.session import with_settings

    columns = ", ".join(
        f"cast(null as {kind}) as {name}" for name, kind in TYPES.items()
    )
    asked = [item.hostile for item in FUNCTIONS] + OPERATORS
    wrong = []
    with with_settings(spark, NOT_ANSI):
        values = ", ".join(f"{call} as c{n}" for n, call in enumerate(asked))
        schema = spark.sql(f"select {values} from (select {columns})").schema
        for call, field in zip(asked, schema, strict=True):
            tree = inference.annotated(expressions.read(call).tree, None, TYPES)
            known = inference.family(tree)
            said = field.dataType.simpleString()
            wanted = inference.written_family(said) or said.split(" ")[0]
            if known not in (None, wanted):
                wrong.append((call, known, said))
    assert wrong == []


@pytest.mark.nightly
@pytest.mark.spark
def test_R15_the_table_of_arguments_is_what_spark_takes(spark, request):
    from dbt_secure_spark.session import with_settings

    file = Path(argument_types.__file__).with_suffix(".txt")
    kept = file.read_text(encoding="utf-8").splitlines()
    # Some of them: to ask of all takes minutes.
    is_renewed = request.config.getoption("--renew-golden")
    asked_of = held() if is_renewed else [n for n in held() if n in table()][::9]
    types = {column: KINDS[kind] for kind, column in COLUMNS.items()}
    with with_settings(spark, NOT_ANSI):
        found = list(lines(Asked(spark, types), asked_of))
    if is_renewed:
        file.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
    else:
        assert found == [line for line in kept if line.split(" ")[0] in asked_of]


# No column of a rule is documented with these.
UNUSUAL = {"null", "interval", "variant"}


def operands(name: str) -> list[tuple[str, ...]]:
    return [
        *product(
            sorted(KINDS.keys() - UNUSUAL), repeat=ASKED_OPERATORS[name].count("{}")
        )
    ]


@pytest.mark.parametrize("name", ASKED_OPERATORS)
def test_R15_operands_are_refused_that_spark_does_not_take(name):
    types = {column: KINDS[kind] for kind, column in COLUMNS.items()}
    wrong = []
    for kinds in operands(name):
        (takes,) = table()[name].values()
        text = ASKED_OPERATORS[name].format(*(COLUMNS[kind] for kind in kinds))
        try:
            calls.check_types(expressions.read(text), None, types, asks=False)
        except ExpressionProblem:
            continue
        if not takes.fits([frozenset({kind}) for kind in kinds]):
            wrong.append(kinds)
    assert not wrong


CASTED = {
    "null": "null", "string": "'x'", "number": "1", "boolean": "true",
    "date": "date'2026-01-31'", "timestamp": "timestamp'2026-01-31 00:00:00'",
    "binary": "x'41'", "array": "array('x')", "map": "map('x', 'y')",
    "struct": "named_struct('x', 'y')",
}  # fmt: skip
CASTED_TO = (
    "bigint", "string", "boolean", "date", "timestamp", "binary", "array<string>",
    "map<string,string>", "struct<x:string>",
)  # fmt: skip


@pytest.mark.spark
def test_M7_a_mask_is_refused_where_spark_refuses_the_cast(spark):
    from pyspark.errors import AnalysisException

    wrong = []
    for name, value in CASTED.items():
        for wanted in CASTED_TO:
            try:
                spark.sql(f"select try_cast({value} as {wanted})")
                casts = True
            except AnalysisException:
                casts = False
            tree = inference.annotated(expressions.read(value).tree, None, {})
            assert inference.family(tree) == name
            try:
                inference.check_mask(tree, wanted)
                is_taken = True
            except ExpressionProblem:
                is_taken = False
            if casts is not is_taken:
                wrong.append((name, wanted, casts))
    assert wrong == []


@pytest.mark.nightly
@pytest.mark.spark
def test_R15_what_is_refused_by_its_types_spark_refuses_too(spark):
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from dbt_secure_spark.session import with_settings

    columns = ", ".join(f"cast(null as {kind}) as {n}" for n, kind in TYPES.items())

    def is_taken(call: str) -> bool:
        try:
            spark.sql(f"select {call} from (select {columns})")
        # An arrow outside of a call is an error inside of Spark.
        except (PySparkException, Py4JJavaError):
            return False
        return True

    # One column of each family in the place of the first argument.
    given = [
        re.sub(r"^(\w+)\(\w(?=[,)])", rf"\1({letter}", item.hostile)
        for item in FUNCTIONS
        if item.name in arguments.FIRST_IS
        for letter in "sbnfydzxamr"
    ]
    refused = [call for call in given if refusal(f"{call} is null", False)]
    refused += [call for call, _ in REFUSED_BY_SPARK]
    taken = [
        call for call in TAKEN_BY_SPARK if "own." not in call and " t " not in call
    ]
    with with_settings(spark, NOT_ANSI):
        assert [call for call in refused if is_taken(call)] == []
        assert [call for call in taken if not is_taken(call)] == []
