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
{{ adapter.secure_datasets().checked_rows(adapter.rules_by_exists(secure_datasets, ref, config), dataset, role, relation, user | string, secure_datasets.readers_clock()) }}
{%- endmacro %}
