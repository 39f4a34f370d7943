"""Runs statements in the session of a profile: python run_sql.py FOLDER [FILE]

FILE holds a JSON list of statements; what the last one gives is printed as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from read_relations import session_of


def main() -> None:
    """Run the statements."""
    spark = session_of(Path(sys.argv[1]))
    for statement in json.loads(Path(sys.argv[2]).read_text()):
        rows = spark.sql(statement).collect()
    print(json.dumps([list(row) for row in rows], default=str))


if __name__ == "__main__":
    main()
