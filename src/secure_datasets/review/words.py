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
