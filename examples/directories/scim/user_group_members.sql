-- The raw table user_group_members, once per load.
with recursive resources as (
    select * from {{ ref('resources') }}
    where directory_key is not null
),

listed as (
    select
        loaded_at,
        directory_key as group_key,
        explode(
            from_json(
                get_json_object(resource, '$.members'),
                'array<struct<value:string,type:string>>'
            )
        ) as member
    from resources
    where resource_type = 'Groups'
),

-- An id that a user and a group of one load have is neither's.
known as (
    select
        loaded_at,
        directory_key,
        min(resource_type) as resource_type
    from resources
    group by loaded_at, directory_key
    having count(*) = 1
),

-- Who is not in the load, or is called what it is not, is in no group.
links as (
    select
        listed.loaded_at,
        listed.group_key,
        known.directory_key as member_key,
        known.resource_type = 'Groups' as is_group
    from listed
    inner join known
        on
            listed.loaded_at = known.loaded_at
            and listed.member.value = known.directory_key
    where
        listed.member.type is null
        -- RFC 7643, 8.7.1: `User` and `Group` in any case.
        or concat(lower(listed.member.type), 's') = lower(known.resource_type)
),

loads as (
    select
        loaded_at,
        bool_and(is_complete) and count(distinct resource_type) = 2 as is_complete
    from {{ ref('resources') }}
    group by loaded_at
),

{{ nested_members('loads') }}
