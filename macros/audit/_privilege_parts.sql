{# What the queries about privileges share: CTEs, from the seeds and the needs of the graph. #}

{#
    Who holds what, and what each operation asks for.

    needs    rows of stored_object_needs()
    role     a role to judge even if no seed names it

    Renders  the CTEs role_paths (a role, each role whose privileges it holds, and whether by
             a secondary role), privileges_held and privileges_required. Recursive: a role
             inherits at any distance, and the check before a run asks before any model is
             built.
#}
{% macro privilege_ctes(needs, role=none) -%}
with recursive needs (object_name, needed_on, needed_type, needed_name) as (
    {{ secure_datasets.values_query(needs, 4) | indent }}
),

included_privileges (privilege, included) as (
    values
    ('OWNERSHIP', 'OWNERSHIP'),
    ('OWNERSHIP', 'OPERATE'),
    ('OWNERSHIP', 'MONITOR'),
    ('OPERATE', 'OPERATE'),
    ('OPERATE', 'MONITOR'),
    ('MONITOR', 'MONITOR'),
    ('SELECT', 'SELECT'),
    ('CREATE', 'CREATE'),
    ('USAGE', 'USAGE'),
    ('ALL', 'OPERATE'),
    ('ALL', 'MONITOR'),
    ('ALL', 'SELECT'),
    ('ALL', 'CREATE'),
    ('ALL', 'USAGE')
),

grants as (
    select
        role_name,
        privilege,
        object_type,
        object_name
    from {{ ref('privilege_grants') }}
),

links as (
    select
        role_name,
        inherits_role_name,
        -- Unknown counts as secondary, which is the weaker of the two.
        coalesce(is_secondary, true) as is_secondary
    from {{ ref('role_hierarchy') }}
),

-- A role may be there several times; `union` keeps it once.
roles as (
    select role_name from grants
    union
    select role_name from links
    union
    select inherits_role_name from links
    {%- if role %}
    union
    select {{ secure_datasets.sql_text(role) }}
    {%- endif %}
),

-- A way that comes back to a role ends there, so that a ring of roles ends as well. Only
-- the role in use has secondary roles; those of a role that it inherits do not come along.
role_ways (role_name, held_role_name, is_secondary, way) as (
    select
        role_name,
        role_name,
        false,
        array(role_name)
    from roles
    union all
    select
        role_ways.role_name,
        links.inherits_role_name,
        role_ways.is_secondary or links.is_secondary,
        array_append(role_ways.way, links.inherits_role_name)
    from role_ways
    inner join links
        on role_ways.held_role_name = links.role_name
    where
        not array_contains(role_ways.way, links.inherits_role_name)
        and (size(role_ways.way) = 1 or not links.is_secondary)
),

role_paths as (
    select
        role_name,
        held_role_name,
        min(is_secondary) as is_secondary
    from role_ways
    group by role_name, held_role_name
),

privileges_held as (
    select
        role_paths.role_name,
        included_privileges.included as privilege,
        grants.object_type,
        grants.object_name,
        min(role_paths.is_secondary) as is_secondary
    from role_paths
    inner join grants
        on role_paths.held_role_name = grants.role_name
    inner join included_privileges
        on grants.privilege = included_privileges.privilege
    group by
        role_paths.role_name,
        included_privileges.included,
        grants.object_type,
        grants.object_name
),

-- The same object may stand in two places: it is asked for once.
privileges_required as (
    select distinct
        needs.object_name,
        matrix.operation,
        matrix.alternative,
        matrix.privilege,
        matrix.through_secondary_role,
        needs.needed_type,
        needs.needed_name
    from {{ ref('privilege_requirements') }} as matrix
    inner join needs
        on matrix.needed_on = needs.needed_on
)
{%- endmacro %}


{# Whether a grant's or privilege's object is the one needed; `*` is every one of the type. #}
{% macro object_is_needed(granted, needed) -%}
{{ granted }}.object_type = {{ needed }}.needed_type
    and {{ granted }}.object_name in ({{ needed }}.needed_name, '*')
{%- endmacro %}
