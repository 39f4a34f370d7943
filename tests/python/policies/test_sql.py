"""R2, R13, R15: the SQL of the config is read by a parser; the rest is refused.

The document of config_mistakes.py has the dataset `jobs`, whose tier carries `kind`.
"""

from __future__ import annotations

import json

import pytest
from config_mistakes import DOCUMENT, edited
from rendering import Macros, Stopped

from secure_datasets.sql import expressions
from secure_datasets.sql.expressions import ExpressionProblem, sql_text, unescaped

CONDITION = "condition: job_name is not null"
LINE = DOCUMENT[: DOCUMENT.index(CONDITION)].count("\n") + 1
MASK = "mask: 0, mask_order: 1"
IN = "job_name in (select t.id from t)"
INNER = "a.x in (select t.id from t)"
OF_ROW = "exists (select 1 from u as a where a.k = jobs.team_id and {})"
LIMITED = (
    "team_id in (select b.x from (select t.x, 1 as place, place as later from t {}"
    " limit 1) as b)"
)
HELD = "exists (select 1 from lake.vw_secure_user_roles as r where {})"
LISTED = "exists (select 1 from lake.user_role_names as r where {})"
TYPES = {
    "all_jobs": {"job_id": "bigint", "team_id": "bigint", "job_name": "string"},
    "all_runs": {
        "run_id": "bigint", "team_id": "bigint", "run_name": "string",
        "test_id": "bigint", "control_id": "bigint",
    },
}  # fmt: skip


def with_condition(text: str, check: bool = True) -> str:
    """Return the document with another condition on jobs."""
    options = "" if check else ", check: false"
    return edited(DOCUMENT, CONDITION, f"condition: {json.dumps(text)}{options}")


def render(document: str, **options) -> str:
    """Render the jobs."""
    return Macros(document, **options).secure_dataset("jobs")


@pytest.mark.parametrize(
    "condition",
    [
        IN,
        "team_id not in (select t.id from t where coalesce(t.x, 1) = 1) and true",
        f"team_id is null or not ({IN} and (team_id = 1 or {IN}))",
        # Whatever Spark makes of the two, no row less is shown.
        f"{IN} and job_name not in (select u.id from u)",
        f"not ({IN} or job_name not in (select u.id from u)) and team_id = 1",
        "1 in (select t.x from t) or 2 not in (select t.x from t)",
        "lower(job_name) = 'x' and upper(job_name) in (select t.id from t)",
        f"((({IN})))",
        f"not exists (select 1 from u as a where a.y = 1 or not ({INNER}))",
        f"exists (select 1 from u as a join v on {INNER} and v.x not in (select 1))",
        f"exists (select a.x from u as a group by a.x having a.x > 1 and {INNER})",
        "exists (select 1 from t) = true",
        "case when team_id = 1 then true else false end",
        "case when team_id = 1 then 'a' else if(team_id = 2, 'b', job_name) end = 'x'",
        "case if(team_id = 1, 'a', 'b') when 'b' then job_name else 'c' end = 'x'",
        "jobs.team_id = 1 and user_id = 4",
        "extract(year from user_id) = 1 or trim(both ' ' from job_name) = 'x'",
        "(job_name) is distinct from 'x'",
        "job_name in (with c as (select t.id from t) select c.id from c)",
        "team_id > (select max(t.id) - 3 from t)",
        "team_id > (select 3) and team_id < (select t.x from t order by t.x limit 1)",
        "team_id in ((select t.x from t)) and team_id > (select count(*) from t)",
        "exists(array(1, 2), x -> x > team_id)",
        # What is harmless
        "regexp_replace(job_name, '(.).*@', '$1***@') = 'x'",
        r"regexp_like(job_name, '\\p{L}+[\\p{Nd}_](?=x)(?!y)')",
        "date_format(try_cast(job_name as date), 'EEEE') = 'Monday'",
        "try_cast(job_name as date) > date '2026-01-01' - interval '30 days'",
        "soundex(job_name) = 'X'",
        "mask(job_name, 'X', null) = 'X'",
        "job_name collate unicode_ci = 'x'",
        "try_cast(job_name as date) between '2026-02-28' and '2026-03-01'",
        "unix_timestamp('2024-01-01', 'yyyy-MM-dd') > 0",
        "team_id in (select a.x from (select t.x, row_number() over (partition by t.k"
        " order by t.d) as place from t) as a where a.place = 1)",
        "team_id in (select t.x from t order by t.y limit 1)",
        "exists (select 1 from t limit 1)",
        "exists (select 1 from t order by 1 limit 1)",
        *(
            f"team_id in (select b.x from (select t.x, t.x + 1 as y, count(*) from t"
            f" group by t.x order by {order} limit 1) as b)"
            for order in ("1", "2 desc", "y", "x", "all", "count(*)", "null, t.x + 1")
        ),
        "exists (select 1 from parquet as a where a.x = 1)",
        "exists (select 1 from `my-lake`.json.t as a where a.x = 1)",
        f"{IN} or team_id not in (select t.id from t)",
        "regexp_like(job_name, 'x') = (team_id = 1)",
        "own.my_function(job_name) = 1",
        # A relation of the row's name that bears an alias can't be taken for the row.
        "exists (select 1 from my.jobs as a where a.id = 1)",
        "null",
        # Roles that are compared as they stand, or with no text.
        HELD.format("r.role_name in ('A', 'B') and r.role_name like 'C%'"),
        HELD.format("(r.role_name, 1) in (('A', 1)) or 'A' = r.role_name"),
        HELD.format("lower(r.role_name) = lower(r.other)"),
        HELD.format("case r.role_name when 'A' then true else r.role_name is null end"),
        HELD.format("exists (select 1 from m where m.r = r.role_name and m.k = 'x')"),
        "job_name in (select concat(r.role_name) from lake.vw_secure_user_roles as r)",
        "(select max(if(r.role_name = 'A', 1, 0)) from lake.vw_secure_user_roles as r)"
        " = 1",
        LISTED.format("array_contains(r.role_names, 'A')"),
    ],
)
def test_R2_a_condition_may_be(condition):
    assert f"({condition})" in render(with_condition(condition))


def test_R15_a_condition_may_name_what_the_tier_carries_if_its_base_has_it():
    document = edited(
        DOCUMENT,
        "resource: jobs, check: false",
        "resource: notes, condition: kind = 'User'",
    )
    macros = Macros(document)
    assert "kind = 'User'" in macros.secure_dataset("notes")
    parsed = macros.secure_datasets_config()
    assert "kind = 'User'" in macros.row_predicate("notes", parsed, "1")
    assert "base.kind" in macros.gates_query("notes", parsed, "select 1")


NOT_PLAIN = "has an 'in (select ...)' under something else than and, or and not"
NO_SELECT = "has a subquery that does not begin with 'select'"


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        (f"({IN}) is null", NOT_PLAIN),
        (f"{IN} is not true", NOT_PLAIN),
        (f"coalesce({IN}, true)", NOT_PLAIN),
        (f"case when {IN} then true else team_id = 1 end", NOT_PLAIN),
        (f"({IN}) = (team_id = 1)", NOT_PLAIN),
        (f"team_id = (not ({IN}))", NOT_PLAIN),
        (f"team_id <=> ({IN})", NOT_PLAIN),
        (f"if(team_id = 1, (team_id = 2 or {IN}), true)", NOT_PLAIN),
        # So it is within a subquery.
        *(
            (text, NOT_PLAIN)
            for text in (
                OF_ROW.format(f"not coalesce({INNER}, true)"),
                OF_ROW.format(f"({INNER}) is false"),
                OF_ROW.format(f"case when {INNER} then true else false end"),
                "job_name in (select a.x from u as a where (a.x in (select t.id from"
                " t)) is not true)",
                f"exists (select 1 from u as a join v on coalesce({INNER}, true))",
                f"exists (select a.k from u as a group by a.k having ({INNER}) is"
                " null)",
                f"exists (select 1 from (select ({INNER}) as b from u as a) as c where"
                " not c.b)",
                f"1 = (select count_if({INNER}) from u as a)",
            )
        ),
        (OF_ROW.format("a.x = all (select t.id from t)"), "of a subquery"),
        ("team_id = any (select t.id from t)", "of a subquery"),
        ("job_name = any(array('X', 'Y'))", "'any' of values, which Spark has after"),
        ("exists (select 1 from t where t.x = any(array(1)))", "'any' of values"),
        # What begins with something else than `select`.
        ("team_id in (from allowed k select team_id)", NO_SELECT),
        ("team_id in (from x |> select project_id)", NO_SELECT),
        ("exists (from t k select 1 where k.k = jobs.team_id)", NO_SELECT),
        ("exists (values (team_id))", NO_SELECT),
        ("exists (table t)", NO_SELECT),
        ("exists (select 1 from values (team_id))", NO_SELECT),
        ("exists (select 1 from t union all from t select 1)", NO_SELECT),
        ("exists (with c as (select 1) from c select 1)", NO_SELECT),
        ("exists (select 1 from t, lateral (select jobs.team_id))", NO_SELECT),
        ("exists (select 1 from t |> where true)", NO_SELECT),
        *(
            (text, "so that nobody can say which groups are meant: compare it as it")
            for text in (
                HELD.format("lower(r.role_name) = 'a'"),
                HELD.format("r.role_name || '' = 'A'"),
                HELD.format("cast(r.role_name as string) in ('A', 'B')"),
                HELD.format("r.role_name collate unicode_ci = 'a'"),
                HELD.format("equal_null(r.role_name, 'A')"),
                HELD.format("r.role_name rlike '^A$'"),
                HELD.format("r.role_name between 'A' and 'A'"),
                HELD.format("find_in_set(r.role_name, 'A,B') > 0"),
                HELD.format("exists(array('A'), x -> x = r.role_name)"),
                HELD.format("r.role_name = array('A')[0]"),
                HELD.format("r.role_name in (upper('a'))"),
                "'a' in (select lower(r.role_name) from x.vw_secure_user_roles as r)",
                LISTED.format("arrays_overlap(r.role_names, array('A'))"),
                LISTED.format("lower(r.role_names[0]) = 'a'"),
            )
        ),
        # Names
        ("jobs.kind = 'User'", "names 'jobs.kind', which the tier carries"),
        (
            "exists (select 1 from x where x.y = jobs.kind)",
            "names 'jobs.kind', which the tier carries",
        ),
        ("'Group' in (select kind from x)", "names 'kind' in a subquery without its"),
        ("exists (select 1 from x where user_id = 1)", "names 'user_id' in a subquery"),
        ("exists (select 1 from x where JOB_NAME = 'x')", "'JOB_NAME' in a subquery"),
        ("exists (select 1 from x where `job_name` = 'x')", "'job_name' in a subquery"),
        ("exists (select held_roles['A'] from x)", "names 'held_roles' in a subquery"),
        ("exists (select 1 from x where d2.team_id = 1)", "'d2' is none of the"),
        ("exists (select 1 from x as jobs where jobs.id = 1)", "as the row is called"),
        ("exists (select 1 from my.jobs where jobs.id = 1)", "as the row is called"),
        ("exists (select jobs.* from x)", "names 'jobs.*', which the dataset has not"),
        ("exists (select max(jobs.team_id) from x)", "aggregate of the row's own"),
        ("exists (select 1 from tier_rows)", "a name that rendering uses itself"),
        ("exists (select 1 from x as visible_rows)", "a name that rendering uses"),
        ("exists (select 1 from towns)", "a name that rendering uses itself"),
        (
            "exists (with tier_rows as (select 1) select 1)",
            "a name that rendering uses",
        ),
        # Where no relation has such a column, Spark takes it for the session or clock.
        *(
            (OF_ROW.format(f"a.x = {name}"), "which may be the session or the clock")
            for name in (
                "`current_user`", "`Current_User`", "`user`", "`session_user`",
                "`current_date`", "`current_timestamp`", "`localtimestamp`",
                "current_time", "localtime", "localtime::string",
            )
        ),
        ("job_name in (select `current_user`)", "or the clock to Spark: write"),
        ("(select max(`current_date`) from t) = 1", "or the clock to Spark: write"),
        ("held_roles['A']", "names 'held_roles', which the dataset has not"),
        ("view_outcome = 'Allow'", "names 'view_outcome', which the dataset has not"),
        ("job = 1", "names 'job', which the dataset has not"),
        ("runs.job_id = 1", "names 'runs.job_id', which the dataset has not"),
        ("identifier('held_roles')['A']", "has 'identifier', which hides what it"),
        ("exists (select 1 from t where identifier('team_id') = 1)", "'identifier'"),
        ("exists (select 1 from identifier('tier_rows'))", "has 'identifier', which"),
        (
            "exists (select 1 from x where kind.y = 1)",
            "'kind' is none of the relations",
        ),
        # Functions
        ("exists (select 1 from t tablesample (10 percent))", "has a sample, which"),
        ("count(*) > 1", "has the aggregate 'count'"),
        ("max(team_id) > 1", "has the aggregate 'max'"),
        ("bool_and(team_id = 1)", "has the aggregate"),
        ("any(team_id = 1)", "has the aggregate 'any'"),
        ("not (any(team_id = 1) or true)", "has the aggregate 'any'"),
        ("try_sum(team_id) > 1", "has the aggregate 'try_sum'"),
        ("vector_sum(a) is null", "has the aggregate 'vector_sum'"),
        ("vector_avg(a) is null", "has the aggregate 'vector_avg'"),
        ("schema_of_variant_agg(a) = 'a'", "aggregate 'schema_of_variant_agg'"),
        ("variant_explode(a) is null", "has the generator 'variant_explode'"),
        ("row_number() over (order by team_id) = 1", "has a window function"),
        ("sum(team_id) over () = 1", "has a window function"),
        ("explode(array(true))", "has a generator"),
        ("stack(1, true)", "has a generator"),
        # They make several rows of one.
        ("window(created, '1 day', '6 hours') is null", "the generator 'window'"),
        ("session_window(created, '1 day') is null", "the generator 'session_window'"),
        ("rand() > 0.5", "has 'rand', which depends on more than the row"),
        ("uuid() > 'x'", "has 'uuid', which depends on more than the row"),
        ("monotonically_increasing_id() > 1", "depends on more than the row"),
        ("reflect('java.lang.System', 'exit') = '1'", "depends on more than the row"),
        ("now() > timestamp'2026-01-01'", "has 'now', which depends on the time"),
        ("current_timestamp > timestamp '2026-01-01'", "which depends on the time"),
        ("current_date() > date'2026-01-01'", "which depends on the time"),
        # What is no expression
        ("select 1", "can't be read as one SQL expression"),
        ("from x select true", "is a query"),
        ("true union select true", "can't be read as one SQL expression"),
        ("team_id team_id", "can't be read as one SQL expression"),
        ("team_id =", "can't be read as one SQL expression"),
        ("team_id = :x", "has a parameter"),
        ("team_id = ?", "has the character '?' outside of quotes"),
        ("team_id = ${x}", "has the character '$' outside of quotes"),
        ("te\u0430m_id = 1", r"has the character '\u0430' outside of quotes"),
        ("team_id = 1\u2028or true", r"has the character '\u2028' outside of quotes"),
        ("true /*+ x */", "has a comment or a semicolon"),
        ("job_name = 'a' 'b'", "has two texts side by side"),
        ("(" * 400 + "true" + ")" * 400, "nests more than 60 brackets"),
        ("not " * 3000 + "true", "nests too deeply"),
        *(
            (text, "nests or chains more than 300 operators")
            for text in (
                " and ".join(["team_id = 1"] * 10_000),
                " or ".join(["team_id = 1"] * 10_000),
                "team_id" + " + 1" * 10_000 + " = 1",
                "job_name = 'a'" + " || 'a'" * 10_000,
                "team_id" + "::bigint" * 10_000 + " = 1",
                "exists (select 1 from x" + " union select 1 from x" * 10_000 + ")",
            )
        ),
        ("(true]", "the brackets of 'condition' don't match"),
        # What is not boolean
        ("job_name", "is of the type string, and must be true or false"),
        ("'true'", "is a constant, and must be true or false"),
        ("team_id + 1", "is of the type number, and must be true or false"),
        ("case when true then job_name end", "is of the type string"),
        ("cast(job_name as string)", "is of the type string"),
        ("coalesce(team_id, 1)", "is of the type number, and must be true or false"),
        ("nullif(job_name, 'X')", "is of the type string, and must be true or false"),
        ("not team_id", "has 'team_id' where something true or false must be, and it"),
        ("team_id = 1 and job_name", "has 'job_name' where something true or false"),
        ("case when team_id then true end", "has 'team_id' where something true or"),
        ("case job_id when 1 then true else if(team_id, true, false) end",
         "has 'team_id' where something true or"),
        ("case when true then 'a' else if(team_id = 1, 'b', array('c')) end = 'x'",
         "string"),
        ("team_id = date'2026-01-31'", "'=' of bigint and date, which Spark does not"),
        ("job_name in (array('x'))", "'in' of string and array<string>, which Spark"),
        ("job_name in ('X') = (team_id = 1)", "that are read in more than one order"),
        ("team_id = 1 = true", "that are read in more than one order"),
        ("team_id = job_id in (1)", "that are read in more than one order"),
        ("team_id | job_id & 1 = 1", "that are read in more than one order"),
        ("job_name || team_id + 1 = 'x'", "that are read in more than one order"),
        ("job_name is null = true", "that are read in more than one order"),
        ("job_name is not null = true", "that are read in more than one order"),
        ("team_id <=> job_id in (1)", "that are read in more than one order"),
        ("true <=> team_id > job_id", "that are read in more than one order"),
        ("team_id = 1 <=> true", "that are read in more than one order"),
        ("true is distinct from job_id in (1)", "that are read in more than one order"),
        # What Spark has not, or what is never true
        ("job_name glob 'x*'", "has 'glob', which Spark has not"),
        ("job_name similar to 'x'", "has 'similar to', which Spark has not"),
        ("(team_id, job_id) overlaps (job_id, team_id)", "has 'overlaps', which is no"),
        ("job_name in ()", "has an 'in' of nothing, which Spark has not"),
        ("team_id between symmetric 1 and 2", "has 'between symmetric', which Spark"),
        ("cast(team_id as decimal(39, 2)) > 1", "a decimal of 39 digits, 2 of them"),
        ("cast(team_id as decimal(3, 4)) > 1", "a decimal of 3 digits, 4 of them"),
        ("job_name collate bogus = 'x'", "has the collation 'bogus', which is not"),
        ("mask(job_name, 'XX') = 'x'", "the second must be one letter or null"),
        ("mask(job_name, job_name) = 'x'", "the second must be one letter or null"),
        ("cast(job_name as date) > '2026-02-30'", "date with '2026-02-30', which is"),
        ("cast(job_name as date) in ('x')", "a date with 'x', which is none"),
        ("regexp_replace(job_name, '(.).*', '$2') = 'x'", "is no group of it"),
        ("regexp_replace(job_name, '(.).*', '$') = 'x'", "is no group of it"),
        ("regexp_like(job_name, '(?<=a)b')", "must be a regular expression"),
        ("to_date(job_name, 'EEEE') is null", "the second must be a format"),
        # Chance
        ("team_id in (select t.x from t limit 1)", "has a 'limit' without 'order by'"),
        ("exists (select 1 from t limit 1 offset 1)", "has a 'limit' without 'order"),
        ("team_id in (select a.x from (select t.x from t limit 1) as a)",
         "has a 'limit' without 'order by'"),
        *(
            (LIMITED.format(f"order by {order}"), "whose 'order by' names no column of")
            for order in (
                "null", "length('a')", "year(date '2026-01-01')",
                "extract(day from null)",
                "(select 1)", "'x', 2.5", "2", "place", "later",
                "jobs.team_id", "(select max(u.x) from u)",
            )
        ),
        ("exists (select 1 from (select 1 from t union select 2 order by 1 limit 1) as"
         " a)", "whose 'order by' names no column"),
        *(
            (f"1 = (select max(a.p) from (select {each} as p from t) as a)",
             "has a window whose 'order by' names no column of")
            for each in (
                "row_number() over (order by 1)",
                "row_number() over (partition by t.x order by null)",
            )
        ),
        *(
            (f"1 = (select max(a.p) from (select {each} over (order by t.y) as p from"
             " t) as a)", "depends on the order of rows: write 'rank',")
            for each in ("lag(t.x)", "lead(t.x)", "ntile(2)", "`Lag`(t.x, 2)")
        ),
        (OF_ROW.format("a._metadata.file_name = 'x'"), "has '_metadata', which says"),
        (OF_ROW.format("a.`_METADATA`.row_index = 1"), "has '_metadata', which says"),
        (OF_ROW.format("_metadata is null"), "has '_metadata', which says where a row"),
        *(
            (f"exists (select 1 from {each} as p)", "which Spark may take for a file")
            for each in (
                "parquet.`/tmp/x`", "`parquet`.`x`", "CSV.`x`", "delta.x",
                "`org.apache.spark.sql.parquet`.x", "lake.`s3://x`", "`a/b`",
            )
        ),
        # With a null in the query Spark takes it for true.
        (f"{IN} or job_name not in (select t.id from t)", "beside its own opposite"),
        (f"{IN} or (team_id = 1 or not ({IN}))", "beside its own opposite"),
        (f"not ({IN} and not {IN})", "beside its own opposite"),
        (f"{IN} or (job_name) not in ((select t.id from t))", "its own opposite"),
        (f"{IN} or jobs.job_name not in (select t.id from t)", "its own opposite"),
        (f"{IN} or job_name not in (select u.id as x from t as u)", "its own opposite"),
        # Whatever it works out or looks up before it compares them.
        (f"{IN} or job_name not in (select v.id from v)", "its own opposite"),
        (f"{IN} or job_name not in (select t.id from t where 1 = 1)", "its own opp"),
        ("job_name in (select t.id from t where t.x = 1 and t.y = 2) or job_name not in"
         " (select t.id from t where 2 = t.y and 1 = t.x)", "beside its own opposite"),
        (f"{IN} or cast(job_name as string) not in (select t.id from t)", "own opp"),
        ("(team_id, job_id) in (select t.x, t.y from t) or (job_id, team_id) not in"
         " (select t.y, t.x from t)", "beside its own opposite"),
        ("1 in (select t.x from t) or 1 not in (select t.x from t)", "own opposite"),
        *(
            (text, "beside its own opposite")
            for text in (
                OF_ROW.format(f"({INNER} or a.x not in (select t.id from t))"),
                f"1 = (select count(*) from u as a where {INNER} or not {INNER})",
                f"exists (select 1 from u as a join v on {INNER} or not {INNER})",
                f"exists (select a.x from u as a group by a.x having {INNER} or not"
                f" {INNER})",
            )
        ),
        ("job_name = (select t.id from t)", "value that can have several rows"),
        ("job_name = (select t.id from t where t.x = jobs.team_id)", "several rows"),
        ("team_id = (select max(t.x) from t group by t.y)", "several rows"),
        ("team_id in (1, (select t.x from t union select 1))", "several rows"),
        ("team_id in (select t.x, t.y from t)", "subquery of 2 columns where Spark"),
        ("(team_id, job_name) in (select t.x from t)", "wants 2: select as many"),
        ("team_id = (select max(t.x), max(t.y) from t)", "subquery of 2 columns where"),
        ("exists (select transform(t.x) using 'cat' from t)", "calls a script"),
    ],
)  # fmt: skip
def test_R15_a_condition_is_refused_that_is(condition, sentence):
    with pytest.raises(Stopped) as stopped:
        render(with_condition(condition, check=False), types=TYPES)
    assert f"{sentence}" in str(stopped.value), str(stopped.value)
    assert "policy 1, role 'Auditors' on 'jobs': " in str(stopped.value)
    assert f"(line {LINE})." in str(stopped.value)


def test_R2_a_raw_text_ends_where_spark_ends_it():
    # To a reader that takes `\'` for a quote, all of this is one text.
    with pytest.raises(Stopped, match="brackets of 'condition' don't match"):
        render(with_condition(r"job_name = r'\') or (1=1) or (job_name = r'\'"))
    rendered = render(with_condition(r"job_name = r'\' or job_name = r'a'"))
    assert r"(job_name = '\\' or job_name = 'a')" in rendered


@pytest.mark.parametrize(
    ("condition", "is_refused"),
    [
        ("exists (select 1 from t where t.id = jobs.team_id)", True),
        ("exists (select 1 from t where t.id = `jobs`.`team_id`)", True),
        ("exists (select 1 from t where t.id in (select u.x from u where u.y ="
         " JOBS . user_id))", True),
        ("exists (select 1 from t where t.id = 1)", False),
        ("jobs.team_id in (select t.id from t)", False),
    ],
)  # fmt: skip
def test_R13_a_check_has_no_correlated_subquery(condition, is_refused):
    if is_refused:
        with pytest.raises(Stopped, match="'condition' has a correlated subquery"):
            render(with_condition(condition))
    else:
        render(with_condition(condition))
    render(with_condition(condition, check=False))


# Spark takes these words for the clock wherever it makes a date or a time of a text
# that it can work out beforehand.
CLOCK = "which Spark reads as the clock where it wants a date or time"
WORKED_OUT = "works out a text that could be read as the clock"


def with_day(text: str) -> tuple[str, dict[str, dict[str, str]]]:
    """Return a document whose jobs have a day and a moment, and their types."""
    document = edited(with_condition(text, check=False), "job_name]", "job_name, day]")
    document = edited(document, "day]", "day, moment]")
    jobs = TYPES["all_jobs"] | {"day": "date", "moment": "timestamp"}
    return document, TYPES | {"all_jobs": jobs}


@pytest.mark.parametrize(
    "condition",
    [
        "day > date'today'",
        "day > DATE 'Today'",
        "day > date'yesterday'",
        "day > date'today UTC'",
        "day > date'today+01:00'",
        r"day > date'\u0074oday'",
        "day > date' tomorrow '",
        "moment > timestamp'now'",
        "moment > timestamp_ntz'now'",
        "moment > timestamp_ltz 'today Europe/Berlin'",
        "moment > cast('now' as timestamp)",
        "moment > try_cast('now' as timestamp_ntz)",
        "day > cast('today' as date)",
        "day > 'tomorrow'::date",
        "day > to_date('today')",
        "day > try_to_date('today')",
        "day > date('today')",
        "moment > to_timestamp('now')",
        "moment > timestamp('now')",
        "day > 'today'",
        "'today' < day",
        "moment between 'yesterday' and 'tomorrow'",
        "day in ('2026-01-31', 'today')",
        "day <=> 'today'",
        "day is distinct from 'today'",
        "case day when 'today' then true end",
        "coalesce(day, 'today') = day",
        "nullif(day, 'today') is null",
        "array('today', day)[0] = day",
        "day > date_add('today', 1)",
        "year('today') = 2026",
        "hour('now') = 7",
        "extract(year from 'today') = 2026",
        "date_format('now', 'yyyy') = '2026'",
        "date_trunc('day', 'now') = moment",
        "exists (select 1 from t where t.day > 'today')",
        "exists (select 1 from t where t.day in (select 'today'))",
    ],
)
def test_R2_the_clock_as_a_text_is_refused(condition):
    document, types = with_day(condition)
    with pytest.raises(Stopped) as stopped:
        render(document, types=types)
    assert CLOCK in str(stopped.value), str(stopped.value)
    assert "policy 1, role 'Auditors' on 'jobs': 'condition' has '" in str(
        stopped.value
    )
    assert f"(line {LINE})." in str(stopped.value)


@pytest.mark.parametrize(
    "condition",
    [
        "day > cast(concat('to', 'day') as date)",
        "day > ('to' || 'day')::date",
        "day > lower('TO' || 'DAY')",
        "day > replace('to-day', '-')",
        "day > element_at(split('a today', ' '), 2)",
        "day > to_date(reverse('yadot'))",
        "day > char(116) || 'oday'",
        "day > own.my_function('x')",
        "day > cast(cast('today' as string) as date)",
        "if(true, 'today', 'x') > day",
        "day > cast(x'746f646179' as string)",
        "day > 'to' || char(100) || 'ay'",
        # What makes a text of numbers, names or types
        "moment > conv(30704, 10, 36)",
        "moment > cast(`CONV`(30704, 10, 36) as timestamp)",
        "moment > to_timestamp(lower(conv(30704, 10, 36)))",
        "moment > case when team_id = 1 then conv(30704, 10, 36) end",
        "moment > cast(cast(unhex(796573746572646179) as string) as timestamp)",
        "moment > cast(cast(cast(1852798752 as binary) as string) as timestamp)",
        "moment > string(binary(1852798752))",
        "moment > cast(json_object_keys(to_json(struct(1 as now)))[0] as timestamp)",
        "moment > json_object_keys(to_json(named_struct('now', 1)))[0]",
        "moment > cast(substring(typeof(struct(1 as now)), 8, 3) as timestamp)",
        "day > left(typeof(1), 1) || substring(typeof(1.5), 2, 1)",
        "day > concat(right(exp(1000), 1), substring(false, 5, 1))",
        "day > right(dayname(date_from_unix_date(3)), 1)",
    ],
)
def test_R2_so_is_what_could_be_the_clock_when_it_is_worked_out(condition):
    document, types = with_day(condition)
    with pytest.raises(Stopped) as stopped:
        render(document, types=types)
    assert WORKED_OUT in str(stopped.value), str(stopped.value)


@pytest.mark.parametrize(
    "condition",
    [
        # Where a text stays one, it may be any text.
        "job_name = 'now'",
        "job_name in ('today', 'x')",
        "'now' <=> job_name",
        "job_name between 'now' and 'today'",
        "job_name like 'now'",
        "job_name rlike 'now'",
        "lower(job_name) = 'now'",
        "coalesce(job_name, 'today') = 'now'",
        "case when team_id = 1 then 'now' else job_name end = 'x'",
        "case job_name when 'now' then true else false end",
        "concat(job_name, 'now') = 'x'",
        "job_name = concat('to', 'day')",
        "job_name = conv(30704, 10, 36) and job_name = cast(5 as string)",
        "conv(team_id, 10, 36) = 'x' and team_id > round(1.5) + pi()",
        "moment > timestamp_micros(5) and day > date_from_unix_date(3)",
        "array_contains(array('today', 'now'), job_name)",
        "exists (select 1 from t where cast(t.name as string) = 'now')",
        # Other words, and what is always the same moment.
        "job_name > 'nowhere'",
        "day > date '2026-01-31'",
        "day > date 'epoch'",
        "day > date_add('2026-01-31', 3)",
        "day > date_sub(to_date('2026-01-31'), 3)",
        "day > make_date(2026, 1, 31)",
        "moment > timestamp '2026-01-31 00:00:00' - interval '1' day",
        "moment > date_trunc('month', timestamp '2026-01-31 00:00:00')",
        "day > to_date('31.01.2026', 'dd.MM.yyyy')",
        "day = cast('2026-01-31' as date) or team_id = cast('7' as bigint)",
    ],
)
def test_R2_a_text_that_stays_one_may_be_any(condition):
    document, types = with_day(condition)
    assert f"({condition})" in render(document, types=types)


@pytest.mark.parametrize(
    ("mask", "data_type", "sentence"),
    [
        ("date'today'", "date", CLOCK),
        ("cast('now' as timestamp)", "timestamp", CLOCK),
        ("if(team_id = 1, run_name, 'now')", "timestamp", CLOCK),
        ("lower('TO' || 'DAY')", "date", WORKED_OUT),
        ("'now'", "string", None),
        ("lower('NOW')", "string", None),
        ("if(team_id = 1, run_name, 'now')", "string", None),
        # What says so by a function's name is left to who writes the mask.
        ("current_date()", "date", None),
    ],
)
def test_R2_a_mask_has_the_clock_by_a_function_or_not_at_all(mask, data_type, sentence):
    types = {"all_runs": TYPES["all_runs"] | {"run_name": data_type}}
    document = edited(DOCUMENT, MASK, MASK.replace("0", json.dumps(mask)))
    if sentence is None:
        assert mask in Macros(document, types=types).secure_dataset("runs")
        return
    with pytest.raises(Stopped) as stopped:
        render(document, types=types)
    assert f"'mask' {'has' if sentence == CLOCK else sentence}" in str(stopped.value)
    assert sentence in str(stopped.value)


@pytest.mark.parametrize(
    ("mask", "data_type"),
    [
        ("named_struct('name', run_name.name, 'ssn', '***')",
         "struct<name:string,ssn:string>"),
        ("struct(run_name.name as name, '***' as ssn)",
         "struct<name:string,ssn:string>"),
        ("named_struct('name', cast(run_name.name as string), 'ssn', cast('***' as"
         " string))", "struct<name:string,ssn:string>"),
        ("transform(run_name, x -> concat('*', right(x, 1)))", "array<string>"),
        ("transform(run_name, x -> cast(concat('*', right(x, 1)) as string))",
         "array<string>"),
        ("transform(run_name, x -> named_struct('a', x.a, 'b', 'now'))",
         "array<struct<a:string,b:string>>"),
        ("named_struct('n', 1, 'd', date '2020-01-01')", "struct<n:int,d:date>"),
        ("array('hidden', 'now')", "array<string>"),
        ("map('k', 'now')", "map<string,string>"),
        ("transform_values(run_name, (k, v) -> '***')", "map<string,string>"),
    ],
)  # fmt: skip
def test_M15_fields_and_elements_are_masked(mask, data_type):
    types = {"all_runs": TYPES["all_runs"] | {"run_name": data_type}}
    document = edited(DOCUMENT, MASK, MASK.replace("0", json.dumps(mask)))
    document = edited(document, "mask: upper(run_name)", "mask: 'null'")
    assert f"try_cast({mask} as {data_type})" in Macros(
        document, types=types
    ).secure_dataset("runs")


@pytest.mark.parametrize(
    ("mask", "data_type", "sentence"),
    [
        ("named_struct('d', 'now')", "struct<d:timestamp>", CLOCK),
        ("named_struct('d', lower('NOW'))", "struct<d:timestamp>", WORKED_OUT),
        ("array('today')", "array<date>", CLOCK),
        ("map('k', 'today')", "map<string,date>", CLOCK),
        ("date'2024-01-01'", "bigint", "is of the type date, which does not cast to"),
        ("array(1)", "bigint", "is of the type array, which does not cast to"),
        ("'abc' || 'd'", "bigint", "is a constant that does not cast to the column's"),
        ("concat('abc', 'd')", "double", "is a constant that does not cast to the"),
        ("case when team_id = 1 then 0 else '***' end", "bigint",
         "gives a constant that does not cast to the column's type bigint"),
        ("coalesce(null, if(team_id = 1, 'x', '2'))", "int", "gives a constant that"),
        ("case team_id when 1 then '0' else '2' end", "bigint", None),
        ("team_id = 1", "date", "is of the type boolean, which does not cast to"),
        ("coalesce(date'2024-01-01', null)", "bigint", "is of the type date, which"),
        ("if(team_id, 'a', 'b')", "string", "has 'team_id' where something true or"),
        ("left(run_name, 3)", "string", None),
        ("cast(run_name as varchar(3))", "string", "write 'left(x, 3)'"),
        ("named_struct('name', '***', 'ssn', run_name.ssn)",
         "struct<ssn:string,name:string>", "Spark casts by place, so write each"),
        ("struct(run_name.name, '***')", "struct<ssn:string,name:string>",
         "fields name, one without a name, and the column's type has ssn, name"),
        ("if(team_id = 1, run_name, named_struct('b', 1))", "struct<a:int,b:int>",
         "fields b, and"),
        ("array(named_struct('a', '***', 'b', '***'))",
         "array<struct<b:string,a:string>>", "Spark casts by place"),
        ("transform(run_name, x -> named_struct('a', '***', 'b', x.b))",
         "array<struct<b:string,a:string>>", "Spark casts by place"),
        ("transform_values(run_name, (k, v) -> named_struct('a', '***', 'b', v.b))",
         "map<string,struct<b:string,a:string>>", "Spark casts by place"),
        ("array_repeat(named_struct('a', '***', 'b', '***'), 1)",
         "array<struct<b:string,a:string>>", "Spark casts by place"),
        ("cast(named_struct('a', 1, 'b', 2) as struct<b:int,a:int>)",
         "struct<b:int,a:int>", "Spark casts by place"),
        ("cast(named_struct('b', 1, 'a', 2) as struct<a:int,b:int>)",
         "struct<b:int,a:int>", "Spark casts by place"),
        ("named_struct('a', named_struct('c', 1, 'b', 2))",
         "struct<a:struct<b:int,c:int>>", "fields c, b, and the column's type has"),
        ("struct('***', run_name.b)", "struct<a:string,b:string>", None),
        ("struct(upper(run_name.a), '***')", "struct<a:string,b:string>", None),
        ("struct(team_id, '***')", "struct<a:int,b:string>", None),
        ("named_struct('A', '***')", "struct<a:string>", None),
        ("named_struct('a', array(1))", "struct<a:string>", None),
        ("cast(null as struct<b:string,a:int>)", "struct<a:int,b:string>", None),
        ("array(named_struct('a', null, 'b', '1'))", "array<struct<a:int,b:int>>",
         None),
        ("case when team_id = 1 then run_name end", "struct<a:int,b:int>", None),
    ],
)  # fmt: skip
def test_M7_M15_a_mask_of_another_type_or_with_the_clock_is_refused(
    mask, data_type, sentence
):
    types = {"all_runs": TYPES["all_runs"] | {"run_name": data_type}}
    document = edited(DOCUMENT, MASK, MASK.replace("0", json.dumps(mask)))
    document = edited(document, "mask: upper(run_name)", "mask: 'null'")
    if sentence is None:
        assert mask in Macros(document, types=types).secure_dataset("runs")
        return
    with pytest.raises(Stopped) as stopped:
        render(document, types=types)
    assert sentence in str(stopped.value), str(stopped.value)
    assert "policy 3, role 'Auditors' on 'runs.run_name': 'mask'" in str(stopped.value)


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ("left(run_name, 3)", None),
        ("concat(runs.run_name, test_id)", None),
        # What a subquery's own relation calls so is another column.
        ("(select max(a.control_id) from t as a where a.id = runs.test_id)", None),
        ("transform(array(run_name), control_id -> control_id)", None),
        *(
            (mask, "names 'control_id', which has a mask too")
            for mask in (
                "lower(control_id)",
                "concat('x', coalesce(CONTROL_ID, run_name))",
                "`Control_Id`",
                "runs.control_id",
                "RUNS.control_id.part",
                "control_id.part.further",
                "control_id[0]",
                "case when control_id = 'x' then 'x' end",
                "transform(array(run_name), x -> concat(x, control_id))",
                "(select max(a.id) from t as a where a.id = runs.control_id)",
                "(select max(a.id) from t as a where exists (select 1 from t as b where"
                " b.id = a.id and b.x = Runs.Control_Id))",
            )
        ),
        ("(select max(a.control_id) from all_runs as a)", "reads 'all_runs'"),
        ("(select max(a.x) from (select b.x from lake.All_Runs as b) as a)",
         "reads 'All_Runs'"),
        ("(with t as (select a.x from all_runs as a) select max(t.x) from t)",
         "reads 'all_runs'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "other",
    ["shown_to: [{role: Editors}]", "except: [Editors], valid_from: 2026-01-01"],
)
def test_M1_a_mask_shows_no_value_that_another_mask_hides(mask, sentence, other):
    first = MASK.replace("0", json.dumps(mask))
    second = f"    - {{resource: runs.control_id, mask: 'null', {other}}}"
    document = edited(DOCUMENT, f"{MASK}}}\n", f"{first}}}\n{second}\n")
    if sentence is None:
        assert mask in Macros(document).secure_dataset("runs")
        return
    with pytest.raises(Stopped) as stopped:
        render(document)
    assert f"policy 3, role 'Auditors' on 'runs.run_name': 'mask' {sentence}" in str(
        stopped.value
    )


def test_M1_nor_does_a_mask_of_a_dataset_over_another_one():
    mask = "mask: (select max(a.reach) from all_news as a)"
    line = f"    - {{role: Auditors, resource: notes.reach, {mask}}}\n"
    with pytest.raises(Stopped, match="'mask' reads 'all_news', the dataset's base"):
        render(edited(DOCUMENT, "policies:\n", f"policies:\n{line}"))


NAME_IN = "run_name in (select t.id from t)"
OPPOSITES = f"{NAME_IN} or run_name not in (select t.id from t)"


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ("count(*)", "has the aggregate 'count'"),
        ("row_number() over (order by 1)", "has a window function"),
        ("if(current_user() = 'x', run_name, '0')", "depends on the session"),
        ("if(session_user = 'x', run_name, '0')", "depends on the session"),
        ("(select max(a.x) from t as a where a.y = `user`)", "may be the session"),
        ("(select max(a.x) from t as a where a.y < localtime)", "or the clock"),
        ("rand()", "has 'rand', which depends on more than the row"),
        ("if(rand() < 0.5, run_name, '0')", "depends on more than the row"),
        ("concat(left(run_name, 1), uuid())", "depends on more than the row"),
        ("x y", "can't be read as one SQL expression"),
        (f"if(({NAME_IN}) is not false, '0', run_name)", NOT_PLAIN),
        (f"case when coalesce({NAME_IN}, true) then '0' else run_name end", NOT_PLAIN),
        (f"case {NAME_IN} when false then run_name end", NOT_PLAIN),
        (f"if(team_id = 1, {NAME_IN}, false)", NOT_PLAIN),
        ("(select max(if(a.x in (select t.id from t), a.y, 1)) from u as a)",
         NOT_PLAIN),
        (f"case when {OPPOSITES} then run_name else '0' end", "its own opposite"),
        (f"if(({OPPOSITES}) and team_id = 1, run_name, '0')", "its own opposite"),
        ("case when exists (select 1 from u as a where a.k = runs.team_id and not"
         " coalesce(a.x in (select t.id from t), true)) then run_name end", NOT_PLAIN),
    ],
)  # fmt: skip
def test_R15_so_is_a_mask(mask, sentence):
    with pytest.raises(Stopped) as stopped:
        render(edited(DOCUMENT, MASK, MASK.replace("0", json.dumps(mask))))
    assert "policy 3, role 'Auditors' on 'runs.run_name': 'mask' " in str(stopped.value)
    assert sentence in str(stopped.value), str(stopped.value)


@pytest.mark.parametrize(
    "mask",
    [
        f"case when not ({NAME_IN}) then '0' else run_name end",
        f"upper(if(team_id = 1 or {NAME_IN}, run_name, '0'))",
        "if(exists (select 1 from t where t.id = runs.team_id), run_name, '0')",
    ],
)
def test_R15_a_mask_may_be(mask):
    document = edited(DOCUMENT, MASK, MASK.replace("0", json.dumps(mask)))
    assert mask in Macros(document).secure_dataset("runs")


@pytest.mark.parametrize(
    ("mask", "data_type", "is_refused"),
    [
        ("0", "bigint", False),
        ("'17'", "bigint", False),
        ("' 17 '", "bigint", False),
        ("9223372036854775808", "bigint", True),
        ("-32769", "smallint", True),
        ("'x'", "bigint", True),
        ("'1.5'", "bigint", True),
        ("null", "bigint", False),
        ("'hidden'", "date", True),
        ("'2026-01-31'", "date", False),
        ("'2026-02-30'", "date", True),
        ("0", "date", True),
        ("'2026-01-31 12:00:00'", "timestamp", False),
        ("'never'", "timestamp", True),
        ("'perhaps'", "boolean", True),
        ("'no'", "boolean", False),
        ("'1.5'", "decimal(9,4)", False),
        ("'one'", "double", True),
        ("upper(run_name)", "bigint", False),
        # As Spark reads a day: whatever follows a space or a T.
        ("'2026-1-5'", "date", False),
        ("'2026'", "date", False),
        ("'2026-01-31 xyz'", "date", False),
        ("'2026-01-31T'", "date", False),
        ("'20260131'", "date", True),
        ("'2026-01-31xyz'", "date", True),
        ("'2026-13'", "date", True),
        ("'2026-W05-6'", "date", True),
        ("true", "date", True),
        ("'2026-01-31T1:2:3.123456789+01:00'", "timestamp", False),
        ("'2026-01-31 12:00:00Z'", "timestamp", False),
        ("'2026-01-31 24:00:00'", "timestamp", True),
        ("'2026-01-31 xyz'", "timestamp", True),
        ("'20260131T120000'", "timestamp", True),
        ("true", "timestamp", True),
        ("0", "timestamp", False),
        ("1e30", "timestamp", True),
        ("0", "timestamp_ntz", True),
        ("0", "binary", True),
        # Rounded, then as many digits as there are before the point.
        ("99999999", "decimal(9,4)", True),
        ("'99999999'", "decimal(9,4)", True),
        ("99999.99994", "decimal(9,4)", False),
        ("99999.99995", "decimal(9,4)", True),
        ("-99999.99995", "decimal(9,4)", True),
        ("1e4", "decimal(9, 4)", False),
        ("1e5", "numeric(9,4)", True),
        ("12345678901", "decimal", True),
        ("true", "decimal(2,2)", True),
        ("1e30", "bigint", True),
        ("128.5", "tinyint", True),
        ("127.5", "tinyint", False),
        ("0", "string", False),
    ],
)
def test_M7_a_constant_mask_casts_to_the_column_s_type(mask, data_type, is_refused):
    types = {"all_runs": TYPES["all_runs"] | {"run_name": data_type}}
    document = edited(DOCUMENT, MASK, MASK.replace("0", json.dumps(mask)))
    if is_refused:
        with pytest.raises(Stopped, match="'mask' is a constant that does not cast"):
            render(document, types=types)
    else:
        render(document, types=types)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'it''s'", "it's"), (r"'it\'s'", "it's"), ('"a""b\'c"', "a\"b'c"),
        (r"'\%\_'", r"\%\_"), (r"'\Z\0'", "\x1a\0"), (r"'\101\q'", "Aq"),
        (r"'\u0024{x}'", "${x}"), (r"'\U0001F600'", "\U0001f600"),
        ("'a\\\nb'", "a\nb"), (r"r'\n'", r"\n"),
    ],
)  # fmt: skip
def test_a_text_is_what_spark_reads(written, value):
    (piece,) = expressions.pieces_of(written)
    assert (piece.kind, piece.value) == ("text", value)


ODD = [
    "a\nb", "a\r\nb", "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g", "${v}", "$${v}", "\\",
    "\\'", "{{ x }}", "{% x %}", "-- x", "/* x", "';", "\t", "%s", "\0", '"',
    "\u00c4\U0001f600", "\\u0041", "\ufeff", "`",
]  # fmt: skip


@pytest.mark.parametrize("value", ODD)
def test_a_literal_stands_on_one_line_and_reads_as_it_was(value):
    literal = sql_text(value)
    assert literal.splitlines() == [literal]
    assert "${" not in literal
    assert unescaped(literal[1:-1], "'") == value
    (piece,) = expressions.pieces_of(literal)
    assert piece.value == value
    assert expressions.read(f"a = {literal}").text == f"a = {literal}"


def test_what_sends_chance_or_the_clock_in_is_known_by_its_name():
    for name in ("aes_encrypt('a', 'b')", "current_time(3)", "curdate()"):
        with pytest.raises(ExpressionProblem, match="which depends on"):
            expressions.check(
                expressions.read(f"{name} is null"),
                expressions.Scope("t", frozenset()),
                True,
            )


def test_what_needs_no_change_is_handed_on_as_it_is_written():
    text = "result = 'Failed'   OR\n  `unit` in ('\u00c4', 'b') and x > 1e3"
    assert expressions.read(text).text == text


def test_a_text_that_ends_nowhere_is_refused():
    for text in ("'a", '"a', "`a", "r'a", "'a\\'"):
        with pytest.raises(ExpressionProblem, match="without its other end"):
            expressions.pieces_of(text)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        ("sum((select 1))", "has a subquery, which a measure can't have"),
        ("max(towns.x)", "names 'towns.x', which is no column of the fact"),
        ("sum(prize)", "names 'sales.prize', which is no column of the fact"),
        ("sales.price", "is no aggregate"),
        ("sum(sum(price)) over ()", "has a window function"),
        ("sum(rand())", "has 'rand', which depends on more than the rows"),
        ("first(price)", "has 'first', which depends on the order of rows"),
        ("count_if(current_user() = 'x')", "has 'current_user', which depends on the"),
        ("sum(raise_error('x'))", "has 'raise_error', which fails on some values"),
        ("max(cast(price as varchar(3)))", "casts to varchar(3), which cuts and fills"),
        ("count(sales.*)", "has a '*' of a relation"),
        ("count_if(date'today' > date'2026-01-31')", "has 'today', which Spark reads"),
        ("max('to' || 'day' > date'2026-01-31')", "works out a text that could be"),
    ],
)
def test_S18_a_measure_is_confined_to_its_fact(measure, sentence):
    with pytest.raises(Stopped) as stopped:
        render(edited(DOCUMENT, "sum(sales.price)", json.dumps(measure)))
    assert f"dataset 'revenue': 'query.measures.revenue' {sentence}" in str(
        stopped.value
    )
