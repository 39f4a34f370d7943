"""What the words of a pack mean, for who reads it without the project's pages."""

from __future__ import annotations

# Where access stands in the reviews, from what has to be done first.
STATUSES = {
    "to be removed": (
        "the last decision that counts is to remove it, and it is there: no new one is"
        " needed"
    ),
    "unreadable": "a decision about it can't be read; who runs the review mends it",
    "void": "decided by the user alone, or by who is not live: decide again",
    "new since": (
        "kept, but the access came another way since, or a way is gone: nobody has"
        " certified what is there now"
    ),
    "overdue": "kept as it is today, but too long ago: decide again",
    "never reviewed": (
        "nobody has decided about it; such is who came since the last review"
    ),
    "certified": "kept as it is today, and not too long ago",
}
# What is found by each rule, and what to do.
RULES = {
    "dormant-admin": (
        "Who holds a global role has not logged in for as long as the top of the page"
        " says.",
        "Take the role away, or find out why nobody uses it.",
    ),
    "removed-and-still-there": (
        "A review has removed this access, and it is still there.",
        "Break each way, in the application, by the row that is this person's own,"
        " mostly a membership: the permission of a group is everybody's in it.",
    ),
    "toxic-pair": (
        "Somebody holds two permissions that nobody should hold on one object.",
        "Take one of the two away.",
    ),
    "too-many-global-admins": (
        "More people hold the role Global Admin than is meant.",
        "Give those who look after some objects rights on these instead.",
    ),
    "dormant-access": (
        "Who has access has not logged in for as long as the top of the page says."
        " Objects of other kinds, such as reports, are counted too.",
        "Ask the person's superior; then remove it, or keep it.",
    ),
    "data-source-without-owner": (
        "Nobody who is live owns the data source.",
        "Name an owner, who decides from then on.",
    ),
    "group-parent-ignored": (
        "A group is in a ring of groups, or its parent is gone, so that it inherits"
        " nothing.",
        "Mend the parent of the group; look at what it then inherits.",
    ),
    "void-decision": (
        "A decision was taken by the user alone, or by who is not live.",
        "Let somebody else decide.",
    ),
    "grant-gives-nothing": (
        "A row that should give rights gives nobody any.",
        "Switch it off, or mend what it lacks.",
    ),
    "redundant-grant": (
        "A row gives only what others give, too: without it nobody loses anything.",
        "Switch one of them off, so that removing access needs one step.",
    ),
    "second-way": (
        "A row gives what another kind of way gives, too: nobody loses a right without"
        " it. Data then names one kind of way, in access_type, and not both.",
        "Switch it off, unless both are meant.",
    ),
}
