with needs (object_name, needed_on, needed_type, needed_name) as (
    $needs
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
    from $privilege_grants
),

links as (
    select
        role_name,
        inherits_role_name,
        -- An unknown link counts as secondary, which is the weaker kind.
        coalesce(is_secondary, true) as is_secondary
    from $role_hierarchy
),

-- A role may be there several times; `union` keeps it once.
roles as (
    select role_name from grants
    union
    select role_name from links
    union
    select inherits_role_name from links
    $role_to_judge
),

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
),

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
    from $privilege_requirements as matrix
    inner join needs
        on matrix.needed_on = needs.needed_on
)
