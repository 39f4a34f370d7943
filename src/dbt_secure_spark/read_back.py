"""Check that views show the queries that they were switched to.

Some catalogs accept the statement and change nothing, as Iceberg does as the session
catalog. A revoked right would stay forever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.queries import pieces_of_statement
from dbt_secure_spark.versions import versions_read


class NotSwitched(DbtRuntimeError):
    """Some views do not show what they were switched to."""

    def __init__(self, views: list[str]) -> None:
        super().__init__(
            "The catalog took the statements, and these views do not show what they"
            f" were switched to, but rows and rights of before: {', '.join(views)}. No"
            " version was dropped. Run them again; if that does not help, the catalog"
            " can't hold views of this project, and the profile must name another one."
        )
        self.views = set(views)


def refuse_what_was_not_switched(
    switched: Mapping[str, str], told: Mapping[str, str]
) -> None:
    """Check that each view's query in the catalog is the query of its switch.

    Raises NotSwitched if one differs.

    switched  the queries, by the views' names
    told      the views' current definitions in the catalog
    """
    left = [
        name
        for name, query in sorted(switched.items())
        if not _is_shown(query, told.get(name, ""))
    ]
    if left:
        raise NotSwitched(left)


def _is_shown(query: str, told: str) -> bool:
    # Spark replaces variables by values that are unknown here.
    if "${" in query:
        return bool(told) and set(versions_read(query)) <= set(versions_read(told))
    # The whole text must be equal: a further part may show more rows.
    wanted = pieces_of_statement(query)
    return any(pieces_of_statement(text) == wanted for text in _texts(told))


def _texts(told: str) -> Iterator[str]:
    """Yield what may be a view's text: up to a line that may be the next field."""
    begun = re.search(r"^View Text: ", told, re.M)
    text = told[begun.end() :] if begun else ""
    for field in re.finditer(r"\n[A-Z][A-Za-z ]*: |\Z", text):
        yield text[: field.start()]
