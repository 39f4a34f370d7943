-- Which user id has this login?
select
    user_id,
    concat_ws(' ', first_name, last_name) as user_name
from {{ ref('stg_users') }}
where
    is_live
    and login_name = {{ secure_datasets.sql_text(var('login_name', 'hpark')) }}
order by user_id
