-- One row per value of an attribute in the newest whole export.
with exports as (
    select
        loaded_at,
        -- A line that begins with a space goes on the line before.
        replace(replace(content, '\r\n', '\n'), '\n ', '') as content
    from {{ source('directory', 'ldif_exports') }}
),

texts as (
    select
        loaded_at,
        -- The comment that ldapsearch writes last.
        try_cast(
            regexp_extract(content, '\n# numEntries: ([0-9]+)\\s*$', 1) as bigint
        ) as announced,
        -- RFC 4511, 4.1.9: any result but 0 may have left entries out, such as 4, a size limit.
        content rlike '\nsearch: [0-9]+\nresult: 0[ \n]'
        and content not rlike '\nsearch: [0-9]+\nresult: [1-9]' as is_success,
        split(content, '\n\n') as texts
    from exports
),

pieces as (
    select
        loaded_at,
        announced,
        explode(texts) as text
    from texts
    where is_success
),

entries as (
    select
        loaded_at,
        announced,
        text,
        count(*) over (partition by loaded_at) as found,
        -- An entry that stands there twice can't be told apart, and is none.
        count(*) over (partition by loaded_at, text) as times
    from pieces
    where concat('\n', text) rlike '\ndn:'
),

newest as (
    select
        *,
        max(loaded_at) over () as last_loaded_at
    from entries
    where found = announced
),

lines as (
    select
        loaded_at,
        text,
        explode(split(text, '\n')) as line
    from newest
    where
        loaded_at = last_loaded_at
        and times = 1
),

final as (
    select
        loaded_at,
        text,
        lower(substring_index(line, ':', 1)) as attribute,
        case
            -- Base64; null where it, or its UTF-8, can't be read.
            when line rlike '^[^:]+::'
                then
                    try_validate_utf8(
                        cast(
                            try_to_binary(
                                regexp_replace(line, '^[^:]+:: *', ''), 'base64'
                            ) as string
                        )
                    )
            -- The address of a file is no value.
            when line not rlike '^[^:]+:<'
                then regexp_replace(line, '^[^:]+: *', '')
        end as value
    from lines
    where line rlike '^[A-Za-z][A-Za-z0-9.-]*:'
)

select * from final
