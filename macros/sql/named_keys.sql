{#
    Keys with their names as one text, such as `project_id=1, meta_data_source_id=6`.

    columns   the columns of the keys
    relation  the relation that has them
#}
{% macro named_keys(columns, relation) -%}
concat_ws(', '{% for column in columns %}, concat('{{ column }}=', {{ relation }}.{{ column }}){% endfor %})
{%- endmacro %}
