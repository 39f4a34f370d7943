"""What the parser reads and Spark reads differently."""

from __future__ import annotations

import pytest

from secure_datasets.sql.statements import NotUnderstood, tokens_and_tree


@pytest.mark.parametrize(
    "query",
    [
        "select user_id from s.jobs where (a, b)",
        "select 1 from s.jobs where (a)",
        "select 1 from s.jobs qualify (a)",
        "select 1 from s.jobs having (a)",
        "select 1 from a join b where (x)",
        "select 1 from a left join b where (x)",
        "select 1 from a as x, b where (y)",
        "select 1 from (select 1 as a) where (a)",
        "select 1 from (a join b) where (x)",
        "with a as (select 1) select 1 from a where (x)",
        "select 1 from a tablesample (10 rows) where (x)",
        "select 1 from a version as of 1 where (x)",
        "select 1 from range(3) where (id)",
        "select 1 from values (1), (2) where (x)",
        "select 1 from a cross join lateral (select 1) where (x)",
        "select 1 from `a.b`.c where (`x`) order by 1",
        "select 1 from a where (x) group by y",
        "select 1 from a where (x) union select 1",
        "select 1 from a where (false)",
        "select 1 from a as t where exists (select 1 from b where (x))",
    ],
)
def test_Z4_a_bracket_of_names_behind_a_relation_is_for_spark_its_alias(query):
    with pytest.raises(NotUnderstood, match=r"names a relation and its columns"):
        tokens_and_tree(query)


@pytest.mark.parametrize(
    "query",
    [
        "select 1 from s.jobs j where (a)",
        "select 1 from s.jobs as j where (a)",
        "select 1 from s.jobs where a",
        "select 1 from s.jobs where (a > 1)",
        "select 1 from s.jobs where (f(a))",
        "select 1 from s.jobs where ((a))",
        "select 1 from s.jobs where (j.a)",
        "select 1 from s.jobs where (1)",
        "select 1 from s.jobs group by a, b having (a)",
        "select a, b from t as t where (b) order by a",
        "select 1 from a join b using (x) where (x)",
        "select 1 from a join b on true where (x)",
        "select 1 from a x join b y where (z)",
        "select 1 from (select 1 as a) as t where (a)",
        "select 1 from a lateral view explode(b) t as c where (x)",
        "select 1 from a pivot (sum(x) for y in (1, 2)) where (x)",
        "from t select y where (y)",
        "select 1 from a where (x) and (y)",
        "select 1 from a where (x) = 1",
        "select 1 from a where (x) in (1)",
        "select 1 from a where (x) is null",
    ],
)
def test_a_bracket_that_spark_takes_for_a_condition_is_understood(query):
    tokens_and_tree(query)
