{#
    What the config's policies say of one dataset, with the defaults filled in. Under view
    authorization they are those at the end of its chain: its own would be rules on a view.

    Renders   nothing; returns `conditions`, a list of rules, `masks`, for each masked column
              its rules, the highest order first, `roles`, for each role that they name the
              field that tells whether a user holds it, and `is_authorized`, whether view
              authorization says for whom they hold. A rule is for who holds one of its
              `roles` or, with `is_except`, for everybody else

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro policies_on(name, config) %}
    {{ return(adapter.secure_datasets().policies_on(name, config)) }}
{% endmacro %}
