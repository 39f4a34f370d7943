{# A query of the live users: user_id and is_live. #}
{% macro live_users() -%}
select user_id, is_live from {{ ref('stg_users') }} where is_live
{%- endmacro %}
