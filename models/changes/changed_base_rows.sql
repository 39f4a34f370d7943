{{ config(enabled=var('before', none) is not none or var('after', none) is not none) }}

{%- set states = secure_datasets.states_compared() -%}
{%- if states -%}
{{ adapter.access_changes().changed_base_rows(states, secure_datasets.repository_tables(), secure_datasets.documented_columns()) }}
{%- endif -%}
