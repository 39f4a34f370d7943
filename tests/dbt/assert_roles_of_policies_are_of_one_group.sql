-- A role that a policy names is one live group: of two that bear its name, the second could be
-- made by anybody who may make groups.
{{ config(meta={'print_failures': true}) }}

{{ adapter.law_of_roles('roles_of_several_groups', secure_datasets, ref, secure_datasets.secure_datasets_config()) }}
