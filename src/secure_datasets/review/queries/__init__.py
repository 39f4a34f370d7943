"""The queries that a pack is written from, each in the order of the objects.

Most are lists of steps: CTEs by their names, then what reads them. The CTEs of
`objects.in_charge` come before.

``objects``    the objects, and the people in charge of them
``access``     the accesses to the objects, with the ways to each
``elsewhere``  what the rows behind these accesses also give
``findings``   what is found, and the raw rows that could not be used
``users``      the users with access, and the global administrators
"""

from __future__ import annotations

from secure_datasets.questions.facts.built import Built
from secure_datasets.review.queries import access, findings, objects, users
from secure_datasets.review.queries.objects import Ids


def review_queries(built: Built, ids: Ids = None, people: Ids = None) -> dict[str, str]:
    """Return the queries by their names: the live data sources and projects, and so on.

    With `people` the queries are for the pages of these users, in their order, without
    the objects. Only the pack of everything has `rejected`.

    ids     restricts the pack to objects in the charge of these users; None for all
    people  the users whose pages are written; None for the pack
    """
    charge = objects.in_charge(built, ids)
    steps = {
        "people": access.accesses(built, ids, people),
        "findings": findings.findings(built, ids, people),
        "users": users.users(built, people),
        "administrators": users.global_administrators(built),
    }
    if people is None:
        steps |= {
            "objects": objects.objects(built),
            "charges": objects.charges(),
            "gravest": findings.findings(built, ids, is_by_severity=True),
            "of_ways": findings.findings_of_ways(built),
        }
    queries = {
        name: "with " + ",\n\n".join([*charge, *more]) + f"\n\n{last}"
        for name, (*more, last) in steps.items()
    }
    queries["roles"] = users.roles_with_permissions(built)
    if people is None and ids is None:
        queries["rejected"] = findings.rejected_that_decide(built)
    return queries
