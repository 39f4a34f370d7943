-- How much does one user see per tier?
select
    'context' as tier,
    count(*) as objects
from {{ ref('vw_secure_dataset_event_history') }}
where user_id = {{ var('user_id', 8) }} or user_id is null
union all
select
    'data source' as tier,
    count(*) as objects
from {{ ref('vw_secure_user_data_source_access') }}
where user_id = {{ var('user_id', 8) }}
union all
select
    'project' as tier,
    count(*) as objects
from {{ ref('vw_secure_user_project_access') }}
where user_id = {{ var('user_id', 8) }}
union all
select
    'results' as tier,
    count(*) as objects
from {{ ref('vw_secure_user_results_access') }}
where user_id = {{ var('user_id', 8) }}
order by tier
