{#
    The config's policies on one dataset, with the defaults filled in. Under view authorization
    these are the policies at the end of its chain: its own would be rules on a view.

    Renders   nothing; returns `conditions`, a list of rules, `masks`, for each masked column
              its rules, the highest order first, `roles`, the field of each named role that
              is true for users with the role, and `is_authorized`, whether view authorization
              decides the users under them. A rule is for users with one of its `roles` or, with
              `is_except`, for users without one

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro policies_on(name, config) %}
    {{ return(adapter.secure_datasets().policies_on(name, config, secure_datasets.readers_attributes(config))) }}
{% endmacro %}
