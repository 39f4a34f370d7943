{#
    Prints the result of a comparison of two states, as Markdown, and writes it to
    access_changes.md beside dbt's results.

    results  the results of on-run-end
#}
{% macro print_access_changes(results) %}
    {%- set built = results | selectattr('status', 'equalto', 'success') | map(attribute='node.name') | list -%}
    {%- if execute and var('before', none) is not none and 'row_changes' in built -%}
        {%- set facts, changes = secure_datasets._report_facts(), adapter.access_changes() -%}
        {% do adapter.write_result('access_changes.md', changes.markdown(facts)) %}
        {{ print(changes.in_short(facts).rstrip()) }}
    {%- endif -%}
{% endmacro %}


{# The facts of the report, with only as many rows as it shows. #}
{% macro _report_facts() %}
    {%- set shown = {'objects': 50, 'users': 20, 'changes': 100} -%}
    {%- set access, row_changes, states = secure_datasets.relation_named('access_changes'), secure_datasets.relation_named('row_changes'), secure_datasets.states_compared() -%}
    {%- set changes = adapter.access_changes() -%}
    {%- set totals, sums = secure_datasets.rows_of(secure_datasets._totals_of_access(access))[0], secure_datasets._sums_of_rows() -%}
    {%- set row_totals = secure_datasets.rows_of('select count(*) as changes, count(distinct coalesce(user_id, -1)) as users, ' ~ sums ~ ' from ' ~ row_changes)[0] -%}
    {%- set datasets = secure_datasets.rows_of('select dataset, count(*) as users, ' ~ sums ~ ' from ' ~ row_changes ~ ' group by dataset order by dataset') -%}
    {%- set users = secure_datasets._named_users(secure_datasets._changes_by_user(access, row_changes, shown.users), 'listed.gained + listed.lost desc, listed.rows_gained + listed.rows_lost desc, listed.user_id') -%}
    {%- set in_order = 'tier, object_keys, change, user_id' -%}
    {%- set listed = secure_datasets._named_users('select * from ' ~ access ~ ' order by ' ~ in_order ~ ' limit ' ~ shown.changes, in_order) -%}
    {%- set rows = secure_datasets._named_users('select * from ' ~ row_changes ~ ' order by dataset, user_id limit ' ~ shown.changes, 'dataset, listed.user_id') -%}
    {%- set objects = [] -%}
    {%- for key in ['meta_data_source_id', 'project_id'] -%}
        {% do objects.extend(secure_datasets.rows_of(secure_datasets._changes_by_object(key, shown.objects))) %}
    {%- endfor -%}
    {{ return({
        'before': var('before') | lower, 'after': var('after') | lower, 'totals': totals, 'row_totals': row_totals,
        'are_rows_compared': changes.has_datasets(states[0]) and changes.has_datasets(states[1]),
        'not_there': changes.datasets_not_there(states), 'not_built': changes.not_built(states), 'columns': changes.other_columns(states),
        'are_past': '_as_of_' in var('before') | lower and '_as_of_' in var('after') | lower,
        'objects': objects, 'datasets': datasets, 'users': users, 'users_in_all': users[0].in_all if users else 0,
        'changes': listed, 'row_changes': rows,
        'limits': secure_datasets.rows_of(secure_datasets.limits_query({
            'limits': secure_datasets.relation_named('access_change_limits'), 'approvals': secure_datasets.relation_named('access_change_approvals'),
            'access_changes': access, 'row_changes': row_changes,
        }, states) ~ '\norder by limit_name'),
        'limits_about_nothing': adapter.limits_about_nothing(var('before'), var('after'), secure_datasets._seeds_of_changes()),
    }) }}
{% endmacro %}


{# A query of the totals of changed access: the changes by kind, and the objects and users behind them. #}
{% macro _totals_of_access(access) -%}
select
    count(*) as all,
    count_if(change = 'gained') as gained,
    count_if(change = 'lost') as lost,
    count_if(change = 'other access_type') as other,
    count(distinct case when change = 'gained' then concat(tier, ' ', object_keys) end) as objects_gained,
    count(distinct case when change = 'lost' then concat(tier, ' ', object_keys) end) as objects_lost,
    count(distinct case when change = 'gained' then user_id end) as users_gaining,
    count(distinct case when change = 'lost' then user_id end) as users_losing
from {{ access }}
{%- endmacro %}


{# The sums of changed rows and values; 0 if nothing changed. #}
{% macro _sums_of_rows() -%}
{%- for number in ['rows_gained', 'rows_lost', 'values_newly_covered', 'values_newly_shown', 'values_masked_otherwise'] -%}
coalesce(sum({{ number }}), 0) as {{ number }}{{ ', ' if not loop.last }}
{%- endfor -%}
{%- endmacro %}


{# A query of the users with the most changes of access, then of rows: so many of them, and the number of all. #}
{% macro _changes_by_user(access, row_changes, shown) -%}
select
    coalesce(access.user_id, seen.user_id) as user_id,
    coalesce(gained, 0) as gained, coalesce(lost, 0) as lost,
    coalesce(rows_gained, 0) as rows_gained, coalesce(rows_lost, 0) as rows_lost,
    coalesce(values_newly_covered, 0) as values_newly_covered, coalesce(values_newly_shown, 0) as values_newly_shown,
    count(*) over () as in_all
from (
    select user_id, count_if(change = 'gained') as gained, count_if(change = 'lost') as lost from {{ access }} group by user_id
) as access
full outer join (select user_id, {{ secure_datasets._sums_of_rows() }} from {{ row_changes }} group by user_id) as seen
    on access.user_id <=> seen.user_id
order by coalesce(gained, 0) + coalesce(lost, 0) desc, coalesce(rows_gained, 0) + coalesce(rows_lost, 0) desc, user_id
limit {{ shown }}
{%- endmacro %}


{# Rows of users with the names that the states know of them. #}
{% macro _named_users(query, in_order) -%}
{%- set names -%}
    select coalesce(later.user_id, earlier.user_id) as user_id,
        case when later.is_live then later.login_name else earlier.login_name end as login_name,
        case when later.is_live then later.first_name else earlier.first_name end as first_name,
        case when later.is_live then later.last_name else earlier.last_name end as last_name
    from (select * from {{ var('after') | lower }}.stg_users where user_id is not null) as later
    full outer join (select * from {{ var('before') | lower }}.stg_users where user_id is not null) as earlier
        on later.user_id = earlier.user_id
{%- endset -%}
{{ return(secure_datasets.rows_of(
    'select listed.*, names.login_name, names.first_name, names.last_name from (' ~ query ~ ') as listed left join (' ~ names
    ~ ') as names on listed.user_id = names.user_id order by ' ~ in_order
)) }}
{%- endmacro %}


{# A query of the numbers of users who gain and lose access, for each project or data source. #}
{% macro _changes_by_object(key, shown) -%}
{%- set table = (secure_datasets.repository_tables().values() | selectattr('key', 'equalto', key) | first).name %}
select
    '{{ key }}' as kind,
    concat('{{ key }}=', counted.{{ key }}) as object_keys,
    coalesce(later.name, earlier.name) as object_name,
    counted.users_gaining,
    counted.users_losing,
    counted.others,
    count(*) over () as in_all
from (
    select
        {{ key }},
        count(distinct case when change = 'gained' then user_id end) as users_gaining,
        count(distinct case when change = 'lost' then user_id end) as users_losing,
        count(distinct case when change = 'other access_type' then user_id end) as others
    from {{ secure_datasets.relation_named('access_changes') }}
    where {{ key }} is not null
    group by {{ key }}
) as counted
left join {{ var('after') | lower }}.stg_{{ table }} as later
    on counted.{{ key }} = later.{{ key }}
left join {{ var('before') | lower }}.stg_{{ table }} as earlier
    on counted.{{ key }} = earlier.{{ key }}
order by counted.users_gaining + counted.users_losing + counted.others desc, counted.{{ key }}
limit {{ shown }}
{%- endmacro %}
