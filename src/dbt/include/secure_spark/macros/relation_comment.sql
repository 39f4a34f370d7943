{#
    The description of what is built, as SQL text, where `persist_docs` asks for it; or none.
    Nothing in it ends the text or is taken for a version. A view is altered and not made
    anew, and then Spark keeps no comments of its columns.
#}
{% macro relation_comment() -%}
    {%- if config.persist_column_docs() -%}
        {% do exceptions.warn(
            "persist_docs of '" ~ model.name ~ "' asks for its columns, whose comments Spark does not keep"
            ~ " when a view is altered: only the relation's description is written."
        ) %}
    {%- endif -%}
    {{ return(adapter.comment(model.description) if config.persist_relation_docs() and model.description else none) }}
{%- endmacro %}
