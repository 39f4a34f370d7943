{#
    Keys with their names as one text, such as `project_id=1, meta_data_source_id=6`.

    columns   the columns of the keys
    relation  the relation that has them
#}
{% macro named_keys(columns, relation) -%}
{{ adapter.secure_datasets().named_keys(columns, relation) }}
{%- endmacro %}
