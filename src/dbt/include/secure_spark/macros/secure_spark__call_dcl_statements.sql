{#
    Runs grants and revokes, in place of dbt-spark's macro: each only while this run holds the
    lock, in every materialization.

    dcl_statement_list  the statements
#}
{% macro secure_spark__call_dcl_statements(dcl_statement_list) %}
    {%- for dcl_statement in dcl_statement_list -%}
        {%- if not hold_run() -%}
            {{ exceptions.raise_compiler_error('Another run is building what is to be granted: ' ~ dcl_statement | trim) }}
        {%- endif -%}
        {%- call statement('grant_or_revoke') -%}
            {{ dcl_statement }}
        {%- endcall -%}
    {%- endfor -%}
{% endmacro %}
