{#
    The description of what is built, as SQL text, where `persist_docs` asks for it; or none.
    Nothing in it ends the text or is taken for a version.
#}
{% macro relation_comment() -%}
    {{ return(adapter.comment(model.description) if config.persist_relation_docs() and model.description else none) }}
{%- endmacro %}
