-- Each permission of a toxic pair is one that somebody may hold on an object of its type: as a role
-- gives it, as a tier asks for it, as a global role or ownership brings it, whether or not there is
-- such a person now, or as somebody holds it. One that is misspelt, or empty, is found of nobody.
{{ config(meta={'print_failures': true}) }}
-- `dbt build` skips what follows a test that fails. What tells of all other pairs is built:
-- depends_on: {{ ref('access_findings') }}

{%- set rights, config, tables = [], secure_datasets.secure_datasets_config(), secure_datasets.repository_tables() -%}
{%- for name, tier in config.tiers.items() if tier.right is defined -%}
    {%- for right in adapter.secure_datasets().tier_parts(name, config, tables).rights -%}
        {%- do rights.append(right) -%}
    {%- endfor -%}
{%- endfor %}
{%- set implicit = {
    'Data Source': ['Global Admin', 'Global Data Source Admin', 'Data Source Owner'],
    'Project': ['Global Admin'],
    'Report': ['Global Admin', 'Report Owner'],
} %}

with known as (

    -- What global roles bring is held on objects, which have other types.
    select object_type, permission_name
    from {{ ref('role_permissions') }}
    where object_type != 'Global'
    {%- for object_type, names in implicit.items() %}
    {%- for name in names %}
    union
    select '{{ object_type }}', '{{ name }}'
    {%- endfor %}
    {%- endfor %}
    union
    select object_type, permission_name
    from {{ ref('vw_dataset_effective_user_permissions') }}
    {%- for right in rights %}
    union
    select {{ secure_datasets.sql_text(right.object_type) }}, {{ secure_datasets.sql_text(right.permission) }}
    {%- endfor %}

),

named as (

    select
        trim(object_type) as object_type,
        trim(permission_name) as permission_name
    from {{ ref('toxic_pairs') }}
    union
    select
        trim(object_type) as object_type,
        trim(other_permission_name) as permission_name
    from {{ ref('toxic_pairs') }}

)

select
    named.object_type,
    named.permission_name
from named
left anti join known
    on
        named.object_type = known.object_type
        and named.permission_name = known.permission_name
