{#
    The document of a root project, which is merged onto the product's: empty, unless the project has
    a macro of this name, which holds a document and nothing else. An entry with a new name is added;
    an entry with a name of the product's overrides the keys that it has; `false` switches a dataset
    off; lists are appended.
#}
{% macro default__secure_datasets_config() -%}
{%- endmacro %}
