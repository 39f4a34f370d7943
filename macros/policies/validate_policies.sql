{#
    Checks the config's policies: conditions and masks.

    config  the document of secure_datasets_config(), its datasets checked already
#}
{% macro validate_policies(config) %}
    {%- set taken = [] -%}
    {%- for policy in _list_of(config, 'policies') -%}
        {%- set entry = 'policy ' ~ loop.index -%}
        {% do _check_keys(
            entry, policy, required=['resource'] if 'except' in policy else ['role', 'resource'],
            optional=['role', 'except', 'condition', 'mask', 'mask_order', 'check', 'mask_on_null']
        ) %}
        {%- for key in ['role', 'resource'] if key in policy and (policy[key] is not string or not policy[key] | trim) -%}
            {% do _config_error(entry, "'" ~ key ~ "' must be a text") %}
        {%- endfor -%}
        {% do _check_except(entry, policy) %}
        {%- set entry = entry ~ (', role ' if 'role' in policy else ', ') ~ named_by_roles(policy) ~ " on '" ~ policy.resource ~ "'" -%}
        {%- set place = policy.resource.split('.') -%}
        {%- if place[0] not in config.datasets -%}
            {% do _config_error(entry, "unknown dataset '" ~ place[0] ~ "'; known are " ~ config.datasets | join(', ')) %}
        {%- endif -%}
        {% do _check_policy_texts(entry, policy, place[0], config.datasets[place[0]]) %}
        {%- if place | length == 1 -%}
            {% do _check_condition(entry, policy, place[0], config.datasets[place[0]]) %}
            {%- set key, problem = policy.resource ~ ' ' ~ roles_named_by(policy)[0], 'the role has a condition on the dataset already' -%}
        {%- else -%}
            {% do _check_mask(entry, policy, place[1:] | join('.'), config.datasets[place[0]]) %}
            {%- set key = policy.resource ~ ' ' ~ policy.get('mask_order', 0) -%}
            {%- set problem = "the column has a mask with the 'mask_order' " ~ policy.get('mask_order', 0) ~ ' already' -%}
        {%- endif -%}
        {%- if key in taken -%}
            {% do _config_error(entry, problem) %}
        {%- endif -%}
        {% do taken.append(key) %}
    {%- endfor -%}
{% endmacro %}


{# The entries of an optional part of the config. #}
{% macro _list_of(config, key) %}
    {%- set entries = config.get(key, []) -%}
    {%- if entries is string or entries is mapping or entries is not sequence -%}
        {% do _config_error('the config', "'" ~ key ~ "' must be a list of entries") %}
    {%- endif -%}
    {{ return(entries) }}
{% endmacro %}


{# The roles that a mask spares, in the place of the one that it is for. #}
{% macro _check_except(entry, policy) %}
    {%- if 'except' in policy -%}
        {%- if 'role' in policy -%}
            {% do _config_error(entry, "has 'role' and 'except', and a mask is either for a role or for everybody but some") %}
        {%- endif -%}
        {%- set roles = policy.except -%}
        {%- if roles is string or roles is mapping or roles is not sequence or not roles -%}
            {% do _config_error(entry, "'except' must be a list of roles, and not empty") %}
        {%- endif -%}
        {%- for role in roles if role is not string or not role | trim -%}
            {% do _config_error(entry, "'except' has '" ~ role ~ "', which is no text") %}
        {%- endfor -%}
        {%- if roles_named_by(policy) | unique(true) | list | length < roles | length -%}
            {% do _config_error(entry, "'except' names a role twice") %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# What stands alone in a policy: its condition, for rows or for a mask, and its check. #}
{% macro _check_policy_texts(entry, policy, name, dataset) %}
    {%- if 'held_roles' in dataset.columns -%}
        {% do _config_error(entry, "the dataset has a column 'held_roles', a name that policies need") %}
    {%- endif -%}
    {%- if 'condition' in policy and policy.condition is not boolean -%}
        {% do check_policy_sql(entry, 'condition', policy.condition, name, dataset.columns) %}
        {%- if not has_plain_subqueries(policy_sql_parts(policy.condition).outer) -%}
            {% do _config_error(entry, "'condition' has an 'in (select ...)' under something else than and, or and not, where Spark takes null for false: write 'exists (select ...)'") %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# A policy on a dataset: which rows the role sees, and may write. #}
{% macro _check_condition(entry, policy, name, dataset) %}
    {%- if 'except' in policy -%}
        {% do _config_error(entry, "'except' belongs to a mask: a condition says by 'role' who sees its rows") %}
    {%- endif -%}
    {%- for key in ['mask', 'mask_order', 'mask_on_null'] if key in policy -%}
        {% do _config_error(entry, "'" ~ key ~ "' belongs to a column: the resource must be '" ~ name ~ ".<column>'") %}
    {%- endfor -%}
    {%- if policy.get('check', true) is not boolean -%}
        {% do _config_error(entry, "'check' must be true or false") %}
    {%- endif -%}
    {%- if policy.get('check', true) and policy.get('condition', true) is string -%}
        {%- set inner = policy_sql_parts(policy.condition).subqueries -%}
        {%- if modules.re.search('(?i)(?<![\\w.])' ~ name ~ '\\.', inner) -%}
            {% do _config_error(entry, "'condition' has a correlated subquery, which a check of written rows can't have: rewrite it, or say 'check: false'") %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# A policy on a column: what the role gets in its place. #}
{% macro _check_mask(entry, policy, column, dataset) %}
    {% do _check_columns(entry, 'resource', [column], dataset.columns) %}
    {%- if column in dataset.unique_key -%}
        {% do _config_error(entry, "'" ~ column ~ "' is in the dataset's 'unique_key', which tells rows apart and can't be masked") %}
    {%- endif -%}
    {%- if 'check' in policy -%}
        {% do _config_error(entry, "'check' belongs to a condition on a dataset, not to a mask") %}
    {%- endif -%}
    {%- if policy.mask is not defined -%}
        {% do _config_error(entry, "the key 'mask' is missing") %}
    {%- endif -%}
    {%- if policy.mask is not number -%}
        {% do check_policy_sql(entry, 'mask', policy.mask, policy.resource.split('.')[0], dataset.columns) %}
    {%- endif -%}
    {%- if policy.get('mask_order', 0) is not integer -%}
        {% do _config_error(entry, "'mask_order' must be a whole number") %}
    {%- endif -%}
    {%- if policy.get('mask_on_null', 'mask') not in ['mask', 'pass'] -%}
        {% do _config_error(entry, "'mask_on_null' must be mask or pass") %}
    {%- endif -%}
{% endmacro %}
