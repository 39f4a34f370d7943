$privileges

-- Several operations ask for the same privilege.
select distinct
    required.privilege,
    required.needed_type,
    required.needed_name
from $role_operations as purposes
inner join privileges_required as required
    on
        purposes.operation = required.operation
        and purposes.object_name in (required.object_name, '*')
where purposes.role_name = $role and required.alternative = '1'
order by required.needed_type, required.needed_name, required.privilege
