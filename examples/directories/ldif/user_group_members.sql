-- The raw table user_group_members.
with recursive entries as (
    select * from {{ ref('entries') }}
    where attribute in ('member', 'uniquemember')
),

objects as (
    select * from {{ ref('objects') }}
    where directory_key is not null
),

-- A DN of no entry is in no group: groupOfNames needs a member, and many name one that is nobody.
links as (
    select
        objects.loaded_at,
        objects.directory_key as group_key,
        members.directory_key as member_key,
        members.is_group
    from entries
    inner join objects on entries.text = objects.text
    inner join objects as members
        on {{ directory_dn('entries.value') }} = members.dn
    where
        objects.is_group
        and (members.is_user or members.is_group)
),

{{ nested_members() }}
