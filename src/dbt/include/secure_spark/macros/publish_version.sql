{#
    Points a view at a new version of its rows, and names the versions before that stay.

    target_relation  the view that readers know
    version          the table to publish, named by version_relation()
    definition       the metastore's description of the view; none if it does not exist
    to_keep          the number of versions that stay, this one included
    shape            the folders of the version, or the rule that shows its rows in time; or none
#}
{% macro publish_version(target_relation, version, definition, to_keep, shape=none) %}
    {%- call statement('publish_version') -%}
        {{ switch_view(
            target_relation, definition, shape.published_rows(version) if shape else 'select * from ' ~ version,
            kept=adapter.versions_before(definition, to_keep),
        ) }}
    {%- endcall -%}
{% endmacro %}
