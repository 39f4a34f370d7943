-- Which user id has this login?
select user_id
from {{ ref('stg_users') }}
where
    is_live
    and login_name = '{{ var('login_name', 'hpark') | replace("'", "\\'") }}'
order by user_id
