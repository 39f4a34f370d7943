{#
    The description of the relation, as SQL text, if `persist_docs` requires it; else none. Nothing in
    it ends the text or looks like a version.
#}
{% macro relation_comment() -%}
    {{ return(adapter.comment(model.description) if config.persist_relation_docs() and model.description else none) }}
{%- endmacro %}
