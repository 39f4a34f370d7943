"""The status of each access to data sources and projects in the reviews."""

from __future__ import annotations

from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.notes import Facts
from secure_datasets.review.models import ways
from secure_datasets.review.models.parts import template


def review_status(built: Built, given: Facts) -> str:
    """Return the query of the review status of each user's access to each object.

    A decision to keep certifies the access as its reviewer saw it, for some days. A
    doubtful decision certifies nothing. A decision to remove stands, even a void one,
    until a later decision to keep counts.

    given  `review_days`, the variable
    """
    return template(
        built,
        "review_status",
        shown_ways=lambda built: ways.shown_ways(
            built, "newest", ["user_id", "object_type", "object_id"]
        ),
        seen_now=ways.SEEN_NOW,
        shown_by_tiers=ways.shown_by_tiers,
        review_days=given["review_days"],
        judged_on=built.macros["judged_on"](),
    )
