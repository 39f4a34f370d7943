{#
    A staged role is one that role_permissions, the product's or a customer's, knows for the
    type of object: fails with each other one.

    object_type  the type of object that the role is held on
#}
{% test role_is_known(model, column_name, object_type) %}
select
    staged.{{ column_name }},
    count(*) as row_count
from {{ model }} as staged
left anti join {{ ref('role_permissions') }} as known
    on
        staged.{{ column_name }} = known.role_name
        and known.object_type = {{ secure_datasets.sql_text(object_type) }}
where staged.{{ column_name }} is not null
group by staged.{{ column_name }}
{% endtest %}
