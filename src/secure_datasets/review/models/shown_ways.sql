shown as (

    $shown

),

ways as (

    select
        shown.user_id,
        shown.object_type,
        shown.object_id,
        -- A right that shows linked objects does so since they are linked, and since they may be seen.
        case
            when not shown.is_linked then $way_since
            else $since_linked
        end as since,
        concat(
            shown.permission_name, shown.shown_with, ': ', paths.path_kind,
            coalesce(concat(', role ', paths.role_name), ''),
            coalesce(concat(', through ', paths.group_chain), ''),
            ', by ', paths.grant_table, ' ', paths.grant_id,
            coalesce(concat(' and user_group_members ', paths.user_group_member_id), '')
        ) as way,
        paths.created_by,
        paths.member_created_by,
        paths.grant_table,
        paths.grant_id,
        paths.user_group_member_id,
        -- The same without names, which change while the access stays.
        concat_ws(
            '|', shown.permission_name, paths.path_kind, coalesce(paths.role_name, ''), paths.grant_table, cast(paths.grant_id as string),
            coalesce(cast(paths.user_group_member_id as string), ''),
            coalesce(array_join(transform(paths.group_ids, each -> cast(each as string)), '>'), ''),
            -- All linked objects, if the right shows some.
            shown.linked
        ) as unnamed_way
    from shown
    inner join (
        select paths.*
        from $explained_access_paths as paths
        -- Without this join, Spark would explain all paths when they are read.
        left semi join $within
            on $same
    ) as paths
        on
            shown.user_id = paths.user_id
            and shown.object_type = paths.object_type
            and shown.object_id = paths.object_id
            and shown.permission_name = paths.permission_name

)
