{%- set tiers = secure_datasets.secure_datasets_config().tiers.values() -%}
{%- for name in tiers | map(attribute='access_view') | unique -%}
{%- set read = adapter.raw_tables_of(graph, [ref(name)])
    if execute and flags.INTROSPECT else [] -%}
{%- set newest = read | selectattr('newest') | map(attribute='newest') | list %}
select
    '{{ ref(name).identifier }}' as access_view,
    current_timestamp() as resolved_at,
    {{ 'timestamp_micros(' ~ (read | map(attribute='read_at') | min) ~ ')'
        if read else 'current_timestamp()' }} as read_at,
    {{ 'timestamp_micros(' ~ (newest | max) ~ ')'
        if newest else 'cast(null as timestamp)' }} as newest_delivery
{% if not loop.last %}union all{% endif %}
{%- endfor %}
