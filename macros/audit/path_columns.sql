{#
    The columns that describe a path to a right: the columns of a relation of paths, or values by
    column, null for a column without a value.

    relation  the relation with the columns; none: `values` has them
    values    without a relation, SQL by column
#}
{% macro path_columns(relation=none, values={}) -%}
{{ adapter.secure_datasets().path_columns(relation, values) }}
{%- endmacro %}
