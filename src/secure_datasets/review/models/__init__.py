"""The queries of the models of a review, which macros ask for.

A file of SQL has places for values, and names relations: `$stg_users`.

``findings``   what a review should look at
``status``     where each access stands in the reviews
``grants``     what would go with each row that gives rights
``decisions``  what is to be thought of each decision
``parts``      what several queries share: names, people in charge, toxic pairs
``ways``       the ways to what users are shown, which packs read, too
"""

from __future__ import annotations

from typing import Any

from secure_datasets.questions.facts.built import Built, Macros, Ref
from secure_datasets.questions.notes import Facts
from secure_datasets.review.models.decisions import judged_decisions
from secure_datasets.review.models.findings import access_findings
from secure_datasets.review.models.grants import judged_grants
from secure_datasets.review.models.status import review_status

QUERIES = {
    "judged_grants": judged_grants,
    "judged_decisions": judged_decisions,
    "review_status": review_status,
    "access_findings": access_findings,
}


def query_of_review(
    adapter: Any, model: str, macros: Macros, ref: Ref, given: Facts
) -> str:
    """Return the query of a model of a review: a method that macros call.

    given  the variables and documents of the query. A macro that takes the config and
           the raw tables by calls lets dbt see that the model depends on them.
    """
    return QUERIES[model](Built(macros, ref, given), given)
