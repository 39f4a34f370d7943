{#
    Renders the verdict on each live row that gives rights or leads to rights: permissions, global
    roles, memberships, and rows that link objects. A row is redundant exactly if no row of an
    access view and no right of the audit disappears without it.
#}
{% macro judged_grants_query() -%}
{%- set rights = secure_datasets._judged_rights() -%}
{%- set tables = secure_datasets.repository_tables() -%}
with {{ secure_datasets._users_by_name(ref) }},

{{ secure_datasets._things_by_name(ref) }},

{{ secure_datasets._judged_ways(rights) }},

{{ secure_datasets._grant_losses(rights) }},

{{ secure_datasets._grants() }},

{{ secure_datasets._judged_members() }},

{{ secure_datasets._groups_and_roles_that_give() }},

{{ secure_datasets._judged_permissions() }},

judged as (

    {{ secure_datasets._judged_grants() | indent(4) }}
    union all
    {{ secure_datasets._judged_memberships() | indent(4) }}
    {%- for name, shown_in in rights.links.items() %}
    union all
    {{ secure_datasets._judged_links(tables[name], shown_in) | indent }}
    {%- endfor %}

),

{{ secure_datasets._standing_in(rights, tables) }},

{{ secure_datasets._grants_with_stand_ins() }}

select * from final
{%- endmacro %}


{# The verdicts on grants. #}
{% macro _judged_grants() -%}
select
    grant_table,
    grant_id,
    user_id,
    user_group_id,
    object_type,
    object_id,
    role_name,
    case
        when missing is not null then 'gives nothing'
        -- A role that grants nothing here serves a different purpose.
        when is_needed is null or takes_right then 'counts'
        when not takes_right then 'has another way'
        else 'redundant'
    end as verdict,
    missing
from judged_permissions
{%- endmacro %}


{# The verdicts on memberships of groups. #}
{% macro _judged_memberships() -%}
select
    'user_group_members' as grant_table,
    members.user_group_member_id as grant_id,
    members.user_id,
    members.user_group_id,
    'User Group' as object_type,
    members.user_group_id as object_id,
    cast(null as string) as role_name,
    case
        when named_users.is_live is not true or named_things.is_live is not true then 'gives nothing'
        when redundant_members.user_group_member_id is not null then 'redundant'
        else 'counts'
    end as verdict,
    nullif(concat_ws(
        '; ',
        case when named_users.is_live is not true then concat('holder: ', {{ secure_datasets._not_live('user', 'members.user_id', 'named_users.person', 'named_users') }}) end,
        case when named_things.is_live is not true then concat('object: ', {{ secure_datasets._not_live('group', 'members.user_group_id', 'named_things.name', 'named_things') }}) end
    ), '') as missing
from members
left join (
    -- There is one row for each group that a membership leads to.
    select distinct user_group_member_id
    from redundant_members
) as redundant_members
    on members.user_group_member_id = redundant_members.user_group_member_id
left join named_users
    on members.user_id = named_users.user_id
left join named_things
    on named_things.object_type = 'User Group' and members.user_group_id = named_things.object_id
{%- endmacro %}


{# The groups with live members, and the global roles that grant something. #}
{% macro _groups_and_roles_that_give() -%}
groups_with_members as (

    -- There is one row for each member of a group.
    select distinct user_group_id
    from {{ ref('int_user_group_memberships') }}

),

granting_global_roles as (

    -- A role may have several permissions.
    select distinct role_name
    from {{ ref('role_permissions') }}
    where object_type = 'Global' and permission_name is not null

)
{%- endmacro %}


{# Each grant with the reasons why it gives nothing. #}
{% macro _judged_permissions() -%}
judged_permissions as (

    select
        grants.*,
        weighed.is_needed,
        case
            when not weighed.is_needed
                then concat('link: nobody who holds it is a member of a project that is linked to ', lower(grants.object_type), {{ secure_datasets._numbered('', 'grants.object_id', 'named_objects.name') }})
            when weighed.is_needed is null then nullif(concat_ws(
                '; ',
                case when grants.user_id is not null and named_users.is_live is not true then concat('holder: ', {{ secure_datasets._not_live('user', 'grants.user_id', 'named_users.person', 'named_users') }}) end,
                case when grants.user_group_id is not null and named_groups.is_live is not true then concat('holder: ', {{ secure_datasets._not_live('group', 'grants.user_group_id', 'named_groups.name', 'named_groups') }}) end,
                case when named_groups.is_live and peopled.user_group_id is null then concat('holder: ', {{ secure_datasets._numbered('group', 'grants.user_group_id', 'named_groups.name') }}, ' has no live member') end,
                case when grants.object_id is not null and named_objects.is_live is not true then concat('object: ', {{ secure_datasets._not_live("', lower(grants.object_type), '", 'grants.object_id', 'named_objects.name', 'named_objects') }}) end,
                case when granting.role_name is not null and named_users.is_live then 'object: there is none that the role reaches' end
            ), '')
        end as missing,
        weighed.takes_right
    from grants
    left join weighed
        on
            grants.grant_table = weighed.grant_table
            and grants.grant_id = weighed.grant_id
    left join named_users
        on grants.user_id = named_users.user_id
    left join named_things as named_groups
        on named_groups.object_type = 'User Group' and grants.user_group_id = named_groups.object_id
    left join named_things as named_objects
        on grants.object_type = named_objects.object_type and grants.object_id = named_objects.object_id
    left join groups_with_members as peopled
        on grants.user_group_id = peopled.user_group_id
    left join granting_global_roles as granting
        on
            grants.grant_table = 'user_global_roles'
            and grants.role_name = granting.role_name

)
{%- endmacro %}


{# Each judged row with its stand-ins. #}
{% macro _grants_with_stand_ins() -%}
final as (

    select
        judged.grant_table,
        judged.grant_id,
        judged.user_id,
        judged.user_group_id,
        judged.object_type,
        judged.object_id,
        judged.role_name,
        judged.verdict,
        judged.missing,
        stands_in.number_of_grants as stands_in_number,
        stands_in.first_grants as stands_in
    from judged
    left join stands_in
        on
            judged.grant_table = stands_in.grant_table
            and judged.grant_id = stands_in.grant_id
            -- A row that counts may have stand-ins for a part of its rights.
            and judged.verdict in ('redundant', 'has another way')

)
{%- endmacro %}


{# The judged rows of one raw table that links objects, shown by the access views of some tiers. #}
{% macro _judged_links(table, shown_in) -%}
{%- set keys = table.references -%}
{%- set first = keys.keys() | first -%}
select
    '{{ table.name }}' as grant_table,
    links.{{ table.key }} as grant_id,
    cast(null as bigint) as user_id,
    cast(null as bigint) as user_group_id,
    -- The row is listed with the first of the objects that it links.
    '{{ secure_datasets._type_of_rows(keys[first]) }}' as object_type,
    links.{{ first }} as object_id,
    cast(null as string) as role_name,
    case
        when shown.is_shown is null then 'gives nothing'
        when links.number_of_links > 1 then 'redundant'
        else 'counts'
    end as verdict,
    case when shown.is_shown is null then {{ secure_datasets._missing_of_link(keys, shown_in) | indent(4) }} end as missing
from (
    select *, count(*) over (partition by {{ keys | join(', ') }}) as number_of_links
    from {{ ref('stg_' ~ table.name) }}
    where is_live
) as links
{%- for key, parent in keys.items() %}
left join named_things as named_{{ key }}
    on named_{{ key }}.object_type = '{{ secure_datasets._type_of_rows(parent) }}' and links.{{ key }} = named_{{ key }}.object_id
{%- endfor %}
left join (
    -- There is one row for each user.
    {%- for tier in shown_in %}
    select distinct {{ keys | join(', ') }}, true as is_shown
    from {{ ref(tier.access_view) }}
    {{ 'union' if not loop.last }}
    {%- endfor %}
) as shown
    on{% for key in keys %} links.{{ key }} = shown.{{ key }}{{ ' and' if not loop.last }}{% endfor %}
{%- endmacro %}


{# The reasons why a row that links objects gives nothing: an object is not live, or nobody holds the rights. #}
{% macro _missing_of_link(keys, shown_in) -%}
concat_ws(
    '; ',
    {%- for key, parent in keys.items() %}
    case when named_{{ key }}.is_live is not true then concat('object: ', {{ secure_datasets._not_live(secure_datasets._type_of_rows(parent) | lower, 'links.' ~ key, 'named_' ~ key ~ '.name', 'named_' ~ key) }}) end,
    {%- endfor %}
    case
        when {% for key in keys %}named_{{ key }}.is_live{{ ' and ' if not loop.last }}{% endfor %}
            then concat({{ secure_datasets._rights_that_it_takes(shown_in, keys) | indent(12) }})
    end
)
{%- endmacro %}


{# The rights that nobody holds if a row that links objects gives nothing, in the words of each tier. #}
{% macro _rights_that_it_takes(tiers, keys) -%}
{%- for tier in tiers -%}
'{{ 'holder: nobody holds' if loop.first else '; nor' }} both '
{%- for right in tier.rights if right.key in keys -%}
, {{ secure_datasets.sql_text(right.permission ~ ' on ') }}, {{ secure_datasets._numbered(right.object_type | lower, 'links.' ~ right.key, 'named_' ~ right.key ~ '.name') }}
{{- ", ' and '" if not loop.last -}}
{%- endfor -%}
{{ ', ' if not loop.last }}
{%- endfor -%}
{%- endmacro %}


{#
    The stand-ins of each redundant row: their number, and the first ten by name. Each stand-in
    gives at least a part of the same rights.
#}
{% macro _standing_in(rights, tables) -%}
{{ secure_datasets._redundant_ways() }},

others as (

    select mine.grant_table, mine.grant_id, paths.grant_table as other_table, paths.grant_id as other_id
    from redundant_ways as mine
    inner join {{ ref('int_access_paths') }} as paths
        on
            mine.user_id = paths.user_id
            and mine.object_type = paths.object_type
            and mine.object_id = paths.object_id
            and mine.permission_name = paths.permission_name
            and (mine.grant_table != paths.grant_table or mine.grant_id != paths.grant_id)
    union
    select mine.grant_table, mine.grant_id, twins.grant_table as other_table, twins.grant_id as other_id
    from global_roles as mine
    inner join global_roles as twins
        on
            mine.user_id = twins.user_id
            and mine.path_kind = twins.path_kind
            and mine.grant_id != twins.grant_id
    union
    select 'user_group_members' as grant_table, mine.user_group_member_id as grant_id, 'user_group_members' as other_table, reached_groups.user_group_member_id as other_id
    from redundant_members as mine
    inner join reached_groups
        on
            mine.user_id = reached_groups.user_id
            and mine.ancestor_user_group_id = reached_groups.ancestor_user_group_id
            and mine.user_group_member_id != reached_groups.user_group_member_id
    {%- for name in rights.links %}
    union
    {{ secure_datasets._equal_links(tables[name]) | indent(4) }}
    {%- endfor %}

),

{{ secure_datasets._first_stand_ins() }}
{%- endmacro %}


{# The pairs of live rows of a raw table that link the same objects. #}
{% macro _equal_links(table) -%}
select '{{ table.name }}' as grant_table, mine.{{ table.key }} as grant_id, '{{ table.name }}' as other_table, twins.{{ table.key }} as other_id
from {{ ref('stg_' ~ table.name) }} as mine
inner join {{ ref('stg_' ~ table.name) }} as twins
    on
        mine.{{ table.key }} != twins.{{ table.key }}
        {%- for key in table.references %}
        and mine.{{ key }} = twins.{{ key }}
        {%- endfor %}
where mine.is_live and twins.is_live
{%- endmacro %}


{# The ways by redundant rows. #}
{% macro _redundant_ways() -%}
-- Not from the verdicts, since Spark plans the query of a CTE wherever the CTE is read.
redundant_ways as (

    select judged_ways.*
    from judged_ways
    left semi join (
        select grant_table, grant_id
        from weighed
        where is_needed and not coalesce(takes_right, false)
    ) as redundant
        on judged_ways.grant_table = redundant.grant_table and judged_ways.grant_id = redundant.grant_id
    where judged_ways.is_needed

)
{%- endmacro %}


{# The number of stand-ins of each row, and the first ten. #}
{% macro _first_stand_ins() -%}
numbered as (

    select
        grant_table,
        grant_id,
        concat(other_table, ' ', other_id) as other,
        row_number() over (partition by grant_table, grant_id order by other_table, other_id) as place
    from others

),

stands_in as (

    select
        grant_table,
        grant_id,
        count(*) as number_of_grants,
        array_join(
            transform(
                array_sort(collect_list(case when place <= 10 then struct(place, other) end)),
                entry -> entry.other
            ),
            ', '
        ) as first_grants
    from numbered
    group by grant_table, grant_id

)
{%- endmacro %}
