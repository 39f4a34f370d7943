{%- for name in repository_tables() %}
select
    '{{ name }}' as table_name,
    count(*) as deliveries,
    max({{ read_value(trimmed_text(delivered_text('sf_date_created', 'timestamp')), 'timestamp') }}) as newest_delivery,
    current_timestamp() as read_at
from {{ raw_relation(name) }}
{% if not loop.last %}union all{% endif %}
{%- endfor %}
