{#
    Renders one secure dataset from the config: every column of the base, then user_id, then the
    columns that its tier carries; one row per row of the base and user who may see it.

    Call      {{ secure_datasets.secure_dataset('tables') }}, alone in models/secure/vw_secure_dataset_tables.sql
    Renders   a join of the base to the tier's access view, which has one row per object and
              user, so that no `distinct` is needed; for a dataset with a switch, one such
              query per case; for a dataset with further rules, this query within restricted_rows

    name      the dataset's entry in secure_datasets_config()
#}
{% macro secure_dataset(name) %}
{%- do secure_datasets.check_adapter() -%}
{#-
    Rows and rights change together, also if a dataset is a view over a second one, and whatever
    dbt_project.yml configures. check_models checks the further configs of the product's models.
-#}
{%- do config(materialized='view', inline_views=true, reads_latest=false) -%}
{%- set document = adapter.secure_datasets().checked(secure_datasets.secure_datasets_config(), this is none) -%}
{%- if name in document.switched_off -%}
    {{ return(secure_datasets._leave_out(name)) }}
{%- endif -%}
{%- if name not in document.datasets -%}
    {% do secure_datasets.config_error("dataset '" ~ name ~ "'", 'has no entry, and without one nobody may see it') %}
{%- endif -%}
{%- if execute and graph -%}
    {#- A unit test has no graph. -#}
    {%- do adapter.secure_datasets().check_references([name], document, graph.nodes, secure_datasets.repository_tables()) -%}
    {%- do adapter.note_rules(secure_datasets.nodes_of_rules(document) | map(attribute='relation_name') | list) -%}
{%- endif -%}
{%- set dataset = document.datasets[adapter.secure_datasets().ruling_dataset(name, document)] -%}
{%- do secure_datasets._note_files(name, document) -%}
{%- do secure_datasets._say_what_rights_are(name, document) -%}
{%- set policies = adapter.rules_by_exists(secure_datasets, ref, document).policies(name) -%}
{%- set restrictions = adapter.secure_datasets().restrictions_on(dataset, document) -%}
{%- set text -%}
{%- if adapter.secure_datasets().is_restricted(name, document) -%}
-- Rendered from what secure_datasets_config() says of '{{ name }}'.
{{ secure_datasets._as_view_of_its_owner(name, document) if policies.is_authorized }}
{{- secure_datasets.restricted_rows(
    name, document, policies, restrictions, secure_datasets._tier_select(dataset, document, restrictions, per_user=true)
) }}
{%- else -%}
-- Rendered from the entry '{{ name }}' of secure_datasets_config().
{{ secure_datasets._tier_select(dataset, document, restrictions) }}
{%- endif %}
{%- endset -%}
{#- `state:modified.configs` selects by it the datasets that an edit of the document changes. -#}
{%- do config(text_digest=adapter.secure_datasets().text_digest(text, this | default('', true) | string)) -%}
{{ text }}
{% endmacro %}


{#
    Hands the adapter the columns that match rows, the relations that rows come from, and the masks
    whose values are known. If the dataset can't move to a new state whole, it reads the relations of
    its rows as they were before, and all relations that decide rights as they are now. A relation
    that maps users to keys decides rights, also if rows are joined to it. Under view authorization
    the rows come from the dataset at the end of the chain.
#}
{% macro _say_what_rights_are(name, document) -%}
{%- set ruling = document.datasets[adapter.secure_datasets().ruling_dataset(name, document)] -%}
{%- set mappings = (document.row_security or []) | map(attribute='dataset') | list -%}
{%- do config(narrowing={
    'unique_key': document.datasets[name].unique_key,
    'rows_from': adapter.secure_datasets().rows_from(ruling, document) | reject('in', mappings) | list,
    'masks': adapter.secure_datasets().known_masks(name, document),
}) -%}
{%- endmacro %}


{#
    Notes the state of the SML files of the document in the model's config, and stops dbt if it is
    stale: dbt parses only changed models and does not know these files, so a model that it kept may
    come from older ones.
#}
{% macro _note_files(name, document) %}
    {%- set state = document.get('sml_state') -%}
    {%- if state -%}
        {%- do config(sml_state=state) -%}
        {%- if execute and this is not none and config.get('sml_state') != state -%}
            {% do secure_datasets.config_error("dataset '" ~ name ~ "'", "files that 'sml' names have changed, and dbt parsed only what it knows to have changed: call it with --no-partial-parse, once") %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# A dataset of the product that the root project has switched off: its model is not built. #}
{% macro _leave_out(name) %}
    {%- if model.package_name != 'secure_datasets' -%}
        {% do secure_datasets.config_error("dataset '" ~ name ~ "'", "is switched off, and '" ~ model.name ~ "' is made of it") %}
    {%- endif -%}
    {%- do config(enabled=false) -%}
{% endmacro %}


{#
    Notes in dbt's graph the relations that the rows of a dataset under view authorization come
    from: its owner must be authorized on these, and not on the relations that decide rights. A
    dataset over a second one names the second one.
#}
{% macro _as_view_of_its_owner(name, document) -%}
{%- set dataset = document.datasets[name] -%}
{%- do config(meta={'rows_from': adapter.secure_datasets().rows_from(dataset, document)}) -%}
{%- if execute and graph and this is not none and flags.WHICH in ['build', 'run'] -%}
    {% do secure_datasets._check_outcomes('vw_secure_dataset_' ~ name) %}
{%- endif -%}
{%- if adapter.secure_datasets().parent_dataset(dataset) -%}
-- A view over {{ ref(dataset.base) }}, with the rules at the end of the chain.
{% for policy in adapter.secure_datasets().policies_of(name, document) -%}
    {% do exceptions.warn("secure_datasets_config: the policy of " ~ adapter.secure_datasets().called_for(policy) ~ " on '" ~ policy.resource ~ "' is ignored: under view authorization rules act at the end of the chain, on '" ~ adapter.secure_datasets().ruling_dataset(name, document) ~ "'.") %}
{%- endfor -%}
{%- endif -%}
{%- endmacro %}


{#
    Stops a run of a view under view authorization if view_outcomes was not run since the relations
    that the view reads, or an owner, changed: the query of the view contains the query of
    view_outcomes. A stale one looks for rules on former tables, or does not know the view at all.
#}
{% macro _check_outcomes(view) %}
    {%- set text = adapter.text_of_view(secure_datasets.model_named('view_outcomes').relation_name) -%}
    {#- Without a text there is no view yet, so reading it fails. -#}
    {% do adapter.secure_datasets().check_outcomes(view, secure_datasets.view_references() if text else {}, text) %}
{% endmacro %}


{# The rows by tier alone; a row for everyone has no user, unless `per_user` is true. #}
{% macro _tier_select(dataset, config, restrictions, per_user=false) -%}
{%- if dataset.query is defined -%}
    {{ secure_datasets._query_select(dataset, config, restrictions, per_user) }}
{%- elif adapter.secure_datasets().parent_dataset(dataset) -%}
    {{ adapter.rules_by_exists(secure_datasets, ref, config).layered_rows(dataset, per_user) }}
{%- elif dataset.visible_to is defined -%}
    {{ secure_datasets._public_rows(dataset, [], 'true', per_user) }}
{%- elif dataset.switch is defined -%}
    {%- set carries = adapter.secure_datasets().tier_columns(dataset, config) -%}
    {%- for value, rule in dataset.switch.cases.items() -%}
        {%- set is_case = 'base.' ~ dataset.switch.column ~ ' = ' ~ secure_datasets.sql_text(value) -%}
        {{ '\nunion all\n' if not loop.first }}
        {%- if rule.visible_to == 'everyone' -%}
            {{ secure_datasets._public_rows(dataset, carries, is_case, per_user) }}
        {%- else -%}
            {{ secure_datasets._secured_select(dataset, rule, config.tiers[rule.tier], is_case) }}
        {%- endif -%}
    {%- endfor -%}
{%- else -%}
    {{ secure_datasets._secured_select(dataset, dataset, config.tiers[dataset.tier]) }}
{%- endif -%}
{%- endmacro %}


{# The base's rows with each user who holds the tier's right on them. #}
{% macro _secured_select(dataset, rule, tier, is_case=none) -%}
select
    {%- for column in dataset.columns %}
    base.{{ column }},
    {%- endfor %}
    access.user_id
    {%- for column in tier.carries -%},
    access.{{ column }}
    {%- endfor %}
from {{ ref(dataset.base) }} as base
inner join {{ ref(tier.access_view) }} as access
    on{{ secure_datasets._object_matches('access', rule['keys']) }}
{%- if rule.second_side is defined %}
-- The right on the second side, for the same user; one row at most, so none is doubled.
left join {{ ref(tier.access_view) }} as second_access
    on{{ secure_datasets._object_matches('second_access', rule.second_side['keys'], of_user='access') }}
where
    (base.{{ rule.second_side.unless_null }} is null or second_access.user_id is not null)
{%- if is_case %}
    and {{ is_case }}
{%- endif %}
{%- elif is_case %}
where {{ is_case }}
{%- endif -%}
{%- endmacro %}


{#
    The base's rows for everyone: once each and without a user, or with `per_user`, because a policy
    looks at each user, once for each live user.
#}
{% macro _public_rows(dataset, carries, is_case, per_user=false) -%}
select
    {%- for column in dataset.columns %}
    base.{{ column }},
    {%- endfor %}
    {{ 'users.user_id' if per_user else 'cast(null as bigint) as user_id' }}
    {%- for column in carries -%},
    cast(null as string) as {{ column }}
    {%- endfor %}
from {{ ref(dataset.base) }} as base
{%- if per_user %}
cross join {{ ref('stg_users') }} as users
{%- endif %}
where {{ 'users.is_live and ' if per_user }}{{ is_case }}
{%- endmacro %}


{# The join condition on an access view: its object keys and, with `of_user`, the user of that relation. #}
{% macro _object_matches(access, keys, of_user=none) -%}
{%- set conditions = [] -%}
{%- for object_key, column in keys.items() -%}
    {% do conditions.append('base.' ~ column ~ ' = ' ~ access ~ '.' ~ object_key) %}
{%- endfor -%}
{%- if of_user -%}
    {% do conditions.append(of_user ~ '.user_id = ' ~ access ~ '.user_id') %}
{%- endif -%}
{{ ' ' ~ conditions[0] if conditions | length == 1 else '\n        ' ~ conditions | join('\n        and ') }}
{%- endmacro %}
