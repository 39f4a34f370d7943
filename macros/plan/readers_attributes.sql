{#
    The relation with the attributes of the reader, as SQL; nothing if the config names none.

    config  the document of secure_datasets_config()
#}
{% macro readers_attributes(config) %}
    {{ return(ref(config.reader.relation) | string if config.reader else '') }}
{% endmacro %}
