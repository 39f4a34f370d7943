{#
    Creates a view that reads the versions of its parents by name, in place of dbt-spark's
    macro: what the parents published together is seen together, from the one statement on
    that alters the view. The versions that the view read before stay until it is altered
    again. A view with `reads_latest: true` reads its parents by their published names: what
    they publish is in force at its next read, without a run of the view. So is what a seed
    with `reads_latest: true` publishes, in every view. A view with `inline_views: true` has
    the queries of the views that it names in their place.

    A view whose versions were read from the raw tables at several moments would show rows of
    one under the rights of another. With `narrowing`, which names its unique_key and what its
    rows_from are, it shows the rows of before to those who may see them before and now; any
    other view stays as it was. What a data test stores as a view is dbt-spark's: no run has
    begun.

    relation  the view
    sql       its compiled query
#}
{% macro secure_spark__create_view_as(relation, sql) -%}
{%- if model.resource_type == 'test' -%}
{{ return(spark__create_view_as(relation, sql)) }}
{%- endif -%}
{%- set query = adapter.query_of_view(graph, model, relation, sql) -%}
{%- if query is none -%}
describe table {{ relation }}
{%- else -%}
{%- set definition = adapter.definition_of(relation) -%}
{%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
{%- endif %}
{{ switch_view(relation, definition, query, kept=adapter.versions_before(definition)) }}
{%- endif -%}
{%- endmacro %}
