{# The clause with a relation's description, in place of dbt-spark's macro. #}
{% macro secure_spark__comment_clause() -%}
    {%- set comment = relation_comment() -%}
    {{ return('comment ' ~ comment if comment else '') }}
{%- endmacro %}
