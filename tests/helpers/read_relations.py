"""Prints every row of the published relations as JSON: read_relations.py FOLDER [FILE]

FILE holds queries by name, to be answered in their place.

Reads with the session of the profile in FOLDER, as dbt's Python models do.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import yaml
from jinja2 import Environment
from pipeline import comparable_rows
from pyspark.sql import DataFrame, SparkSession

from dbt_secure_spark.session import start_session

SCHEMAS = ("secure_datasets", "repository_sample")
# When a run looked at the raw tables differs from run to run.
TIMES_OF_THE_RUN = ("read_at", "resolved_at")


def session_of(folder: Path) -> SparkSession:
    """Start the session that the profile of a folder names."""
    (profile,) = yaml.safe_load((folder / "profiles.yml").read_text()).values()
    parameters = profile["outputs"][profile["target"]]["server_side_parameters"]
    rendered = {
        name: Environment().from_string(str(value)).render(env_var=os.environ.get)
        for name, value in parameters.items()
    }
    return start_session(rendered)


def rows_of(frame: DataFrame) -> Counter:
    """Count a relation's rows, without what no two runs have in common."""
    frame = frame.drop(*TIMES_OF_THE_RUN)
    if "rejection_reason" in frame.columns:
        # Which delivery stands for a conflict is open in the rejects, not in staging.
        frame = frame.withColumnRenamed("raw_row", "delivery")
    return comparable_rows(frame)


def main() -> None:
    """Print the rows."""
    spark = session_of(Path(sys.argv[1]))
    if sys.argv[2:]:
        queries = json.loads(Path(sys.argv[2]).read_text())
    else:
        queries = {
            f"{schema}.{row.tableName}": f"select * from {schema}.{row.tableName}"
            for schema in SCHEMAS
            for row in spark.sql(f"show tables in {schema}").collect()
        }
    found = {name: rows_of(spark.sql(query)) for name, query in queries.items()}
    print(json.dumps({name: sorted(rows.items()) for name, rows in found.items()}))


if __name__ == "__main__":
    main()
