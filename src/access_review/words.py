"""What the words of a pack mean, for who reads it without the project's pages."""

from __future__ import annotations

# Where access stands in the reviews, from what has to be done first.
STATUSES = {
    "to be removed": (
        "the last decision that counts is to remove it, and it is there: no new one is"
        " needed, unless it is to stay, and whoever decided writes keep"
    ),
    "unreadable": "a decision about it can't be read; who runs the review mends it",
    "void": (
        "kept by the person whose access it is, or by who is not live: decide again"
    ),
    "new since": (
        "kept, but the access came another way since, or a way is gone, or its results"
        " show in other projects now: nobody has certified what is there now"
    ),
    "overdue": "kept as it is today, but too long ago: decide again",
    "never reviewed": (
        "nobody has decided about it; such is who came since the last review"
    ),
    "certified": (
        "kept as it is today, and not too long ago: a row that was off in between"
        " counts as if it had been there all the time"
    ),
}
# What is to be seen to before all that nobody has looked at yet.
URGENT = ("to be removed", "unreadable", "void", "new since", "overdue")
# What the help says in the words of docs/review.md.
TOLD = {
    "days": (
        "The rights are those of the last run, which may be of an earlier day than the"
        " one as of which a pack judges: then what is certified or overdue counts as of"
        " the second day, and what is found, excused or dormant as of the run. But a"
        " sample is judged as of a day that is set for it, so that it does not expire:"
        " there all of this counts as of that day, and may be otherwise today. Who has"
        " logged in after the day as of which is judged is not dormant, whenever the"
        " login before was."
    ),
    "one_way": (
        "A decision is about all the ways that are shown. Where a finding asks to take"
        " away one of several, as toxic-pair, redundant-grant and second-way may, see"
        " first to what it asks, and decide from a new pack. Until then leave the line"
        " empty: its status stays as it is. The page says of which lines this is so,"
        " under Who decides, and the table under first see to. Who is to lose all of it"
        " may be removed at once. But a toxic pair is still held then if each of the"
        " two is held by a row that is none of the ways, which its line says."
    ),
    "meant": (
        "If a finding is intended, tell who runs the review which finding, by its"
        " rule and what it is about, who answers for it, why, and until which day. It"
        " then stands as excused until that day: who runs the review enters it in the"
        " table finding_exceptions. Once it is entered there, the line may be decided,"
        " also where your pack still says to see to it first. What is found of a row"
        " that is not among the ways does not hold a line up."
    ),
    "decided_on": (
        "A day under decided on is written like 2026-07-01, and is not after the day,"
        " in UTC, on which who runs the review takes the table back: a later one is in"
        " the future, and the decision can't be read. In a sample that is judged as of"
        " a day that is set for it, which the top of each page names, a decision's day"
        " may not be later than that day. Keep and remove about one access can't be"
        " read either if both were decided on one day, unless one of them counts for"
        " nothing by itself."
    ),
    "removing": (
        "A remove is carried out by whoever may change the grant or the membership in"
        " the application: each way names its rows. Who does not have the rights for"
        " it asks the global administrators. Where such a row also gives what is to"
        " stay, what stays is first given by a row of its own. What was"
        " kept by a row that goes is decided again: it is new since."
    ),
    "for_others": (
        "Lines that others decide are decided in the same table: hand it on to them,"
        " or send it back with your own lines, and they send back theirs. A line that"
        " comes back twice counts once."
        " Where more than one person decides in a table, fill in decided by in each"
        " line. Else all of these decisions are recorded as taken by who is named when"
        " the table comes back. If that is the person whose access is kept, the line"
        " counts for nothing. The pack of everything has all lines, and is what global"
        " administrators decide from. The pack of an owner has only what that"
        " person is in charge of as an owner or by Project Admin."
    ),
    "counts": (
        "Nobody keeps their own access, and who is not live keeps nobody's: such a"
        " decision to keep never counts. One to remove always does. A decision to"
        " keep by anybody else counts, even if others are named in the line. When the"
        " table comes back, who runs the review is told of lines that name others, of"
        " what people keep of their own, and of what was first to be seen to. What is"
        " kept by who is not live is found after the next run. Where nobody is left"
        " to be asked, or who is asked does not answer, as about the only other global"
        " administrator, who runs the review names somebody."
    ),
    "decides": (
        "About the access of who is in charge, somebody else in charge or a global"
        " administrator decides. About what a global role alone gives, and where nobody"
        " is in charge, the global administrators decide, and about the access of one"
        " of them another one. About what a global administrator holds by other ways,"
        " too, whoever is in charge decides."
    ),
    "dormant": (
        "About dormant access, whoever is in charge decides on their own page, by keep"
        " or remove; the global administrators look at the account of the person."
    ),
    "in_part": (
        "A line has one word for all of its ways. To take a part of them away, let the"
        " application be changed first, and decide about what is left from a new pack."
    ),
    "since": (
        "It is the day on which a row was created: one that was later given another"
        " role or holder, or was switched off and on again, keeps that day."
        " Or earlier is said where the row of another way has no date, or is that of an"
        " owner, which does not say since when they own it. Not known is said where"
        " this is so of all ways."
    ),
    "in_charge": (
        "In charge of a data source or a report is its live owner, of a project who"
        " holds Project Admin on it, as the role Admin gives."
    ),
    "whole": "All that was found is here.",
    "unread": (
        "What the application delivered of these rows can't be used, for the reason"
        " beside each. They give nobody anything, whatever they were meant to give,"
        " and so does each row that needs one of them. What a row names stands there as"
        " it was delivered: one whose is_active is off was to end something. Nor does"
        " one take anything away whose number can't be read: what it was meant to end"
        " goes on. Of equally new"
        " rows that say on and off, off counts, and that is no row of these. Have each"
        " mended where it comes from: it counts again from then on."
    ),
    "unread_in_part": (
        "Rows that could not be used are not in this pack: what they are about can't be"
        " relied on. They are in the pack of everything, which who runs the review has."
    ),
    "part": (
        "What was found of the data sources, projects and reports that one person is in"
        " charge of is here. So is what was found of the people who have access to"
        " these data sources and projects, of each as a whole, such as a long time"
        " without a login, and of the memberships by which they have it."
    ),
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
        " mostly a membership: the permission of a group is everybody's in it. What"
        " else a membership gives stands below the ways; give what is to stay by a row"
        " of its own before, or say that the decision takes it away, too.",
    ),
    "toxic-pair": (
        "Somebody holds two permissions that nobody should hold on one object: who"
        " holds them on different ones is not found. Behind"
        " each stand the rows by which it is held: the role of such a row is what bears"
        " it. A person's ways name the roles, where such a row is one of them. Behind"
        " because stands why nobody should hold both.",
        "Take one of the two away, by each row by which it is held. Where such a row"
        " was a way of something certified, that is decided again.",
    ),
    "too-many-global-admins": (
        "More people hold the role Global Admin than is meant. Who they are stands"
        " under Who is who.",
        "Give those who look after some objects rights on these instead.",
    ),
    "dormant-access": (
        "Who has access, and holds no global role, has not logged in for as long as the"
        " top of the page says."
        " All rights on all objects are counted, also on reports, and rights by which"
        " nothing is shown.",
        "Whoever is in charge decides about the access on their own page, by keep or"
        " remove. The global administrators look at the account: they ask the person's"
        " superior, and switch it off if the person has left.",
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
        " when the rights were read. One to remove stands all the same.",
        "Let somebody else decide.",
    ),
    "grant-gives-nothing": (
        "A row that should give rights gives nobody any. Before the colon stands what"
        " it lacks: somebody to hold the right, the object that it is about, or a link"
        " between a project and a data source. Something is not live if it is switched"
        " off or gone. It can't be used if what the application delivered last of it"
        " is no usable row.",
        "Switch it off, or mend what it lacks, unless what it lacks is still to come:"
        " then it is excused, as above. Before a link is switched off, whoever is in"
        " charge of its data source is asked. If a row can't be used, have that row"
        " mended where it comes from, and switch nothing off.",
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
        "A redundant-grant but for one thing: without the row, access_type names one"
        " kind of way and not two.",
        "Switch this row off, unless both are meant. Where it was a way of something"
        " certified, that is decided again.",
    ),
}
