"""What a pack is made of: its days, the states of its inputs, and its history."""

from __future__ import annotations

from typing import Any

from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.notes import Facts
from secure_datasets.questions.text import made_anew
from secure_datasets.review.models.ways import reviewed_tiers

# The inputs of a pack besides the rights.
JUDGED = ("review_status", "access_findings", "judged_grants", "judged_decisions")
SEEDS = ("review_decisions", "finding_exceptions", "toxic_pairs", "role_permissions")
RIGHTS = (
    *("explained_access_paths", "int_access_paths"),
    *("int_securable_objects", "vw_secure_user_roles"),
)
AGAIN = "Run dbt, and write the pack again."


def rights_of_review(built: Built) -> list[str]:
    """Return the relations with access to the objects of a pack, and the ways to it."""
    tiers = reviewed_tiers(built).values()
    return [*RIGHTS, *(tier["access_view"] for tier in tiers)]


def of_before(built: Built) -> str:
    """Return a warning that a pack's inputs come from several runs; "" if from one.

    They do after a run of the rights alone or a load of decisions; and the rights can
    be older, too, after a run of staging alone or a failed run.
    """
    rights = rights_of_review(built)
    ahead = built.macros["staged_since"]([*JUDGED, *rights, *SEEDS])
    anew, before = made_anew(ahead["tables"], ahead["stored"]), ahead["of_before"]
    if not anew:
        return ""
    if not set(before).intersection(rights):
        return (
            f"Since findings and statuses were worked out, {anew}: who has access, and"
            " through what, is told as it is now, the others as they were before."
            f" {AGAIN}"
        )
    was = "were" if len(before) > 1 else "was"
    return (
        f"Since {', '.join(before)} {was} made, {anew}. What is told is by the newest"
        f" of each that is built, and may be that of neither state. {AGAIN}"
    )


def days_of_review(built: Built) -> str:
    """Return the query of the days that a pack bears.

    They are when the rights were read and delivered, the day of judgement, and today.
    """
    day, judged_on = built.macros["utc_day"], built.macros["judged_on"]()
    return f"""select
    cast({day("min(read_at)")} as string) as read_on,
    cast({day("max(newest_delivery)")} as string) as delivered_on,
    cast(cast({judged_on} as date) as string) as judged_on,
    cast({day("current_timestamp()")} as string) as today
from {built.relation("access_freshness")}"""


def made_of(days: Facts, settings: Facts, owner: str = "", told: str = "") -> str:
    """Return the text with the sources of a pack and the day of its judgement.

    A sample has a fixed day of judgement, and its text begins with that day.

    days      the row of `days_of_review`
    settings  the variables dormant_days and review_days
    owner     the owner of the pack; empty for the pack of everything
    told      what `of_before` warns of
    """
    judged_on, delivered = days["judged_on"], days["delivered_on"]
    is_sample = judged_on != days["today"]
    newest = f", the newest delivered on {delivered}" if delivered else ""
    parts = [
        f"This is the sample: read it as if today were {judged_on}." * is_sample,
        f"What {owner} is in charge of." if owner else "",
        f"Rights as read on {days['read_on']}{newest}.",
        "" if is_sample else f"Judged as of {judged_on}.",
        f"Who has not logged in for {settings['dormant_days']} days is dormant.",
        f"A decision certifies for {settings['review_days']} days.",
        told,
    ]
    if is_sample:
        parts.append(f"The day of a decision may not be later than {judged_on}.")
    elif days["read_on"] != judged_on:
        parts.append(
            f"What is certified or overdue is so on {judged_on}; the rights, and what"
            " is found, excused or dormant, are as the runs before have left them, and"
            " may be otherwise on that day."
        )
    return " ".join(filter(None, parts))


def history_of(built: Built, months: int, days: Facts, timelines: Any) -> Facts | None:
    """Return the inputs of the timeline in a pack; None for no months.

    The last day is the newest delivery of the pack, so later deliveries count in no
    month. `not_told` are the tiers of the pack whose past is not known.

    days  the row of `days_of_review`
    """
    if not months:
        return None
    built.macros["check_raw_schema"]()
    parts = built.macros["timeline_parts"](timelines)
    reviewed = reviewed_tiers(built)
    return {
        "months": months,
        "last": min(days["delivered_on"] or days["read_on"], days["read_on"]),
        "parts": {**parts, "raw_tables": built.tables},
        "not_told": [name for name in parts["tiers_not_told"] if name in reviewed],
    }
