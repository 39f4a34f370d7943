-- The audit and the access views tell the same of who may view and who is a member.
with audit as (

    select
        object_type,
        object_id,
        user_id
    from {{ ref('vw_dataset_effective_user_permissions') }}
    where
        (object_type = 'Data Source' and permission_name = 'View Metadata')
        or (object_type = 'Project' and permission_name = 'Project Member')

),

access as (

    select
        'Data Source' as object_type,
        meta_data_source_id as object_id,
        user_id
    from {{ ref('vw_secure_user_data_source_access') }}
    union all
    select
        'Project' as object_type,
        project_id as object_id,
        user_id
    from {{ ref('vw_secure_user_project_access') }}

)

select
    *,
    'only in the audit' as problem
from (select * from audit except select * from access)
union all
select
    *,
    'only in the access view' as problem
from (select * from access except select * from audit)
