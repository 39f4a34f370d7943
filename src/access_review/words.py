"""What the words of a pack mean, for who reads it without the project's pages."""

from __future__ import annotations

# Where access stands in the reviews, from what has to be done first.
STATUSES = {
    "to be removed": (
        "the last decision that counts is to remove it, and it is there: no new one is"
        " needed"
    ),
    "unreadable": "a decision about it can't be read; who runs the review mends it",
    "void": (
        "decided by the person whose access it is, or by who is not live: decide again"
    ),
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
        "Who has access, and holds no global role, has not logged in for as long as the"
        " top of the page says."
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
        "A decision was taken by the person whose access it is, or by who is not live"
        " when the rights were read.",
        "Let somebody else decide.",
    ),
    "grant-gives-nothing": (
        "A row that should give rights gives nobody any. Before the colon stands what"
        " it lacks: somebody to hold the right, the object that it is about, or a link"
        " between a project and a data source.",
        "Switch it off, or mend what it lacks.",
    ),
    "redundant-grant": (
        "A row gives only what others give, too: without it nobody loses anything. One"
        " that gives anybody anything else is not found. It may be about rights that"
        " are not reviewed here, such as to edit; then it is not among the ways.",
        "Switch this row off. What gives the same may be somebody's only way, and"
        " stays. Of rows that name each other switch off one; what is found of the"
        " others holds no longer, and the next review says it anew. Where the row was a"
        " way of something certified, that is decided again.",
    ),
    "second-way": (
        "A redundant-grant but for one thing. Where data sources, projects or reports"
        " are shown to somebody, a column of the data, access_type, says by which kinds"
        " of way: without the row one kind, such as Group, would stand there in the"
        " place of two, such as User and Group. Of test results, and of rights by which"
        " nothing is shown, such as to edit or to manage, it says nothing.",
        "Switch this row off, unless both are meant. Where it was a way of something"
        " certified, that is decided again.",
    ),
}
