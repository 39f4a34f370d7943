{#
    Every path behind each row of the access views: for each tier the paths to the rights that it
    requires, and the rows that link its objects. A tier that names no right has a row without
    a path.
#}
{% macro access_explanations_query() -%}
{%- set config, queries = secure_datasets.secure_datasets_config(), [] -%}
{%- for name, tier in config.tiers.items() -%}
    {%- set parts = secure_datasets.tier_parts(name, config) -%}
    {%- for right in parts.rights or [none] -%}
        {%- do queries.append(secure_datasets._explained_right(name, tier, right)) -%}
    {%- endfor -%}
    {%- for link in parts.links -%}
        {%- do queries.append(secure_datasets._explained_link(name, tier, link)) -%}
    {%- endfor -%}
{%- endfor -%}
{{ queries | join('\n\nunion all\n\n') }}
{%- endmacro %}


{# The columns that identify the explained right, in every row. #}
{% macro _explained_keys(name, tier) -%}
{{ secure_datasets.sql_text(name) }} as tier,
    seen.user_id,
    {%- for key in ['project_id', 'meta_data_source_id'] %}
    {{ 'seen.' ~ key if key in tier.object_keys else 'cast(null as bigint)' }} as {{ key }},
    {%- endfor %}
    {{ secure_datasets.named_keys(tier.object_keys, 'seen') }} as object_keys
{%- endmacro %}


{# The paths to one right of a tier; without a right, no path. #}
{% macro _explained_right(name, tier, right) -%}
-- The tier {{ name }}{{ ': ' ~ right.permission ~ ' by ' ~ right.key if right }}.
select
    {{ secure_datasets._explained_keys(name, tier) }},
    {{ secure_datasets.path_columns('paths') }},
    paths.date_created,
    paths.created_by
from {{ ref(tier.access_view) }} as seen
left join {{ ref('explained_access_paths') }} as paths
    on
        {%- if right %}
        seen.user_id = paths.user_id
        and seen.{{ right.key }} = paths.object_id
        and paths.object_type = {{ secure_datasets.sql_text(right.object_type) }}
        and paths.permission_name = {{ secure_datasets.sql_text(right.permission) }}
        {%- else %}
        false
        {%- endif %}
{%- endmacro %}


{# The rows that link the objects of a tier. #}
{% macro _explained_link(name, tier, link) -%}
-- The tier {{ name }}: the rows that link its objects.
select
    {{ secure_datasets._explained_keys(name, tier) }},
    {{ secure_datasets.path_columns(values={'path_kind': "'Link'", 'grant_table': "'" ~ link.table ~ "'", 'grant_id': 'links.' ~ link.key}) }},
    links.date_created,
    links.created_by
from {{ ref(tier.access_view) }} as seen
inner join {{ ref('stg_' ~ link.table) }} as links
    on
        links.is_live
        {%- for key in tier.object_keys %}
        and seen.{{ key }} = links.{{ key }}
        {%- endfor %}
{%- endmacro %}
