{%- for name, table in secure_datasets.repository_tables().items() %}
select
    '{{ name }}' as table_name,
    raw_id,
    rejection_reason as reason,
    raw_row,
    sf_date_created
from {{ ref('stg_' ~ name) }}
where rejection_reason is not null
{% if not loop.last %}union all{% endif %}
{%- endfor %}
