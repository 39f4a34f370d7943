{#- The bigint id of a text key: 60 bits of SHA-256. Null where two keys among the rows have one id,
    so that staging rejects them as `unreadable id`. Keys of other queries are not compared. -#}
{% macro directory_id(key) -%}
{%- set id = "cast(conv(left(sha2(" ~ key ~ ", 256), 15), 16, 10) as bigint)" -%}
case
            when
                min({{ key }}) over (partition by {{ id }})
                = max({{ key }}) over (partition by {{ id }})
                then {{ id }}
        end
{%- endmacro %}
