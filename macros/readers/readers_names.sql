{#
    The names of the readers' views, each with the model that it shows: a dataset's own
    name, and an access view's without its prefix. The functions add `_of`.
#}
{% macro readers_names() %}
    {{ return(adapter.secure_datasets().readers_names(secure_datasets.secure_datasets_config())) }}
{% endmacro %}
