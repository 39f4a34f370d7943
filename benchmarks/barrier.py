"""What the barriers cost: that of readers' views and functions, and that of rules.

    python benchmarks/barrier.py [ROWS [rules]]

One user's queries in turns: through the plain dataset with the filter on the user, and
through what the project renders for readers over the same rows; and through a dataset
with rules, with and without the barrier between its rows and these. A data source tier
of 2,000 data sources and 50,000 users, as in layouts.py. With `rules` the last alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from layouts import ACCESS, BASE, USERS, join
from measure import in_turns, reading
from pyspark.sql import SparkSession
from workspace import Workspace

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

from rendering import Macros

from secure_datasets.config import plan
from secure_datasets.render.readers import function_body, view_query

# Users with 4 keys and with 40.
READERS = {"4 keys": 2, "40 keys": 1}
QUERIES = {
    "all rows": "select * from {rows}",
    "one row in a thousand": "select * from {rows} where row_id % 1000 = 1",
    "a count": "select count(*) from {rows} where full_path like '%.column_1%'",
}
# Rules by what they do with a user's rows.
RULES = {
    "a condition that all rows meet": ("rows", "condition: data_type = 'int'"),
    "a condition of one in a thousand": ("rows", "condition: row_id % 1000 = 1"),
    "a mask": ("rows.full_path", 'mask: "left(full_path, 9)"'),
}
DOCUMENT = """
tiers:
    source:
        access_view: access
        object_keys: [meta_data_source_id]
        carries: [access_type]
datasets:
    rows:
        base: base
        columns: [{columns}]
        unique_key: [row_id]
        tier: source
        keys: {{meta_data_source_id: data_source_id}}
policies:
    - {{role: A, resource: {resource}, {rule}}}
"""


def main() -> None:
    """Build the rows, ask, and print the ratios."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    spark = Workspace().reader()
    base, access = BASE.format(rows=rows), ACCESS.format(users=USERS)
    spark.sql(f"create table base using parquet as {base} cluster by data_source_id")
    spark.sql(f"create table access using parquet as {access} cluster by user_id")
    spark.sql("analyze table access compute statistics for columns user_id")
    of_rules(spark)
    if sys.argv[2:] != ["rules"]:
        of_readers(spark)


def of_readers(spark: SparkSession) -> None:
    """Ask through the plain dataset, and through what is rendered for readers."""
    spark.sql(f"create view secure as {join('base', 'access')}")
    spark.sql("create table accounts (account string, user_id bigint) using parquet")
    columns = {f.name: f.dataType.simpleString() for f in spark.table("secure").schema}
    source = {
        "name": "rows",
        "relation": "secure",
        "columns": columns,
        "has_public_rows": False,
    }
    query = view_query(source, "accounts", "users")
    spark.sql(f"create view readers_rows as {query}")
    returns = ", ".join(f"{name} {data_type}" for name, data_type in columns.items())
    body = function_body(source, "users")
    spark.sql(
        "create function rows_of(reader string)"
        f" returns table ({returns}) return {body}"
    )
    for kind, user in READERS.items():
        spark.sql(f"insert overwrite accounts select current_user(), {user}L")
        asked = {
            "plain": f"(select * from secure where user_id = {user})",
            "function": f"rows_of({user})",
            "view": "readers_rows",
        }
        for title, template in QUERIES.items():
            queries = {name: template.format(rows=of) for name, of in asked.items()}
            counts = {name: spark.sql(q).collect() for name, q in queries.items()}
            if len({repr(sorted(found)) for found in counts.values()}) != 1:
                sys.exit(f"{kind}, {title}: the rows differ")
            seconds = in_turns({name: reading(spark, q) for name, q in queries.items()})
            for name, taken in seconds.items():
                times = taken / seconds["plain"]
                print(
                    f"{kind:8} {title:22} {name:9} {taken:6.3f} s {times:5.2f}x",
                    flush=True,
                )


def of_rules(spark: SparkSession) -> None:
    """Ask a dataset with rules, with and without their barrier."""
    spark.sql(
        "create table user_role_names using parquet as"
        f" select id as user_id, array('A') as role_names from range(1, {USERS + 1})"
    )
    types = {f.name: f.dataType.simpleString() for f in spark.table("base").schema}
    for title, (resource, rule) in RULES.items():
        text = DOCUMENT.format(rule=rule, resource=resource, columns=", ".join(types))
        macros = Macros(text, ref=lambda name: name, types={"base": types})
        queries = {"with": macros.secure_dataset("rows")}
        is_asked = plan.STEPS["guarded_rows"]
        plan.STEPS["guarded_rows"] = lambda *_: False
        queries["without"] = macros.secure_dataset("rows")
        plan.STEPS["guarded_rows"] = is_asked
        for name, query in queries.items():
            spark.sql(f"create or replace view rules_{name} as {query}")
        for kind, user in READERS.items():
            asked = {
                name: f"select * from rules_{name} where user_id = {user}"
                for name in queries
            }
            counts = {name: spark.sql(q).collect() for name, q in asked.items()}
            if len({repr(sorted(found)) for found in counts.values()}) != 1:
                sys.exit(f"{kind}, {title}: the rows differ")
            seconds = in_turns({name: reading(spark, q) for name, q in asked.items()})
            times = seconds["with"] / seconds["without"]
            print(
                f"{kind:8} {title:34} {len(counts['with']):7,} rows"
                f" {seconds['with']:6.3f} s {times:5.2f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
