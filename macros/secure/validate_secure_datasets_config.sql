{#
    Checks the whole config and fails closed: what is misspelt, missing or contradictory
    stops dbt while it parses, with a sentence that names the dataset and the key.

    config  the document of secure_datasets_config(), or one put in its place
#}
{% macro validate_secure_datasets_config(config) %}
    {%- if config is not mapping -%}
        {% do _config_error('the config', 'is not a YAML mapping; it does not parse') %}
    {%- endif -%}
    {% do _check_keys('the config', config, required=['tiers', 'datasets'], optional=['policies', 'row_security', 'relationships', 'relations']) %}
    {%- for key in ['tiers', 'datasets'] -%}
        {%- if config[key] is not mapping -%}
            {% do _config_error('the config', "'" ~ key ~ "' must map names to entries") %}
        {%- endif -%}
        {% do _check_names('the config', key, config[key] | list) %}
    {%- endfor -%}
    {%- for name, tier in config.tiers.items() -%}
        {% do _check_tier("tier '" ~ name ~ "'", tier) %}
    {%- endfor -%}
    {%- for name, dataset in config.datasets.items() -%}
        {% do _check_dataset(name, dataset, config) %}
    {%- endfor -%}
    {% do validate_star(config) %}
    {%- for name in config.datasets -%}
        {% do validate_star_dataset(name, config) %}
    {%- endfor -%}
    {% do validate_policies(config) %}
    {%- for name, dataset in config.datasets.items() if dataset.visible_to is defined and dataset.base is defined -%}
        {%- set policies = policies_on(name, config) -%}
        {%- if not (policies.is_authorized or policies.conditions or restrictions_on(dataset, config)) -%}
            {% do _config_error("dataset '" ~ name ~ "'", "is 'visible_to: everyone', which needs a condition, row security or view authorization on it: there is no open default") %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{% macro _config_error(entry, problem) %}
    {{ exceptions.raise_compiler_error('secure_datasets_config: ' ~ entry ~ ': ' ~ problem ~ '.') }}
{% endmacro %}


{% macro _check_keys(entry, mapping, required, optional=[]) %}
    {%- if mapping is not mapping -%}
        {% do _config_error(entry, 'must be a mapping of keys to values') %}
    {%- endif -%}
    {%- for key in mapping if key not in required + optional -%}
        {% do _config_error(entry, "unknown key '" ~ key ~ "'; known are " ~ (required + optional) | join(', ')) %}
    {%- endfor -%}
    {%- for key in required if mapping.get(key) is none -%}
        {% do _config_error(entry, "the key '" ~ key ~ "' is missing") %}
    {%- endfor -%}
{% endmacro %}


{% macro _check_names(entry, key, names, may_be_empty=false) %}
    {%- if names is string or names is mapping or names is not sequence -%}
        {% do _config_error(entry, "'" ~ key ~ "' must be a list of names") %}
    {%- endif -%}
    {%- if not names and not may_be_empty -%}
        {% do _config_error(entry, "'" ~ key ~ "' is empty") %}
    {%- endif -%}
    {%- for name in names if name is not string or not modules.re.fullmatch('[a-z][a-z0-9_]*', name) -%}
        {% do _config_error(entry, "'" ~ key ~ "' has '" ~ name ~ "', which is not a lower snake case name") %}
    {%- endfor -%}
    {%- if names | unique | list | length != names | length -%}
        {% do _config_error(entry, "'" ~ key ~ "' names a column twice") %}
    {%- endif -%}
{% endmacro %}


{% macro _check_tier(entry, tier) %}
    {% do _check_keys(entry, tier, required=['access_view', 'object_keys', 'carries']) %}
    {% do _check_names(entry, 'access_view', [tier.access_view]) %}
    {% do _check_names(entry, 'object_keys', tier.object_keys) %}
    {% do _check_names(entry, 'carries', tier.carries, may_be_empty=true) %}
    {%- for column in tier.object_keys + tier.carries if column == 'user_id' -%}
        {% do _config_error(entry, "user_id is in every access view and must not be named in 'object_keys' or 'carries'") %}
    {%- endfor -%}
{% endmacro %}


{% macro _check_dataset(name, dataset, config) %}
    {%- set entry = "dataset '" ~ name ~ "'" -%}
    {%- set rights = ['tier', 'keys', 'second_side', 'unchecked', 'switch', 'visible_to'] -%}
    {%- if dataset is mapping and 'query' in dataset -%}
        {% do _check_keys(entry, dataset, required=['query', 'columns', 'unique_key', 'visible_to'], optional=['view_authorization']) %}
    {%- else -%}
        {% do _check_keys(entry, dataset, required=['base', 'columns', 'unique_key'], optional=rights + ['view_authorization']) %}
        {% do _check_names(entry, 'base', [dataset.base]) %}
    {%- endif -%}
    {% do _check_names(entry, 'columns', dataset.columns) %}
    {%- if 'user_id' in dataset.columns -%}
        {% do _config_error(entry, "the base has a column 'user_id' already: a secure dataset adds it") %}
    {%- endif -%}
    {% do _check_names(entry, 'unique_key', dataset.unique_key, may_be_empty='query' in dataset) %}
    {% do _check_columns(entry, 'unique_key', dataset.unique_key, dataset.columns) %}
    {%- if 'view_authorization' in dataset -%}
        {% do _check_view_authorization(entry, dataset, config.datasets) %}
    {%- endif -%}
    {%- set rights = rights | select('in', dataset) | list -%}
    {%- if layer_below(dataset) -%}
        {% do _check_layer(name, dataset, rights, config) %}
    {%- elif 'visible_to' in dataset -%}
        {%- if rights != ['visible_to'] or dataset.visible_to != 'everyone' -%}
            {% do _config_error(entry, "'visible_to' must be 'everyone' and stand without a tier") %}
        {%- endif -%}
    {%- elif 'switch' in dataset -%}
        {%- for key in rights if key != 'switch' -%}
            {% do _config_error(entry, "'" ~ key ~ "' belongs into the cases of 'switch'") %}
        {%- endfor -%}
        {% do _check_switch(entry, dataset, config.tiers) %}
    {%- else -%}
        {% do _check_rule(entry, dataset, dataset.columns, config.tiers) %}
    {%- endif -%}
{% endmacro %}


{# A dataset over another secure dataset: what that shows is its tier. #}
{% macro _check_layer(name, dataset, rights, config) %}
    {%- set entry = "dataset '" ~ name ~ "'" -%}
    {%- for key in rights -%}
        {% do _config_error(entry, "'" ~ key ~ "' must not stand over a secure dataset, whose rows bear their user already") %}
    {%- endfor -%}
    {%- set names = config.datasets | list -%}
    {%- if layer_below(dataset) not in names[:names.index(name)] -%}
        {% do _config_error(entry, "its base '" ~ dataset.base ~ "' is no secure dataset that stands before it") %}
    {%- endif -%}
    {%- set below = config.datasets[layer_below(dataset)] -%}
    {%- for column in dataset.columns if column not in below.columns -%}
        {% do _config_error(entry, "'columns' has '" ~ column ~ "', which '" ~ dataset.base ~ "' has not") %}
    {%- endfor -%}
{% endmacro %}


{#
    A dataset that obeys view_outcomes. Through a chain it shows what the one below it
    shows, without the rules of that for who is allowed the view: both must have said so.
#}
{% macro _check_view_authorization(entry, dataset, datasets) %}
    {%- if dataset.view_authorization is not boolean -%}
        {% do _config_error(entry, "'view_authorization' must be true or false") %}
    {%- endif -%}
    {%- if dataset.view_authorization and 'view_outcome' in dataset.columns -%}
        {% do _config_error(entry, "has a column 'view_outcome', a name that view authorization needs") %}
    {%- endif -%}
    {%- set below = datasets.get(layer_below(dataset)) -%}
    {%- if dataset.view_authorization and below is mapping and not below.view_authorization -%}
        {% do _config_error(entry, "'view_authorization' stands over '" ~ dataset.base ~ "', which is not under it: its rules would not hold for who is allowed this view") %}
    {%- endif -%}
{% endmacro %}


{% macro _check_switch(entry, dataset, tiers) %}
    {% do _check_keys(entry ~ ', switch', dataset.switch, required=['column', 'cases']) %}
    {% do _check_columns(entry, 'switch.column', [dataset.switch.column], dataset.columns) %}
    {%- if dataset.switch.cases is not mapping or not dataset.switch.cases -%}
        {% do _config_error(entry, "'switch.cases' must map each value to its rule") %}
    {%- endif -%}
    {%- set carried = [] -%}
    {%- for value, rule in dataset.switch.cases.items() -%}
        {%- set case = entry ~ ", case '" ~ value ~ "'" -%}
        {%- if value is not string -%}
            {% do _config_error(case, "'switch.cases' has a value that is not text: quote it") %}
        {%- endif -%}
        {% do _check_keys(case, rule, required=[], optional=['tier', 'keys', 'second_side', 'unchecked', 'visible_to']) %}
        {%- if 'visible_to' in rule -%}
            {%- if rule.keys() | list != ['visible_to'] or rule.visible_to != 'everyone' -%}
                {% do _config_error(case, "'visible_to' must be 'everyone' and stand alone") %}
            {%- endif -%}
        {%- else -%}
            {% do _check_rule(case, rule, dataset.columns, tiers) %}
            {% do carried.append(tiers[rule.tier].carries | join(', ')) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if carried | unique | list | length > 1 -%}
        {% do _config_error(entry, "the tiers of its cases differ in 'carries'") %}
    {%- endif -%}
    {%- if not carried -%}
        {% do _config_error(entry, "'switch.cases' has no case with a tier") %}
    {%- endif -%}
{% endmacro %}


{% macro _check_rule(entry, rule, columns, tiers) %}
    {%- if rule.tier is not defined or rule.tier is none -%}
        {% do _config_error(entry, "the key 'tier' is missing, and without a tier nobody may see it") %}
    {%- endif -%}
    {%- if rule.tier is not string or rule.tier not in tiers -%}
        {% do _config_error(entry, "unknown tier '" ~ rule.tier ~ "'; known are " ~ tiers | join(', ')) %}
    {%- endif -%}
    {%- set tier = tiers[rule.tier] -%}
    {%- for column in tier.carries if column in columns -%}
        {% do _config_error(entry, "the base has a column '" ~ column ~ "' already, which tier '" ~ rule.tier ~ "' carries") %}
    {%- endfor -%}
    {% do _check_join(entry, rule.get('keys'), tier, columns) %}
    {%- if 'second_side' in rule -%}
        {% do _check_second_side(entry ~ ', second_side', rule, tier, columns) %}
    {%- endif -%}
    {%- if 'unchecked' in rule -%}
        {% do _check_unchecked(entry, rule, columns) %}
    {%- endif -%}
{% endmacro %}


{# The columns that deliberately ask for no right; see check_references. #}
{% macro _check_unchecked(entry, rule, columns) %}
    {%- if rule.unchecked is not mapping or not rule.unchecked -%}
        {% do _config_error(entry, "'unchecked' must map columns to the reasons why no right is asked for") %}
    {%- endif -%}
    {% do _check_columns(entry, 'unchecked', rule.unchecked | list, columns) %}
    {%- for column, reason in rule.unchecked.items() -%}
        {%- if reason is not string or not reason | trim -%}
            {% do _config_error(entry, "'unchecked' gives no reason for '" ~ column ~ "'") %}
        {%- endif -%}
        {%- if column in deciding_columns({'rule': rule}) -%}
            {% do _config_error(entry, "'unchecked' names '" ~ column ~ "', which is among the keys") %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# The second side is the first with another column in one place: the one that may be null. #}
{% macro _check_second_side(entry, rule, tier, columns) %}
    {%- set side = rule.second_side -%}
    {% do _check_keys(entry, side, required=['keys', 'unless_null']) %}
    {% do _check_join(entry, side['keys'], tier, columns) %}
    {%- set differing = [] -%}
    {%- for object_key, column in side['keys'].items() if column != rule['keys'][object_key] -%}
        {% do differing.append(column) %}
    {%- endfor -%}
    {%- if differing != [side.unless_null] -%}
        {% do _config_error(entry, "'keys' must differ from the first side's in one column, and 'unless_null' must name it, not '" ~ side.unless_null ~ "'") %}
    {%- endif -%}
{% endmacro %}


{% macro _check_join(entry, keys, tier, columns) %}
    {%- if keys is not mapping -%}
        {% do _config_error(entry, "the key 'keys' is missing, or does not map object keys to columns") %}
    {%- endif -%}
    {%- for object_key in tier.object_keys if object_key not in keys -%}
        {% do _config_error(entry, "'keys' lacks the key column '" ~ object_key ~ "' of its tier") %}
    {%- endfor -%}
    {%- for object_key in keys if object_key not in tier.object_keys -%}
        {% do _config_error(entry, "'keys' has '" ~ object_key ~ "', which is no key column of its tier") %}
    {%- endfor -%}
    {% do _check_names(entry, 'keys', keys.values() | list) %}
    {% do _check_columns(entry, 'keys', keys.values() | list, columns) %}
{% endmacro %}


{% macro _check_columns(entry, key, names, columns) %}
    {%- for name in names if name not in columns -%}
        {% do _config_error(entry, "'" ~ key ~ "' names '" ~ name ~ "', which is not among its columns") %}
    {%- endfor -%}
{% endmacro %}
