-- Who sees a data source?
select
    user_id,
    access_type
from {{ ref('vw_secure_user_data_source_access') }}
where meta_data_source_id = {{ var('data_source_id', 1) }}
order by user_id
