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
    {%- set datasets = adapter.secure_datasets() -%}
    {%- set accounts = accounts or var('reader_accounts') -%}
    {%- do datasets.check_policies(engine, accounts) -%}
    {%- set config = datasets.checked(secure_datasets.secure_datasets_config()) -%}
    {%- if dataset not in config.datasets -%}
        {% do secure_datasets.config_error("dataset '" ~ dataset ~ "'", 'has no entry, so that it has no policies' ~ adapter.secure_datasets().listed(dataset, config.datasets)) %}
    {%- endif -%}
    {%- set ruling_entry = config.datasets[secure_datasets.ruling_dataset(dataset, config)] -%}
    {%- if ruling_entry.query is defined -%}
        {% do secure_datasets.config_error("dataset '" ~ dataset ~ "'", 'is a query, made anew for each reader, so that no table can hold its policies') %}
    {%- endif -%}
    {%- set masks = {} -%}
    {%- for column in secure_datasets.policies_on(dataset, config).masks if column in config.datasets[dataset].columns -%}
        {%- do masks.update({column: secure_datasets._mask_for_accounts(dataset, config, column)}) -%}
    {%- endfor -%}
    {%- set rules = {'masks': masks} -%}
    {%- do rules.update({'user': secure_datasets.user_of_the_account(accounts, ref('stg_users'), datasets.account_of(engine))}) -%}
    {%- do rules.update({'predicate': secure_datasets.reader_placeholder() ~ ' is not null\nand (' ~ secure_datasets.row_rule(dataset, config, is_permissive=true) ~ ')'}) -%}
    {%- do rules.update({'restrictive': secure_datasets.restrictive_rule(dataset, config)}) -%}
    {%- for statement in datasets.policies(engine, dataset, config, rules, ref(ruling_entry.base), schema) -%}
        {{ print(statement ~ '\n') }}
    {%- endfor -%}
{% endmacro %}


{# A column's value as an account gets it; one without a user gets the highest mask. #}
{% macro _mask_for_accounts(name, config, column) %}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set first = secure_datasets.policies_on(name, config).masks[column] | first -%}
    {{ return(
        'case\n    when ' ~ secure_datasets.reader_placeholder() ~ ' is null\n        then ' ~ secure_datasets.mask_as_typed(first, name, config, column)
        ~ '\n    else ' ~ secure_datasets.masked_value(name, config, ruling, column, secure_datasets.reader_placeholder()) ~ '\nend'
    ) }}
{% endmacro %}
