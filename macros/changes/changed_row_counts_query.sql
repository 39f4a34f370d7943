{#
    How many rows of each secure dataset each user has gained and lost, by what explains them.
    A relation of its own: with what follows from it in one query, Spark plans far too much.

    states  what states_compared() returns
#}
{% macro changed_row_counts_query(states) -%}
{%- set queries = [] -%}
{%- for pair in adapter.access_changes().pairs(states, 'datasets') -%}
    {%- do queries.append(secure_datasets._changed_dataset(pair)) -%}
{%- endfor -%}
{{ (queries or [secure_datasets._no_changed_dataset()]) | join('\nunion all\n') }}
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
            {%- for way in side.ways %}
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
    {%- for way in secure_datasets._ways_of_access(pair) %}
    left join (
        -- A tier may have more keys than a dataset names.
        select distinct
            user_id,
            {%- for key in way['keys'] %}
            {{ key }},
            {%- endfor %}
            true as is_there
        from {{ ref('changed_access') }}
        where tier = {{ secure_datasets.sql_text(way.tier) }} and is_before != is_after and is_{{ way.held }}
    ) as {{ way.name }}
        on
            {{ way.held }}_rows.user_id = {{ way.name }}.user_id
            and {{ way.base }}.{{ way.applies }}
            {%- for key, column in way['keys'].items() %}
            and {{ way.base }}.{{ column }} = {{ way.name }}.{{ key }}
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
{%- for way in secure_datasets._ways_of_access(pair) -%}
    {%- do ways.append(way.name ~ '.is_there') -%}
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


{#
    The ways by which access explains the change of a row: `held` is the state that alone has the
    access, `base` and `applies` say of which object the row is, and of which case. A row that has
    moved is lost by the access to what it is of now, too: with that, it would still be seen.
#}
{% macro _ways_of_access(pair) -%}
{%- set ways = [] -%}
{%- for side, held in [[pair.before, 'before'], [pair.after, 'after'], [pair.after, 'before']] if pair.has_bases -%}
    {%- for way in side.ways -%}
        {%- do ways.append({
            'tier': way.tier, 'keys': way['keys'], 'held': held, 'base': side.side ~ '_base',
            'applies': 'applies_' ~ loop.index0, 'name': held ~ '_way_' ~ side.side ~ '_' ~ loop.index0,
        }) -%}
    {%- endfor -%}
{%- endfor -%}
{{ return(ways) }}
{%- endmacro %}


{# The columns of a state's base by which its tiers are asked. #}
{% macro _columns_of_ways(side) -%}
{%- set columns = [] -%}
{%- for way in side.ways -%}
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
