{#
    Prints the statements that put the rules of a dataset on an engine's own table: a row filter on
    its base, and a mask for each masked column. Needs no Spark. The reader is the user of the
    account; an account that is mapped to no live user, or to several users, has no rows.

    Call      dbt run-operation render_policies --args '{dataset: tests, engine: postgres}'
    dataset   the dataset, an entry of secure_datasets_config()
    engine    unity_catalog, snowflake or postgres
    accounts  the relation that maps each account to a user_id; none: var('reader_accounts')
    schema    where the functions and policies are made; none: beside the base
#}
{% macro render_policies(dataset, engine, accounts=none, schema=none) %}
    {%- do secure_datasets.refuse_rights_in_time('A policy of another engine', 'that engine reads a copy of the access views, in which a right would outlive its time') -%}
    {%- set accounts = accounts or var('reader_accounts') -%}
    {%- do adapter.secure_datasets().check_policies(engine, accounts) -%}
    {%- set config = adapter.secure_datasets().checked(secure_datasets.secure_datasets_config()) -%}
    {%- set rules = adapter.rules_by_exists(secure_datasets, ref, config) -%}
    {%- for statement in adapter.secure_datasets().policies(rules, engine, dataset, accounts, schema) -%}
        {{ print(statement ~ '\n') }}
    {%- endfor -%}
{% endmacro %}
