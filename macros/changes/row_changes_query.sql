{#
    How many rows of each secure dataset each user has gained and lost between two states, how
    many masked values are newly covered or shown in the rows that both have, and by which raw
    rows: the first of them, and how many more there are.

    states  what states_compared() returns
#}
{% macro row_changes_query(states) -%}
{%- set changes, queries, rows_named = adapter.access_changes(), [], 10 -%}
{%- set pairs = changes.pairs(states, 'datasets') -%}
{%- for pair in pairs -%}
    {%- do queries.append(secure_datasets._changed_dataset(pair)) -%}
{%- endfor -%}
with counted as (
    {%- if queries %}
    {{ queries | join('\nunion all\n') | indent(4) }}
    {%- else %}
    {{ secure_datasets._no_changed_dataset() | indent(4) }}
    {%- endif %}
),

changed_access as (

    select
        tier,
        user_id,
        causes
    from {{ ref('access_changes') }}
    where change != 'other access_type'

),

tiers (dataset, tier) as (
    {{ secure_datasets.values_query(changes.tiers_of_datasets(states), 2) | indent(4) }}
),

access_of_users as (

    select distinct
        tiers.dataset,
        changed_access.user_id
    from tiers
    inner join changed_access
        on tiers.tier = changed_access.tier

),

roles_of_users as (
    {{ secure_datasets._users_with_other_roles(states) | indent(4) }}
),

rows_of_roles as (
    {{ secure_datasets._rows_of_other_roles(states) | indent(4) }}
),

rows_of_bases as (
    {%- for pair in pairs if pair.has_bases %}
    {%- set table = secure_datasets.referenced_table(pair.after.base, pair.after['keys'][0], {}) if pair.after['keys'] | length == 1 %}
    {{ secure_datasets._rows_of_changed_base(pair, changes.raw_rows_of(table, states, secure_datasets.repository_tables())) | indent(4) }}
    union
    {%- endfor %}
    {{ secure_datasets._no_changed_base() | indent(4) }}
),

-- A raw row may have changed the rows, the access and the roles of a user.
named_rows as (

    select
        dataset,
        user_id,
        cause,
        true as is_of_base
    from rows_of_bases
    union all
    select
        tiers.dataset,
        of_access.user_id,
        of_access.cause,
        false as is_of_base
    from tiers
    inner join (select tier, user_id, explode(causes) as cause from changed_access) as of_access
        on tiers.tier = of_access.tier
    -- Of access by which none of the user's rows came or went.
    left anti join (select dataset, user_id from counted where rows_by_access = 0) as by_others
        on tiers.dataset = by_others.dataset and of_access.user_id = by_others.user_id
    where of_access.cause != 'definition'
    union all
    select
        tiers.dataset,
        rows_of_roles.user_id,
        rows_of_roles.cause,
        false as is_of_base
    from tiers
    cross join rows_of_roles

),

distinct_rows as (

    select
        dataset,
        user_id,
        cause,
        max(is_of_base) as is_of_base
    from named_rows
    group by dataset, user_id, cause

),

placed_rows as (

    select
        *,
        row_number() over (partition by dataset, user_id order by cause) as place,
        count(*) over (partition by dataset, user_id) as in_all,
        max(is_of_base) over (partition by dataset, user_id) as has_changed_base
    from distinct_rows

),

rows_of_users as (

    select
        dataset,
        user_id,
        max(has_changed_base) as has_changed_base,
        array_sort(collect_list(cause)) as cause_rows,
        max(in_all) - count(*) as left_out
    from placed_rows
    where place <= {{ rows_named }}
    group by dataset, user_id

),

judged as (

    select
        counted.*,
        coalesce(rows_of_users.cause_rows, cast(array() as array<string>)) as cause_rows,
        coalesce(rows_of_users.left_out, 0) as cause_rows_left_out,
        filter(
            array(
                case when counted.rows_came + counted.rows_went + counted.rows_moved > 0 or rows_of_users.has_changed_base then 'rows' end,
                case when coalesce(counted.rows_by_access > 0, access_of_users.user_id is not null) then 'access' end,
                case when roles_of_users.user_id is not null then 'roles' end,
                case when counted.rows_redefined > 0 or counted.rows_unexplained > 0 and roles_of_users.user_id is null then 'definition' end
            ),
            cause -> cause is not null
        ) as known_causes
    from counted
    left join access_of_users
        on counted.dataset = access_of_users.dataset and counted.user_id = access_of_users.user_id
    left join roles_of_users
        on counted.user_id = roles_of_users.user_id
    left join rows_of_users
        on counted.dataset = rows_of_users.dataset and counted.user_id <=> rows_of_users.user_id

)

select
    dataset,
    user_id,
    rows_gained,
    rows_lost,
    rows_came,
    rows_went,
    values_newly_covered,
    values_newly_shown,
    values_masked_otherwise,
    rows_digest,
    case when size(known_causes) > 0 then known_causes else array('definition') end as causes,
    cause_rows,
    cause_rows_left_out
from judged
{%- endmacro %}


{# The changes of one dataset; of a pair, one side may be none. #}
{% macro _changed_dataset(pair) -%}
{%- if pair.before and pair.after -%}
{%- set keys, told, values = pair.after['keys'], ['newly_covered', 'newly_shown', 'masked_otherwise'], [] -%}
{%- for column in pair.masked + pair.new + pair.gone -%}
    {%- for change in told -%}
        {%- set is_value = secure_datasets._is_value(change, column, pair) | trim -%}
        {%- if is_value != 'false' -%}
            {%- do values.append({'column': column, 'change': change, 'is_value': is_value}) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endfor %}
select
    {{ secure_datasets.sql_text(pair.name) }} as dataset,
    user_id,
    count_if(not is_before) as rows_gained,
    count_if(not is_after) as rows_lost,
    count_if(not is_before and not was_there) as rows_came,
    count_if(not is_after and not is_there) as rows_went,
    coalesce(sum(newly_covered), 0) as values_newly_covered,
    coalesce(sum(newly_shown), 0) as values_newly_shown,
    coalesce(sum(masked_otherwise), 0) as values_masked_otherwise,
    {{ secure_datasets._digest_of_rows() }} as rows_digest,
    count_if(is_moved) as rows_moved,
    {#- Without the bases nobody knows by which key a row is seen. #}
    {{ 'count_if(is_by_access)' if pair.has_bases else 'cast(null as bigint)' }} as rows_by_access,
    count_if(is_unexplained and not is_moved and not is_by_access) as rows_unexplained,
    count_if(is_redefined) as rows_redefined
from (
    select
        coalesce(before_rows.user_id, after_rows.user_id) as user_id,
        before_rows.is_seen is not null as is_before,
        after_rows.is_seen is not null as is_after,
        {%- if pair.has_bases %}
        coalesce(before_base.is_there, false) as was_there,
        coalesce(after_base.is_there, false) as is_there,
        {%- else %}
        true as was_there,
        true as is_there,
        {%- endif %}
        {%- for change in told %}
        case
            when before_rows.is_seen and after_rows.is_seen then
                0
                {%- for value in values if value.change == change %}
                + case when {{ value.is_value }} then 1 else 0 end
                {%- endfor %}
            else 0
        end as {{ change }},
        {%- endfor %}
        concat_ws(
            '/'
            {%- for value in values %},
            case when before_rows.is_seen and after_rows.is_seen and {{ value.is_value }} then {{ secure_datasets._told_change(value.change, value.column) }} end
            {%- endfor %}
            {%- for column in pair.given %},
            case when before_rows.is_seen is null then {{ secure_datasets._told_change('given', column) }} end
            {%- endfor %}
            {%- for column in pair.new if column not in pair.given %},
            case when before_rows.is_seen is null then {{ secure_datasets._told_change('newly_shown', column) }} end
            {%- endfor %},
            ''
        ) as changed_values,
        {{ secure_datasets._told_key(keys, ['before_rows', 'after_rows']) }} as row_key,
        {{ secure_datasets._explained_rows(pair, values) | indent(8) }}
    from (select *, true as is_seen from {{ pair.before.schema }}.{{ pair.before.relation }}) as before_rows
    full outer join (select *, true as is_seen from {{ pair.after.schema }}.{{ pair.after.relation }}) as after_rows
        on
            -- A row for everyone bears no user.
            before_rows.user_id <=> after_rows.user_id
            {%- for key in keys %}
            and before_rows.{{ key }} <=> after_rows.{{ key }}
            {%- endfor %}
    {%- for side in [pair.before, pair.after] if pair.has_bases %}
    left join (
        select
            {%- for column in (keys + pair.masked + secure_datasets._masked_of_one(pair, side) + pair.masked_by + secure_datasets._columns_of_ways(side)) | unique %}
            {{ column }},
            {%- endfor %}
            {%- for way in side.get('ways', []) %}
            {{ way.applies }} as applies_{{ loop.index0 }},
            {%- endfor %}
            true as is_there
        from {{ side.schema }}.{{ side.base }}
    ) as {{ side.side }}_base
        on
            {%- for key in keys %}
            {{ 'and ' if not loop.first }}coalesce(before_rows.{{ key }}, after_rows.{{ key }}) <=> {{ side.side }}_base.{{ key }}
            {%- endfor %}
    {%- endfor %}
    {%- for side in [pair.before, pair.after] if pair.has_bases %}
    {%- for way in side.get('ways', []) %}
    {%- set name = side.side ~ '_way_' ~ loop.index0 %}
    left join (
        -- A tier may have more keys than a dataset names.
        select distinct
            user_id,
            {%- for key in way['keys'] %}
            {{ key }},
            {%- endfor %}
            true as is_there
        from {{ ref('changed_access') }}
        where tier = {{ secure_datasets.sql_text(way.tier) }} and is_before != is_after and is_{{ side.side }}
    ) as {{ name }}
        on
            {{ side.side }}_rows.user_id = {{ name }}.user_id
            and {{ side.side }}_base.applies_{{ loop.index0 }}
            {%- for key, column in way['keys'].items() %}
            and {{ side.side }}_base.{{ column }} = {{ name }}.{{ key }}
            {%- endfor %}
    {%- endfor %}
    {%- endfor %}
) as compared
where not is_before or not is_after or newly_covered + newly_shown + masked_otherwise > 0
group by user_id
{%- else -%}
{%- set side = pair.before or pair.after %}
select
    {{ secure_datasets.sql_text(pair.name) }} as dataset,
    user_id,
    {{ 'count(*)' if pair.after else 'cast(0 as bigint)' }} as rows_gained,
    {{ 'count(*)' if pair.before else 'cast(0 as bigint)' }} as rows_lost,
    cast(0 as bigint) as rows_came,
    cast(0 as bigint) as rows_went,
    cast(0 as bigint) as values_newly_covered,
    cast(0 as bigint) as values_newly_shown,
    cast(0 as bigint) as values_masked_otherwise,
    {{ secure_datasets._digest_of_rows() }} as rows_digest,
    cast(0 as bigint) as rows_moved,
    cast(0 as bigint) as rows_by_access,
    cast(0 as bigint) as rows_unexplained,
    count(*) as rows_redefined
from (
    select
        user_id,
        {{ 'true' if pair.before else 'false' }} as is_before,
        {{ 'true' if pair.after else 'false' }} as is_after,
        concat_ws(
            '/'
            {%- for column in pair.new %},
            {{ secure_datasets._told_change('given' if column in pair.given else 'newly_shown', column) }}
            {%- endfor %},
            ''
        ) as changed_values,
        {{ secure_datasets._told_key(side['keys'], [side.side ~ '_rows']) }} as row_key
    from {{ side.schema }}.{{ side.relation }} as {{ side.side }}_rows
) as compared
group by user_id
{%- endif -%}
{%- endmacro %}


{#
    What explains the change of a row: its base moved in what decides about it, or the user's access
    to an object that it is of came or went. What is left may be by other roles; not so the values
    of a column that one state alone shows.

    values  what may become of the values of its columns
#}
{% macro _explained_rows(pair, values) -%}
{%- set is_in_both, ways = 'before_rows.is_seen and after_rows.is_seen', [] -%}
{%- for side in [pair.before, pair.after] if pair.has_bases -%}
    {%- for way in side.get('ways', []) -%}
        {%- do ways.append(side.side ~ '_way_' ~ loop.index0 ~ '.is_there') -%}
    {%- endfor -%}
{%- endfor -%}
{%- if pair.has_bases -%}
case
            when {{ is_in_both }} then not ({{ secure_datasets._is_same_row('before_base', 'after_base', pair.masked_by) }})
            else before_base.is_there is null or after_base.is_there is null or not ({{ secure_datasets._is_same_row('before_base', 'after_base', pair.deciding) }})
        end as is_moved,
        not coalesce({{ is_in_both }}, false) and coalesce({{ ways | join(', ') ~ ', ' if ways }}false) as is_by_access,
{%- else -%}
cast(null as boolean) as is_moved,
        cast(null as boolean) as is_by_access,
{%- endif %}
        not coalesce({{ is_in_both }}, false)
            {%- for value in values if value.column in pair.masked %} or {{ value.is_value }}{% endfor %} as is_unexplained,
        coalesce({{ is_in_both }}, false) and (false
            {%- for value in values if value.column not in pair.masked %} or {{ value.is_value }}{% endfor %}) as is_redefined
{%- endmacro %}


{# The columns of a state's base by which its tiers are asked. #}
{% macro _columns_of_ways(side) -%}
{%- set columns = [] -%}
{%- for way in side.get('ways', []) -%}
    {%- do columns.extend(way['keys'].values()) -%}
{%- endfor -%}
{{ return(columns) }}
{%- endmacro %}


{#
    Whether a value of a column is newly covered or shown; or masked in both states, and by
    something else: a mask that gives more away takes none off. Without the bases nobody knows
    what a mask covers, and another value counts as masked by something else.

    A column that one state alone shows counts as one that is masked by null in the other:
    whatever it is called, it shows what was not seen before, or no longer.
#}
{% macro _is_value(change, column, pair) -%}
{%- set has_bases, shown = pair.has_bases, {} -%}
{%- if column in pair.new -%}
{%- set is_shown = secure_datasets._is_shown(column, pair.after, has_bases, 'false') -%}
{{ is_shown if change == 'newly_shown' else '(not (' ~ is_shown ~ ') and after_rows.' ~ column ~ ' is not null)' if change == 'masked_otherwise' and is_shown != 'true' else 'false' }}
{%- elif column in pair.gone -%}
{{ secure_datasets._is_shown(column, pair.before, has_bases, 'before_rows.' ~ column ~ ' is not null') if change == 'newly_covered' else 'false' }}
{%- else -%}
{%- for side in ['before', 'after'] -%}
{%- do shown.update({side: side ~ '_rows.' ~ column ~ ' <=> ' ~ side ~ '_base.' ~ column}) -%}
{%- endfor -%}
{%- if not has_bases -%}
{{ 'not (before_rows.' ~ column ~ ' <=> after_rows.' ~ column ~ ')' if change == 'masked_otherwise' else 'false' }}
{%- elif change == 'newly_covered' -%}
({{ shown.before }} and not ({{ shown.after }}))
{%- elif change == 'newly_shown' -%}
({{ shown.after }} and not ({{ shown.before }}))
{%- else -%}
(
                    not ({{ shown.before }}) and not ({{ shown.after }})
                    and not (before_rows.{{ column }} <=> after_rows.{{ column }})
                    and before_base.{{ column }} <=> after_base.{{ column }}
                )
{%- endif -%}
{%- endif -%}
{%- endmacro %}


{# Whether the one state that has a column shows its value; `unknown` is what holds without a base. #}
{% macro _is_shown(column, side, has_bases, unknown) -%}
{{ 'true' if column not in side.masked else '(' ~ side.side ~ '_rows.' ~ column ~ ' <=> ' ~ side.side ~ '_base.' ~ column ~ ')' if has_bases else unknown }}
{%- endmacro %}


{# The columns that this state alone has, and masks. #}
{% macro _masked_of_one(pair, side) -%}
{{ return((pair.new if side.side == 'after' else pair.gone) | select('in', side.masked) | list) }}
{%- endmacro %}


{#
    What has become of a value; and what a mask gives in its place, so that nobody approves one
    mask and gets another. A value that the state after masks is told also where a row is gained.
#}
{% macro _told_change(change, column) -%}
{%- if change in ['masked_otherwise', 'given'] -%}
concat('{{ change }} {{ column }} ', {{ secure_datasets._told_value('cast(after_rows.' ~ column ~ ' as string)') }})
{%- else -%}
'{{ change }} {{ column }}'
{%- endif -%}
{%- endmacro %}


{# The unique key of a row as one text, which no other row's values make. #}
{% macro _told_key(keys, relations) -%}
concat_ws(
            '/'
            {%- for key in keys %},
            {{ secure_datasets._told_value('cast(coalesce(' ~ relations | join('.' ~ key ~ ', ') ~ '.' ~ key ~ ') as string)') }}
            {%- endfor %},
            ''
        )
{%- endmacro %}


{# A text with its length, which tells it from null, and where the next one begins. #}
{% macro _told_value(text) -%}
coalesce(concat(cast(length({{ text }}) as string), ' ', {{ text }}), 'null')
{%- endmacro %}


{#
    What tells the changed rows of a user, in these the columns whose values are covered or shown,
    and what masks give, from others, whatever their order: for approvals, which are of exactly
    these.
#}
{% macro _digest_of_rows() -%}
{%- set digest = "xxhash64(row_key, is_before, is_after, changed_values)" -%}
concat(hex(bit_xor({{ digest }})), '-', cast(sum(cast({{ digest }} as decimal(38, 0))) as string))
{%- endmacro %}


{# No row: where there is nothing to compare. #}
{% macro _no_changed_dataset() -%}
select
    cast(null as string) as dataset,
    cast(null as bigint) as user_id,
    cast(0 as bigint) as rows_gained,
    cast(0 as bigint) as rows_lost,
    cast(0 as bigint) as rows_came,
    cast(0 as bigint) as rows_went,
    cast(0 as bigint) as values_newly_covered,
    cast(0 as bigint) as values_newly_shown,
    cast(0 as bigint) as values_masked_otherwise,
    cast(null as string) as rows_digest,
    cast(0 as bigint) as rows_moved,
    cast(0 as bigint) as rows_by_access,
    cast(0 as bigint) as rows_unexplained,
    cast(0 as bigint) as rows_redefined
where false
{%- endmacro %}


{# No row: where no base is in both. #}
{% macro _no_changed_base() -%}
select
    cast(null as string) as dataset,
    cast(null as bigint) as user_id,
    cast(null as string) as cause
where false
{%- endmacro %}


{# The users who hold other roles in the one state than in the other. #}
{% macro _users_with_other_roles(states) -%}
{%- set queries = [] -%}
{%- for one, other in [[states[0], states[1]], [states[1], states[0]]] -%}
{%- set query -%}
    select user_id, role_name from {{ one.schema }}.vw_secure_user_roles
    except
    select user_id, role_name from {{ other.schema }}.vw_secure_user_roles
{%- endset -%}
{%- do queries.append('(' ~ query ~ ')') -%}
{%- endfor -%}
select distinct user_id from (
    {{ queries | join('\n    union all\n    ') }}
) as other_roles
{%- endmacro %}


{#
    The raw rows by which a dataset's base has other rows, for each user who gains or loses one
    of these. A row of the base comes and goes with its own raw row or with one that it stands
    below, and is another one, in what decides who sees it, if any of them is. Where none of them
    moved, or none is known, the row of the base is named itself.

    levels  what raw_rows_of() returns: the raw tables of a row of the base, its own first
#}
{% macro _rows_of_changed_base(pair, levels) -%}
{%- set keys = pair.after['keys'] -%}
{%- for one, other, change in [[pair.after, pair.before, 'came'], [pair.before, pair.after, 'went']] %}
select
    {{ secure_datasets.sql_text(pair.name) }} as dataset,
    seen.user_id,
    explode(
        case
            when size(moved.raw_rows) > 0 then moved.raw_rows
            else array(concat({{ secure_datasets.sql_text(one.base ~ ' ') }}, moved.row_key, ' ', moved.change))
        end
    ) as cause
from {{ one.schema }}.{{ one.relation }} as seen
inner join (
    {{ secure_datasets._changed_base(pair, levels, one, other, change) | indent(4) }}
) as moved
    on {{ secure_datasets._is_same_row('seen', 'moved', keys) }}
left join (select *, true as is_seen from {{ other.schema }}.{{ other.relation }}) as seen_there
    on seen.user_id <=> seen_there.user_id and {{ secure_datasets._is_same_row('seen', 'seen_there', keys) }}
where seen_there.is_seen is null
{{ 'union' if change == 'came' }}
{%- endfor %}
{%- endmacro %}


{#
    The rows of one state's base that the other's has not, or has otherwise in a column that
    decides who sees them, each with its raw rows.
#}
{% macro _changed_base(pair, levels, one, other, change) -%}
{%- set keys = pair.after['keys'] -%}
select distinct
    {%- for key in keys %}
    base.{{ key }},
    {%- endfor %}
    concat_ws('/'{% for key in keys %}, coalesce(cast(base.{{ key }} as string), 'null'){% endfor %}) as row_key,
    case when others.is_there then 'changed' else '{{ change }}' end as change,
    filter(
        array(
            cast(null as string)
            {%- for level in levels %}
            {%- set here, there = 'here_' ~ loop.index0, 'there_' ~ loop.index0 %},
            case
                when {{ here }}.{{ level.key }} is null then null
                -- What is switched off is there, too: rows may stand below it.
                when {{ there }}.{{ level.key }} is null or {{ here }}.is_live and not {{ there }}.is_live
                    then concat('{{ level.table }} ', cast({{ here }}.{{ level.key }} as string), ' {{ change }}')
                when
                    {%- if level.parent %}
                    not ({{ here }}.{{ level.parent }} <=> {{ there }}.{{ level.parent }}) or
                    {%- endif %}
                    others.is_there and not ({{ secure_datasets._is_same_row(here, there, level.columns) }})
                    then concat(
                        '{{ level.table }} ', cast({{ here }}.{{ level.key }} as string),
                        case when {{ here }}.is_live = {{ there }}.is_live then ' changed' else ' {{ {'came': 'went', 'went': 'came'}[change] }}' end
                    )
            end
            {%- endfor %}
        ),
        raw_row -> raw_row is not null
    ) as raw_rows
from {{ one.schema }}.{{ one.base }} as base
left join (select *, true as is_there from {{ other.schema }}.{{ other.base }}) as others
    on {{ secure_datasets._is_same_row('base', 'others', keys) }}
{%- for level in levels %}
{%- set found = 'base.' ~ keys[0] if loop.first else 'here_' ~ (loop.index0 - 1) ~ '.' ~ loop.previtem.parent %}
{%- for side, name in [[one, 'here'], [other, 'there']] %}
left join (select * from {{ side.schema }}.stg_{{ level.table }} where rejection_reason is null) as {{ name }}_{{ levels.index(level) }}
    on {{ found }} = {{ name }}_{{ levels.index(level) }}.{{ level.key }}
{%- endfor %}
{%- endfor %}
where others.is_there is null or not ({{ secure_datasets._is_same_row('base', 'others', pair.deciding) }})
{%- endmacro %}


{# Whether two relations say the same in some columns, nulls among them. #}
{% macro _is_same_row(one, other, columns) -%}
{%- for column in columns -%}
{{ ' and ' if not loop.first }}{{ one }}.{{ column }} <=> {{ other }}.{{ column }}
{%- else -%}
true
{%- endfor -%}
{%- endmacro %}


{#
    The raw rows by which users hold other roles: those of the user, and the groups whose
    names the user's roles were or are, or were before another name.
#}
{% macro _rows_of_other_roles(states) -%}
select distinct
    moved.user_id,
    concat(changed.raw_table, ' ', changed.row_id, ' ', changed.change) as cause
from (
    {%- for state in states %}
    select user_id, 'users' as raw_table, user_id as row_id from {{ state.schema }}.stg_users
    union all
    select user_id, 'user_global_roles' as raw_table, user_global_role_id as row_id from {{ state.schema }}.stg_user_global_roles where is_live
    union all
    select user_id, 'user_group_members' as raw_table, user_group_member_id as row_id from {{ state.schema }}.stg_user_group_members where is_live
    union all
    select
        members.user_id,
        'user_groups' as raw_table,
        ancestors.ancestor_user_group_id as row_id
    from {{ state.schema }}.stg_user_group_members as members
    inner join {{ state.schema }}.int_user_group_ancestors as ancestors
        on members.user_group_id = ancestors.user_group_id
    where members.is_live
    {{ 'union all' if not loop.last }}
    {%- endfor %}
) as moved
inner join roles_of_users
    on moved.user_id = roles_of_users.user_id
inner join (
    select raw_table, row_id, change from {{ ref('changed_raw_rows') }}
    union
    select
        'user_groups' as raw_table,
        named_before.user_group_id as row_id,
        'changed' as change
    from {{ states[0].schema }}.stg_user_groups as named_before
    inner join {{ states[1].schema }}.stg_user_groups as named_after
        on named_before.user_group_id = named_after.user_group_id
    where named_before.is_live and named_after.is_live and not (named_before.name <=> named_after.name)
) as changed
    on moved.raw_table = changed.raw_table and moved.row_id = changed.row_id
{%- endmacro %}
