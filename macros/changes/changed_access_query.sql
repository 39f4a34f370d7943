{#
    The rows of the access views that only one of two states has, or that say another
    access_type, with a column for each key that any tier has.

    states  what states_compared() returns
#}
{% macro changed_access_query(states) -%}
{%- set changes, queries = adapter.access_changes(), [] -%}
{%- for pair in changes.pairs(states, 'tiers') -%}
    {%- do queries.append(secure_datasets._changed_tier(pair, changes.all_keys(states))) -%}
{%- endfor -%}
{{ queries | join('\nunion all\n') }}
{%- endmacro %}


{# The changes of one tier; of a pair, one side may be none. #}
{% macro _changed_tier(pair, all_keys) -%}
{%- set keys = (pair.after or pair.before)['keys'] -%}
{%- set has_type = pair.before and pair.after and 'access_type' in pair.before.carries and 'access_type' in pair.after.carries %}
select
    {{ secure_datasets.sql_text(pair.name) }} as tier,
    compared.user_id,
    {%- for key in all_keys %}
    {{ 'compared.' ~ key if key in keys else 'cast(null as bigint)' }} as {{ key }},
    {%- endfor %}
    {{ secure_datasets.named_keys(keys, 'compared') }} as object_keys,
    compared.is_before,
    compared.is_after,
    compared.access_type_before,
    compared.access_type_after
from (
    {%- if pair.before and pair.after %}
    select
        coalesce(before_rows.user_id, after_rows.user_id) as user_id,
        {%- for key in keys %}
        coalesce(before_rows.{{ key }}, after_rows.{{ key }}) as {{ key }},
        {%- endfor %}
        before_rows.user_id is not null as is_before,
        after_rows.user_id is not null as is_after,
        {{ 'before_rows.access_type' if has_type else 'cast(null as string)' }} as access_type_before,
        {{ 'after_rows.access_type' if has_type else 'cast(null as string)' }} as access_type_after
    from {{ secure_datasets._rows_of_differing_users(pair, pair.before, has_type) }} as before_rows
    full outer join {{ secure_datasets._rows_of_differing_users(pair, pair.after, has_type) }} as after_rows
        on
            before_rows.user_id = after_rows.user_id
            {%- for key in keys %}
            and before_rows.{{ key }} = after_rows.{{ key }}
            {%- endfor %}
    where
        before_rows.user_id is null
        or after_rows.user_id is null
        {%- if has_type %}
        or not (before_rows.access_type <=> after_rows.access_type)
        {%- endif %}
    {%- else %}
    select
        seen.user_id,
        {%- for key in keys %}
        seen.{{ key }},
        {%- endfor %}
        {{ 'true' if pair.before else 'false' }} as is_before,
        {{ 'true' if pair.after else 'false' }} as is_after,
        cast(null as string) as access_type_before,
        cast(null as string) as access_type_after
    from {{ (pair.before or pair.after).schema }}.{{ (pair.before or pair.after).relation }} as seen
    {%- endif %}
) as compared
{%- endmacro %}


{#
    The rows of a state of the users who have not the same in both: to join all rows costs far more
    than to read them. What both states have alike goes from the digest of the user's rows.
#}
{% macro _rows_of_differing_users(pair, side, has_type) -%}
{%- set told = pair.after['keys'] + (['access_type'] if has_type else []) -%}
(
        select seen.*
        from {{ side.schema }}.{{ side.relation }} as seen
        left semi join (
            select user_id
            from (
                {%- for state in [pair.before, pair.after] %}
                select
                    user_id,
                    xxhash64({{ told | join(', ') }}) as digest
                from {{ state.schema }}.{{ state.relation }}
                {{ 'union all' if not loop.last }}
                {%- endfor %}
            ) as told_rows
            group by user_id
            having bit_xor(digest) != 0
        ) as differing
            on seen.user_id = differing.user_id
    )
{%- endmacro %}
