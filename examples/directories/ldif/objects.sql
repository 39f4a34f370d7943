-- One row per entry of the export. Its key is its entryUUID, since a DN changes when a person moves.
with entries as (
    select * from {{ ref('entries') }}
),

objects as (
    select
        loaded_at,
        text,
        max(case when attribute = 'dn' then {{ directory_dn('value') }} end) as dn,
        max(case when attribute = 'entryuuid' then lower(value) end) as entry_uuid,
        count_if(attribute in ('dn', 'entryuuid')) as keys,
        coalesce(bool_or(
            attribute = 'objectclass' and lower(value) = 'inetorgperson'
        ), false) as is_user,
        coalesce(bool_or(
            attribute = 'objectclass'
            and lower(value) in ('groupofnames', 'groupofuniquenames')
        ), false) as is_group,
        -- OpenLDAP's password policy, and 389 Directory Server's; a value that can't be read locks too.
        coalesce(bool_or(
            attribute = 'pwdaccountlockedtime'
            or (
                attribute = 'nsaccountlock'
                and lower(coalesce(value, 'true')) <> 'false'
            )
        ), false) as is_locked,
        min(case when attribute = 'uid' then value end) as uid,
        min(case when attribute = 'cn' then value end) as cn,
        min(case when attribute = 'givenname' then value end) as given_name,
        min(case when attribute = 'sn' then value end) as sn,
        min(case when attribute = 'mail' then value end) as mail,
        min(
            case when attribute = 'createtimestamp' then value end
        ) as create_timestamp,
        min(
            case when attribute = 'modifytimestamp' then value end
        ) as modify_timestamp
    from entries
    group by loaded_at, text
),

final as (
    select
        *,
        -- Without a DN and an entryUUID of its own an entry has no key: staging rejects it.
        case
            when
                dn is not null
                and keys = 2
                and count(*) over (partition by dn) = 1
                and count(*) over (partition by entry_uuid) = 1
                and not (is_user and is_group)
                then entry_uuid
        end as directory_key
    from objects
)

select * from final
