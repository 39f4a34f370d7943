{#
    Renders rows that a role is about to write, each with the reason why it may not; null if
    it may. No row is lost: a row without a reason is accepted, a row with one rejected.

    Call      with checked as ({{ checked_rows('jobs', 'Data Office', ref('new_jobs')) }})
              select ... from checked where rejection_reason is null
    Renders   every column of the relation, then rejection_reason

    dataset   the dataset whose conditions are the checks, with those of the datasets below it
    role      the role that writes, as the config names it
    relation  the rows: a relation or the name of a CTE, with the columns of the dataset
    user      SQL for the id of the user who writes; only checks with `reader.` need it
#}
{% macro checked_rows(dataset, role, relation, user='') -%}
{%- do secure_datasets.check_adapter() -%}
{%- set config = adapter.secure_datasets().checked(secure_datasets.secure_datasets_config()) -%}
{%- if dataset not in config.datasets -%}
    {% do secure_datasets.config_error("dataset '" ~ dataset ~ "'", 'has no entry, so that no rows can be checked for it') %}
{%- endif -%}
{%- set checks = adapter.secure_datasets().checks_of(dataset, secure_datasets.read_role(role), config, secure_datasets.readers_clock(), secure_datasets.readers_attributes(config), user | string) -%}
{%- if not (user | string) and checks | selectattr('needs_user') | list -%}
    {% do secure_datasets.config_error("dataset '" ~ dataset ~ "'", "has a check that asks for attributes of the reader: say who writes, checked_rows(..., user='17')") %}
{%- endif -%}
{%- for check in checks -%}
    {%- set lacking = check.columns | reject('in', config.datasets[dataset].columns) | list -%}
    {%- if lacking -%}
        {%- set instead = "check the rows for that one" if check.dataset != dataset else "give its policy 'check: false'" -%}
        {% do secure_datasets.config_error("dataset '" ~ dataset ~ "'", "lacks '" ~ lacking | join("', '") ~ "', which a check of '" ~ check.dataset ~ "' names: " ~ instead) %}
    {%- endif -%}
{%- endfor -%}
select
    {{ dataset }}.*,
    {%- if checks %}
    case
        {%- for check in checks %}
        when ({{ check.sql }}) is not true then {{ secure_datasets.sql_text(check.reason) }}
        {%- endfor %}
    end as rejection_reason
    {%- else %}
    cast(null as string) as rejection_reason
    {%- endif %}
from {{ relation }} as {{ dataset }}
{%- endmacro %}
