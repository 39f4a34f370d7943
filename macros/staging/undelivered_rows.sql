{#
    A query of the rows that counted in the version before and are no longer delivered, with all columns of
    staging: none counts now, though `is_live` still has its former value, true. None if there is no version
    before.

    name      the raw table
    relation  the macro that names a relation: `ref` in a model, `relation_named` in an operation
#}
{% macro undelivered_rows(name, relation) %}
    {%- set before, key = secure_datasets.version_before(name), secure_datasets.repository_tables()[name].key -%}
    {%- if not before -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set query -%}
select *, '{{ before.since }}' as undelivered_since
from {{ before.version }} as before
left anti join {{ relation('stg_' ~ name) }} as now
    on before.{{ key }} = now.{{ key }}
where before.is_live
    {%- endset -%}
    {{ return(query) }}
{% endmacro %}
