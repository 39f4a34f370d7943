{#
    What can be joined to a relation of the star, each by its shortest way along the
    relationships: a mapping of relations to lists of relationships, its own list empty.

    start   the relation
    config  the document of secure_datasets_config()
#}
{% macro relationship_paths(start, config) %}
    {%- set paths = {start: []} -%}
    {%- set walk = namespace(reached=[start]) -%}
    {# No way is longer than there are relationships. #}
    {%- for _ in config.relationships or [] -%}
        {%- set further = [] -%}
        {%- for link in config.relationships if link.to.dataset is defined -%}
            {%- set near, far = link['from'].dataset, link.to.dataset -%}
            {%- if near in walk.reached and far not in paths -%}
                {% do paths.update({far: paths[near] + [link]}) %}
                {% do further.append(far) %}
            {%- endif -%}
        {%- endfor -%}
        {%- set walk.reached = further -%}
    {%- endfor -%}
    {{ return(paths) }}
{% endmacro %}
