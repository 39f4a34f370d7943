{# The CTEs that the queries about privileges share, from the seeds and the needs of the graph. #}

{#
    The privileges that each role holds, and the privileges that each operation requires.

    needs    rows of stored_object_needs()
    role     a role to judge even if no seed names it

    Renders  the CTEs role_paths, privileges_held and privileges_required. A row of role_paths
             has a role, a role whose privileges it holds, and whether only by a secondary role.
             Roles inherit at any depth. These are no models, because the check before a run
             needs them before any model is built.
#}
{% macro privilege_ctes(needs, role=none) -%}
with needs (object_name, needed_on, needed_type, needed_name) as (
    {{ secure_datasets.values_query(needs, 4) | indent }}
),

{{ secure_datasets._included_privileges() }},

{{ secure_datasets._roles_with_grants(role) }},

{{ secure_datasets._inherited_roles() }},

{{ secure_datasets._role_paths() }},

{{ secure_datasets._privileges_held() }},

-- An operation may need an object in two places: it is listed once.
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


{# Each privilege with the privileges that it includes. #}
{% macro _included_privileges() -%}
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
)
{%- endmacro %}


{# The granted privileges, the links between roles, and all roles. #}
{% macro _roles_with_grants(role) -%}
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
        -- An unknown link counts as secondary, which is the weaker kind.
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
)
{%- endmacro %}


{# Each role with the roles that it inherits, at any depth. #}
{% macro _inherited_roles() -%}
-- All links in one row: `reached` follows them to any depth without recursion.
inherited as (
    select
        collect_list(struct(role_name, inherits_role_name)) as steps,
        transform(collect_set(role_name), heir -> array(heir)) as heirs
    from links
    where not is_secondary
),

-- Each round goes one step further, and no path is longer than the number of heirs.
reached as (
    select
        roles.role_name,
        aggregate(
            inherited.heirs,
            array(roles.role_name),
            (held, heir) -> flatten(array(held, transform(
                filter(
                    inherited.steps,
                    step -> array_contains(held, step.role_name)
                    and not array_contains(held, step.inherits_role_name)
                ),
                step -> step.inherits_role_name
            )))
        ) as held
    from roles
    cross join inherited
)
{%- endmacro %}


{# Each role with the roles whose privileges it holds. #}
{% macro _role_paths() -%}
-- Secondary roles count for the role in use alone: they are not inherited.
role_ways as (
    select
        role_name,
        explode(held) as held_role_name,
        false as is_secondary
    from reached
    union all
    select
        links.role_name,
        explode(reached.held) as held_role_name,
        true as is_secondary
    from links
    inner join reached
        on links.inherits_role_name = reached.role_name
    where links.is_secondary
),

role_paths as (
    select
        role_name,
        held_role_name,
        min(is_secondary) as is_secondary
    from role_ways
    group by role_name, held_role_name
)
{%- endmacro %}


{# The privileges that each role holds. #}
{% macro _privileges_held() -%}
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
)
{%- endmacro %}


{# Whether a grant's or privilege's object is the one needed; `*` stands for every object of the type. #}
{% macro object_is_needed(granted, needed) -%}
{{ granted }}.object_type = {{ needed }}.needed_type
    and {{ granted }}.object_name in ({{ needed }}.needed_name, '*')
{%- endmacro %}
