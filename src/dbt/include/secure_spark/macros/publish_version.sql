{#
    Points a view at a new version of its rows, and names the versions before that stay.

    target_relation  the view that readers know
    version          the table to publish, named by version_relation()
    definition       what the metastore tells of the view; none if it does not exist
    to_keep          how many versions stay, this one included
    folders          the folders that the version lies in, or none
#}
{% macro publish_version(target_relation, version, definition, to_keep, folders=none) %}
    {%- call statement('publish_version') -%}
        {{ switch_view(
            target_relation, definition, folders.published_rows(version) if folders else 'select * from ' ~ version,
            kept=adapter.versions_before(definition, to_keep),
        ) }}
    {%- endcall -%}
{% endmacro %}
