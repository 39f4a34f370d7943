-- A role that a policy names is one live group: of two that bear its name, the second could be
-- made by anybody who may make groups.
{{ config(meta={'print_failures': true}) }}

{{ secure_datasets.roles_of_several_groups(secure_datasets.secure_datasets_config()) }}
