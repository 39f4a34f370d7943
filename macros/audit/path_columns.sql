{#
    The columns that tell a path to a right: those of a relation of paths, or values by column,
    null where there is none.

    relation  the relation that has them
    values    else SQL by column
#}
{% macro path_columns(relation=none, values={}) -%}
{%- set types = {
    'permission_name': 'string', 'path_kind': 'string', 'grant_table': 'string', 'grant_id': 'bigint', 'role_name': 'string',
    'user_group_id': 'bigint', 'user_group_member_id': 'bigint', 'group_chain': 'string',
} -%}
{%- for column, type in types.items() -%}
    {%- if relation -%}
        {{ relation }}.{{ column }}
    {%- else -%}
        {{ values.get(column, 'cast(null as ' ~ type ~ ')') }} as {{ column }}
    {%- endif -%}
    {{ ',\n    ' if not loop.last }}
{%- endfor -%}
{%- endmacro %}
