"""The verdict on each decision of a review."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.notes import Facts
from secure_datasets.render.staging.reading import ascii_lower, trimmed_text
from secure_datasets.review.models import parts
from secure_datasets.sql.expressions import sql_text

COLUMNS = (
    *("object_type", "object_id", "user_id", "seen"),
    *("decision", "decided_by", "decided_on"),
)


class Deciders(NamedTuple):
    """The deciders: CTEs, joins, a condition, and why someone may not decide."""

    ctes: Callable[[Built], str]
    joins: str
    condition: str
    others: str


ANYBODY = Deciders(lambda built: "", "", "true", ", who is not among review_deciders")


# The people in charge of the object, and the global administrators.
IN_CHARGE = Deciders(
    lambda built: f",\n\n{parts.charges(built)},\n\n{parts.admins(built)}",
    """
    left join charges
        on
            bearers.user_id = charges.user_id
            and decisions.object_type = charges.object_type
            and decisions.object_id = charges.object_id
    left join admins
        on bearers.user_id = admins.user_id""",
    "(charges.user_id is not null or coalesce(admins.is_global_admin, false))",
    ", who is neither in charge of it nor a global administrator",
)


def judged_decisions(built: Built, given: Facts) -> str:
    """Return the query of the verdict on each decision of a review.

    It counts; it is void, because its decider is the user, is not live, or is not
    allowed to decide; or it is unreadable, with the problem.

    given  `review_deciders`, the variable: anybody, in charge, or a list of names
    """
    deciders = ANYBODY
    if given["review_deciders"] == "in charge":
        deciders = IN_CHARGE
    elif not isinstance(given["review_deciders"], str):
        deciders = _named(built, given["review_deciders"])
    return parts.template(
        built,
        "judged_decisions",
        trimmed=",\n".join(f"{trimmed_text(column)} as {column}" for column in COLUMNS),
        person=parts.PERSON,
        login=ascii_lower("login_name"),
        email=ascii_lower("email"),
        columns=", ".join(f"decisions.{each}" for each in (*COLUMNS, "as_delivered")),
        deciders=deciders.ctes,
        may_decide=deciders.condition,
        decided_by=ascii_lower("decisions.decided_by"),
        joins=deciders.joins,
        judged_on=built.macros["judged_on"](),
        decider=parts.numbered("user", "decided_by_user_id", "decider"),
        not_allowed=deciders.others,
    )


def _named(built: Built, names: list[str]) -> Deciders:
    """Return the people with some names."""
    listed = ", ".join(ascii_lower(sql_text(str(name).strip())) for name in names)
    return Deciders(
        lambda built: (
            f""",

named_deciders as (

    -- Several names may belong to one person.
    select distinct user_id
    from called
    where name in ({listed})

)"""
        ),
        """
    left join named_deciders
        on bearers.user_id = named_deciders.user_id""",
        "(named_deciders.user_id is not null)",
        ANYBODY.others,
    )
