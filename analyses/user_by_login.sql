-- Which user id has this login?
select user_id
from {{ ref('stg_users') }}
where
    is_live
    and login_name = {{ secure_datasets.sql_text(var('login_name', 'hpark')) }}
order by user_id
