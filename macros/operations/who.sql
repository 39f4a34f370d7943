{#
    Prints the objects that one user sees, per tier, with the kinds of path that lead there; the number
    of rows in each secure dataset; and the rows and columns that each policy shows, hides or masks.

    Call   dbt run-operation who --args '{user: hpark}'
    user   a user's id, login name or e-mail address
#}
{% macro who(user) %}
    {#- The user comes first, so the check of the further relations follows below. -#}
    {%- set staged = secure_datasets.model_named('stg_users') -%}
    {%- if not adapter.check_schema_exists(staged.database, staged.schema) -%}
        {% do adapter.access_questions().not_built('who', ['stg_users'], staged.schema) %}
    {%- endif -%}
    {%- for person in adapter.access_questions().people(user, 'who', secure_datasets, ref) -%}
        {{ print('') }}
        {{ print('User ' ~ person.user_id ~ secure_datasets.printable(adapter.access_questions().called_beside_id(person))
            ~ ('' if person.is_live else ': not active, so nothing but the global events')) }}
        {%- set without_past = secure_datasets.datasets_without_past() -%}
        {%- set ahead = secure_datasets.staged_since(secure_datasets._shown_by_who(without_past)) -%}
        {% do secure_datasets.check_built('who', ahead) %}
        {%- if ahead.of_before -%}
            {{ print('Not as it is shown yet: since the secure datasets were made, or what else is asked, ' ~ adapter.access_questions().made_anew(ahead.tables, ahead.stored) ~ '. What follows is by the newest of each that is built, and may be that of neither state: run dbt, and ask again.') }}
        {%- endif -%}
        {#- A user's rows are few: Spark estimates this from the statistics of the access views. -#}
        {% do run_query('set spark.sql.cbo.enabled = true') %}
        {% do secure_datasets._print_objects(person.user_id) %}
        {% do secure_datasets._print_datasets(person.user_id, without_past) %}
        {% do secure_datasets._print_policies(person.user_id, without_past) %}
    {%- endfor -%}
{% endmacro %}


{# The relations that `who` reads: the access views, the paths to them, and the secure datasets. #}
{% macro _shown_by_who(without_past) %}
    {%- set config, names = secure_datasets.secure_datasets_config(), ['int_access_paths', 'int_securable_objects'] -%}
    {%- for tier in config.tiers.values() if tier.right is defined -%}
        {% do names.append(tier.access_view) %}
    {%- endfor -%}
    {%- for name in config.datasets if name not in without_past -%}
        {% do names.append('vw_secure_dataset_' ~ name) %}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{#
    Prints each object that the user reaches through a tier, and the paths to it. The config has the
    object type of a tier's right; a further key has the object type of the tier with only that key.
#}
{% macro _print_objects(user_id) %}
    {%- set tiers = secure_datasets.secure_datasets_config().tiers -%}
    {%- set types, rows = {}, [] -%}
    {%- for tier in tiers.values() if tier.right is defined and tier.object_keys | length == 1 -%}
        {% do types.update({tier.object_keys[0]: tier.right.object_type}) %}
    {%- endfor -%}
    {%- for name, tier in tiers.items() if tier.right is defined -%}
        {%- for line in run_query(secure_datasets._objects_of_tier(tier, types, user_id)).rows -%}
            {% do rows.append([
                name | replace('_', ' '),
                (line[0] or '(no name)') ~ (' in ' ~ line[1] if line[1]),
                line[2] or '-', line[3],
            ]) %}
        {%- endfor -%}
    {%- endfor -%}
    {% do secure_datasets.print_table(['tier', 'object', 'access type', 'through'], rows, align='left') %}
{% endmacro %}


{#
    A query of the objects that a user reaches through a tier: name, the names of the further
    objects in its keys, the columns that the tier carries, and the paths.

    types  the type of the object that a key names, by key
#}
{% macro _objects_of_tier(tier, types, user_id) -%}
{%- set key, others = tier.right.key or tier.object_keys[0], [] -%}
{%- set within = tier.object_keys | reject('equalto', key) | list -%}
{%- for other in within -%}
    {%- do others.append('of_' ~ other ~ '.object_name' if other in types else 'cast(seen.' ~ other ~ ' as string)') -%}
{%- endfor -%}
with paths as (
    select paths.object_id,
        array_join(array_sort(collect_set(
            concat(paths.path_kind, coalesce(concat(' "', `groups`.name, '"'), ''))
        )), ', ') as through
    from {{ secure_datasets.relation_named('int_access_paths') }} as paths
    left join {{ secure_datasets.relation_named('stg_user_groups') }} as `groups`
        on paths.user_group_id = `groups`.user_group_id
    where
        paths.user_id = {{ user_id }}
        and paths.object_type = {{ secure_datasets.sql_text(tier.right.object_type) }}
        and paths.permission_name = {{ secure_datasets.sql_text(tier.right.permission) }}
    group by paths.object_id
)
select
    objects.object_name,
    {{ 'concat_ws(\', \', ' ~ others | join(', ') ~ ')' if others else 'cast(null as string)' }} as within,
    {{ 'concat_ws(\', \', seen.' ~ tier.carries | join(', seen.') ~ ')' if tier.carries else 'cast(null as string)' }} as carried,
    paths.through
from {{ secure_datasets.relation_named(tier.access_view) }} as seen
inner join {{ secure_datasets.relation_named('int_securable_objects') }} as objects
    on objects.object_type = {{ secure_datasets.sql_text(tier.right.object_type) }} and objects.object_id = seen.{{ key }}
{%- for other in within if other in types %}
left join {{ secure_datasets.relation_named('int_securable_objects') }} as of_{{ other }}
    on of_{{ other }}.object_type = {{ secure_datasets.sql_text(types[other]) }} and of_{{ other }}.object_id = seen.{{ other }}
{%- endfor %}
inner join paths
    on paths.object_id = seen.{{ key }}
where seen.user_id = {{ user_id }}
{# Names may be equal. #}
order by 1, 2{% for each in tier.object_keys %}, seen.{{ each }}{% endfor %}
{%- endmacro %}


{#
    Prints the number of rows that the user reads in each secure dataset. For a dataset without a past
    it is not known, and the raw tables that keep none are named below.

    without_past  the result of datasets_without_past()
#}
{% macro _print_datasets(user_id, without_past) %}
    {%- set datasets, counts, rows = secure_datasets.secure_datasets_config().datasets, [], [] -%}
    {%- for name in datasets if name not in without_past -%}
        {%- do counts.append(
            "select '" ~ name ~ "' as dataset, count(*) as row_count from "
            ~ secure_datasets.relation_named('vw_secure_dataset_' ~ name)
            ~ ' where user_id = ' ~ user_id ~ ' or user_id is null'
        ) -%}
    {%- endfor -%}
    {%- set found = {} -%}
    {%- for line in (run_query(counts | join(' union all ')).rows if counts else []) -%}
        {%- do found.update({line[0]: line[1]}) -%}
    {%- endfor -%}
    {%- for name, dataset in datasets.items() -%}
        {%- set tier = dataset.tier or ('context' if dataset.switch is defined else '-') -%}
        {% do rows.append(['vw_secure_dataset_' ~ name, tier, (found[name] | string) if name in found else 'not known']) %}
    {%- endfor -%}
    {% do secure_datasets.print_table(['secure dataset', 'tier', 'rows'], rows) %}
    {%- if without_past -%}
        {{ print('Not known: the past of ' ~ without_past.values() | sum(start=[]) | unique | join(', ') ~ '. The feed holds the present alone; if its format keeps snapshots, build the state of the day. See docs/feeds.md of the package.') }}
    {%- endif -%}
{% endmacro %}
