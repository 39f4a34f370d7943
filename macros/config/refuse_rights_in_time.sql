{#
    Stops an operation that does not support rights with a beginning and an end, if a feed declares
    such rights.

    what  the operation, as the subject of a sentence
    why   the wrong answer that it would give, and the question to ask instead
#}
{% macro refuse_rights_in_time(what, why) %}
    {%- set tables = secure_datasets.rights_in_time() -%}
    {%- if tables -%}
        {{ exceptions.raise_compiler_error(
            what ~ " can't tell of rights that begin and end by the columns valid_from and valid_until of a raw table, as the feeds of "
            ~ tables | join(', ') ~ ' declare them: ' ~ why ~ '.'
        ) }}
    {%- endif -%}
{% endmacro %}
