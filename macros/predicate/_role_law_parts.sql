{# The shared parts of data tests about policies' roles: role, resource and reason. #}

{#
    The roles that policies name, as pairs of role and resource. Roles in subqueries are
    included, unless only masks and restrictive conditions by role are wanted.
#}
{% macro roles_of_policies(config, of_masks_by_role=false) %}
    {%- set pairs = [] -%}
    {%- for policy in config.policies or [] if not of_masks_by_role or ('role' in policy and ('mask' in policy or policy.as == 'restrictive')) -%}
        {%- set questions = adapter.secure_datasets() -%}
        {%- set roles = questions.roles_named_by(policy) if of_masks_by_role else questions.roles_asked_by(policy, ref('vw_secure_user_roles') | string) -%}
        {%- for role in roles -%}
            {%- do pairs.append([role, policy.resource]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(pairs) }}
{% endmacro %}


{# The roles in a variable, read like the config's. #}
{% macro _read_roles(roles) %}
    {%- set read = [] -%}
    {%- for role in roles -%}
        {%- do read.append(secure_datasets.read_role(role)) -%}
    {%- endfor -%}
    {{ return(read) }}
{% endmacro %}


{# Pairs of role and resource as rows: the role's name, the id of a group, the resource. #}
{% macro roles_as_rows(pairs) -%}
values
    {%- for role, resource in pairs %}
    ({{ secure_datasets.sql_text(adapter.secure_datasets().role_called(role)) }}, cast({{ role if role is number else 'null' }} as bigint), {{ secure_datasets.sql_text(resource) }}){{ ',' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{# Whether a group matches a role: by its id, if the role is one, or by its name. #}
{% macro _bears_role(groups) -%}
if(named.group_id is null, named.role_name = {{ groups }}.name, named.group_id = {{ groups }}.user_group_id)
{%- endmacro %}


{# The same for a group whose row is rejected. #}
{% macro _bore_role(groups) -%}
if(named.group_id is null, named.role_name = {{ groups }}.name, named.group_id = {{ secure_datasets.read_value(secure_datasets.trimmed_text(groups ~ '.raw_id'), 'bigint') }})
{%- endmacro %}


{# Whether a role is one of the two global ones. #}
{% macro _is_global_role() -%}
(named.group_id is null and named.role_name in ('Global Admin', 'Global Data Source Admin'))
{%- endmacro %}


{#
    The roles whose name several live groups have, each with these groups: an editor of groups
    could add one whose members get the role.
#}
{% macro roles_of_several_groups(config) -%}
{%- set pairs = secure_datasets.roles_of_policies(config) -%}
{%- if not pairs -%}
{{ secure_datasets._groups_called_everybody() if config.policies else secure_datasets.union_of([]) }}
{%- else -%}
with named (role_name, group_id, resource) as (
    {{ secure_datasets.roles_as_rows(pairs) | indent(4) }}
),

bearers as (

    select
        name,
        array_join(transform(array_sort(collect_list(user_group_id)), id -> cast(id as string)), ', ') as ids
    from {{ ref('stg_user_groups') }}
    where is_live
    group by name
    having count(*) > 1

)

select distinct
    named.role_name,
    named.resource,
    concat(
        'the live groups ', bearers.ids, ' bear it, and the members of each hold it:'
        ' rename the others, or name the one that is meant by its id, as in {group: ',
        substring_index(bearers.ids, ',', 1), '}'
    ) as reason
from named
inner join bearers
    on named.role_name = bearers.name
where named.group_id is null and not {{ secure_datasets._is_global_role() }}
union all
{{ secure_datasets._groups_called_everybody() }}
{%- endif -%}
{%- endmacro %}


{# The live groups with the name of everybody, which give nothing, whatever their members expect. #}
{% macro _groups_called_everybody() -%}
select
    name as role_name,
    '*' as resource,
    concat(
        'the live group ', cast(user_group_id as string), ' bears the name by which policies mean'
        ' everybody, and its members hold no role by it: rename it'
    ) as reason
from {{ ref('stg_user_groups') }}
where is_live and name = '*'
{%- endmacro %}


{#
    The roles of policies without a live group that are not global: among the roles that may be
    missing, or among the roles that may not.

    may_be_missing  the roles that may be missing
    are_listed      whether to look at these
#}
{% macro roles_without_a_group(config, may_be_missing, are_listed) -%}
{%- set pairs, listed = [], secure_datasets._read_roles(may_be_missing) -%}
{%- for role, resource in secure_datasets.roles_of_policies(config) if (role in listed) == are_listed -%}
    {%- do pairs.append([role, resource]) -%}
{%- endfor -%}
{%- if not pairs -%}
{{ secure_datasets.union_of([]) }}
{%- else -%}
with named (role_name, group_id, resource) as (
    {{ secure_datasets.roles_as_rows(pairs) | indent(4) }}
),

rejected as (

    select
        {{ secure_datasets.delivered_value('name') }} as name,
        raw_id,
        concat('row of user_groups that does, ', raw_id, ', is rejected: ', rejection_reason) as reason
    from {{ ref('stg_user_groups') }}
    where rejection_reason is not null

)

select
    named.role_name,
    named.resource,
    coalesce(
        'no live group bears it, and the ' || min(rejected.reason),
        if(named.group_id is null, 'no live group bears it', 'no live group has this id')
    ) as reason
from named
left anti join {{ ref('stg_user_groups') }} as user_groups
    on {{ secure_datasets._bears_role('user_groups') }} and user_groups.is_live
left join rejected
    on {{ secure_datasets._bore_role('rejected') }}
where not {{ secure_datasets._is_global_role() }}
group by named.role_name, named.group_id, named.resource
{%- endif -%}
{%- endmacro %}


{# A value of a rejected row as it was delivered, trimmed. #}
{% macro delivered_value(column) -%}
{{ secure_datasets.trimmed_text("get_json_object(raw_row, '$." ~ column ~ "')") }}
{%- endmacro %}


{#
    Whether a rejected row might have been a grant: an inactive row was none. Only one of several
    rows in conflict is kept, and its rivals may hold anything.
#}
{% macro is_no_revocation() -%}
rejection_reason = 'conflict' or coalesce({{ secure_datasets.ascii_lower(secure_datasets.delivered_value('is_active')) }}, 'true') not in ('false', '0')
{%- endmacro %}
