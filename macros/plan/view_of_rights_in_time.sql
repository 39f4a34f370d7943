{#
    Makes a model over rights a view if the rights hold for a time: each read evaluates it, so that a
    right ends in it without a run.
#}
{% macro view_of_rights_in_time() -%}
{%- if secure_datasets.rights_in_time() -%}
    {% do config(materialized='view', in_time=true) %}
{%- endif -%}
{%- endmacro %}
