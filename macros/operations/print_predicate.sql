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
    {%- if dataset not in config.datasets -%}
        {% do secure_datasets.config_error("dataset '" ~ dataset ~ "'", 'has no entry, so that it has no predicate' ~ adapter.secure_datasets().listed(dataset, config.datasets)) %}
    {%- endif -%}
    {%- set ruling_entry = config.datasets[secure_datasets.ruling_dataset(dataset, config)] -%}
    {%- set base = ref(ruling_entry.base or secure_datasets.star_query(ruling_entry, config).root) -%}
    {%- set lines = [] -%}
    {%- do lines.append('-- Which rows of ' ~ base ~ ' count for ' ~ user ~ " in '" ~ dataset ~ "'; the base is called " ~ (relation or secure_datasets.base_alias(dataset, config)) ~ '.') -%}
    {%- do lines.append(secure_datasets.row_predicate(dataset, config, user, relation, dialect)) -%}
    {%- if ruling_entry.query is defined -%}
        {%- do lines.append('\n-- Which lines of the answer to these rows ' ~ user ~ ' sees; the answer is called ' ~ dataset ~ '.') -%}
        {%- do lines.append(secure_datasets.answer_predicate(dataset, config, user, dialect=dialect)) -%}
    {%- endif -%}
    {%- for column in secure_datasets.policies_on(dataset, config).masks if column in config.datasets[dataset].columns -%}
        {%- do lines.append('\n-- What ' ~ user ~ ' gets for ' ~ column ~ '.') -%}
        {%- do lines.append(secure_datasets.mask_by_itself(dataset, config, column, user, relation if ruling_entry.query is not defined, dialect)) -%}
    {%- endfor -%}
    {#- A rule that can't be rendered fails before the first line is printed. -#}
    {%- for line in lines -%}
        {{ print(line) }}
    {%- endfor -%}
{% endmacro %}
