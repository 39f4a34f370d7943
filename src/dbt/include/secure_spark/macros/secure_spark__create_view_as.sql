{#
    Creates a view that reads the versions of its parents by name, in place of dbt-spark's
    macro: what the parents published together is seen together, from the one statement on
    that alters the view. The versions that the view read before stay until it is altered
    again. A view with `reads_latest: true` reads its parents by their published names: what
    they publish is in force at its next read, without a run of the view. So is what a seed
    with `reads_latest: true` publishes, in every view. A view with `inline_views: true` has
    the queries of the views that it names in their place.

    A view whose versions were read from the raw tables at several moments, and would show
    rows of one under the rights of another, stays as it was.

    relation  the view
    sql       its compiled query
#}
{% macro secure_spark__create_view_as(relation, sql) -%}
{%- set pinned = adapter.pin_versions(graph, model, sql) -%}
{%- if pinned.why_not -%}
{%- do exceptions.warn(adapter.stay(relation, model.name, pinned.why_not)) -%}
describe table {{ relation }}
{%- else -%}
{%- set definition = adapter.definition_of(relation) -%}
{%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
{%- endif %}
{{ switch_view(relation, definition, pinned.sql, kept=adapter.versions_before(definition)) }}
{%- endif -%}
{%- endmacro %}
