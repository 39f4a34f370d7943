{#
    Checks that a text can be one SQL expression and nothing more: it is put between brackets
    into a query, and must neither leave them nor hide what follows.

    Within a subquery a column of the dataset must say whose it is. Unqualified, it would be
    the row's own where the other relation has none of that name, and a condition such as
    `unit in (select unit from allowed)` would then be true of every row.

    entry    the policy, as the message names it
    key      `condition` or `mask`
    text     the SQL
    name     the dataset
    columns  its columns
#}
{% macro check_policy_sql(entry, key, text, name, columns) %}
    {%- if text is not string or not text | trim -%}
        {% do _config_error(entry, "'" ~ key ~ "' must be an SQL expression") %}
    {%- endif -%}
    {%- set parts = policy_sql_parts(text) -%}
    {%- if modules.re.search("['\"]", parts.bare) -%}
        {% do _config_error(entry, "'" ~ key ~ "' has a quote without its other end") %}
    {%- endif -%}
    {%- if modules.re.search('--|/\\*|;', parts.bare) -%}
        {% do _config_error(entry, "'" ~ key ~ "' has a comment or a semicolon, which an expression can't have") %}
    {%- endif -%}
    {%- if not parts.is_balanced -%}
        {% do _config_error(entry, "the brackets of '" ~ key ~ "' don't match") %}
    {%- endif -%}
    {%- for word in modules.re.findall('(?<![\\w.])\\w+(?!\\w|[.]|\\s*[(])', parts.subqueries) if word | lower in columns + ['user_id'] -%}
        {% do _config_error(entry, "'" ~ key ~ "' names '" ~ word ~ "' in a subquery without its relation: write '<relation>." ~ word ~ "', or '" ~ name ~ '.' ~ word ~ "' for the row's own") %}
    {%- endfor -%}
{% endmacro %}
