-- depends_on: {{ ref('access_changes') }}, {{ ref('changed_raw_rows') }}, {{ ref('changed_row_counts') }}, {{ ref('changed_base_rows') }}
{{ config(enabled=var('before', none) is not none or var('after', none) is not none) }}

{%- set states = secure_datasets.states_compared() -%}
{%- if states %}
{{ adapter.access_changes().row_changes(states, ref) }}
{%- endif -%}
