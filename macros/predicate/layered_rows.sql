{#
    The rows of the secure dataset below a layered one, each for its user.

    dataset     the layered dataset's entry
    config      the document of secure_datasets_config()
    per_user    whether each user gets the rows for everyone, which else have no user
    users       a query with `user_id`; the live users by default
    are_marked  whether the last column is `asked is_public`: whether a row is for everyone
#}
{% macro layered_rows(dataset, config, per_user, users=none, are_marked=false) -%}
{%- set has_both = per_user and secure_datasets.has_public_rows(secure_datasets.parent_dataset(dataset), config) -%}
{%- for of_user in (['base', 'users'] if has_both else ['base']) -%}
{{ '\nunion all\n' if not loop.first -}}
select
    {%- for column in dataset.columns %}
    base.{{ column }},
    {%- endfor %}
    {{ of_user }}.user_id
    {%- for column in secure_datasets.tier_columns(dataset, config) -%},
    base.{{ column }}
    {%- endfor %}
    {%- if are_marked -%},
    {{ 'false' if loop.first else 'true' }} as `asked is_public`
    {%- endif %}
from {{ ref(dataset.base) }} as base
{%- if not loop.first %}
cross join ({{ users or secure_datasets.live_users() }}) as users
{%- endif %}
{%- if has_both %}
where base.user_id is {{ 'not ' if loop.first }}null
{%- endif %}
{%- endfor %}
{%- endmacro %}
