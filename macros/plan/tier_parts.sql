{#
    The requirements of a tier, as far as the config has them: `rights`, each with `key`,
    `object_type` and `permission`, the tier's own first; `links`, each with the raw `table`
    whose live rows link the objects and its `key`; `is_whole`, whether a right is known for
    each of the tier's keys.

    name    the tier
    config  the document of secure_datasets_config()
#}
{% macro tier_parts(name, config) %}
    {{ return(adapter.secure_datasets().tier_parts(name, config, secure_datasets.repository_tables())) }}
{% endmacro %}
