"""Runs statements in the session of a profile: python run_sql.py FOLDER [FILE]

FILE holds a JSON list of statements; the rows that each gives are printed as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from read_relations import session_of


def main() -> None:
    """Run the statements."""
    spark = session_of(Path(sys.argv[1]))
    statements = json.loads(Path(sys.argv[2]).read_text())
    given = [list(map(list, spark.sql(each).collect())) for each in statements]
    print(json.dumps(given, default=str))


if __name__ == "__main__":
    main()
