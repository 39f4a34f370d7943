"""The findings of an access review, by the rules of `finding_rules.py`."""

from __future__ import annotations

from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.notes import Facts
from secure_datasets.review.models import parts


def access_findings(built: Built, given: Facts) -> str:
    """Return the query of the findings.

    Each has its severity, the people who should act, and the exception that excuses it
    as long as it is in force.

    given  `finding_rules`, the severity of each rule; `dormant_days` and
           `global_admins_limit`, the variables
    """
    day = built.macros["utc_day"]
    severities = "".join(
        f"\n    when '{rule}' then '{severity}'"
        for rule, severity in given["finding_rules"].items()
    )
    in_time = built.macros["rights_in_time"]()
    return parts.template(
        built,
        "access_findings",
        named_users=parts.users_by_name,
        named_things=parts.things_by_name,
        admins=parts.admins,
        toxic_sides=parts.toxic_sides,
        toxic_subject=parts.TOXIC_SUBJECT,
        charges=parts.charges,
        judged_on=built.macros["judged_on"](),
        dormant_days=given["dormant_days"],
        global_admins_limit=given["global_admins_limit"],
        has_logins=parts.has_logins,
        login_day=day("date_last_login"),
        # Whoever never logged in is dormant some days after the creation of the user,
        # and at once if the time of creation is unknown.
        last_seen_day=day("coalesce(date_last_login, date_created)"),
        owner=parts.numbered("user", "sources.owner_user_id", "named_users.person"),
        not_live_owner=parts.not_live(
            "user", "sources.owner_user_id", "named_users", "person"
        ),
        parent=parts.numbered(
            "group", "user_groups.parent_user_group_id", "named_things.name"
        ),
        decider=parts.numbered(
            "user", "statuses.decided_by_user_id", "named_users.person"
        ),
        stand_ins=parts.STAND_INS,
        # The time of the stand-in may end before the time of this row.
        for_now="; it is so now, and the rows may have other times" * bool(in_time),
        run_out=_run_out,
        severity=f"case found.rule{severities}\nend",
        who_acts=parts.who_else(
            "own_charges.user_id is not null",
            "in_charge.number_in_charge",
            "coalesce(admins.is_global_admin, false)",
            "in_charge.who_acts is null",
            "in_charge.who_acts",
        ),
    )


def _run_out(built: Built) -> str:
    """Return further parts of the findings: the rows whose time is over."""
    tables = [built.tables[name] for name in built.macros["rights_in_time"]()]
    return "".join(
        _run_out_of(built, table)
        for table in tables
        if "valid_until" in table["columns"]
    )


def _run_out_of(built: Built, table: Facts) -> str:
    """Return the part of a raw table."""
    name, key = table["name"], table["key"]
    user = "user_id" if "user_id" in table["columns"] else "cast(null as bigint)"
    return f"""
    union all
    select
        'grant-has-run-out' as rule,
        concat('{name} ', {key}) as subject,
        {user} as user_id,
        cast(null as string) as object_type,
        cast(null as bigint) as object_id,
        '{name}' as raw_table,
        {key} as raw_id,
        concat('its time was over on ', cast({built.macros["utc_day"]("valid_until")} as string), ', and the row is still there') as detail
    from {built.ref(f"stg_{name}")}
    where is_live_in_its_time and valid_until <= {built.macros["readers_clock"]()}"""
