-- One row per resource of a listing. A listing counts that brings as many resources as it announces,
-- and none twice: a cut one, or one that changed while it was read, is not complete. An empty listing
-- has one row without a resource.
with resources as (
    select
        loaded_at,
        resource_type,
        total_results,
        resource,
        get_json_object(resource, '$.id') as directory_key
    from {{ source('directory', 'scim_resources') }}
),

counted as (
    select
        *,
        count(resource) over (partition by loaded_at, resource_type) as found,
        min(total_results) over (partition by loaded_at, resource_type) as least,
        max(total_results) over (partition by loaded_at, resource_type) as most,
        count(*) over (partition by loaded_at, resource_type, directory_key) as times
    from resources
),

final as (
    select
        loaded_at,
        resource_type,
        resource,
        directory_key,
        coalesce(
            found = least
            and found = most
            and max(
                case when directory_key is not null then times else 1 end
            ) over (partition by loaded_at, resource_type) = 1,
            false
        ) as is_complete
    from counted
)

select * from final
