{#
    The names of the readers' views, each with the model that it shows: a dataset's own
    name, and an access view's without its prefix. The functions add `_of`.
#}
{% macro readers_names() %}
    {%- set config = secure_datasets.secure_datasets_config() -%}
    {%- set names = {} -%}
    {%- for name in config.datasets -%}
        {% do names.update({name: 'vw_secure_dataset_' ~ name}) %}
    {%- endfor -%}
    {%- for tier in config.tiers.values() -%}
        {%- set name = adapter.secure_datasets().readers_name(tier.access_view) -%}
        {%- if name in config.datasets -%}
            {{ exceptions.raise_compiler_error(
                "secure_datasets_config: the dataset '" ~ name ~ "' and the access view '" ~ tier.access_view
                ~ "' would share the name of a readers' view: rename the dataset."
            ) }}
        {%- endif -%}
        {% do names.update({name: tier.access_view}) %}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}
