"""Asks queries in Sail, a Spark Connect server without a JVM, over the same files.

    python -m venv .venv-sail && .venv-sail/bin/pip install pysail pyspark-client==4.1.1
    SAIL=.venv-sail/bin/python make bench

This runs in that environment. It reads JSON from standard input: `folders`, the folder
of each version; `views`, the query of each view; `queries`, what is asked, by names;
`rounds`. Prints JSON: for each query its rows and the median of its seconds, or
the error.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from typing import Any

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

# Sail's views in the session have no schema.
RELATION = re.compile(r"\b(secure_datasets\w*)\.(\w+)")


def flat(text: str) -> str:
    """Return a name or a query with each schema as a part of the relation's name."""
    return RELATION.sub(r"\1__\2", text.replace("`", ""))


def make_views(spark: SparkSession, views: dict[str, str]) -> None:
    """Make views, each after those that it reads; leave out those that Sail refuses."""
    waiting = dict(views)
    while waiting:
        made = []
        for name, query in waiting.items():
            try:
                spark.sql(flat(query)).createOrReplaceTempView(flat(name))
            except Exception:
                continue
            made.append(name)
        if not made:
            return
        waiting = {name: query for name, query in waiting.items() if name not in made}


def measured(spark: SparkSession, queries: dict[str, str], rounds: int) -> dict:
    """Return the rows of each query, and the median of its seconds, asked in turns."""
    found: dict[str, Any] = {}
    for name, query in queries.items():
        try:
            found[name] = {"rows": spark.sql(flat(query)).count(), "seconds": []}
        except Exception as error:
            found[name] = {"error": str(error)}
    asked = {name: flat(queries[name]) for name in found if "rows" in found[name]}
    for _ in range(rounds):
        for name, query in asked.items():
            started = time.monotonic()
            spark.sql(query).write.format("noop").mode("overwrite").save()
            found[name]["seconds"].append(time.monotonic() - started)
    for name in asked:
        found[name]["seconds"] = statistics.median(found[name]["seconds"])
    return found


def main() -> None:
    """Start the server, answer, and print."""
    told = json.load(sys.stdin)
    server = SparkConnectServer()
    server.start(background=True)
    _, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    for name, folder in told["folders"].items():
        spark.read.parquet(folder).createOrReplaceTempView(flat(name))
    make_views(spark, told["views"])
    print(json.dumps(measured(spark, told["queries"], told["rounds"])))
    spark.stop()
    server.stop()


if __name__ == "__main__":
    main()
