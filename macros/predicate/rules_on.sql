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
    {%- set rules, policies, ruling = [], secure_datasets.policies_on(name, config), secure_datasets.ruling_dataset(name, config) -%}
    {%- set user = relation ~ '.user_id' -%}
    {%- set allowed = secure_datasets.outcome_is(name, ['Allow'], user) -%}
    {%- set spares = ' and not ' ~ allowed if policies.is_authorized else '' -%}
    {%- if policies.is_authorized -%}
        {% do rules.append({
            'gate': 'view authorization', 'title': 'view authorization', 'verb': 'hides', 'is_mask': false,
            'applies': 'not ' ~ secure_datasets.outcome_is(name, ['Allow', 'Transform'], user),
        }) %}
        {% do rules.append({
            'gate': 'view authorization', 'title': 'view authorization', 'verb': 'frees', 'is_mask': false,
            'applies': allowed,
        }) %}
    {%- endif -%}
    {%- for restriction in secure_datasets.restrictions_on(config.datasets[ruling], config) -%}
        {% do rules.append({
            'gate': 'row security', 'title': 'row security "' ~ restriction.object.label ~ '"', 'verb': 'hides',
            'is_mask': false, 'restriction': restriction,
            'applies': 'not ' ~ secure_datasets.key_is_held(restriction, relation, user) if config.datasets[ruling].query is not defined else none,
        }) %}
    {%- endfor -%}
    {%- for rule in policies.conditions -%}
        {%- set is_for, in_time = secure_datasets.rule_is_for(rule, user), secure_datasets.rule_is_in_time(rule) -%}
        {% do rules.append({
            'gate': 'conditions', 'title': 'condition of ' ~ rule.whom, 'verb': 'shows', 'is_mask': false,
            'applies': secure_datasets._is_for_and(rule, user), 'is_for': is_for, 'in_time': in_time, 'says': rule.condition, 'rule': rule,
        }) %}
    {%- endfor -%}
    {%- for rule in policies.restrictive -%}
        {%- set is_for, in_time = secure_datasets.rule_is_for(rule, user), secure_datasets.rule_is_in_time(rule) -%}
        {% do rules.append({
            'gate': 'conditions', 'title': 'restrictive condition of ' ~ rule.whom, 'verb': 'hides', 'is_mask': false,
            'applies': secure_datasets._acts_for(rule, user) ~ ' and (' ~ rule.condition ~ ') is not true' ~ spares, 'is_for': is_for, 'in_time': in_time, 'says': rule.condition, 'rule': rule,
        }) %}
    {%- endfor -%}
    {%- for column, masks in policies.masks.items() if column in config.datasets[name].columns -%}
        {%- for rule in masks -%}
            {%- set is_for = secure_datasets.rule_is_for(rule, user) -%}
            {% do rules.append({
                'gate': 'masks', 'title': 'mask on ' ~ column ~ ' of ' ~ rule.whom, 'verb': 'masks', 'is_mask': true,
                'applies': secure_datasets.mask_is_put_on(rule, user) ~ spares,
                'is_for': is_for, 'in_time': secure_datasets.rule_is_in_time(rule),
                'says': secure_datasets._is_shown_to_none(rule, user) if rule.shown_to else rule.condition, 'rule': rule, 'column': column,
            }) %}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}
