"""Queries by name: what the leak detector proves, finds, and can't prove."""

from __future__ import annotations

from types import ModuleType

from secure_datasets.leaks import proof
from secure_datasets.leaks.proof import CARRY, GROUP, OPEN, UNPROVEN, USER
from secure_datasets.leaks.scope import Rows

JOBS = ("job_id", "team_id", "actor_user_id", "user_id")
# Two relations with rows of users, and two without: one of known columns, one not.
RELATIONS = {
    ("s", "jobs"): Rows(JOBS, frozenset((USER,)), frozenset(("jobs",))),
    ("s", "runs"): Rows(JOBS, frozenset((USER,)), frozenset(("runs",))),
    ("s", "people"): Rows(("user_id", "team_id", "name")),
    ("s", "seed"): OPEN,
}


def verdict(query: str, module: ModuleType = proof) -> str | None:
    """Return the rule that a query breaks; none if it is proven or reads open rows."""
    relations = {
        name: module.Rows(rows.columns, rows.keys, rows.reads)
        for name, rows in RELATIONS.items()
        if rows is not OPEN
    } | {name: module.OPEN for name, rows in RELATIONS.items() if rows is OPEN}
    try:
        rows = module.query_rows(query, relations.get)
    except module.NotUnderstood:
        return UNPROVEN
    if not rows.reads or USER in rows.keys:
        return None
    return rows.problem.rule if rows.problem else CARRY


# By name: what was once taken for a leak, or is the usual way to carry user_id through.
PROVEN = {
    "a subquery that reads nothing": "select (select user_id) as user_id, job_id"
    " from s.jobs",
    "users who are not among those of another": "select user_id, job_id from s.jobs"
    " where user_id is not null and user_id not in (select j.user_id from s.jobs as j)",
    "people without rows of their own": "select user_id, name from s.people"
    " where user_id is not null and user_id not in (select j.user_id from s.jobs as j)",
    "all columns": "select * from s.jobs",
    "the column, in any case and quoted": "select J.`USER_ID` from s.jobs as j",
    "by the full name": "select user_id from spark_catalog.s.jobs",
    "through CTEs": "with a as (select * from s.jobs), b as (select * from a)"
    " select job_id, user_id from b",
    "renamed there and back": "select owner as user_id from"
    " (select user_id as owner, job_id from s.jobs) as a",
    "a cast to a decimal with room for each user": "select cast(user_id as"
    " decimal(21, 2)) as user_id from s.jobs",
    "a cast that makes no two users one": "select cast(user_id as string) as user_id"
    " from s.jobs",
    "an equal column": "select actor_user_id as user_id from s.jobs"
    " where actor_user_id = user_id",
    "group by 1": "select user_id, count(*) as n from s.jobs group by 1",
    "group by all": "select user_id, job_id, count(*) as n from s.jobs group by all",
    "group by a quoted column": "select `user_id`, count(*) n from s.jobs"
    " group by `user_id`",
    "group by the column of an alias": "select t.user_id, count(*) as n"
    " from s.jobs as t group by t.user_id",
    "group by an output": "select user_id as owner, user_id, count(*) as n from s.jobs"
    " group by owner, user_id",
    "totals of each user": "select user_id, team_id, count(*) as n from s.jobs"
    " group by user_id, rollup(team_id)",
    "a pivot of open rows": "select * from s.people"
    " pivot (count(name) for team_id in (1))",
    "an aggregate of any name, by user": "select user_id, bitmap_construct_agg(job_id)"
    " as n, try_sum(job_id) as m from s.jobs group by user_id",
    "an aggregate with a filter and having": "select user_id,"
    " count(*) filter (where job_id > 1) as n from s.jobs group by user_id"
    " having max(team_id) > 1",
    "a named window by user": "select user_id, sum(job_id) over w as n from s.jobs"
    " window w as (partition by user_id order by job_id)",
    "a window by user": "select user_id, row_number() over"
    " (partition by team_id, user_id order by job_id) as n from s.jobs",
    "distinct rows of users": "select distinct user_id, team_id from s.jobs",
    "an aggregate over an unprotected table beside a protected one":
    "with n as (select team_id, count(*) as n from s.people group by team_id)"
    " select j.user_id, n.n from s.jobs as j inner join n on j.team_id = n.team_id",
    "a join on equal user_id": "select a.* from s.jobs as a inner join s.runs as b"
    " on a.job_id = b.job_id and b.user_id = a.user_id",
    "a null-safe join": "select b.user_id from s.jobs as a inner join s.runs as b"
    " on a.user_id <=> b.user_id",
    "a comma join": "select a.user_id from s.jobs a, s.runs b"
    " where a.user_id = b.user_id",
    "using": "select user_id, a.job_id from s.jobs as a"
    " join s.runs as b using (user_id)",
    "a left join": "select a.user_id, b.job_id from s.jobs as a left join s.runs as b"
    " on a.user_id = b.user_id",
    "a right join": "select b.user_id, a.job_id from s.jobs as a right join s.runs as b"
    " on a.user_id = b.user_id",
    "left joins in a row": "select a.user_id, c.job_id from s.jobs as a"
    " left join s.runs as b on a.user_id = b.user_id"
    " left join s.runs as c on b.user_id = c.user_id and b.job_id = c.team_id",
    "an inner join after a left join": "select c.user_id, a.job_id from s.jobs as a"
    " left join s.runs as b on a.user_id = b.user_id"
    " inner join s.runs as c on b.user_id = c.user_id",
    "a full join": "select coalesce(a.user_id, b.user_id) as user_id from s.jobs as a"
    " full join s.runs as b on a.user_id = b.user_id",
    "a full join with using": "select user_id from s.jobs as a"
    " full join s.runs as b using (user_id)",
    "a semi join": "select * from s.jobs as a left semi join s.runs as b"
    " on a.user_id = b.user_id and a.job_id = b.job_id",
    "an anti join": "select * from s.jobs as a left anti join s.runs as b"
    " on a.user_id = b.user_id",
    "people with their own rows": "select p.user_id, count(j.job_id) as n"
    " from s.people as p left join s.jobs as j on p.user_id = j.user_id"
    " group by p.user_id",
    "an open relation beside": "select j.user_id, d.name from s.jobs as j"
    " cross join s.people as d",
    "union all": "select user_id, job_id from s.jobs"
    " union all select user_id, job_id from s.runs",
    "a union with open rows": "select user_id, job_id from s.jobs"
    " union all select user_id, team_id from s.people",
    "except": "select user_id, job_id from s.jobs"
    " except select user_id, job_id from s.runs",
    "exists, for the same user": "select * from s.jobs as j where exists"
    " (select 1 from s.runs as r where r.user_id = j.user_id)",
    "not exists, for the same user": "select * from s.jobs as j where not exists"
    " (select 1 from s.runs as r where r.user_id = j.user_id)",
    "a scalar subquery, for the same user": "select j.user_id, (select max(r.job_id)"
    " from s.runs as r where r.user_id = j.user_id) as n from s.jobs as j",
    "user_id in": "select * from s.jobs where user_id in (select user_id from s.runs)",
    "a pair with user_id in": "select * from s.jobs where (job_id, user_id) in"
    " (select job_id, user_id from s.runs)",
    "in, for the same user": "select * from s.jobs as j where job_id in"
    " (select r.job_id from s.runs as r where r.user_id = j.user_id)",
    "in an open relation": "select * from s.jobs where team_id in"
    " (select team_id from s.people)",
    "lateral, for the same user": "select j.user_id, n.n from s.jobs as j, lateral"
    " (select count(*) as n from s.runs as r where r.user_id = j.user_id) as n",
    "a lateral view": "select user_id, item from s.jobs"
    " lateral view explode(array(1, 2)) t as item",
    "a hint": "select /*+ broadcast(b), coalesce(3) */ a.user_id from s.jobs as a"
    " inner join s.runs as b on a.user_id = b.user_id",
    "grouping sets that all have user_id": "select user_id, team_id, count(*) as n"
    " from s.jobs group by grouping sets ((user_id, team_id), (user_id), user_id)",
    "grouping sets by number": "select user_id, team_id, count(*) as n from s.jobs"
    " group by grouping sets ((1, 2), (1))",
    "grouping sets after the columns": "select user_id, team_id, count(*) as n"
    " from s.jobs group by user_id, team_id grouping sets ((user_id, team_id),"
    " (user_id))",
    "grouping sets beside user_id": "select user_id, team_id, count(*) as n"
    " from s.jobs group by cube(team_id), user_id, grouping sets ((job_id), ())",
    "a try_cast that can't fail": "select try_cast(user_id as string) as user_id"
    " from s.jobs",
    "a share of the rows": "select user_id, job_id from s.jobs"
    " tablesample (50 percent) as j",
    "a recursive CTE": "with recursive a as (select user_id, job_id, 1 as n"
    " from s.jobs union all select user_id, job_id, n + 1 from a where n < 3)"
    " select * from a",
    "a recursive CTE with columns of its own, by user": "with recursive a (u, j, n) as"
    " (select user_id, job_id, 1 from s.jobs union all select a.u, r.job_id, n + 1"
    " from a inner join s.runs as r on r.user_id = a.u and r.team_id = a.j where n < 3)"
    " select u as user_id, j from a",
    "a recursive CTE of open rows": "with recursive a as (select 1 as n union all"
    " select n + 1 from a where n < 3) select user_id, n from s.jobs cross join a",
    "a CTE that only stands beside a recursive one": "with recursive a as"
    " (select * from s.jobs) select * from a",
    "a pivot by user": "select * from (select user_id, team_id, job_id from s.jobs)"
    " pivot (sum(job_id) as n, max(job_id) as m for team_id in (1 as a, 2 as b)) as p",
    "a pivot that counts rows": "select * from s.jobs pivot (count(*) for team_id in"
    " (1 as a, 2 as b))",
    "an unpivot": "select user_id, n, v from s.jobs"
    " unpivot include nulls (v for n in (job_id, team_id as t)) as u",
    "a natural join": "select user_id, job_id from s.jobs natural join s.runs",
    "joins in brackets": "select a.user_id, b.job_id from ((s.jobs as a join s.runs as"
    " b on a.user_id = b.user_id) left join s.people as c on true)"
    " join s.runs as d on d.user_id = a.user_id",
    "a comparison of rows": "select a.user_id, b.job_id from s.jobs as a join s.runs"
    " as b on (a.job_id, a.user_id) = (b.job_id, b.user_id)",
    "a natural join with open rows": "select * from s.jobs natural left join s.people",
    "what isn't known over open rows, beside protected ones": "select j.user_id, p.*"
    " from s.jobs as j cross join (select * from s.seed pivot"
    " (count(name) for team_id in (1))) as p",
    "the right user_id of a left join that a filter makes an inner one": "select"
    " b.user_id, a.job_id from s.jobs as a left join s.runs as b"
    " on a.user_id = b.user_id where b.job_id > 1",
    "a group by what a filter keeps from being null": "select b.user_id, count(*) as n"
    " from s.jobs as a left join s.runs as b on a.user_id = b.user_id"
    " where b.team_id is not null group by b.user_id",
    "user_id in a struct": "select a.r.user_id as user_id, r.j, n from"
    " (select struct(user_id, job_id as j) as r, 1 as n from s.jobs) as a",
    "user_id in a struct by another name": "with a as (select"
    " named_struct('u', user_id, 'j', job_id) as r from s.jobs)"
    " select r.u as user_id, count(*) as n from a group by r.u",
    "an order without a limit": "select user_id from s.jobs order by job_id",
    "a text that looks like an aggregate": "select user_id, 'count(*)' as n"
    " from s.jobs -- group by team_id",
    "last_day and other functions of one row": "select user_id, last_day(current_date),"
    " aggregate(array(1), 0, (a, x) -> a + x) as n from s.jobs",
    "a float beside user_id, and a union with whole numbers": "select user_id, n / 2"
    " as half from (select user_id, count(*) as n from s.jobs group by user_id)"
    " union all select null, 1e0 union all select 0, avg(team_id) from s.people",
    "open rows alone, whatever becomes of them": "select 8 as user_id, count(*) as n"
    " from s.people tablesample (5 percent) limit 3",
}  # fmt: skip
LEAKING = {
    "rows for everyone that tell whether anybody has rows": (
        CARRY,
        "select user_id, job_id from s.jobs"
        " where user_id not in (select j.user_id from s.jobs as j)",
    ),
    "a subquery of another's value": (
        CARRY,
        "select (select job_id) as user_id, team_id from s.jobs",
    ),
    "a constant": (CARRY, "select 8 as user_id, job_id from s.jobs"),
    "null": (CARRY, "select cast(null as bigint) as user_id, job_id from s.jobs"),
    "another key": (CARRY, "select team_id as user_id, job_id from s.jobs"),
    "another user": (CARRY, "select actor_user_id as user_id, job_id from s.jobs"),
    "an expression": (CARRY, "select user_id % 2 as user_id from s.jobs"),
    "a cast that makes two users one": (
        CARRY,
        "select try_cast(user_id as int) as user_id from s.jobs",
    ),
    "no user_id": (CARRY, "select job_id from s.jobs"),
    "all but user_id": (CARRY, "select * except (user_id) from s.jobs"),
    "all but user_id, beside columns that are not known": (
        CARRY,
        "select * except (user_id) from s.jobs cross join s.seed",
    ),
    "user_id under another name": (CARRY, "select user_id as owner from s.jobs"),
    "another user in one branch of a union": (
        CARRY,
        "select user_id, job_id from s.jobs"
        " union all select actor_user_id as user_id, job_id from s.jobs",
    ),
    "a constant in one branch of a union": (
        CARRY,
        "select user_id, job_id from s.jobs"
        " union all select 8 as user_id, 1 from s.jobs",
    ),
    "user_id elsewhere in one branch of a union": (
        CARRY,
        "select user_id, team_id from s.jobs union all select team_id, user_id"
        " from s.jobs",
    ),
    "a user of other rows by a cross join": (
        CARRY,
        "select p.user_id, j.job_id from s.jobs as j cross join s.people as p",
    ),
    "a user of other rows by a key": (
        CARRY,
        "select p.user_id, j.job_id from s.jobs as j"
        " inner join s.people as p on j.team_id = p.team_id",
    ),
    "a self join": (
        CARRY,
        "select b.user_id, a.job_id from s.jobs as a"
        " inner join s.jobs as b on a.job_id = b.job_id",
    ),
    "a join or another": (
        CARRY,
        "select a.user_id from s.jobs as a inner join s.runs as b"
        " on a.user_id = b.user_id or a.job_id = b.job_id",
    ),
    "the right user_id of a left join": (
        CARRY,
        "select b.user_id, a.job_id from s.jobs as a left join s.runs as b"
        " on a.user_id = b.user_id",
    ),
    "the left user_id of a right join": (
        CARRY,
        "select a.user_id, b.job_id from s.jobs as a right join s.runs as b"
        " on a.user_id = b.user_id",
    ),
    "a null-safe join after a left join": (
        CARRY,
        "select c.user_id, a.job_id from s.jobs as a"
        " left join s.runs as b on a.user_id = b.user_id"
        " inner join s.runs as c on b.user_id <=> c.user_id",
    ),
    "a right join after a left join": (
        CARRY,
        "select c.user_id, a.job_id from s.jobs as a"
        " left join s.runs as b on a.user_id = b.user_id"
        " right join s.runs as c on b.user_id <=> c.user_id",
    ),
    "a group by what may be null": (
        GROUP,
        "select b.user_id, count(*) as n from s.jobs as a"
        " left join s.runs as b on a.user_id = b.user_id group by b.user_id",
    ),
    "one user_id of a full join": (
        CARRY,
        "select a.user_id, b.job_id from s.jobs as a full join s.runs as b"
        " on a.user_id = b.user_id",
    ),
    "a left join of open rows": (
        CARRY,
        "select j.user_id, p.name from s.people as p left join s.jobs as j"
        " on p.team_id = j.team_id",
    ),
    "a CTE without user_id joined back": (
        GROUP,
        "with n as (select team_id, count(*) as n from s.jobs group by team_id)"
        " select j.user_id, n.n from s.jobs as j inner join n on j.team_id = n.team_id",
    ),
    "rows without user_id joined back": (
        CARRY,
        "with n as (select job_id, team_id from s.runs) select j.user_id, n.team_id"
        " from s.jobs as j inner join n on j.job_id = n.job_id",
    ),
    "lateral": (
        CARRY,
        "select j.user_id, r.job_id from s.jobs as j, lateral"
        " (select job_id from s.runs where team_id = j.team_id) as r",
    ),
    "a scalar subquery": (
        GROUP,
        "select user_id, (select count(*) from s.runs) as n from s.jobs",
    ),
    "in": (CARRY, "select * from s.jobs where job_id in (select job_id from s.runs)"),
    "user_id not in": (
        CARRY,
        "select * from s.jobs where user_id not in (select user_id from s.runs)",
    ),
    "exists": (CARRY, "select * from s.jobs where exists (select 1 from s.runs)"),
    "exists for another key outside": (
        CARRY,
        "select * from s.jobs as j where exists"
        " (select 1 from s.runs as r where r.user_id = j.team_id)",
    ),
    "exists for another key inside": (
        CARRY,
        "select * from s.jobs as j where exists"
        " (select 1 from s.runs as r where r.team_id = j.user_id)",
    ),
    "exists for a user or any": (
        CARRY,
        "select * from s.jobs as j where exists (select 1 from s.runs as r"
        " where r.user_id = j.user_id or r.job_id = 1)",
    ),
    "a subquery in the condition of a join": (
        GROUP,
        "select j.user_id from s.jobs as j inner join s.people as p"
        " on j.team_id = p.team_id and j.job_id = (select max(job_id) from s.runs)",
    ),
    "having without a group by": (GROUP, "select user_id from s.jobs having true"),
    "an aggregate without a group by": (
        GROUP,
        "select max(user_id) as user_id, count(*) as n from s.jobs",
    ),
    "any value": (GROUP, "select any_value(user_id) as user_id from s.jobs"),
    "an aggregate that no list of old had": (
        GROUP,
        "select max(user_id) as user_id, bitmap_construct_agg(job_id) as n from s.jobs",
    ),
    "group by another column": (
        GROUP,
        "select max(user_id) as user_id, job_id from s.jobs group by job_id",
    ),
    "group by 1, which is another column": (
        GROUP,
        "select job_id, max(user_id) as user_id from s.jobs group by 1",
    ),
    "group by all without user_id": (
        GROUP,
        "select job_id, max(user_id) as user_id from s.jobs group by all",
    ),
    "group by the user_id of another relation": (
        GROUP,
        "select u.user_id, count(*) as n from s.jobs as j"
        " inner join s.people as u on j.team_id = u.team_id group by u.user_id",
    ),
    "group by an expression": (
        GROUP,
        "select max(user_id) as user_id from s.jobs group by user_id % 2",
    ),
    "group by actor_user_id": (
        GROUP,
        "select actor_user_id as user_id, count(*) as n from s.jobs"
        " group by actor_user_id",
    ),
    "rollup": (GROUP, "select user_id, 1 as n from s.jobs group by rollup(user_id)"),
    "with cube": (
        GROUP,
        "select user_id, 1 as n from s.jobs group by user_id with cube",
    ),
    "grouping sets": (
        GROUP,
        "select user_id, team_id, count(*) as n from s.jobs"
        " group by user_id, team_id grouping sets ((user_id, team_id), (team_id))",
    ),
    "max(user_id) by user": (
        CARRY,
        "select user_id as owner, max(actor_user_id) as user_id from s.jobs"
        " group by user_id",
    ),
    "a window without a partition": (
        GROUP,
        "select user_id, count(*) over () as n from s.jobs",
    ),
    "a window by another column": (
        GROUP,
        "select user_id, sum(1) over (partition by team_id) as n from s.jobs",
    ),
    "a window by the user_id of another relation": (
        GROUP,
        "select j.user_id, sum(1) over (partition by u.user_id) as n from s.jobs as j"
        " inner join s.people as u on j.team_id = u.team_id",
    ),
    "a window ordered by user_id": (
        GROUP,
        "select user_id, sum(1) over (order by user_id) as n from s.jobs",
    ),
    "a named window": (
        GROUP,
        "select user_id, sum(1) over w as n from s.jobs window w as (order by job_id)",
    ),
    "qualify": (
        GROUP,
        "select user_id, job_id from s.jobs"
        " qualify row_number() over (partition by job_id order by team_id) = 1",
    ),
    "a limit": (GROUP, "select user_id, job_id from s.jobs order by job_id limit 3"),
    "a limit in a branch": (
        GROUP,
        "with a as (select * from s.jobs order by job_id limit 3) select * from a",
    ),
    "a sample of some rows": (GROUP, "select user_id from s.jobs tablesample (5 rows)"),
    "a sample that goes by the places of rows": (
        GROUP,
        "select user_id from s.jobs tablesample (5 percent) repeatable (3)",
    ),
    "windows whose names differ in case only": (
        GROUP,
        "select user_id, sum(job_id) over W as n from s.jobs"
        " window w as (partition by user_id), W as (partition by team_id)",
    ),
    "grouping sets of which one has no user_id": (
        GROUP,
        "select user_id, team_id, count(*) as n from s.jobs"
        " group by grouping sets ((user_id, team_id), (team_id))",
    ),
    "grouping sets that leave out what stands before them": (
        GROUP,
        "select user_id, team_id, count(*) as n from s.jobs"
        " group by user_id, team_id grouping sets ((team_id))",
    ),
    "grouping sets with a rollup": (
        GROUP,
        "select user_id, count(*) as n from s.jobs"
        " group by grouping sets (rollup(user_id), (user_id))",
    ),
    "with rollup": (
        GROUP,
        "select user_id, team_id, count(*) as n from s.jobs"
        " group by user_id, team_id with rollup",
    ),
    "a pivot by a column and user_id": (
        GROUP,
        "select * from s.jobs pivot (max(user_id) for team_id in (1, 2))",
    ),
    "a pivot for users": (
        GROUP,
        "select *, 7 as user_id from (select job_id, user_id, team_id from s.jobs)"
        " pivot (sum(job_id) for user_id in (7 as a, 8 as b))",
    ),
    "a pivot that makes another user_id": (
        GROUP,
        "select * from (select user_id, team_id, job_id from s.jobs)"
        " pivot (sum(job_id) for team_id in (1 as user_id, 2 as b))",
    ),
    "a pivot that puts another user_id together": (
        GROUP,
        "select * from (select user_id, team_id, job_id, actor_user_id from s.jobs)"
        " pivot (sum(job_id) as id, max(actor_user_id) as n"
        " for team_id in (1 as user, 2 as b))",
    ),
    "an unpivot of user_id": (
        CARRY,
        "select * from s.jobs unpivot (v for n in (user_id, team_id))",
    ),
    "an unpivot to user_id": (
        CARRY,
        "select * from s.jobs unpivot (user_id for n in (job_id, team_id))",
    ),
    "joins in brackets without user_id": (
        CARRY,
        "select a.user_id, b.job_id from (s.jobs as a join s.runs as b on true)",
    ),
    "a natural join without user_id": (
        CARRY,
        "select a.user_id, b.n from s.jobs as a natural join"
        " (select team_id, count(*) as n from s.runs group by team_id, user_id) as b",
    ),
    "a recursive CTE that leaves the user": (
        CARRY,
        "with recursive a as (select user_id, job_id, 1 as n from s.jobs union all"
        " select a.user_id, j.job_id, n + 1 from a inner join s.jobs as j"
        " on a.job_id = j.job_id where n < 3) select user_id, job_id from a",
    ),
    "a recursive CTE that begins with open rows": (
        CARRY,
        "with recursive a as (select user_id, team_id, 1 as n from s.people union all"
        " select a.user_id, j.team_id, n + 1 from a inner join s.jobs as j"
        " on a.team_id = j.team_id where n < 3) select user_id, team_id from a",
    ),
    "a recursive CTE whose second step is the first that leaks": (
        CARRY,
        "with recursive a as (select user_id, team_id, 1 as n from s.people union all"
        " select j.user_id, j.job_id, n + 1 from a inner join s.jobs as j"
        " on a.team_id = j.team_id where n < 3) select user_id, team_id from a",
    ),
    "a recursive CTE that counts all of its rows": (
        GROUP,
        "with recursive a as (select user_id, job_id, 1 as n from s.jobs union all"
        " select user_id, sum(n) over (), n + 1 from a where n < 3)"
        " select user_id, job_id from a",
    ),
    "a filter on the other side of a left join": (
        CARRY,
        "select b.user_id, a.job_id from s.jobs as a left join s.runs as b"
        " on a.user_id = b.user_id where a.job_id > 1",
    ),
    "a filter on the field of a struct that is called as the other side": (
        CARRY,
        "select b.user_id, a.job_id from (select user_id, job_id, struct(1 as z) as b"
        " from s.jobs) as a left join s.runs as b on a.user_id = b.user_id"
        " where b.z = 1",
    ),
    "a filter that nulls pass": (
        CARRY,
        "select b.user_id, a.job_id from s.jobs as a left join s.runs as b"
        " on a.user_id = b.user_id where b.job_id <=> a.job_id or b.job_id is null",
    ),
    "another field of a struct": (
        CARRY,
        "select a.r.j as user_id from"
        " (select struct(user_id, actor_user_id as j) as r from s.jobs) as a",
    ),
    "a field of a struct that has two of the name": (
        CARRY,
        "select a.r.u as user_id, n from"
        " (select struct(user_id as u, actor_user_id as u) as r, 1 as n from s.jobs)"
        " as a",
    ),
    "a field that is called as user_id": (
        CARRY,
        "select a.r.user_id as user_id from"
        " (select named_struct('user_id', actor_user_id, 'u', user_id) as r"
        " from s.jobs) as a",
    ),
    "a struct with user_id alone": (
        CARRY,
        "select struct(user_id, job_id) as r from s.jobs",
    ),
    "a struct whose user_id is left out": (
        CARRY,
        "select * except (r.user_id) from"
        " (select struct(user_id, job_id) as r from s.jobs)",
    ),
    "an alias before the field of a struct": (
        CARRY,
        "select r.user_id as user_id from (select struct(user_id, job_id) as r"
        " from s.jobs) as a cross join (select 8 as user_id) as r",
    ),
    "a cast to a decimal that has no room": (
        CARRY,
        "select cast(user_id as decimal(20, 2)) as user_id from s.jobs",
    ),
    "a cast to a decimal of ten digits": (
        CARRY,
        "select cast(user_id as decimal) as user_id from s.jobs",
    ),
    "a try_cast to a decimal, where what is no number is null": (
        CARRY,
        "select try_cast(user_id as decimal(20, 0)) as user_id from s.jobs",
    ),
    # So dbt writes a reference with `--empty`, which says nothing of what is stored.
    "a reference without rows": (
        GROUP,
        "select job_id from (select * from s.jobs where false limit 0) as j",
    ),
    "a try_cast that makes what is no number null": (
        CARRY,
        "select try_cast(user_id as bigint) as user_id from s.jobs",
    ),
    "distinct without user_id": (GROUP, "select distinct job_id from s.jobs"),
    "an aggregate in one branch of a union": (
        GROUP,
        "select user_id, count(*) as n from s.jobs group by user_id"
        " union all select max(user_id), count(*) from s.jobs",
    ),
    "an aggregate in a derived table": (
        GROUP,
        "select j.user_id, a.n from (select count(*) as n from s.jobs) as a"
        " cross join s.jobs as j",
    ),
    "having over the rows of all": (
        GROUP,
        "select user_id, count(*) as n from s.jobs group by user_id"
        " having count(*) > (select avg(job_id) from s.jobs)",
    ),
    # What joins only some rows is no filter on the others.
    "not in, after a right join by the same column": (
        CARRY,
        "select b.user_id, b.job_id from s.jobs as a"
        " right join s.runs as b on a.user_id = b.user_id"
        " where b.user_id not in"
        " (select r.user_id from s.runs as r where r.job_id = 5)",
    ),
    "not in, after an inner join and a right one": (
        CARRY,
        "select a.user_id, b.job_id from s.people as p"
        " join s.jobs as a on p.team_id = a.user_id"
        " right join s.runs as b on a.user_id = b.user_id"
        " where a.user_id not in"
        " (select r.user_id from s.runs as r where r.job_id = 5)",
    ),
    # As a float, 16777217 is 16777216.
    "a union with a float": (
        CARRY,
        "select user_id, job_id from s.jobs union all select float(0), 0 where false",
    ),
    "a union with a float of a CTE": (
        CARRY,
        "with f as (select t.n as m from (select team_id / 2 as n from s.people) as t)"
        " select user_id from s.jobs union all select m from f",
    ),
    "a union with a double in inline rows": (
        CARRY,
        "select user_id from s.jobs union all select * from values (1e0), (2) as v(n)",
    ),
    "a key that is equal to a float": (
        CARRY,
        "select f.n as user_id, j.job_id from s.jobs as j"
        " join (select float(team_id) as n from s.people) as f on f.n = j.user_id",
    ),
    "two users whose ids are equal to one float": (
        CARRY,
        "select j.user_id, r.job_id from"
        " (select double(team_id) as user_id from s.people) as f"
        " join s.jobs as j using (user_id)"
        " join s.runs as r on f.user_id = r.user_id",
    ),
    "two users whose ids are equal to one float of coalesce()": (
        CARRY,
        "select j.user_id, r.job_id from"
        " (select coalesce(team_id, 0e0) as n from s.people) as f"
        " join s.jobs as j on f.n = j.user_id join s.runs as r on f.n = r.user_id",
    ),
}
NOT_PROVEN = {
    "a relation that the project doesn't know": "select user_id from elsewhere.jobs",
    "a relation without a schema": "select user_id from jobs",
    "a relation without a schema, in a step that is not known either": "select * from"
    " jobs version as of 3",
    "an unknown relation, in a step that is not known either": "select * from"
    " elsewhere.jobs version as of 3",
    "a CTE's name where the CTE is not": "with a as (with jobs as"
    " (select * from s.people) select * from jobs) select user_id from jobs",
    "a relation of another catalog": "select user_id from other.s.people",
    "a file": "select user_id from parquet.`/data/jobs`",
    "identifier()": "select user_id from identifier('s.jobs')",
    "a table function": "select * from tests_of(8)",
    "a function of one's own": "select user_id, mine(job_id) as n from s.jobs",
    "a function of a schema": "select user_id, s.upper(job_id) as n from s.jobs",
    "a quoted function of one's own": "select user_id, `mine`(job_id) as n from s.jobs",
    "a function of one's own over open rows": "select mine(1) as n from s.seed",
    "a function of no one value": "select user_id, rand() as n from s.jobs",
    "numbers by the place of a row":
    "select user_id, monotonically_increasing_id() as n from s.jobs",
    "an aggregate that is read as something else":
    "select user_id, any(job_id > 1) as n from s.jobs",
    "a pivot after a join": "select * from s.people as p inner join"
    " s.jobs as j on p.user_id = j.user_id pivot (sum(job_id) for team_id in (1, 2))",
    "a pivot of all columns": "select * from s.jobs pivot"
    " (max(struct(*)) for team_id in (1 as a, 2 as b))",
    "a pivot that counts distinct rows": "select * from s.jobs pivot (count(distinct *)"
    " for team_id in (1 as a, 2 as b))",
    "a pivot that counts rows without a null": "select * from s.jobs pivot"
    " (count(*, job_id) for team_id in (1 as a, 2 as b))",
    "a pivot that counts a relation's columns": "select * from s.jobs pivot"
    " (count(jobs.*) for team_id in (1 as a, 2 as b))",
    "a pivot of a relation whose columns are not known": "select * from s.seed as a"
    " inner join s.jobs as j on a.user_id = j.user_id pivot (sum(job_id) for x in (1))",
    "a hint that nobody knows": "select /*+ anything(j) */ user_id from s.jobs as j",
    "a hint that goes on for Spark": "select /*+ coalesce('*/ user_id, job_id"
    " from s.jobs -- ') */ count(*) from s.jobs",
    "a second hint that goes on for Spark": "select /*+ coalesce(1) */"
    " /*+ coalesce('*/ user_id, job_id from s.jobs -- ') */ count(*) from s.jobs",
    "time travel": "select * from s.jobs version as of 3",
    "pipes": "from s.jobs |> aggregate count(*) as n group by user_id",
    "a recursive CTE that begins with itself": "with recursive a as (select * from a"
    " union all select * from s.jobs) select * from a",
    "a natural join by a column in another spelling": "select a.user_id, b.n from"
    " s.jobs as a natural join (select user_id as USER_ID, count(*) as n from s.runs"
    " group by user_id) as b",
    "a natural join of columns that are not known": "select a.user_id from s.jobs as a"
    " natural join s.seed as b",
    "a script": "select transform(user_id) using 'cat' as (user_id) from s.jobs",
    "what can't be parsed": "select user_id from s.jobs where where",
    "no query": "insert into s.runs select * from s.jobs",
    "two queries": "select user_id from s.jobs; select user_id from s.jobs",
    "a text that Spark replaces": "select ${column} as user_id from s.jobs",
    "a hint in a comment, where the comment ends for Spark": (
        "select user_id, job_id from s.jobs\n/* was: /*+ broadcast(jobs) */\n"
        "union all select 8 as user_id, job_id from s.jobs\n-- */"
    ),
    "a comment that goes on": "select user_id, count(*) from s.jobs -- \\\n group by 1",
    "a parameter": "select user_id from s.jobs where job_id = :job",
}  # fmt: skip
