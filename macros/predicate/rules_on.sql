{#
    The rules that decide about a dataset's rows beyond its tier, in the order of their effect: view
    authorization, row security, conditions, masks.

    Returns   a list of rules:
        gate      view authorization, row security, conditions or masks
        title     the rule in words; `verb`, its effect on its rows
        is_mask   whether it changes values alone
        applies   SQL: whether it acts on a row for a user; none for row security of a query,
                  which applies to the rows that it counts
        is_for    for conditions and masks, SQL: whether it is for the user
        in_time   for conditions and masks, SQL: whether it holds now; empty if always
        says      for conditions and masks, SQL: the result of its condition for the row
        rule      for conditions and masks, the element of policies_on(); `column` of a mask
        restriction  for row security, the element of restrictions_on()

    name      the dataset
    config    the document of secure_datasets_config()
    relation  the name of the relation with the rows and their users
#}
{% macro rules_on(name, config, relation) %}
    {%- set policies, user = secure_datasets.policies_on(name, config), relation ~ '.user_id' -%}
    {#- View authorization spares a user that it allows: neither restrictive conditions nor masks act. -#}
    {%- set spares = ' and not ' ~ secure_datasets.outcome_is(name, ['Allow'], user) if policies.is_authorized else '' -%}
    {{ return(
        (secure_datasets._rules_of_authorization(name, user) if policies.is_authorized else [])
        + secure_datasets._rules_of_row_security(config.datasets[secure_datasets.ruling_dataset(name, config)], config, relation, user)
        + secure_datasets._rules_of_conditions(policies, user, spares)
        + secure_datasets._rules_of_masks(policies, config.datasets[name].columns, user, spares)
    ) }}
{% endmacro %}


{# The rules of view authorization: whom it hides every row from, and whom it frees. #}
{% macro _rules_of_authorization(name, user) %}
    {%- set rule = {'gate': 'view authorization', 'title': 'view authorization', 'is_mask': false} -%}
    {{ return([
        dict(rule, verb='hides', applies='not ' ~ secure_datasets.outcome_is(name, ['Allow', 'Transform'], user)),
        dict(rule, verb='frees', applies=secure_datasets.outcome_is(name, ['Allow'], user)),
    ]) }}
{% endmacro %}


{# The rules of row security, from the dataset that rules the rows. #}
{% macro _rules_of_row_security(ruling, config, relation, user) %}
    {%- set rules = [] -%}
    {%- for restriction in secure_datasets.restrictions_on(ruling, config) -%}
        {% do rules.append({
            'gate': 'row security', 'title': 'row security "' ~ restriction.object.label ~ '"', 'verb': 'hides',
            'is_mask': false, 'restriction': restriction,
            'applies': 'not ' ~ secure_datasets.key_is_held(restriction, relation, user) if ruling.query is not defined else none,
        }) %}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}


{#
    The rules of conditions, then of restrictive ones.

    spares  SQL: that no user whom view authorization allows is concerned; else an empty text
#}
{% macro _rules_of_conditions(policies, user, spares) %}
    {%- set rules = [] -%}
    {%- for rule in policies.conditions + policies.restrictive -%}
        {% do rules.append({
            'gate': 'conditions', 'is_mask': false, 'is_for': secure_datasets.rule_is_for(rule, user),
            'in_time': secure_datasets.rule_is_in_time(rule), 'says': rule.condition, 'rule': rule,
        }) %}
        {%- if loop.index <= policies.conditions | length -%}
            {% do rules[-1].update(title='condition of ' ~ rule.whom, verb='shows', applies=secure_datasets._is_for_and(rule, user)) %}
        {%- else -%}
            {%- set applies = secure_datasets._acts_for(rule, user) ~ ' and (' ~ rule.condition ~ ') is not true' ~ spares -%}
            {% do rules[-1].update(title='restrictive condition of ' ~ rule.whom, verb='hides', applies=applies) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}


{# The rules of masks on these columns; `spares` as in `_rules_of_conditions`. #}
{% macro _rules_of_masks(policies, columns, user, spares) %}
    {%- set rules = [] -%}
    {%- for column, masks in policies.masks.items() if column in columns -%}
        {%- for rule in masks -%}
            {% do rules.append({
                'gate': 'masks', 'title': 'mask on ' ~ column ~ ' of ' ~ rule.whom, 'verb': 'masks', 'is_mask': true,
                'applies': secure_datasets.mask_is_put_on(rule, user) ~ spares,
                'is_for': secure_datasets.rule_is_for(rule, user), 'in_time': secure_datasets.rule_is_in_time(rule),
                'says': secure_datasets._is_shown_to_none(rule, user) if rule.shown_to else rule.condition, 'rule': rule, 'column': column,
            }) %}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}
