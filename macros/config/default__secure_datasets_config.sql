{#
    What a root project adds to the product's datasets: nothing, unless it has a macro of this
    name, which holds a document and nothing else. Entries with a name are added, or change the
    product's entry of that name by the keys that they give; `false` switches a dataset off;
    lists are appended.
#}
{% macro default__secure_datasets_config() -%}
{%- endmacro %}
