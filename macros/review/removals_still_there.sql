{#
    Renders the decided removals whose access is still there and that no exception excuses, by the
    days since the first decision to remove that no later keep took back.

    after  only removals that are more days old
    until  only removals that are at most so many days old; none for all
#}
{% macro removals_still_there(after, until=none) -%}
{%- set today = 'cast(' ~ secure_datasets.judged_on() ~ ' as date)' -%}
with {{ secure_datasets._first_removals() }}

select
    findings.subject,
    findings.detail,
    findings.who_acts,
    removed.removed_on
from {{ ref('access_findings') }} as findings
inner join removed
    on
        findings.user_id = removed.user_id
        and findings.object_type = removed.object_type
        and findings.object_id = removed.object_id
where
    findings.rule = 'removed-and-still-there'
    and not findings.is_excused
    and removed.removed_on < date_sub({{ today }}, {{ after }})
    {%- if until is not none %}
    and removed.removed_on >= date_sub({{ today }}, {{ until }})
    {%- endif %}
{%- endmacro %}


{# The first decision to remove each access that no later keep took back. #}
{% macro _first_removals() -%}
kept as (

    select
        user_id,
        object_type,
        object_id,
        max(decided_on) as kept_on
    from {{ ref('judged_decisions') }}
    where verdict = 'counts' and decision = 'keep'
    group by user_id, object_type, object_id

),

removed as (

    -- Who decides to remove once more gains no time by it.
    select
        decisions.user_id,
        decisions.object_type,
        decisions.object_id,
        min(decisions.decided_on) as removed_on
    from {{ ref('judged_decisions') }} as decisions
    left join kept
        on
            decisions.user_id = kept.user_id
            and decisions.object_type = kept.object_type
            and decisions.object_id = kept.object_id
    where
        decisions.verdict in ('counts', 'void')
        and decisions.decision = 'remove'
        and (kept.kept_on is null or decisions.decided_on >= kept.kept_on)
    group by decisions.user_id, decisions.object_type, decisions.object_id

)
{%- endmacro %}
