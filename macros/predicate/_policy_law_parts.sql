{#
    The rules once more, by exists, for the laws about policies, row security and view
    authorization, and for the printed predicates. A user is an SQL expression, a row an alias.
#}


{#
    The rows of a dataset's base with each user who passes its tier, and nothing else. A layered
    dataset has no tier, and takes the rows of the dataset below.

    dataset  the dataset's entry, or the element of restricted_datasets() if it shows fewer columns
             than the dataset at the end of its chain
#}
{% macro rows_past_the_tier(dataset, config) -%}
{%- set queries, is_layered = [], secure_datasets.parent_dataset(dataset) is not none -%}
{%- if is_layered -%}
    {%- do queries.append(secure_datasets.layered_rows(dataset, config, per_user=true)) -%}
{%- endif -%}
{%- for case in secure_datasets.tier_rules(dataset) if not is_layered -%}
{%- set tier = config.tiers[case.rule.tier] if not case.is_for_everyone -%}
{%- set query -%}
{#- The base may have a user_id of its own, which the dataset has not. -#}
select base.{{ (dataset.base_columns or dataset.columns) | join(', base.') }}, users.user_id
from {{ ref(dataset.base) }} as base
cross join ({{ secure_datasets.live_users() }}) as users
where
    {{ secure_datasets.case_applies(case, 'base') }}
    {%- if not case.is_for_everyone %}
    and {{ secure_datasets.both_rights_exist(case.rule, tier, 'base', 'users.user_id') }}
    {%- endif %}
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{%- if queries | length == 1 and not is_layered -%}
{{ queries[0] }}
{%- else -%}
{#- Without a join, Spark moves a question about a user's roles into the union, and fails. -#}
select united.*
from (
    {{ queries | join('\nunion all\n') | indent(4) }}
) as united
inner join ({{ secure_datasets.live_users() }}) as live_users
    on united.user_id = live_users.user_id
{%- endif -%}
{%- endmacro %}


{#
    Whether a row and its user meet view authorization, row security and conditions. For a
    query, row security applies to the rows that it counts, everything else to its answer.

    is_permissive   without the restrictive conditions
#}
{% macro meets_every_rule(name, config, relation, user, is_permissive=false) -%}
{%- set policies, terms = secure_datasets.policies_on(name, config), [] -%}
{%- if is_permissive -%}
    {%- set policies = dict(policies, restrictive=[]) -%}
{%- endif -%}
{%- set ruling_entry = config.datasets[secure_datasets.ruling_dataset(name, config)] -%}
{%- if policies.is_authorized -%}
    {%- do terms.append(secure_datasets.outcome_is(name, ['Allow', 'Transform'], user)) -%}
{%- endif -%}
{%- for restriction in secure_datasets.restrictions_on(ruling_entry, config) if ruling_entry.query is not defined -%}
    {%- do terms.append(secure_datasets.key_is_held(restriction, relation, user)) -%}
{%- endfor -%}
{%- if policies.conditions or policies.restrictive -%}
    {%- do terms.append(secure_datasets._meets_the_conditions(name, policies, user)) -%}
{%- endif -%}
{{ terms | join('\nand ') if terms else 'true' }}
{%- endmacro %}


{#
    Whether any role of a user shows a row and no restrictive condition hides it, or view
    authorization allows the user all.
#}
{% macro _meets_the_conditions(name, policies, user) -%}
{%- set shows, terms = [], [] -%}
{%- for rule in policies.conditions -%}
    {%- do shows.append(secure_datasets._is_for_and(rule, user)) -%}
{%- endfor -%}
{%- if shows -%}
    {%- do terms.append('(\n    ' ~ shows | join('\nor ') | indent(4) ~ '\n)') -%}
{%- endif -%}
{%- for rule in policies.restrictive -%}
    {%- do terms.append('(not (' ~ secure_datasets._acts_for(rule, user) ~ ') or (' ~ rule.condition ~ '))') -%}
{%- endfor -%}
{%- if policies.is_authorized -%}
(
    {{ secure_datasets.outcome_is(name, ['Allow'], user) | indent(4) }}
    or (
        {{ terms | join('\nand ') | indent(8) }}
    )
)
{%- else -%}
{{ terms | join('\nand ') }}
{%- endif -%}
{%- endmacro %}


{# Whether a rule is for a user, and holds now. #}
{% macro _acts_for(rule, user) -%}
{%- set in_time = secure_datasets.rule_is_in_time(rule) -%}
{{ secure_datasets.rule_is_for(rule, user) }}
{%- if in_time %}
and {{ in_time }}
{%- endif -%}
{%- endmacro %}


{# Whether a rule is for a user, and its condition is true for a row. #}
{% macro _is_for_and(rule, user) -%}
(
    {{ secure_datasets._acts_for(rule, user) | indent(4) }}
    {%- if rule.condition != 'true' %}
    and ({{ rule.condition }})
    {%- endif %}
)
{%- endmacro %}


{# Whether a mask is for a user and covers a row, without view authorization. #}
{% macro mask_is_put_on(rule, user) -%}
{%- set in_time = secure_datasets.rule_is_in_time(rule) -%}
{%- if rule.shown_to -%}
{{ in_time ~ '\nand ' if in_time }}{{ secure_datasets._is_shown_to_none(rule, user) }}
{%- else -%}
{{ secure_datasets._acts_for(rule, user) }}
{%- if rule.condition != 'true' %}
and {{ secure_datasets.mask_condition(rule) }}
{%- endif -%}
{%- endif -%}
{%- endmacro %}


{# Whether no line of a mask shows a user the value. #}
{% macro _is_shown_to_none(rule, user) -%}
{%- set lines = [] -%}
{%- for line in rule.shown_to -%}
    {%- do lines.append(secure_datasets._is_for_and(line, user)) -%}
{%- endfor -%}
{{ secure_datasets.shown_by_none(lines) }}
{%- endmacro %}


{# Whether a user's outcome for a dataset under view authorization is one of these. #}
{% macro outcome_is(name, outcomes, user) -%}
exists (
    select 1
    from {{ ref('view_outcomes') }} as _outcomes
    where
        _outcomes.user_id = {{ user }}
        and _outcomes.view_name = {{ secure_datasets.sql_text('vw_secure_dataset_' ~ name) }}
        and _outcomes.outcome in ({% for outcome in outcomes %}{{ secure_datasets.sql_text(outcome) }}{{ ', ' if not loop.last }}{% endfor %})
)
{%- endmacro %}


{# Whether a user has a role: a name, or the id of a group. #}
{% macro role_is_held(role, user) -%}
exists (
    select 1
    from {{ ref('vw_secure_user_roles') }} as _held
    where _held.user_id = {{ user }} and _held.{{ 'user_group_id = ' ~ role if role is number else 'role_name = ' ~ secure_datasets.sql_text(role) }}
)
{%- endmacro %}


{# Whether a rule is for a user: by its role, by none of its exceptions, or for everybody. #}
{% macro rule_is_for(rule, user) -%}
{%- set terms = [] -%}
{%- for role in rule.roles -%}
    {%- do terms.append(('not ' if rule.is_except) ~ secure_datasets.role_is_held(role, user)) -%}
{%- endfor -%}
{{ terms | join('\nand ') or 'true' }}
{%- endmacro %}


{# A column's value for a user: the true one, or the mask of the highest order. #}
{% macro masked_value(name, config, relation, column, user) -%}
{%- set policies = secure_datasets.policies_on(name, config) -%}
{%- set value = namespace(text=relation ~ '.' ~ column) -%}
{%- for rule in policies.masks.get(column, []) | reverse -%}
    {%- set terms = [secure_datasets.mask_is_put_on(rule, user)] -%}
    {%- if policies.is_authorized -%}
        {%- do terms.append('not ' ~ secure_datasets.outcome_is(name, ['Allow'], user)) -%}
    {%- endif -%}
    {%- set when = 'case\n    when ' ~ terms | join('\nand ') | indent(8) -%}
    {%- set value.text = when ~ '\n        then ' ~ secure_datasets.mask_as_typed(rule, name, config, column) ~ '\n    else ' ~ value.text | indent(4) ~ '\nend' -%}
{%- endfor -%}
{{ value.text }}
{%- endmacro %}


{# The value of a mask, as the type of its column. #}
{% macro mask_as_typed(rule, name, config, column) -%}
{%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
try_cast({{ rule.mask }} as {{ secure_datasets.column_type(ruling, config.datasets[ruling], column) }})
{%- endmacro %}


{#
    Whether a mask shows a row the value itself: no null, and no constant of the mask. As
    JSON, values of every type are compared, maps included.
#}
{% macro mask_shows_the_value(rule, name, config, relation, column) -%}
{%- set value = relation ~ '.' ~ column -%}
{{ value }} is not null
and to_json(named_struct('value', {{ secure_datasets.mask_as_typed(rule, name, config, column) }}), map('ignoreNullFields', 'false'))
    = to_json(named_struct('value', {{ value }}), map('ignoreNullFields', 'false'))
{%- endmacro %}


{#
    The masks that leave the true value in more rows than allowed: resource, mask and number.

    config      the document of secure_datasets_config()
    most_rows   how many rows a mask may leave as they are
#}
{% macro masks_that_show_values(config, most_rows) -%}
{%- set queries, restricted = [], secure_datasets.restricted_datasets(config) -%}
{%- for name, dataset in config.datasets.items() -%}
{%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
{%- for rule in secure_datasets.rules_on(name, config, ruling) if rule.is_mask and not rule.rule.is_constant -%}
{%- set query -%}
select
    {{ secure_datasets.sql_text(name ~ '.' ~ rule.column) }} as resource,
    {{ secure_datasets.sql_text(rule.title) }} as mask,
    count(distinct {{ secure_datasets.row_key(dataset, ruling) }}) as rows_with_the_value
from (
    {#- A query has no tier. -#}
    {{- (secure_datasets.rows_past_the_tier(restricted[name], config) if name in restricted
        else secure_datasets._rows_with_users(name, ruling, config, secure_datasets.live_users())) | indent(4) }}
) as {{ ruling }}
where
    {{ rule.applies | indent(4) }}
    and {{ secure_datasets.mask_shows_the_value(rule.rule, name, config, ruling, rule.column) | indent(4) }}
having count(distinct {{ secure_datasets.row_key(dataset, ruling) }}) > {{ most_rows | int }}
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{%- endfor -%}
{{ secure_datasets.union_of(queries) }}
{%- endmacro %}


{# A user's keys in a security object's map: the relations, and the terms of `where`. #}
{% macro _held_keys(object, user, number='') -%}
{%- set mapping, held = '_mapping' ~ number, '_held' ~ number -%}
{%- set is_of_groups = object.holder == 'group' -%}
{%- set relation -%}
{{ ref(object.dataset) }} as {{ mapping }}
inner join {{ ref('vw_secure_user_roles' if is_of_groups else 'stg_users') }} as {{ held }}
    on {{ mapping }}.{{ object.ids_column }} = {{ held }}.{{ 'user_group_id' if is_of_groups else 'user_id' }}
{%- endset -%}
{%- set terms -%}
{{ held }}.user_id = {{ user }}
{%- if not is_of_groups %}
and {{ held }}.is_live
{%- endif %}
{%- endset -%}
{{ return({'relation': relation, 'terms': terms, 'key': mapping ~ '.' ~ object.filter_key_column}) }}
{%- endmacro %}


{# Whether a row leads to a key of a user. #}
{% macro key_is_held(restriction, relation, user) -%}
{%- if restriction.ways -%}
(
    {%- for way in restriction.ways %}
    {{ 'or ' if not loop.first }}{{ secure_datasets._way_is_held(restriction, way, relation, user) | indent(4) }}
    {%- endfor %}
)
{%- else -%}
{%- set held, path = secure_datasets._held_keys(restriction.object, user), restriction.path -%}
exists (
    select 1
    from {{ held.relation | indent(4) }}
    {%- for link in path[:-1] %}
    cross join {{ ref(link.to.dataset) }} as {{ link.to.dataset }}
    {%- endfor %}
    where
        {{ held.terms | indent(8) }}
        and {{ held.key }} = {{ relation if path | length == 1 else path[-1]['from'].dataset }}.{{ path[-1]['from'].join_columns[0] }}
        {%- for link in path[:-1] %}
        and {{ secure_datasets.columns_match(relation if loop.first else link['from'].dataset, link.to.dataset, link['from'].join_columns) }}
        {%- endfor %}
)
{%- endif -%}
{%- endmacro %}


{# Whether one row of a fact ties a dimension's row to a user's keys, by each of its paths. #}
{% macro _way_is_held(restriction, way, relation, user) -%}
{%- set joined = [] -%}
exists (
    select 1
    from {{ ref(way.fact) }} as {{ way.fact }}
    {{- secure_datasets.path_joins(way.joined, 'inner', joined) | indent(4) }}
    {%- for path in way.paths %}
    {%- set held = secure_datasets._held_keys(restriction.object, user, '_' ~ loop.index) %}
    cross join {{ held.relation | indent(4) }}
    {%- endfor %}
    where
        {{ secure_datasets.columns_match(way.source, relation, restriction.columns) }}
        {%- for path in way.paths %}
        {%- set held = secure_datasets._held_keys(restriction.object, user, '_' ~ loop.index) %}
        and {{ held.terms | indent(8) }}
        and {{ held.key }} = {{ path[-1]['from'].dataset }}.{{ path[-1]['from'].join_columns[0] }}
        {%- endfor %}
)
{%- endmacro %}


{# Whether a security object maps a user to any key at all. #}
{% macro any_key_is_held(object, user) -%}
{%- set held = secure_datasets._held_keys(object, user) -%}
exists (
    select 1
    from {{ held.relation | indent(4) }}
    where
        {{ held.terms | indent(8) }}
        and {{ held.key }} is not null
)
{%- endmacro %}


{# The rows of a query's secure dataset, with the columns of `expected_answer`. #}
{% macro shown_answer(name, config) -%}
select
    {%- for column in config.datasets[name].columns %}
    {{ column }},
    {%- endfor %}
    user_id
from {{ ref('vw_secure_dataset_' ~ name) }}
{%- endmacro %}


{# A query's answer to each user, from the rows that lead to a key of that user. #}
{% macro expected_answer(name, config) -%}
{%- set dataset = config.datasets[name] -%}
select
    {%- for column in dataset.columns %}
    {{ secure_datasets.masked_value(name, config, name, column, name ~ '.user_id') | indent(4) }} as {{ column }},
    {%- endfor %}
    {{ name }}.user_id
from (
    {{ secure_datasets.answers_of_users(name, config, secure_datasets.is_restricted(name, config)) | indent(4) }}
) as {{ name }}
where {{ secure_datasets.meets_every_rule(name, config, name, name ~ '.user_id') }}
{%- endmacro %}


{#
    A query's answer before conditions and masks: to each live user from the rows that lead to a
    key of that user or, if not by user, one answer from all rows.
#}
{% macro answers_of_users(name, config, per_user) -%}
{%- set dataset, joined = config.datasets[name], [] -%}
{%- set star, restrictions = secure_datasets.star_query(dataset, config), secure_datasets.restrictions_on(dataset, config) -%}
{%- set dimensions = dataset.query.dimensions or {} -%}
{%- set paths = secure_datasets.relationship_paths(star.root, config) -%}
select
    {%- for column in dataset.columns %}
    {{ dimensions[column] or dataset.query.measures[column] }} as {{ column }},
    {%- endfor %}
    {{ 'users.user_id' if per_user else 'cast(null as bigint) as user_id' }}
from {{ ref(star.root) }} as {{ star.root }}
{%- for relation, _ in star.columns -%}
{{ secure_datasets.path_joins(paths[relation], 'left', joined) }}
{%- endfor %}
{%- if per_user %}
cross join {{ ref('stg_users') }} as users
where
    users.is_live
    {%- for restriction in restrictions %}
    and {{ secure_datasets.key_is_held(restriction, star.root, 'users.user_id') | indent(4) }}
    {%- endfor %}
{%- endif %}
{%- set groups = dimensions.values() | list + (['users.user_id'] if per_user else []) %}
{%- if groups %}
group by {{ groups | join(', ') }}
{%- endif %}
{%- endmacro %}
