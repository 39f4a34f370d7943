{# The people in charge of objects: live owners of data sources and reports, administrators of projects. #}
{% macro charges_query() -%}
select
    objects.object_type,
    objects.object_id,
    objects.owner_user_id as user_id
from {{ secure_datasets.relation_named('int_securable_objects') }} as objects
left semi join {{ secure_datasets.relation_named('stg_users') }} as owners
    on objects.owner_user_id = owners.user_id and owners.is_live
where objects.object_type != 'Project'
-- By several grants, perhaps.
union
select object_type, object_id, user_id
from {{ secure_datasets.relation_named('int_access_paths') }}
where object_type = 'Project' and permission_name = 'Project Admin'
{%- endmacro %}
