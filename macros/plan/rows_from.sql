{#
    The relations that the rows of a dataset come from: its base or, for a query, its relations
    of the star.

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro rows_from(dataset, config) %}
    {%- if dataset.base is defined -%}
        {{ return([dataset.base]) }}
    {%- endif -%}
    {%- set star = secure_datasets.star_query(dataset, config) -%}
    {%- set paths, read = secure_datasets.relationship_paths(star.root, config), [star.root] -%}
    {%- for relation, _ in star.columns -%}
        {% do read.extend(paths[relation] | map(attribute='to.dataset')) %}
    {%- endfor -%}
    {{ return(read | unique | list) }}
{% endmacro %}
