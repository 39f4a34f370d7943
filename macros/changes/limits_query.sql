{#
    Each limit with what it finds of the changes between two states: the changes that it is
    about, whether they exceed it, and who has approved exactly these.

    relations  how the limits, approvals, access_changes and row_changes are called
    states     what states_compared() returns
#}
{% macro limits_query(relations, states) -%}
{%- set counted = {
    'users_gain': ['user gains', 'users gain'], 'users_lose': ['user loses', 'users lose'],
    'rows_gain': ['row is gained', 'rows are gained'], 'rows_lose': ['row is lost', 'rows are lost'],
} %}
{%- set names = adapter.access_changes().names(states) if states else [] -%}
with names (kind, name, is_before, is_after) as (
    {{ secure_datasets.values_query(names, 4) | indent(4) }}
),

limits as (

    -- As they are read before the run. But for roles, names are lower case, and so are patterns.
    select
        {{ secure_datasets.trimmed_text('limit_name') }} as limit_name,
        {%- for column in ['tier', 'object', 'dataset'] %}
        lower({{ secure_datasets.trimmed_text(column) }}) as {{ column }},
        {%- endfor %}
        -- A group by its id, `{group: 17}`, however it is spaced.
        case
            when {{ secure_datasets.trimmed_text('role') }} rlike '^[{] *group *: *[0-9]+ *[}]$'
                then concat('{group: ', regexp_extract(role, '[0-9]+', 0), '}')
            else {{ secure_datasets.trimmed_text('role') }}
        end as role,
        {%- for number in counted %}
        most_{{ number }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ relations.limits }}

),

about as (

    select
        limits.*,
        names.kind,
        names.name,
        names.is_before,
        names.is_after
    from limits
    inner join names
        on
            names.kind = case when limits.dataset is null then 'tier' else 'dataset' end
            and {{ secure_datasets._is_like('names.name', 'coalesce(limits.tier, limits.dataset)') }}

),

-- What is new may be the same under another name, where any of a limit's is there no more.
asked as (

    select
        limit_name,
        role,
        kind,
        name,
        object
    from about
    union
    select
        gone.limit_name,
        gone.role,
        gone.kind,
        names.name,
        cast(null as string) as object
    from (
        select
            limit_name,
            role,
            kind
        from about
        group by limit_name, tier, dataset, object, role, kind
        having max(is_before = 'yes' and is_after = 'no')
    ) as gone
    inner join names
        on gone.kind = names.kind
    where names.is_before = 'no'

),

roles as (

    select
        user_id,
        collect_set(role_name) as role_names
    from (
        {%- for side in ['before', 'after'] %}
        select user_id, role_name from {{ var(side) | lower }}.vw_secure_user_roles
        union all
        select user_id, concat('{group: ', user_group_id, '}') as role_name from {{ var(side) | lower }}.vw_secure_user_roles
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    ) as held
    group by user_id

),

changes as (

    select
        asked.limit_name,
        asked.role,
        changes.user_id,
        changes.change = 'gained' as is_gain,
        changes.change = 'lost' as is_loss,
        cast(0 as bigint) as rows_gained,
        cast(0 as bigint) as rows_lost,
        concat_ws('|', changes.tier, changes.object_keys, changes.change) as told
    from asked
    inner join {{ relations.access_changes }} as changes
        on
            asked.kind = 'tier'
            and changes.tier = asked.name
            and changes.change != 'other access_type'
            and {{ secure_datasets._is_like('changes.object_keys', 'asked.object') }}
    union all
    select
        asked.limit_name,
        asked.role,
        changes.user_id,
        changes.rows_gained + changes.values_newly_shown + changes.values_masked_otherwise > 0 as is_gain,
        changes.rows_lost + changes.values_newly_covered > 0 as is_loss,
        changes.rows_gained + changes.values_newly_shown + changes.values_masked_otherwise as rows_gained,
        changes.rows_lost + changes.values_newly_covered as rows_lost,
        concat_ws('|', changes.dataset, changes.rows_digest) as told
    from asked
    inner join {{ relations.row_changes }} as changes
        on
            asked.kind = 'dataset'
            and changes.dataset = asked.name

),

-- By user first, so that no text holds all changes of all users.
by_user as (

    select
        changes.limit_name,
        changes.user_id,
        max(changes.is_gain) as is_gain,
        max(changes.is_loss) as is_loss,
        sum(changes.rows_gained) as rows_gained,
        sum(changes.rows_lost) as rows_lost,
        md5(array_join(array_sort(collect_list(changes.told)), '|')) as told
    from changes
    left join roles
        on changes.user_id = roles.user_id
    where
        changes.role is null
        or array_contains(roles.role_names, changes.role)
        -- Who holds a role reads the rows for everyone too.
        or changes.user_id is null
    group by changes.limit_name, changes.user_id

),

found as (

    select
        limit_name,
        -- A row for everyone bears no user, and counts as one.
        count_if(is_gain) as users_gain,
        count_if(is_loss) as users_lose,
        sum(rows_gained) as rows_gain,
        sum(rows_lost) as rows_lose,
        sha2(array_join(array_sort(collect_list(concat_ws('|', coalesce(cast(user_id as string), 'everyone'), told))), '|'), 256) as changes
    from by_user
    group by limit_name

),

approved as (

    select
        limit_name,
        changes,
        min(approver) as approver
    from (
        select
            {{ secure_datasets.trimmed_text('limit_name') }} as limit_name,
            {{ secure_datasets.trimmed_text('changes') }} as changes,
            approver,
            expires_on
        from {{ relations.approvals }}
    ) as approvals
    where expires_on >= cast({{ secure_datasets.judged_on() }} as date)
    group by limit_name, changes

)

select
    limits.limit_name,
    concat_ws(
        ', '
        {%- for number, (of_one, of_more) in counted.items() %},
        case when found.{{ number }} > limits.most_{{ number }}
            then concat(found.{{ number }}, if(found.{{ number }} = 1, ' {{ of_one }}', ' {{ of_more }}')) end
        {%- endfor %}
    ) as found,
    concat_ws(
        ', '
        {%- for number in counted %},
        case when found.{{ number }} > limits.most_{{ number }} then cast(limits.most_{{ number }} as string) end
        {%- endfor %}
    ) as allowed,
    found.changes,
    {%- for number in counted %}
    {{ '' if loop.first else 'or ' }}coalesce(found.{{ number }} > limits.most_{{ number }}, false)
    {%- endfor %} as is_exceeded,
    approved.approver
from limits
inner join found
    on limits.limit_name = found.limit_name
left join approved
    on
        found.limit_name = approved.limit_name
        and found.changes = approved.changes
{%- endmacro %}


{#
    Whether a value is what a pattern says, which may begin or end with *, or both; an empty one
    says nothing.
#}
{% macro _is_like(value, pattern) -%}
{%- set named = "replace(" ~ pattern ~ ", '*', '')" -%}
(
                {{ pattern }} is null
                or {{ value }} = {{ pattern }}
                or ({{ pattern }} like '%*' and startswith({{ value }}, {{ named }}))
                or ({{ pattern }} like '*%' and endswith({{ value }}, {{ named }}))
                or ({{ pattern }} like '*%' and {{ pattern }} like '%*' and contains({{ value }}, {{ named }}))
            )
{%- endmacro %}
