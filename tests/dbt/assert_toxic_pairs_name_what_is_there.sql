-- Each permission of a toxic pair is one that somebody may hold on an object of its type: as a role
-- gives it, as a tier asks for it, or as somebody holds it. One that is misspelt is found of nobody.
{{ config(meta={'print_failures': true}) }}
-- `dbt build` skips what follows a test that fails. What tells of all other pairs is built:
-- depends_on: {{ ref('access_findings') }}

{%- set rights = [] -%}
{%- for name, tier in secure_datasets.secure_datasets_config().tiers.items() if tier.right is defined -%}
    {%- for right in secure_datasets.tier_parts(name, secure_datasets.secure_datasets_config()).rights -%}
        {%- do rights.append(right) -%}
    {%- endfor -%}
{%- endfor %}

with known as (

    select object_type, permission_name
    from {{ ref('role_permissions') }}
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
