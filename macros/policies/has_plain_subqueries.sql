{#
    Whether each `in (select ...)` of a condition stands alone or under and, or and not.
    Elsewhere, as in `case`, `coalesce(...)` or before `is null`, Spark takes it for false where
    SQL says null, and the condition could be true of rows that it should hide.

    text  the condition, its subqueries empty: what policy_sql_parts() returns as `outer`
#}
{% macro has_plain_subqueries(text) %}
    {%- set find = '(?i)(\\w*)\\s*\\(([^()]*)\\)' -%}
    {%- set level = namespace(text=modules.re.sub('(?i)\\bin\\s*\\(\\s*(?:select|with)\\s*\\)', ' in_query ', text)) -%}
    {# Each round takes the innermost brackets away, the last one looks at what is left. #}
    {%- for _ in range(text.count('(') + 1) -%}
        {%- set group = modules.re.search(find, level.text) -%}
        {%- set word, inner = (group[1] | lower, group[2]) if group else ('', level.text) -%}
        {%- set is_logic = word in ['', 'and', 'or', 'not'] and not modules.re.search('(?i)\\bcase\\b', inner) -%}
        {%- if 'in_query' in inner -%}
            {%- for term in modules.re.split('(?i)\\b(?:and|or|not)\\b', inner) if 'in_query' in term -%}
                {%- if not is_logic or not modules.re.fullmatch('(?is)(?!.*\\bis\\b)[^=<>,]*in_query\\s*', term) -%}
                    {{ return(false) }}
                {%- endif -%}
            {%- endfor -%}
        {%- endif -%}
        {%- if group -%}
            {%- set instead = word ~ ' ' ~ ('in_query' if 'in_query' in inner else 'value') ~ ' ' -%}
            {%- set level.text = level.text[:group.start()] ~ instead ~ level.text[group.end():] -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(true) }}
{% endmacro %}
