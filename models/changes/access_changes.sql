-- depends_on: {{ ref('changed_access') }}, {{ ref('changed_paths') }}, {{ ref('changed_raw_rows') }}
{{ config(enabled=var('before', none) is not none or var('after', none) is not none) }}

{%- set states = secure_datasets.states_compared() -%}
{%- if states %}
{{ adapter.access_changes().access_changes(states, ref, secure_datasets.repository_tables(), secure_datasets.rows_of) }}
{%- endif -%}
