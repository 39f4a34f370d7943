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
    {{ return(adapter.rules_by_exists(secure_datasets, ref, config).rules_on(name, relation)) }}
{% endmacro %}
