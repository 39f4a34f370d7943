{#
    The policies whose time has been over for some days: resource, policy and reason.

    config   the document of secure_datasets_config()
    days     the number of days
#}
{% macro policies_long_over(config, days) -%}
{%- set queries = [] -%}
{%- for policy in adapter.secure_datasets().long_over(config, days, secure_datasets.readers_clock()) -%}
{%- set query -%}
select
    {{ secure_datasets.sql_text(policy.resource) }} as resource,
    {{ secure_datasets.sql_text(policy.policy) }} as policy,
    {{ secure_datasets.sql_text(policy.reason) }} as reason
where {{ policy.is_over }}
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{{ secure_datasets.union_of(queries) }}
{%- endmacro %}
