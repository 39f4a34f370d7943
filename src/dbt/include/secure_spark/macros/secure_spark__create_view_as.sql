{#
    Creates a view that reads the versions of its parents by name, in place of dbt-spark's
    macro: one statement alters the view, and from then on it shows the rows that its parents
    published together. The versions that the view read before stay until it is altered again.

    reads_latest: true   a view reads its parents by their published names, so that a new version
                         takes effect at the next read, without a run of the view. On a seed: every
                         view reads this seed so.
    inline_views: true   the view contains the queries of the views that it names

    A view whose versions were read from the raw tables at several moments would show the rows of
    one moment under the rights of a different one. With `narrowing`, which has its unique_key and
    its rows_from, it shows the former rows to users who may see them both before and now; without
    it, the view stays as it was. With `vars: {publish_after_tests: true}`, a view with `narrowing` and data
    tests shows less until they have passed. dbt-spark's macro creates the view that stores the result of a data
    test: no run has begun.

    relation  the view
    sql       its compiled query
#}
{% macro secure_spark__create_view_as(relation, sql) -%}
{%- if model.resource_type == 'test' -%}
{{ return(spark__create_view_as(relation, _rows_to_test(sql))) }}
{%- endif -%}
{%- set query = adapter.query_of_view(graph, model, relation, sql, var('publish_after_tests', false)) -%}
{%- if query is none -%}
describe table {{ relation }}
{%- else -%}
{%- set definition = adapter.definition_of(relation) -%}
{%- set contract = adapter.contract_of(model, sql, query) if config.get('contract').enforced else none -%}
{%- if config.get('contract').enforced and not adapter.fits_contract(definition, contract) -%}
    {{ get_assert_columns_equivalent(sql) }}
{%- endif %}
{{ switch_view(relation, definition, query, kept=adapter.versions_before(definition), contract=contract) }}
{%- endif -%}
{%- endmacro %}
