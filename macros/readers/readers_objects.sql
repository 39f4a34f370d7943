{# The readers' views and functions: what checks and publishes them, with what it needs of dbt. #}
{% macro readers_objects() %}
    {{ return(adapter.readers_objects(secure_datasets, var, graph.nodes, {
        'command': flags.WHICH, 'database': target.database, 'schema': project_schema(), 'relation': api.Relation.create,
        'hold_run': hold_run, 'apply_grants': apply_grants, 'warn': exceptions.warn,
    })) }}
{% endmacro %}
