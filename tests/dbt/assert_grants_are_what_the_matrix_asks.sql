-- Fails where a role lacks what the operations it is for ask for, or has a grant that none
-- of them asks for.
{{ config(meta={'print_failures': true}) }}
{{ secure_datasets.privileges().ctes() }},

purposes as (
    select
        role_name,
        operation,
        object_name
    from {{ ref('role_operations') }}
),

required as (
    select
        purposes.role_name,
        privileges_required.privilege,
        privileges_required.needed_type,
        privileges_required.needed_name
    from purposes
    inner join privileges_required
        on
            purposes.operation = privileges_required.operation
            and purposes.object_name in (privileges_required.object_name, '*')
),

lacking as (
    select
        permitted_operations.role_name,
        permitted_operations.operation as about,
        permitted_operations.missing as problem
    from purposes
    inner join {{ ref('permitted_operations') }} as permitted_operations
        on
            purposes.role_name = permitted_operations.role_name
            and purposes.operation = permitted_operations.operation
            and purposes.object_name in (permitted_operations.object_name, '*')
    where not permitted_operations.permitted
),

-- A grant is asked for by the role that holds it or by one that inherits it.
used as (
    select distinct
        grants.role_name,
        grants.privilege,
        grants.object_type,
        grants.object_name
    from grants
    inner join included_privileges
        on grants.privilege = included_privileges.privilege
    inner join role_paths
        on grants.role_name = role_paths.held_role_name
    inner join required
        on
            role_paths.role_name = required.role_name
            and included_privileges.included = required.privilege
            and {{ secure_datasets.privileges().object_is_needed('grants', 'required') | indent(12) }}
),

-- Of a role that no role with a purpose holds, nothing is known.
judged_roles as (
    select distinct role_paths.held_role_name as role_name
    from role_paths
    inner join purposes
        on role_paths.role_name = purposes.role_name
),

unused as (
    select
        grants.role_name,
        concat(
            grants.privilege, ' on ', grants.object_type, ' ', grants.object_name
        ) as about,
        'no operation of the role asks for it' as problem
    from grants
    inner join judged_roles
        on grants.role_name = judged_roles.role_name
    left anti join used
        on
            grants.role_name = used.role_name
            and grants.privilege = used.privilege
            and grants.object_type = used.object_type
            and grants.object_name = used.object_name
)

select * from lacking
union all
select * from unused
