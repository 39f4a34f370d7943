{#
    Renders the rows of a dataset under all that is declared about it, in this order: tier,
    conditions, masks. Each is a CTE that reads the one before, so that no rule sees a row
    that an earlier one hides, and a mask is never put on a hidden row.

    Call      by secure_dataset(), for a dataset that policies name
    name      the dataset
    dataset   its entry
    policies  what policies_on() returns for it
    tier_rows the query of its tier, per user
    carries   the columns after user_id
#}
{% macro rows_under_policies(name, dataset, policies, tier_rows, carries) -%}
{%- set columns = dataset.columns + ['user_id'] + carries -%}
{%- set last = namespace(rows='rows_with_roles') -%}
with tier_rows as (

    {{ tier_rows | indent(4) }}

),

roles as (

    {{ _held_roles(policies.roles) | indent(4) }}

),

rows_with_roles as (

    {{ _rows_with_roles('tier_rows', columns, policies) | indent(4) }}

)
{%- if policies.conditions %}
{%- set last.rows = 'visible_rows' -%}
,

visible_rows as (

    {{ _visible_rows(name, policies.conditions) | indent(4) }}

)
{%- endif %}

{{ _masked_rows(name, last.rows, dataset, columns, policies.masks) }}
{%- endmacro %}
