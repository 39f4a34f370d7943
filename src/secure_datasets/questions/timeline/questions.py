"""Reads and checks questions, with the methods for macros."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from secure_datasets.config.plan import trimmed
from secure_datasets.config.steering import without_steering
from secure_datasets.config.tiers import tier_parts
from secure_datasets.questions.asked import FORMATS
from secure_datasets.questions.facts.built import Macros
from secure_datasets.questions.timeline import text
from secure_datasets.questions.timeline.changes import moment_text
from secure_datasets.questions.timeline.models import (
    LOADED,
    NotToldError,
    models_needed,
    view,
)
from secure_datasets.render.staging.deliveries import read_id

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

    def ref(self, nodes: Facts) -> Callable[..., str]:
        """Return what replaces `ref` in the models of a timeline.

        It names the rows of all moments side by side, and seeds as they are.
        """
        seeds = relations_of_seeds(nodes)
        return lambda *names: seeds.get(names[-1]) or view(names[-1])

    def parts(
        self, macros: Macros, nodes: Facts, render: Callable[[str], str]
    ) -> Facts:
        """Return the inputs of a timeline in Spark: what `answer` takes.

        macros  the product's macros; in dbt its namespace
        nodes   dbt's nodes
        render  dbt's function that renders a model's code
        """
        raw_tables, known_since, queries = macros["repository_tables"](), {}, {}
        tiers = parts_of_tiers(macros["secure_datasets_config"](), raw_tables)
        found = self.models(tiers, nodes)
        for model in found["models"]:
            if model["language"] == "sql":
                model["code"] = render(model["code"])
        for name in found["staged"]:
            feed = macros["feed_over_time"](name)
            if feed and feed.get("snapshots"):
                known_since[name] = feed["snapshots"][0]["since"]
            id_read = read_id("raw.id", macros["raw_readings"](name))
            columns = columns_named(raw_tables[name])
            queries[name] = {
                "deliveries": macros["delivered_values"](name, columns, feed),
                "raw": f"select raw.*, {id_read} as timeline_id"
                f" from {macros['raw_relation'](name, feed=feed)} as raw",
                "history": macros["stage_raw_table"](name, f"timeline_{name}", feed),
            }
        seeds = relations_of_seeds(nodes)
        return found | {"seeds": seeds, "queries": queries, "known_since": known_since}

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


def parts_of_tiers(config: Facts, raw_tables: Facts) -> dict[str, Facts]:
    """Return the parts of each tier, with its access view and what it carries."""
    return {
        name: tier_parts(name, config, raw_tables)
        | {"view": tier["access_view"], "carries": tier.get("carries") or []}
        for name, tier in config["tiers"].items()
    }


def columns_named(table: Facts) -> list[str]:
    """Return the columns that find deliveries of a raw table."""
    called = [name for name in CALLED if name in table["columns"]]
    return ["id", LOADED, *table["references"], *called]


def relations_of_seeds(nodes: Facts) -> dict[str, str]:
    """Return the relations of dbt's seeds, by name."""
    seeds = (node for node in nodes.values() if node["resource_type"] == "seed")
    return {seed["name"]: seed["relation_name"] for seed in seeds}


def types_not_told(asked: list[Facts], tiers: Facts) -> list[str]:
    """Return the types of subjects that no tier covers."""
    told = {right["object_type"] for tier in tiers.values() for right in tier["rights"]}
    return sorted({one["type"] for one in asked} - told - {"User"})


def access_timelines(adapter: BaseAdapter) -> AccessTimelines:
    """Return the reader of questions about the past of access, which answers them."""
    return AccessTimelines(adapter)
