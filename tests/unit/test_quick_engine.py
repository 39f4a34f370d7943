"""The quick engine answers as Spark does, or says that it can't."""

from __future__ import annotations

import datetime

import duckdb
import pytest

from secure_datasets.engines.duckdb import (
    DuckDB,
    Files,
    NotExact,
    NotThere,
    Rows,
    View,
    as_json,
)
from secure_datasets.engines.translation import translated

COLUMNS = {
    "a": "bigint",
    "b": "string",
    "d": "date",
    "t": "timestamp",
    "f": "boolean",
    "l": "array<string>",
    "m": "decimal(9,4)",
}
MOMENT = datetime.datetime(2026, 1, 1, 12, 30, 5, 250, datetime.timezone.utc)
ROWS = [
    (1, "x", datetime.date(2026, 2, 3), MOMENT, True, ["q", None], 1),
    (2, None, None, None, None, [], None),
]


@pytest.fixture
def engine():
    return DuckDB(
        {
            "lake.things": Rows(COLUMNS, ROWS),
            "lake.later": View("select * from lake.things where a > 1"),
        }
    )


def value(engine, expression):
    """Return an expression over the first row."""
    query = f"select {expression} as found from lake.things where a = 1"
    (row,) = engine.ask(query)
    return row["found"]


def test_a_view_is_over_relations_and_read_by_queries(engine):
    assert engine.ask("select a from lake.later") == [{"a": 2}]
    assert engine.ask("select LATER.a from Lake.LATER") == [{"a": 2}]


def test_texts_in_texts_are_not_written_out_again_and_again(engine):
    text = "b"
    for _ in range(14):
        text = f"concat('(', coalesce({text}, ''), case when f then ')' end)"
    assert value(engine, text) == "(" * 14 + "x" + ")" * 14


def test_a_step_hides_no_relation_of_a_schema_and_is_seen_after_it(engine):
    query = "with things as (select 7 as a), more as (select a from things) "
    assert engine.ask(query + "select a from more") == [{"a": 7}]
    assert len(engine.ask(query + "select a from lake.things")) == 2
    with pytest.raises(NotThere, match="more"):
        engine.ask("with things as (select a from more), more as (select 1 as a) "
                   "select a from things")  # fmt: skip


def test_a_relation_that_is_put_again_replaces_the_one_before(engine):
    assert engine.ask("select count(*) as n from lake.things") == [{"n": 2}]
    engine.put("lake.things", Rows({"a": "bigint"}, [(5,)]))
    assert engine.ask("select * from lake.things") == [{"a": 5}]
    assert engine.ask("select * from lake.later") == [{"a": 5}]
    engine.store("lake.stored", "select a + 1 as a from lake.things")
    assert engine.ask("select a from lake.stored") == [{"a": 6}]


def test_a_relation_that_is_not_there_is_named(engine):
    with pytest.raises(NotThere, match=r"lake\.nothing"):
        engine.ask("select * from lake.nothing")


def test_files_are_read_and_their_timestamps_are_moments(tmp_path):
    place = tmp_path / "it's" / "part-0.parquet"
    place.parent.mkdir()
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select 1::bigint as a, timestamp '2026-01-01 00:00:00' as t)"
            f" to '{str(place).replace(chr(39), chr(39) * 2)}' (format parquet)"
        )
    engine = DuckDB({"lake.files": Files([place.parent / "*.parquet"])})
    query = "select a, unix_micros(t) as t from lake.files"
    assert engine.ask(query) == [{"a": 1, "t": 1767225600000000}]


def test_a_float_is_not_looked_at(tmp_path):
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select 1::bigint as a, 0.1::float as f, [0.5::float] as l)"
            f" to '{tmp_path}/part-0.parquet' (format parquet)"
        )
    engine = DuckDB({"lake.files": Files([tmp_path / "*.parquet"])})
    assert engine.ask("select a, size(array(a)) as n from lake.files") == [
        {"a": 1, "n": 1}
    ]
    # Beside 0.1, a decimal, it is a double for Spark, and 0.1 for DuckDB.
    for asked in ("f = 0.1", "f > 0.05", "array_contains(l, 0.5)"):
        with pytest.raises(NotExact, match=r"a value of [fl], a FLOAT"):
            engine.ask(f"select a from lake.files where {asked}")


def test_no_file_is_an_empty_relation_where_columns_are_known(tmp_path):
    files = Files([tmp_path / "*.parquet"], {"a": "bigint"})
    assert DuckDB({"lake.files": files}).ask("select a from lake.files") == []
    with pytest.raises(NotThere):
        DuckDB({"lake.files": Files([tmp_path / "*.parquet"])}).columns("lake.files")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("try_cast('1e1' as bigint)", None),
        ("try_cast('5.7' as bigint)", None),
        ("try_cast('+007' as bigint)", 7),
        ("try_cast('9223372036854775808' as bigint)", None),
        ("concat(b, a)", "x1"),
        ("concat(b, null)", None),
        ("concat_ws('-')", ""),
        ("substring_index('a,b', ',', 1) || substring_index('c', ',', 1)", "ac"),
        ("substring('abc', 2, length('ab'))", "bc"),
        ("substring('abc', 3, -2)", ""),
        ("substring(b, 2, length(b) - 3)", ""),
        ("substring('abc', 1, cast(null as int))", None),
        ("concat_ws('-', b, null, a)", "x-1"),
        ("concat(case when f then upper(b) else 'y' end, cast(1 as string), a)", "X11"),
        ("concat(case when f then b else 'y' end, coalesce(null, a))", "x1"),
        ("concat(nullif(concat(b, a), 'y'), case when not f then 'z' end)", None),
        ("cast(concat_ws('-', a, d) as string)", "1-2026-02-03"),
        ("b || d", "x2026-02-03"),
        ("'it''s' || \"say\" || 'a\\u0041\\'\\n'", "it'ssayaA'\n"),
        ("r'\\d'", "\\d"),
        ("array_sort(array('b', null, 'a'))", ["a", "b", None]),
        ("sort_array(array('b', null, 'a'))", [None, "a", "b"]),
        ("array_join(array('b', null, 'a'), ', ')", "b, a"),
        ("array_join(array(cast(null as string)), ',')", ""),
        ("array_join(filter(l, x -> x = 'z'), ',')", ""),
        ("array_join(case when a > 1 then l end, ',')", None),
        ("array_join(slice(array('a', 'b', 'c'), 2, 5), '')", "bc"),
        ("array_join(slice(array('a', 'b', 'c'), 1, 2), '')", "ab"),
        ("array_contains(l, 'q')", True),
        ("array_contains(l, 'z')", None),
        ("array_contains(array('q'), 'z')", False),
        ("size(l)", 2),
        ("flatten(array(array('b'), array('a', null)))", ["b", "a", None]),
        ("flatten(array(array('b'), null))", None),
        ("aggregate(array(1, 2), 3, (sum, x) -> sum + x * a)", 6),
        ("aggregate(filter(array(1), x -> x > 1), 3, (sum, x) -> sum + x)", 3),
        ("named_struct('an x', a)['an x']", 1),
        ("-7 div 2", -3),
        ("pmod(-7, 3)", 2),
        ("trunc(d, 'MONTH')", datetime.date(2026, 2, 1)),
        ("date_add(d, 26)", datetime.date(2026, 3, 1)),
        ("year(d)", 2026),
        ("date_from_unix_date(-1)", datetime.date(1969, 12, 31)),
        ("d >= date '2026-02-03'", True),
        ("t < timestamp '2026-01-01 12:30:06Z'", True),
        ("typeof(t) = 'timestamp'", True),
        ("typeof(b) = 'timestamp'", False),
        ("typeof(a) not in ('int', 'bigint')", False),
        ("struct(a) = struct(1)", True),
        ("named_struct('x', a, 'y', 2) in (named_struct('y', 1, 'x', 2))", True),
        ("b like 'x\\\\_%'", False),
        ("'x_y' like 'x\\\\_%'", True),
        ("startswith('x%y', concat(b, '%'))", True),
        ("startswith('xxy', concat(b, '%'))", False),
        ("startswith(b, null)", None),
        ("'5\\n' rlike '^[0-9]+$'", True),
        ("'5\\nx' rlike '^[0-9]+$'", False),
        ("a <=> null", False),
        ("get_json_object('{\"a\": \"it\\u0041\"}', '$.a')", "itA"),
        ("get_json_object('{\"a\": null}', '$.a')", None),
        ("get_json_object('a', '$.a')", None),
        ("get_json_object('{\"a\": null, \"b\": null}', '$.a')", None),
        ("b is not true", None),
        ("greatest(a, null, 3)", 3),
        ("left(b, 1) || right('abc', 2)", "xbc"),
        ("left(sha2('', 256), 16)", "e3b0c44298fc1c14"),
        ("lower('ABC') || upper('abc')", "abcABC"),
        ("if(f, 1, 2)", 1),
        ("typeof(length(b)) || typeof(rank() over (order by a))", "intint"),
        ("-(-(a)) - -1", 2),
        ("cast(a + 2147483646 as int)", 2147483647),
        ("try_cast(a + 2147483647 as int)", None),
        ("typeof(-2147483648) || typeof(- 9223372036854775808)", "intbigint"),
        ("typeof(-(2147483648))", "bigint"),
        ("exists (select 1 from lake.later as x where x.a = things.a + 1)", True),
        # Spark takes away spaces, and no other white space.
        ("m * m + 1 > 1.5 and m - 1 < a", True),
        ("trim(' \u00a0x ')", "\u00a0x"),
        ("trim(concat(b, ' \u3000')) = b", False),
    ],
)  # fmt: skip
def test_an_expression_is_what_spark_says(engine, expression, expected):
    if expression == "b is not true":
        # A text is no truth: Spark refuses the query, and so does this.
        with pytest.raises(NotExact):
            value(engine, expression)
        return
    assert value(engine, expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "rand()",
        "a / 2",
        "uuid()",
        "avg(a)",
        "a = b",
        "a = '1'",
        "concat(date_add(d, -800000), 'x')",
        "m div 2",
        # Spark gives up digits behind the point where a decimal has more than 38.
        "cast(1 as decimal(38, 10)) * 0.1 = m",
        "m * a * a * 0.00000001 > m",
        "2 - cast(1 as decimal(38, 10))",
        "-cast(1 as decimal(38, 10)) - m < 1",
        # A null in them comes first for Spark, and last for DuckDB.
        "greatest(array(b, null), array(b, 'y'))",
        "least(struct(a, b), struct(a, 'y'))",
        "cast(date_add(d, 3000000) as string)",
        "b in (1, 2)",
        "d = '2026-02-03'",
        "case b when 1 then 2 end",
        "b between 1 and 2",
        "coalesce(a, b)",
        "cast(t as string)",
        "cast(m as string)",
        "cast(t as date)",
        "cast(b as boolean)",
        "cast(m as bigint)",
        "cast('2026-2-3' as date)",
        "cast('5.7' as bigint)",
        "try_cast(' 5 ' as bigint)",
        "cast(a as double)",
        "lower('\u0130')",
        "b rlike '\\\\d+'",
        "b rlike '(?i)x'",
        "b like d",
        "startswith(a, '1')",
        "7 div 0",
        "7 div a",
        "typeof(l)",
        "l[0]",
        "get_json_object('{\"a\": 1}', '$.a')",
        "get_json_object('{\"a\"', '$.a')",
        "get_json_object('{\"a\": \"x\" , }', '$.a')",
        "get_json_object('{\"a\": \"x\"} b', '$.a')",
        'get_json_object(\'{"a": null, "a": "x"}\', \'$.a\')',
        "get_json_object(\"{'a': 'x'}\", '$.a')",
        "get_json_object(b, '$.a.b')",
        "xxhash64(b)",
        "to_json(struct(a))",
        "date_format(t, 'yyyy')",
        "sum(a) over ()",
        "9223372036854775807 + a",
        "struct(a) = struct(1, 2)",
        # A null in them comes first for Spark, and last for DuckDB.
        "struct(a, b) > struct(a - 1, 'z')",
        "struct(2 as x, 1) <= struct(1 as y, 2)",
        "date_from_unix_date(a + 2147483647)",
        # DuckDB alone would move the number to the other side.
        "9223372036854775807 + a > 1",
        "(a - -9223372036854775807) > 1",
        "case a + 9223372036854775807 when 1 then true end",
        "a + 9223372036854775807 between 1 and 1",
        "a + 9223372036854775807 in (1)",
        "a * 9223372036854775807 * 2 > 1",
        "-(a - -9223372036854775807) < 1",
        "cast(-2147483648 as int) - 1 < 1",
        "a > 99999999999999999999",
        "cast(null as bigint) > 99999999999999999999",
        "a in (1, 9223372036854775808)",
        "a > 9223372036854775807.5",
        "a > -99999999999999999999",
        "length(b) + 2147483647",
        "length(a)",
        "cast(a + 2147483647 as int)",
        "-(-2147483648)",
        "-(-9223372036854775808)",
        "sum(a + 0.1)",
        "sum(m)",
        "sum(9223372036854775806 + a) + sum(a)",
        "row_number() over (order by a) + 2147483647",
        "dense_rank() over (order by a) + 2147483647",
        "rank() over (order by a) + 2147483647",
    ],
)
def test_what_duckdb_would_say_otherwise_is_refused(engine, expression):
    with pytest.raises(NotExact):
        value(engine, expression)


@pytest.mark.parametrize(
    "query",
    [
        "select * from lake.things tablesample (50 percent)",
        "select a from lake.things cluster by a",
        "select a from lake.things; select 1",
        "drop table x",
        "select 'a",
        "select a as x, b as x from lake.things",
        "select a from lake.things right join lake.later using (a)",
    ],
)
def test_a_query_of_another_form_is_refused(engine, query):
    with pytest.raises(NotExact):
        engine.ask(query)


def test_what_fails_in_the_last_of_many_rows_is_refused_too(tmp_path):
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select range::bigint as a, date '5881580-07-10' as d"
            f" from range(300000)) to '{tmp_path}/many.parquet' (format parquet)"
        )
    engine = DuckDB({"lake.many": Files([tmp_path / "many.parquet"])})
    for last in ("9223372036854775807 + a > 1", "d + 1 > date '2026-01-01'"):
        with pytest.raises(NotExact):
            engine.ask(f"select a from lake.many where a < 299999 or {last}")


def test_a_hint_changes_no_row(engine):
    query = "select /*+ broadcast(t) */ a from lake.things as t where a = 1"
    assert engine.ask(query) == [{"a": 1}]


def test_fingerprints_of_rows_that_are_all_pairs_of_some_values_do_not_cancel_out():
    pairs = "values ('1', 'a'), ('1', 'b'), ('2', 'a'), ('2', 'b')"
    found = "select bit_xor(xxhash64(x, y)) <> 0 as differs from"
    asked = f"{found} ({pairs}) as pairs (x, y)"
    assert DuckDB(fingerprints=True).ask(asked) == [{"differs": True}]


def test_fingerprints_are_compared_only_by_an_engine_that_is_made_for_it():
    same = "select xxhash64(1, 'a') = xxhash64(1, 'a') as a, "
    same += "xxhash64(null, 'a') = xxhash64('a', null) as b, "
    same += "xxhash64('a', 'b') = xxhash64('ab', '') as c"
    assert DuckDB(fingerprints=True).ask(same) == [{"a": True, "b": False, "c": False}]
    with pytest.raises(NotExact, match="spark_fingerprint"):
        DuckDB().ask(same)


def test_a_join_of_values_of_two_kinds_is_refused(engine):
    with pytest.raises(NotExact, match="BIGINT and VARCHAR"):
        engine.ask(
            "select x.a from lake.things as x inner join lake.things as y on x.a = y.b"
        )


def test_values_of_a_group_are_collected_without_nulls(engine):
    found = engine.ask(
        "select collect_list(b) as texts, collect_set(f) as flags, sum(a) as total,"
        " max_by(b, a) as last, count(distinct b) as kinds from lake.things"
    )
    assert found == [
        {"texts": ["x"], "flags": [True], "total": 3, "last": None, "kinds": 1}
    ]
    counts = "select count_if(cast(null as boolean)) as n, count_if(a > 1) as m"
    assert engine.ask(f"{counts} from lake.things") == [{"n": 0, "m": 1}]
    assert engine.ask(f"{counts} from lake.things where false") == [{"n": 0, "m": 0}]
    nobody = "select collect_list(b) as texts from lake.things where false"
    assert engine.ask(nobody) == [{"texts": []}]


def test_a_lateral_view_of_structs_has_a_row_for_each(engine):
    found = engine.ask(
        "select things.a, made.x, y from lake.things lateral view inline(array("
        "named_struct('x', things.b, 'y', 1), named_struct('x', 'z', 'y', 2)"
        ")) made as x, y where things.a = 1 order by y"
    )
    assert found == [{"a": 1, "x": "x", "y": 1}, {"a": 1, "x": "z", "y": 2}]


def test_a_lateral_view_of_one_struct_keeps_no_filter_from_what_is_below():
    query = (
        "with guarded_rows as (select things.a, made.b from lake.things lateral view"
        " inline(array(named_struct('b', things.b))) made as b)"
        " select * from guarded_rows where a = 1"
    )
    sql = translated(query).sql
    assert "LATERAL" not in sql.upper()
    engine = DuckDB({"lake.things": Rows(COLUMNS, ROWS)})
    assert engine.ask(query) == [{"a": 1, "b": "x"}]


FOREIGN = {"id": "string", "n": "bigint"}


def foreign(folder, *queries) -> DuckDB:
    """Return an engine over the Parquet files of queries, which no run has written."""
    for number, query in enumerate(queries):
        duckdb.sql(f"copy ({query}) to '{folder}/{number}.parquet' (format parquet)")
    paths = sorted(folder.glob("*.parquet"))
    return DuckDB({"raw.t": Files(paths, FOREIGN, is_foreign=True)})


def test_files_that_no_run_has_written_are_read(tmp_path):
    rows = ("select '1' as id, 2::bigint as n", "select '3' as id, 4::bigint as n")
    engine = foreign(tmp_path, *rows)
    assert engine.ask("select id, n from raw.t order by id") == [
        {"id": "1", "n": 2},
        {"id": "3", "n": 4},
    ]


@pytest.mark.parametrize(
    "second",
    [
        "select '3' as id, 4::int as n",
        "select '3' as id",
        "select '3' as id, 4::bigint as n, 5 as more",
        "select 4::bigint as n, '3' as id",
    ],
)
def test_files_of_other_columns_than_spark_reads_are_not_read(tmp_path, second):
    """Spark makes null of what a file lacks, and goes by names and types."""
    engine = foreign(tmp_path, "select '1' as id, 2::bigint as n", second)
    with pytest.raises(NotExact, match=r"the files of raw\.t"):
        engine.ask("select id from raw.t")
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.raises(NotExact, match=r"the files of raw\.t"):
        foreign(alone, second).ask("select id from raw.t")


def test_rows_are_told_in_the_types_of_json(engine):
    rows = as_json(engine.ask("select a, d, t, l, m from lake.things where a = 1"))
    assert rows == [
        {
            "a": 1,
            "d": "2026-02-03",
            "t": "2026-01-01 12:30:05",
            "l": ["q", None],
            "m": 1.0,
        }
    ]


def test_a_translation_names_what_it_reads_once():
    query = "select 1 as x from Lake.A as a, lake.b where a.k in (select k from LAKE.a)"
    assert translated(query).relations == ("lake.a", "lake.b")
