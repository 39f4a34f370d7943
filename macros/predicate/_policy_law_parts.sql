{#
    The rules once more, by exists, for the laws about policies, row security and view authorization, and for the
    printed predicates. A user is an SQL expression, a row an alias. Python renders them.
#}


{#
    The rows of a dataset's base with each user who passes its tier, and nothing else.

    dataset  the dataset's entry, or the element of restricted_datasets() if it shows fewer columns
             than the dataset at the end of its chain
#}
{% macro rows_past_the_tier(dataset, config) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).rows_past_the_tier(dataset) }}
{%- endmacro %}


{# Whether a row and its user meet view authorization, row security and conditions. #}
{% macro meets_every_rule(name, config, relation, user, is_permissive=false) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).meets_every_rule(name, relation, user, is_permissive) }}
{%- endmacro %}


{# A column's value for a user: the true one, or the mask of the highest order. #}
{% macro masked_value(name, config, relation, column, user) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).masked_value(name, relation, column, user) }}
{%- endmacro %}


{# The value of a mask, as the type of its column. #}
{% macro mask_as_typed(rule, name, config, column) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).mask_as_typed(rule, name, column) }}
{%- endmacro %}


{# Whether a mask shows a row the value itself: no null, and no constant of the mask. #}
{% macro mask_shows_the_value(rule, name, config, relation, column) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).mask_shows_the_value(rule, name, relation, column) }}
{%- endmacro %}


{# The masks that leave the true value in more rows than allowed: resource, mask and number. #}
{% macro masks_that_show_values(config, most_rows) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).masks_that_show_values(most_rows) }}
{%- endmacro %}


{# Whether a row leads to a key of a user. #}
{% macro key_is_held(restriction, relation, user) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, none).key_is_held(restriction, relation, user) }}
{%- endmacro %}


{# Whether a security object maps a user to any key at all. #}
{% macro any_key_is_held(object, user) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, none).any_key_is_held(object, user) }}
{%- endmacro %}


{# The rows of a query's secure dataset, with the columns of `expected_answer`. #}
{% macro shown_answer(name, config) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).shown_answer(name) }}
{%- endmacro %}


{# A query's answer to each user, from the rows that lead to a key of that user. #}
{% macro expected_answer(name, config) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).expected_answer(name) }}
{%- endmacro %}


{# A query's answer before conditions and masks: to each live user or, if not by user, one answer from all rows. #}
{% macro answers_of_users(name, config, per_user) -%}
{{ adapter.rules_by_exists(secure_datasets, ref, config).answers_of_users(name, per_user) }}
{%- endmacro %}
