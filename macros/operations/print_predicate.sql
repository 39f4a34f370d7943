{#
    Prints the rules of a dataset by themselves, to paste into an engine's own row filter and column
    masks: for the rows of its base one boolean SQL expression, and for each masked column the
    expression of its value. Needs no Spark.

    Call      dbt run-operation print_predicate --args '{dataset: tests}'
    dataset   the dataset, an entry of secure_datasets_config()
    user      SQL for the id of the user who reads
    relation  the base's name, for columns that need it; none: the name in its rules
    dialect   the SQL dialect of the engine: spark, databricks, snowflake, postgres, duckdb,
              trino or bigquery
#}
{% macro print_predicate(dataset, user=':user_id', relation=none, dialect='spark') %}
    {%- if dialect not in ['spark', 'databricks'] -%}
        {%- do secure_datasets.refuse_rights_in_time('A predicate for another engine', 'that engine reads a copy of the access views, in which a right would outlive its time') -%}
    {%- endif -%}
    {%- set config = adapter.secure_datasets().checked(secure_datasets.secure_datasets_config()) -%}
    {%- set rules = adapter.rules_by_exists(secure_datasets, ref, config) -%}
    {%- for line in adapter.secure_datasets().predicates(rules, dataset, user, relation, dialect) -%}
        {{ print(line) }}
    {%- endfor -%}
{% endmacro %}
