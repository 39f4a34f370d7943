{#
    The restrictive conditions of a dataset as one rule, before it is printed: whether each that
    is for a reader is true of a row. Nothing if the dataset has none.

    name    the dataset's name
    config  the document of secure_datasets_config()
#}
{% macro restrictive_rule(name, config) %}
    {%- set policies = secure_datasets.policies_on(name, config) -%}
    {%- set rule = secure_datasets._meets_the_conditions(name, dict(policies, conditions=[]), secure_datasets.reader_placeholder()) -%}
    {{ return(rule if policies.restrictive else '') }}
{% endmacro %}
