{%- for name in repository_tables() %}
select
    '{{ name }}' as table_name,
    count(*) as deliveries,
    max(sf_date_created) as newest_delivery,
    current_timestamp() as read_at
from (
    {{ load_times(name) }}
) as load_times
{% if not loop.last %}union all{% endif %}
{%- endfor %}
