{#
    Takes an SQL text apart as far as its checks need: `bare`, without quoted text and with
    identifiers out of their backticks; `is_balanced`, whether its brackets match;
    `subqueries`, what stands in its subqueries; and `outer`, what stands outside of them.

    text  the SQL
#}
{% macro policy_sql_parts(text) %}
    {%- set quoted = "'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"" -%}
    {%- set bare = modules.re.sub('`', '', modules.re.sub(quoted, '0', text)) -%}
    {%- set scan = namespace(depth=0, is_balanced=true, inner=none, subqueries='', outer='') -%}
    {%- for piece in modules.re.findall('(?i)\\(\\s*(?:select|with)\\b|[()]|[^()]+', bare) -%}
        {%- set scan.outer = scan.outer ~ (piece if scan.inner is none else '') -%}
        {%- if piece.startswith('(') -%}
            {%- set scan.depth = scan.depth + 1 -%}
            {%- if piece != '(' and scan.inner is none -%}
                {%- set scan.inner = scan.depth -%}
            {%- endif -%}
        {%- elif piece == ')' -%}
            {%- if scan.depth == scan.inner -%}
                {%- set scan.inner = none -%}
                {%- set scan.outer = scan.outer ~ ')' -%}
            {%- endif -%}
            {%- set scan.depth = scan.depth - 1 -%}
            {%- if scan.depth < 0 -%}
                {%- set scan.is_balanced = false -%}
            {%- endif -%}
        {%- elif scan.inner is not none -%}
            {%- set scan.subqueries = scan.subqueries ~ ' ' ~ piece -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({
        'bare': bare,
        'outer': scan.outer,
        'is_balanced': scan.is_balanced and scan.depth == 0,
        'subqueries': modules.re.sub('\\s*\\.\\s*', '.', scan.subqueries),
    }) }}
{% endmacro %}
