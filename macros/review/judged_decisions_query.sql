{#
    Renders the verdict on each decision of a review: it counts; it is void, because its decider is
    the user, is not live, or is not allowed by `review_deciders`; or it is unreadable, with the
    problem.
#}
{% macro judged_decisions_query() -%}
{{ adapter.query_of_review('judged_decisions', secure_datasets, ref, {'review_deciders': var('review_deciders')}) }}
{%- endmacro %}
