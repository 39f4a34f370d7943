{#
    What this project adds to the config of the package secure_datasets. The macro holds YAML and
    nothing else.
#}
{% macro default__secure_datasets_config() %}
datasets:
    # One row per project and user who is a member of it.
    projects:
        base: vw_dataset_projects
        columns: [project_id, project_name]
        unique_key: [project_id]
        tier: project
        keys: {project_id: project_id}

# With these lines, the members of the group Data Office see project 7, if they are members of that
# project, and nobody else sees any project:
#
# policies:
#     - {role: Data Office, resource: projects, condition: project_id = 7}
{% endmacro %}
