"""The accesses to the objects of a pack, with the ways to each and what is found."""

from __future__ import annotations

from secure_datasets.questions.facts.built import Built
from secure_datasets.review.models import parts
from secure_datasets.review.models.ways import SEEN, shown_ways
from secure_datasets.review.queries.elsewhere import also_given
from secure_datasets.review.queries.findings import ACCESS, OBJECT, asked_access
from secure_datasets.review.queries.objects import Ids
from secure_datasets.review.queries.users import administrators_by_id, lasts

# The rule of a finding, whether it is excused, and its row, if any.
NAMED_RULE = (
    "concat(rule, case when is_excused then ' (excused)' else '' end,"
    " coalesce(concat(': ', raw_table, ' ', raw_id), ''))"
)

# The joins of a person's and an object's names, and of the person's own charges.
JOINS_OF_NAMES_AND_CHARGES = """inner join live_users
    on people.user_id = live_users.user_id
inner join objects
    on
        people.object_type = objects.object_type
        and people.object_id = objects.object_id
left join charges as in_charge_here
    on
        people.user_id = in_charge_here.user_id
        and people.object_type = in_charge_here.object_type
        and people.object_id = in_charge_here.object_id
left join administrators
    on people.user_id = administrators.user_id"""

# The joins of a person's further access, findings and decider.
JOINS_OF_FINDINGS = """left join also_given
    on
        people.user_id = also_given.user_id
        and people.object_type = also_given.object_type
        and people.object_id = also_given.object_id
left join voided
    on
        people.user_id = voided.user_id
        and people.object_type = voided.object_type
        and people.object_id = voided.object_id
        and statuses.status = 'void'
left join named_users
    on coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) = named_users.user_id
left join charges as charges_of_decider
    on
        coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) = charges_of_decider.user_id
        and people.object_type = charges_of_decider.object_type
        and people.object_id = charges_of_decider.object_id
left join administrators as deciding_administrators
    on coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) = deciding_administrators.user_id
left join everywhere
    on people.user_id = everywhere.user_id
left join here
    on
        people.user_id = here.user_id
        and people.object_type = here.object_type
        and people.object_id = here.object_id"""

# The last decision, and who made it.
LAST_DECISION = """concat(
        coalesce(statuses.decision, voided.decided.decision), ' by ',
        coalesce(nullif(named_users.person, ''), concat('user ', cast(coalesce(statuses.decided_by_user_id, voided.decided.decided_by_user_id) as string))),
        -- The decision counts even so, but auditors ask for it.
        case when charges_of_decider.user_id is null and deciding_administrators.user_id is null then ' (not in charge now)' else '' end,
        ' on ', cast(coalesce(statuses.decided_on, voided.decided.decided_on) as string)
    )"""


def accesses(built: Built, ids: Ids, people: Ids) -> list[str]:
    """Return the steps of the accesses to the objects; with `people`, only theirs."""
    if people is None:
        shown = [shown_ways(built, "objects", OBJECT, is_told=True)]
    else:
        shown = [
            asked_access(people),
            shown_ways(built, "asked", ACCESS, is_told=True),
        ]
    return [
        *shown,
        *_findings_of_rows(built),
        *also_given(built, ids, people),
        _people_with_access(built),
        *_rows_of_pairs(built),
        *_findings_of_people(built),
        _void_decisions(built),
        administrators_by_id(built),
        parts.users_by_name(built),
        _access_in_pack(built, people),
    ]


def _access_in_pack(built: Built, people: Ids) -> str:
    """Return the rows: each access with its status, its findings and who decides."""
    since = built.macros["utc_day"]("people.since")
    by_person = "" if people is None else "people.user_id, objects.object_name, "
    return f"""select
    people.object_type,
    people.object_id,
    people.user_id,
    live_users.person,
    live_users.login_name,
    people.ways,
    also_given.shortly as elsewhere,
    also_given.told as elsewhere_in_full,
    -- The top of the page names the people in charge.
    nullif({_who_else(built)}, objects.in_charge) as decides,
    cast({since} as string) as since,
    live_users.last_login,
    everywhere.found as found_everywhere,
    here.found as found_here,
    people.of_grants as found_of_grants,
    people.of_members as found_of_members,
    here.asked as asked_here,
    people.asked_of_grants,
    people.asked_of_members,
    here.put_off.until as put_off_until,
    here.put_off.owner as put_off_by,
    people.seen,
    objects.object_name,
    objects.in_charge,
    -- The access may be newer than the stored status, because rights are run more often.
    case
        when statuses.status is null then 'never reviewed'
        when statuses.status not in ('certified', 'overdue') then statuses.status
        when not (people.seen <=> statuses.seen) then 'new since'
        when not {lasts(built)} then 'overdue'
        else statuses.status
    end as status,
    case when people.seen <=> statuses.seen then cast(statuses.certified_until as string) end as certified_until,
    cast(statuses.decided_on as string) as last_decided_on,
    {LAST_DECISION} as last_decision
from people
{JOINS_OF_NAMES_AND_CHARGES}
{_join_of_status(built, people)}
{JOINS_OF_FINDINGS}
order by {by_person}people.object_type, people.object_id, live_users.person, people.user_id"""


def _who_else(built: Built) -> str:
    """Return the people who decide about an access, never the person who has it."""
    return parts.who_else(
        "in_charge_here.user_id is not null",
        "objects.number_in_charge",
        "administrators.user_id is not null",
        "people.is_global or objects.number_in_charge = 0",
        "objects.in_charge",
    )


def _join_of_status(built: Built, people: Ids) -> str:
    """Return the join of the review status of each access in the pack."""
    within, same_user = "objects", ""
    if people is not None:
        within, same_user = "asked", "\n            and statuses.user_id = told.user_id"
    return f"""left join (
    select statuses.*
    from {built.relation("review_status")} as statuses
    left semi join {within} as told
        on
            statuses.object_type = told.object_type
            and statuses.object_id = told.object_id{same_user}
) as statuses
    on
        people.user_id = statuses.user_id
        and people.object_type = statuses.object_type
        and people.object_id = statuses.object_id"""


def _findings_of_rows(built: Built) -> list[str]:
    """Return the CTEs of the findings about rows that may give several people access."""
    return [
        f"""-- The findings about rows that give access, but do not name both the person and the object.
found_rows as (

    select
        raw_table,
        raw_id,
        min({_told_finding()}) as finding
    from {built.relation("access_findings")}
    where raw_id is not null and (user_id is null or raw_table = 'user_group_members')
    group by raw_table, raw_id

)""",
        f"""-- The rows among several ways that a finding asks to remove, unless it is excused.
asked_rows as (

    select
        findings.raw_table,
        findings.raw_id,
        min(named_struct(
            'rule', findings.rule, 'subject', findings.subject, 'is_of_group', findings.user_id is null,
            'stands_in', concat({parts.STAND_INS}), 'who_acts', findings.who_acts
        )) as asked
    from {built.relation("access_findings")} as findings
    inner join {built.relation("judged_grants")} as grants
        on findings.raw_table = grants.grant_table and findings.raw_id = grants.grant_id
    where findings.rule in ('redundant-grant', 'second-way') and not findings.is_excused
    group by findings.raw_table, findings.raw_id

)""",
    ]


def _people_with_access(built: Built) -> str:
    """Return the CTE of the people with access, each with the ways to it."""
    return f"""people as (

    select
        user_id,
        object_type,
        object_id,
        min(since) as since,
        {SEEN} as seen,
        array_sort(collect_list(named_struct(
            'way', way, 'since', cast({built.macros["utc_day"]("since")} as string), 'granted_by', created_by, 'member_by', member_created_by,
            'by_row', concat(grant_table, ' ', grant_id)
        ))) as ways,
        min(grant_table) = 'user_global_roles' and max(grant_table) = 'user_global_roles' as is_global,
        array_sort(collect_set(found_grants.finding)) as of_grants,
        array_sort(collect_set(found_members.finding)) as of_members,
        array_sort(collect_set(asked_grants.asked)) as asked_of_grants,
        array_sort(collect_set(asked_members.asked)) as asked_of_members
    from ways
    left join found_rows as found_grants
        on ways.grant_table = found_grants.raw_table and ways.grant_id = found_grants.raw_id
    left join found_rows as found_members
        on found_members.raw_table = 'user_group_members' and ways.user_group_member_id = found_members.raw_id
    left join asked_rows as asked_grants
        on ways.grant_table = asked_grants.raw_table and ways.grant_id = asked_grants.raw_id
    left join asked_rows as asked_members
        on asked_members.raw_table = 'user_group_members' and ways.user_group_member_id = asked_members.raw_id
    group by user_id, object_type, object_id

)"""


def _rows_of_pairs(built: Built) -> list[str]:
    """Return the CTEs of the rows that give each toxic pair, for both its sides."""
    return [
        parts.toxic_sides(built, is_found=True),
        f"""rows_of_pairs as (

    select
        {parts.TOXIC_SUBJECT} as pair_subject,
        array_sort(collect_list(named_struct('side', side, 'told', told, 'by_rows', by_rows))) as sides
    from toxic_sides
    group by user_id, object_type, object_id, pair

)""",
    ]


def _findings_of_people(built: Built) -> list[str]:
    """Return the CTEs of the findings beside a person's access."""
    return [
        f"""-- The findings about a user in general, and about the user's access here.
everywhere as (

    select
        user_id,
        array_sort(collect_set({_told_finding(is_in_full=True)})) as found
    from {built.relation("access_findings")}
    where user_id is not null and object_id is null
    group by user_id

)""",
        f"""here as (

    select
        user_id,
        object_type,
        object_id,
        array_sort(collect_set({_told_finding()})) as found,
        array_sort(collect_set(
            case
                when rule = 'toxic-pair' and not is_excused
                    then named_struct('rule', rule, 'subject', subject, 'sides', rows_of_pairs.sides, 'who_acts', who_acts)
            end
        )) as asked,
        max(
            case
                when rule = 'removed-and-still-there' and is_excused and exception_expires_on >= cast({built.macros["judged_on"]()} as date)
                    then named_struct('until', cast(exception_expires_on as string), 'owner', exception_owner)
            end
        ) as put_off
    from {built.relation("access_findings")} as findings
    left join rows_of_pairs
        on findings.subject = rows_of_pairs.pair_subject
    where user_id is not null and object_id is not null
    group by user_id, object_type, object_id

)""",
    ]


def _told_finding(is_in_full: bool = False) -> str:
    """Return a finding beside a person: its severity, its words, and what names it.

    is_in_full  whether the words include the detail of the finding
    """
    told = f"concat({NAMED_RULE}, ': ', detail)" if is_in_full else NAMED_RULE
    return f"""named_struct(
            'severity', severity, 'told', {told},
            'rule', rule, 'subject', subject, 'is_excused', is_excused
        )"""


def _void_decisions(built: Built) -> str:
    """Return the CTE of the last void decision about each access."""
    return f"""-- A void decision certifies nothing, but its decider is shown.
voided as (

    select
        user_id,
        object_type,
        object_id,
        max(named_struct('decided_on', decided_on, 'decision', decision, 'decided_by_user_id', decided_by_user_id)) as decided
    from {built.relation("judged_decisions")}
    where verdict = 'void'
    group by user_id, object_type, object_id

)"""
