{#
    Called before anything starts: stops dbt if a project has a model, seed, snapshot or source
    with a name of the product's, because the product could then read the wrong one.
#}
{% macro check_names() %}
    {%- if execute -%}
        {%- set known, others = {}, [] -%}
        {%- for node in graph.nodes.values() | list + graph.sources.values() | list if node.resource_type in ['model', 'seed', 'snapshot', 'source'] -%}
            {%- set name = node.source_name ~ '.' ~ node.name if node.resource_type == 'source' else node.name -%}
            {%- if node.package_name == 'secure_datasets' -%}
                {%- do known.update({name | lower: node.resource_type}) -%}
            {%- else -%}
                {%- do others.append([name, node]) -%}
            {%- endif -%}
        {%- endfor -%}
        {#- The metastore knows no capitals. -#}
        {%- for name, node in others if name | lower in known -%}
            {{ exceptions.raise_compiler_error(
                "The " ~ node.resource_type ~ " '" ~ name ~ "' of the project '" ~ node.package_name ~ "' has the name of a "
                ~ known[name | lower] ~ " of secure_datasets, and dbt would read the one or the other: give it another name, or, in its"
                ~ " place, switch that of secure_datasets off by '+enabled: false' in dbt_project.yml."
            ) }}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
