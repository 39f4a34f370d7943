{#
    Renders the review status of each user's access to each data source and project. A decision to
    keep certifies the access as its reviewer saw it, for `review_days` days. A doubtful decision
    certifies nothing. A decision to remove stands, even a void one, until a later decision to keep
    counts.
#}
{% macro review_status_query() -%}
{{ adapter.query_of_review('review_status', secure_datasets, ref, {
    'config': secure_datasets.secure_datasets_config(),
    'review_days': var('review_days'),
}) }}
{%- endmacro %}
