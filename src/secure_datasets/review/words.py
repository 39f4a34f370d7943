"""The words of a pack, for a reviewer without the project's pages."""

from __future__ import annotations

# The status of an access in the reviews, the most urgent first.
STATUSES = {
    "to be removed": (
        "the latest valid decision is to remove it, and it is still there. It needs no"
        " new decision. If it is to stay, somebody whose keep certifies writes keep"
    ),
    "unreadable": "a decision about it can't be read; whoever runs the review mends it",
    "void": (
        "it was kept by the person who has it, or by somebody who is not live: decide"
        " again"
    ),
    "new since": (
        "it was kept, but since then a way was added or is gone, or its results show"
        " in other projects: nobody has certified the access of today"
    ),
    "overdue": "it was kept as it is today, but too long ago: decide again",
    "never reviewed": "nobody has decided about it, for example since it is new",
    "certified": (
        "it was kept as it is today, and not too long ago. A row that was switched off"
        " for a while counts as if it had been there all the time"
    ),
}
# Statuses that are more urgent than an access that nobody has reviewed yet.
URGENT = ("to be removed", "unreadable", "void", "new since", "overdue")
# The texts of the help, besides statuses and findings.
TOLD = {
    "days": (
        "The rights are those of the last run. The pack judges them as of a day, which"
        " may be later. Certified and overdue count as of that day; findings,"
        " exceptions and dormant users count as of the run. A sample has a fixed day,"
        " so that it does not expire: there everything counts as of the fixed day. A"
        " login after the judged day counts: its user is not dormant."
    ),
    "one_way": (
        "A decision is about all the ways of a line. Some findings (toxic-pair,"
        " redundant-grant, second-way) ask to take one of several ways away. Do that"
        " first, and decide from a new pack. Until then leave the line empty: its"
        " status stays as it is. The page marks such lines under Who decides, the table"
        " under first see to. You may remove the whole access at once. A toxic pair"
        " stays if both of its permissions are held by rows that are not among the"
        " ways; its line names them."
    ),
    "meant": (
        "If a finding is intended, report it to whoever runs the review: its rule, its"
        " subject, who answers for it, the reason and the last day. They enter it in"
        " the table finding_exceptions, and it is excused until that day. Then the line"
        " may be decided, even if your pack still asks for something first. A finding"
        " about a row that is not among the ways does not hold a line up."
    ),
    "decided_on": (
        "A day under decided on has the form 2026-07-01. It may not be later than the"
        " day, in UTC, on which the table is taken back, or in a sample than its fixed"
        " day: such a decision can't be read. If an access has a keep and a remove of"
        " one day, both can't be read, unless one of them is void anyway."
    ),
    "removing": (
        "A removal is carried out in the application, by somebody who may change the"
        " grant or the membership: each way names its rows. A reviewer without these"
        " rights asks the global administrators. If the row also gives access that is"
        " to stay, grant that by a row of its own first. Access that was certified by a"
        " way that goes is new since: decide it again."
    ),
    "for_others": (
        "Lines for several reviewers stand in one table. Pass the table on, or send"
        " back your lines and let the others send back theirs: a line that comes back"
        " twice counts once. If several people decide in a table, fill in decided by in"
        " each line. An empty decided by stands for the person named when the table is"
        " taken back; if that is the user of the line, a keep is void. The whole pack"
        " has all lines, and global administrators decide from it. The pack of an owner"
        " has only the objects that this person owns or holds Project Admin on."
    ),
    "counts": (
        "A keep is void if it is about the reviewer's own access, or if the reviewer is"
        " not live. A remove always counts. A keep by anybody else counts, even if the"
        " line names other reviewers. When a table is taken back, whoever runs the"
        " review sees the lines that name others, the keeps of one's own access, and"
        " the lines with something to do first. A keep by somebody who is not live is"
        " found after the next run. If nobody can be asked, for example about the only"
        " other global administrator, whoever runs the review names somebody."
    ),
    "decides": (
        "The person in charge decides. About their own access, another person in charge"
        " or a global administrator decides. The global administrators decide about"
        " access that a global role alone gives, and about objects without a person in"
        " charge; about the access of one of them, another one decides. The person in"
        " charge also decides about ways of a global administrator beside the global"
        " role."
    ),
    "dormant": (
        "Dormant access: the person in charge decides on their own page, by keep or"
        " remove; the global administrators look at the account of the person."
    ),
    "in_part": (
        "A line has one word for all of its ways. To remove only some of them, change"
        " the application first, and decide about the remaining ways from a new pack."
    ),
    "since": (
        "The day is the one on which the row was created. A row keeps it when its role"
        " or holder changes, and when it is switched off and on again. Or earlier: the"
        " row of another way has no date, or is an owner's, which has none. Not known:"
        " no way has a date."
    ),
    "in_charge": (
        "In charge of a data source or a report is its live owner; of a project,"
        " whoever holds Project Admin on it, which the role Admin gives."
    ),
    "whole": "These are all findings.",
    "unread": (
        "These rows of the application can't be used, for the reason beside each. They"
        " give nobody anything, and neither does a row that needs one of them. A row"
        " shows the values as they were delivered; one with is_active off was meant to"
        " end something. A row without a readable id ends nothing: its target stays in"
        " force. If two equally new rows say on and off, off counts, and neither is"
        " listed here. Have each row mended at its source: it then counts again."
    ),
    "unread_in_part": (
        "Rows that can't be used are not in this pack, since their objects can't be"
        " relied on. The whole pack has them."
    ),
    "part": (
        "These are the findings about the data sources, projects and reports that one"
        " person is in charge of; about the people who have access to these data"
        " sources and projects, such as a long time without a login; and about the"
        " memberships by which they have it."
    ),
}
# For each rule: the meaning of its finding, and the remedy.
RULES = {
    "dormant-admin": (
        "Somebody with a global role has not logged in for the number of days at the"
        " top of the page.",
        "Take the role away, or find out why nobody uses it.",
    ),
    "removed-and-still-there": (
        "A review has removed this access, and it is still there.",
        "Break each way in the application, at the row that is this person's own,"
        " usually a membership: the permission of a group belongs to all its members."
        " Below the ways stand the other rights that a membership gives. Grant those"
        " that are to stay by a row of their own first, or record that the decision"
        " takes them away too.",
    ),
    "toxic-pair": (
        "Somebody holds two permissions on one object that nobody should hold together."
        " The same two on different objects are not found. Behind each permission stand"
        " the rows that give it. A person's ways name the roles, if such a row is among"
        " them. Behind because stands the reason.",
        "Take one of the two away, at each row that gives it. Access that was certified"
        " by such a row is to be decided again.",
    ),
    "too-many-global-admins": (
        "More people than intended hold the role Global Admin. Who is who names them.",
        "Give those who look after some objects rights on these instead.",
    ),
    "dormant-access": (
        "Somebody with access, and without a global role, has not logged in for the"
        " number of days at the top of the page. All rights on all objects count, also"
        " on reports, and rights that show nothing.",
        "The person in charge decides about the access on their own page, by keep or"
        " remove. The global administrators look at the account: they ask the person's"
        " superior, and switch it off if the person has left.",
    ),
    "data-source-without-owner": (
        "No live user owns the data source.",
        "Name an owner, who decides from then on.",
    ),
    "group-parent-ignored": (
        "A group is in a ring of groups, or its parent is gone: it inherits nothing.",
        "Mend the parent of the group, and look at what it then inherits.",
    ),
    "void-decision": (
        "A decision was taken by the person whose access it is, or by somebody who was"
        " not live when the rights were read. A remove counts all the same.",
        "Let somebody else decide.",
    ),
    "grant-gives-nothing": (
        "A row that should give rights gives nobody any. Before the colon stands what"
        " is missing: somebody to hold the right, its object, or a link between a"
        " project and a data source. Not live: it is switched off or gone. Can't be"
        " used: its latest delivered row is not usable.",
        "Switch the row off, or mend what is missing. If that is still to come, have"
        " the finding excused, as above. Ask the person in charge of a data source"
        " before you switch off a link to it. If a row can't be used, have it mended"
        " at its source, and switch nothing off.",
    ),
    "grant-has-run-out": (
        "The time of a row that gave a right is over: it gives nothing any more, and is"
        " still there.",
        "Delete the row, or give it a later end if the right is still needed.",
    ),
    "redundant-grant": (
        "A row gives only what other rows give too: without it nobody loses anything."
        " It may be about rights that are not reviewed here, such as to edit; then it"
        " is not among the ways.",
        "Switch this row off. The other rows may be somebody's only way, and stay. If"
        " rows name each other, switch one off: the findings about the others no longer"
        " hold, and the next review finds them anew. Access that was certified by the"
        " row is to be decided again.",
    ),
    "second-way": (
        "Like redundant-grant, with one difference: without the row, access_type names"
        " one kind of way instead of two.",
        "Switch this row off, unless both ways are meant. Access that was certified by"
        " it is to be decided again.",
    ),
}
