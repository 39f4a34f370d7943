"""The rules of findings, in the order of a pack. Each has a page in docs/findings.

The query of a rule stands in ``models/access_findings.sql``.
"""

from __future__ import annotations

from typing import NamedTuple

SEVERITIES = ("high", "medium", "low")


class Rule(NamedTuple):
    """A rule: how grave its finding is, what it means, and what to do."""

    severity: str
    meaning: str
    remedy: str


RULES = {
    "dormant-admin": Rule(
        "high",
        "Somebody with a global role has not logged in for the number of days at the"
        " top of the page.",
        "Take the role away, or find out why nobody uses it.",
    ),
    "removed-and-still-there": Rule(
        "high",
        "A review has removed this access, and it is still there.",
        "Break each way in the application, at the row that is this person's own,"
        " usually a membership: the permission of a group belongs to all its members."
        " Below the ways stand the other rights that a membership gives. Grant those"
        " that are to stay by a row of their own first, or record that the decision"
        " takes them away too.",
    ),
    "toxic-pair": Rule(
        "high",
        "Somebody holds two permissions on one object that nobody should hold together."
        " The same two on different objects are not found. Behind each permission stand"
        " the rows that give it. A person's ways name the roles, if such a row is among"
        " them. Behind because stands the reason.",
        "Take one of the two away, at each row that gives it. Access that was certified"
        " by such a row is to be decided again.",
    ),
    "too-many-global-admins": Rule(
        "medium",
        "More people than intended hold the role Global Admin. Who is who names them.",
        "Give those who look after some objects rights on these instead.",
    ),
    "dormant-access": Rule(
        "medium",
        "Somebody with access, and without a global role, has not logged in for the"
        " number of days at the top of the page. All rights on all objects count, also"
        " on reports, and rights that show nothing.",
        "The person in charge decides about the access on their own page, by keep or"
        " remove. The global administrators look at the account: they ask the person's"
        " superior, and switch it off if the person has left.",
    ),
    "data-source-without-owner": Rule(
        "medium",
        "No live user owns the data source.",
        "Name an owner, who decides from then on.",
    ),
    "group-parent-ignored": Rule(
        "medium",
        "A group is in a ring of groups, or its parent is gone: it inherits nothing.",
        "Mend the parent of the group, and look at what it then inherits.",
    ),
    "void-decision": Rule(
        "medium",
        "A decision was taken by the person whose access it is, or by somebody who was"
        " not live when the rights were read. A remove counts all the same.",
        "Let somebody else decide.",
    ),
    "grant-gives-nothing": Rule(
        "low",
        "A row that should give rights gives nobody any. Before the colon stands what"
        " is missing: somebody to hold the right, its object, or a link between a"
        " project and a data source. Not live: it is switched off or gone. Can't be"
        " used: its latest delivered row is not usable.",
        "Switch the row off, or mend what is missing. If that is still to come, have"
        " the finding excused, as above. Ask the person in charge of a data source"
        " before you switch off a link to it. If a row can't be used, have it mended"
        " at its source, and switch nothing off.",
    ),
    "grant-has-run-out": Rule(
        "low",
        "The time of a row that gave a right is over: it gives nothing any more, and is"
        " still there.",
        "Delete the row, or give it a later end if the right is still needed.",
    ),
    "redundant-grant": Rule(
        "low",
        "A row gives only what other rows give too: without it nobody loses anything."
        " It may be about rights that are not reviewed here, such as to edit; then it"
        " is not among the ways.",
        "Switch this row off. The other rows may be somebody's only way, and stay. If"
        " rows name each other, switch one off: the findings about the others no longer"
        " hold, and the next review finds them anew. Access that was certified by the"
        " row is to be decided again.",
    ),
    "second-way": Rule(
        "low",
        "Like redundant-grant, with one difference: without the row, access_type names"
        " one kind of way instead of two.",
        "Switch this row off, unless both ways are meant. Access that was certified by"
        " it is to be decided again.",
    ),
}
