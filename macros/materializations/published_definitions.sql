{#
    What the metastore knows of the relations of a schema, by their names: a view's text
    among it, and the versions that it keeps.

    schema   the schema of the views
    pattern  the names, separated by `|`; all of them by default
#}
{% macro published_definitions(schema, pattern='*') %}
    {%- set definitions = {} -%}
    {%- for row in run_query('show table extended in ' ~ schema ~ " like '" ~ pattern ~ "'").rows -%}
        {% do definitions.update({row[1]: row[3]}) %}
    {%- endfor -%}
    {{ return(definitions) }}
{% endmacro %}


{# The versions named in a text, each as schema and table. #}
{% macro _named_versions(text) %}
    {{ return(modules.re.findall('\\w+_versions\\.\\w+__v[0-9]{14}_[0-9a-f]{8}', text) | unique | list) }}
{% endmacro %}


{# The versions that a view reads, by its definition; none if there is no such view. #}
{% macro _versions_read(definition) %}
    {{ return(_named_versions(modules.re.sub(_kept_versions_property(), '', definition or ''))) }}
{% endmacro %}


{# The versions that a view no longer reads and that are kept for those who do. #}
{% macro _versions_kept(definition) %}
    {%- set kept = modules.re.findall(_kept_versions_property(), definition or '') -%}
    {{ return(_named_versions(kept | join(' '))) }}
{% endmacro %}


{# The property that names kept versions, as the metastore tells it. #}
{% macro _kept_versions_property() %}
    {{ return('kept_versions=[^,\\]]*') }}
{% endmacro %}
