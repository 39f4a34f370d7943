"""Reads and checks questions, with the methods for macros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from secure_datasets.config.plan import trimmed
from secure_datasets.config.steering import without_steering
from secure_datasets.questions.asked import FORMATS
from secure_datasets.questions.timeline import text
from secure_datasets.questions.timeline.changes import moment_text
from secure_datasets.questions.timeline.models import (
    LOADED,
    NotToldError,
    models_needed,
    view,
)

if TYPE_CHECKING:
    from dbt.adapters.base import BaseAdapter

EXPLAINED = "explained_access_paths"
# The columns with the names of users and objects.
CALLED = ("login_name", "email", "name")
Facts = dict[str, Any]


class AccessTimelines:
    """Reads questions about the past of access, and answers them."""

    document = staticmethod(text.as_document)
    lines = staticmethod(text.as_lines)
    view = staticmethod(view)
    headers = text.HEADERS

    def __init__(self, adapter: BaseAdapter) -> None:
        self.adapter = adapter

    def stop(self, sentence: str) -> NoReturn:
        """Stop with one sentence, without control characters of a terminal."""
        # Only this question imports dbt's exceptions: imports take time.
        from secure_datasets.config.errors import SentenceError

        raise SentenceError(without_steering(f"timeline: {sentence}"))

    def question(
        self, user: Any, object_name: Any, format_name: Any, limit: Any
    ) -> Facts:
        """Return a checked question."""
        if format_name not in FORMATS:
            self.stop(f"there is no format '{format_name}'; known are text and json.")
        given = {"user": user, "object": object_name}
        asked = {
            kind: trimmed(str(value if value is not None else ""))
            for kind, value in given.items()
        }
        if bool(asked["user"]) == bool(asked["object"]):
            self.stop(
                "name either a user, {user: hpark}, or an object,"
                " {object: 'Project 7'}."
            )
        if isinstance(limit, bool) or not str(limit).isdecimal() or not int(limit):
            self.stop(f"'limit' is '{limit}', which is no whole number above 0.")
        kind = "user" if asked["user"] else "object"
        return {"kind": kind, "asked": asked[kind], "limit": int(limit)}

    def columns_named(self, table: Facts) -> list[str]:
        """Return the columns that find deliveries of a raw table."""
        called = [name for name in CALLED if name in table["columns"]]
        return ["id", LOADED, *table["references"], *called]

    def models(self, tiers: Facts, nodes: Facts) -> Facts:
        """Return the models that compute access, and the tiers that they cover.

        A tier is covered if rights can be given on its objects, and its access view
        reads only the inputs of paths and the rows that link its objects.

        tiers  view, keys, carries, rights and links of each tier
        nodes  dbt's nodes
        """
        known = set(models_needed([EXPLAINED], nodes)["staged"])
        told = {}
        for name, tier in tiers.items():
            links = {link["table"] for link in tier["links"]}
            objects = {key.removesuffix("_id") + "s" for key in tier["keys"]}
            try:
                staged = models_needed([tier["view"]], nodes)["staged"]
            except NotToldError:
                continue
            if objects <= known and set(staged) <= known | links:
                told[name] = tier
        views = [tier["view"] for tier in told.values()]
        not_told = [name for name in tiers if name not in told]
        needed = models_needed([EXPLAINED, *views], nodes)
        return {**needed, "tiers": told, "tiers_not_told": not_told}

    def answer(self, question: Facts, parts: Facts, raw_tables: Facts) -> Facts:
        """Return the timeline: the subject, and the changes in order.

        parts  the result of models(), with the models rendered; seeds, the relations of
               seeds; queries, the queries of the staged tables; known_since, when the
               past begins of tables that hold the present, in microseconds
        """
        # dbt loads this module for every command.
        from dbt_secure_spark.session import start_session
        from dbt_secure_spark.submission import session_parameters
        from secure_datasets.questions.timeline.answers import answer, beginnings

        spark = start_session(session_parameters(self.adapter.config.credentials))
        parts = {**parts, "raw_tables": raw_tables}
        found = answer(spark, question, parts)
        if known := beginnings(parts):
            found["told_since"] = moment_text(max(known.values()))
            found["known_since"] = {n: moment_text(at) for n, at in known.items()}
        return self.completed(question, found, parts["tiers"], parts["tiers_not_told"])

    def completed(
        self, question: Facts, found: Facts, tiers: Facts, not_told: list[str]
    ) -> Facts:
        """Return the answer with its missing tiers, or stop if no subject exists."""
        return {
            **self.checked(question, found),
            "tiers_not_told": not_told,
            "types_not_told": types_not_told(found["asked"], tiers),
        }

    def checked(self, question: Facts, found: Facts) -> Facts:
        """Return the answer, or stop if nothing has the name of the question."""
        known = ", as far as snapshots are kept," if found.get("told_since") else ""
        if not found["asked"] and question["kind"] == "user":
            self.stop(
                f"there has never been{known} a user with the id, login name or e-mail"
                f" address '{question['asked']}'."
            )
        if not found["asked"]:
            self.stop(
                f"there has never been{known} an object '{question['asked']}': name its"
                " type and its id or name, 'Project 7', or its name alone."
            )
        return found


def types_not_told(asked: list[Facts], tiers: Facts) -> list[str]:
    """Return the types of subjects that no tier covers."""
    told = {right["object_type"] for tier in tiers.values() for right in tier["rights"]}
    return sorted({one["type"] for one in asked} - told - {"User"})


def access_timelines(adapter: BaseAdapter) -> AccessTimelines:
    """Return the reader of questions about the past of access, which answers them."""
    return AccessTimelines(adapter)
