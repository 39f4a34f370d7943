{#
    A role's name as people write it, without white space at its ends: what staging takes
    for white space, and nothing else.

    role  the name
#}
{% macro trimmed_role(role) %}
    {%- set white_space = '[' ~ unicode_white_space()[1:-1] ~ ']+' -%}
    {{ return(modules.re.sub('^' ~ white_space ~ '|' ~ white_space ~ '\\Z', '', role)) }}
{% endmacro %}
