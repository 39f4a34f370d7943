{#
    Stops what can't tell of rights that begin and end by themselves, where a feed declares such.

    what  what it is, as the subject of a sentence
    why   what it would answer, and what to ask instead
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
