{#
    The columns that tell a path to a right: those of a relation of paths, or values by column,
    null where there is none.

    relation  the relation that has them
    values    else SQL by column
#}
{% macro path_columns(relation=none, values={}) -%}
{{ adapter.secure_datasets().path_columns(relation, values) }}
{%- endmacro %}
