{# The parts of a secure dataset that row-security objects restrict, or over the star. #}


{#
    The keys of each user by one row-security object, as pairs or as one list. Pairs come
    as often as the mapping has them, unless a join counts on each being there once.
#}
{% macro _keys_of_users(object, once=false) -%}
{%- set key = 'mapping.' ~ object.filter_key_column -%}
{%- set is_list = object.get('use_filter_key', false) -%}
{%- if object.id_type != object.holder -%}
    {% do exceptions.warn("secure_datasets_config: row_security '" ~ object.unique_name ~ "': the id_type '" ~ object.id_type ~ "' is out of use; write '" ~ object.holder ~ "'.") %}
{%- endif -%}
-- {{ object.label | replace('${', '$ {') }}: the keys of each user{{ ', once each' if once }}.
select{{ ' distinct' if once and not is_list }}
    users.user_id,
    {{ 'collect_set(' ~ key ~ ') as filter_keys' if is_list else key ~ ' as filter_key' }}
from {{ ref(object.dataset) }} as mapping
{%- if object.holder == 'user' %}
inner join {{ ref('stg_users') }} as users
    on mapping.{{ object.ids_column }} = users.user_id
where users.is_live
{%- else %}
inner join {{ ref('vw_secure_user_roles') }} as users
    on mapping.{{ object.ids_column }} = users.user_group_id
{%- endif %}
{%- if is_list %}
group by users.user_id
{%- endif %}
{%- endmacro %}


{# The keys of a dimension that only facts tie to the object: the keys that the user's facts lead to. #}
{% macro _keys_through_facts(restriction) -%}
{%- set keys = restriction.object_keys -%}
-- {{ restriction.object.label | replace('${', '$ {') }}: what a fact that the user may see leads to, once each.
{%- for way in restriction.ways %}
{{ 'union\n' if not loop.first -}}
select{{ ' distinct' if restriction.ways | length == 1 }}
    {{ keys }}.user_id
    {%- for column in restriction.columns -%},
    {{ way.source }}.{{ column }}
    {%- endfor %}
from {{ ref(way.fact) }} as {{ way.fact }}
{{- adapter.rules_by_exists(secure_datasets, ref, none).path_joins(way.joined, 'inner', []) }}
{%- for path in way.paths %}
{%- set alias = way.aliases[loop.index0] %}
{{ 'inner join ' ~ keys if loop.first else 'left semi join ' ~ keys ~ ' as ' ~ alias }}
    on {{ keys ~ '.user_id = ' ~ alias ~ '.user_id and ' if not loop.first }}{{ secure_datasets._has_key(restriction.object, path[-1]['from'], alias) }}
{%- endfor %}
{%- endfor %}
{%- endmacro %}


{# The condition that a secured column has one of the user's keys; a null matches no key. #}
{% macro _has_key(object, near, keys, alias=none) -%}
{%- set column = (alias or near.dataset) ~ '.' ~ near.join_columns[0] -%}
{%- if object.get('use_filter_key', false) -%}
array_contains({{ keys }}.filter_keys, {{ column }})
{%- else -%}
{{ column }} = {{ keys }}.filter_key
{%- endif -%}
{%- endmacro %}


{# The join that keeps the rows with the keys that a restriction requires, by user. #}
{% macro _keys_join(restriction, root, user=none) %}
{%- set near, is_root = restriction.path[-1]['from'], restriction.path | length == 1 %}
{{ 'left semi' if user else 'inner' }} join {{ restriction.keys_name }}{{ ' as ' ~ restriction.alias if restriction.alias != restriction.keys_name }}
    on
    {%- if user %}
        {{ user }} = {{ restriction.alias }}.user_id
        and{% endif %} {{ adapter.secure_datasets().same(root, restriction.alias, restriction.columns)
            if restriction.ways
            else secure_datasets._has_key(restriction.object, near, restriction.alias, alias=root if is_root) }}
{%- endmacro %}


{# The rows that meet every restriction of their user. #}
{% macro _secured_rows(rows, columns, restrictions) -%}
{%- set joined = [] -%}
-- Row security: the rows that lead to a key of their user.
select
    {%- for column in columns %}
    {{ rows }}.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ rows }}
{%- for restriction in restrictions -%}
{{ adapter.rules_by_exists(secure_datasets, ref, none).path_joins(restriction.path, 'inner', joined, alias=rows) if not restriction.ways }}
{{- secure_datasets._keys_join(restriction, rows, user=rows ~ '.user_id') }}
{%- endfor %}
{%- endmacro %}


{# A query over the star, by user if it is restricted or a policy must look at each user. #}
{% macro _query_select(dataset, config, restrictions, per_user) -%}
{%- set star, joined, dimensions = adapter.secure_datasets().star_query(dataset, config), [], dataset.query.dimensions or {} -%}
{%- set paths = adapter.secure_datasets().relationship_paths(star.root, config) -%}
{%- set user = restrictions[0].alias ~ '.user_id' if restrictions else ('users.user_id' if per_user) -%}
select
    {%- for column in star.selected %}
    {{ column.sql }}{{ ' as ' ~ column.alias if column.alias }},
    {%- endfor %}
    {{ user or 'cast(null as bigint) as user_id' }}
from {{ ref(star.root) }} as {{ star.root }}
{%- for relation, _ in star.columns -%}
{{ adapter.rules_by_exists(secure_datasets, ref, none).path_joins(paths[relation], 'left', joined) }}
{%- endfor -%}
{%- for restriction in restrictions -%}
{{ adapter.rules_by_exists(secure_datasets, ref, none).path_joins(restriction.path, 'left', joined) if not restriction.ways }}
{{- secure_datasets._keys_join(restriction, star.root, user=none if loop.first else user) }}
{%- endfor %}
{%- if per_user and not restrictions %}
inner join {{ ref('stg_users') }} as users
    on users.is_live
{%- endif %}
{%- set groups = dimensions.values() | list + ([user] if user else []) %}
{%- if groups %}
group by {{ groups | join(', ') }}
{%- endif %}
{%- endmacro %}
