{#
    Lets a model that makes something of rights be a view where these hold for a time: it is worked
    out when it is read, so that a right ends in it without a run.
#}
{% macro view_of_rights_in_time() -%}
{%- if secure_datasets.rights_in_time() -%}
    {% do config(materialized='view', in_time=true) %}
{%- endif -%}
{%- endmacro %}
