{#
    Renders the definitions of a state, for a comparison of two states: its tiers and secure datasets
    in the config at the time of the build.
#}
{% macro state_definitions_query() -%}
{%- set config, rows = secure_datasets.secure_datasets_config(), [] -%}
{%- for name, tier in config.tiers.items() -%}
    {%- do rows.append(['tier', name, tojson(dict(secure_datasets.tier_parts(name, config), relation=tier.access_view, carries=tier.carries))]) -%}
{%- endfor -%}
{%- for name, dataset in config.datasets.items() -%}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set tiers = secure_datasets.gate_cases(ruling, config) | map(attribute='tier') | select | unique | list -%}
    {%- do rows.append(['dataset', name, tojson({
        'relation': 'vw_secure_dataset_' ~ name, 'keys': dataset.unique_key, 'columns': dataset.columns, 'tiers': tiers,
        'renamed_from': dataset.renamed_from | default(none),
        'base': secure_datasets._end_of_chain(name, config).base | default(none), 'masked': secure_datasets._masked_on_the_way(name, config) | unique | list,
        'ways': secure_datasets._ways_to_rows(name, config),
        'masked_by': adapter.access_changes().named_in(secure_datasets._end_of_chain(name, config).columns, secure_datasets._said_on_the_way(name, config, true)),
        'clock': secure_datasets.readers_clock(), 'rules': adapter.secure_datasets().rules_in_time(name, config),
        'deciding': adapter.access_changes().named_in(secure_datasets._end_of_chain(name, config).columns, secure_datasets._said_on_the_way(name, config)),
    })]) -%}
{%- endfor -%}
with definitions (kind, name, definition) as (
    {{ secure_datasets.values_query(rows, 3) }}
)

select
    kind,
    name,
    definition,
    {{ secure_datasets.sql_text(adapter.product_version()) }} as product_version
from definitions
{%- endmacro %}


{# The entry at the end of a dataset's chain: its base or query supplies the rows. #}
{% macro _end_of_chain(name, config) %}
    {%- set below = secure_datasets.parent_dataset(config.datasets[name]) -%}
    {{ return(secure_datasets._end_of_chain(below, config) if below else config.datasets[name]) }}
{% endmacro %}


{#
    The tiers that lead a user to rows of a dataset or of its parents: each with the keys of its access
    view, the columns of the base that match them, and the condition on the rows.
#}
{% macro _ways_to_rows(name, config) %}
    {%- set below, ways = secure_datasets.parent_dataset(config.datasets[name]), [] -%}
    {%- for case in secure_datasets.gate_cases(secure_datasets.ruling_dataset(name, config), config) if case.tier -%}
        {%- for keys in [case['keys'], case.second_keys] if keys -%}
            {%- do ways.append({'tier': case.tier, 'keys': keys, 'applies': case.applies}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(ways + (secure_datasets._ways_to_rows(below, config) if below else [])) }}
{% endmacro %}


{#
    Texts from the rules that decide access to the rows of a dataset or of its parents: they name each
    column of the base that decides. For a parent they include its masks, since the dataset above reads
    masked values.
#}
{% macro _said_on_the_way(name, config, is_below=false) %}
    {%- set dataset, ruling = config.datasets[name], secure_datasets.ruling_dataset(name, config) -%}
    {%- set below, said = secure_datasets.parent_dataset(dataset), [] -%}
    {%- for case in secure_datasets.gate_cases(ruling, config) -%}
        {%- do said.extend(case.columns + [case.applies, case.no_second or '']) -%}
    {%- endfor -%}
    {%- for rule in secure_datasets.rules_on(name, config, ruling) if is_below or not rule.is_mask -%}
        {%- do said.append(rule.says or tojson(rule.restriction) if rule.says or rule.restriction else '') -%}
        {%- do said.append(rule.rule.mask if rule.is_mask else '') -%}
    {%- endfor -%}
    {{ return(said + (secure_datasets._said_on_the_way(below, config, true) if below else [])) }}
{% endmacro %}


{# The columns that a dataset or one of its parents masks: both change its values. #}
{% macro _masked_on_the_way(name, config) %}
    {%- set below = secure_datasets.parent_dataset(config.datasets[name]) -%}
    {%- set own = secure_datasets.policies_on(name, config).masks.keys() | list -%}
    {{ return(own + (secure_datasets._masked_on_the_way(below, config) if below else [])) }}
{% endmacro %}
