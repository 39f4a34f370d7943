{#
    The metadata that an engine's catalogue would have for each stored table. Rows of name,
    description, inputs, text, compute, state (ACTIVE or SUSPENDED), and the day and the reason of
    the suspension.
#}
{% macro stored_table_metadata_rows() %}
    {%- set objects = secure_datasets.graph_objects() -%}
    {%- set rows = [] -%}
    {%- for object in objects.values() if object.object_type == 'STORED TABLE' -%}
        {%- set meta = object.node.config.get('meta', {}) -%}
        {%- set read = [] -%}
        {%- for parent in object.reads if parent in objects -%}
            {% do read.append(objects[parent].name) %}
        {%- endfor -%}
        {% do rows.append([
            object.name, object.node.description | trim, read | sort | join(', ') or none,
            object.node.raw_code, secure_datasets.compute_of(object.node),
            'SUSPENDED' if meta.get('suspend_reason_code') else 'ACTIVE',
            meta.get('last_suspended_on'), meta.get('suspend_reason_code'),
        ]) %}
    {%- endfor -%}
    {{ return(rows) }}
{% endmacro %}
