with written as (

    $written

)

select
    '$table' as table_name,
    column_name,
    count(*) as deliveries,
    max(left($form, 40)) as written_like,
    remedy
from written
where
    not is_read
    and ($of_loads$is_delivered)
    and $moment is null
group by column_name, remedy
