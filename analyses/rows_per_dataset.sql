-- What does a user see in each secure dataset?
{%- set names = [
    'tables', 'columns', 'metadata_objects', 'tests', 'jobs', 'job_executions',
    'test_executions', 'template_test_executions', 'event_history',
] %}
{%- for name in names %}
select
    '{{ name }}' as dataset,
    count(*) as rows_seen
from {{ ref('vw_secure_dataset_' ~ name) }}
where user_id = {{ var('user_id', 8) }} or user_id is null
{%- if not loop.last %}
union all
{%- endif %}
{%- endfor %}
order by dataset
