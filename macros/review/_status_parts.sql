{#
    Two CTEs of access to data sources and projects: `shown`, each right that shows a user something,
    from the access views of the tiers; `ways`, each way to such a right.

    relation  the macro that names a relation: `ref` in a model, `relation_named` in an operation
    within    a CTE; only rows with its keys count
    keys      the keys of that CTE
    is_told   true: people read the ways, so each names the linked objects and the day since when
#}
{% macro _shown_ways(relation, within, keys, is_told=false) -%}
{{ secure_datasets._shown_rights(relation, within, keys, is_told) }},

ways as (

    select
        shown.user_id,
        shown.object_type,
        shown.object_id,
        -- A right that shows linked objects does so since they are linked, and since they may be seen.
        case
            when not shown.is_linked then {{ secure_datasets._way_since('paths') }}
            else {{ secure_datasets._latest([secure_datasets._way_since('paths'), 'shown.linked_since']) }}
        end as since,
        {{ secure_datasets._way_in_words() | indent(8) }} as way,
        paths.created_by,
        paths.member_created_by,
        paths.grant_table,
        paths.grant_id,
        paths.user_group_member_id,
        -- The same without names, which change while the access stays.
        {{ secure_datasets._way_without_names() | indent(8) }} as unnamed_way
    from shown
    inner join (
        select paths.*
        from {{ relation('explained_access_paths') }} as paths
        -- Without this join, Spark would explain all paths when they are read.
        left semi join {{ within }}
            on {% for key in keys %}{{ 'and ' if not loop.first }}paths.{{ key }} = {{ within }}.{{ key }} {% endfor %}

    ) as paths
        on
            shown.user_id = paths.user_id
            and shown.object_type = paths.object_type
            and shown.object_id = paths.object_id
            and shown.permission_name = paths.permission_name

)
{%- endmacro %}


{# The CTE `shown` of `_shown_ways`. #}
{% macro _shown_rights(relation, within, keys, is_told) -%}
{%- set config = secure_datasets.secure_datasets_config() -%}
shown as (
    {% for name, tier in secure_datasets._reviewed_tiers().items() %}
    {{ secure_datasets._shown_by_tier(tier.access_view, secure_datasets.tier_parts(name, config), relation, within, keys, is_told) | indent(4) }}
    {{ 'union' if not loop.last }}
    {%- endfor %}

)
{%- endmacro %}


{#
    Each right of one tier that shows a user something, from its access view, with the linked objects.

    parts  the result of tier_parts() for the tier; the rest as in `_shown_ways`
#}
{% macro _shown_by_tier(view, parts, relation, within, keys, is_told) -%}
{%- set own, others = parts.rights[0], secure_datasets._other_keys(parts) -%}
-- There is one row for each linked object.
select{{ ' distinct' if not others }}
    user_id,
    {{ secure_datasets.sql_text(own.object_type) }} as object_type,
    {{ own.key }} as object_id,
    {{ secure_datasets.sql_text(own.permission) }} as permission_name,
    {% if others and is_told %}{{ secure_datasets._first_linked() | indent(4) }}{% else %}''{% endif %} as shown_with,
    {{ others | length > 0 and is_told }} as is_linked,
    {% if others and is_told %}{{ secure_datasets._earliest('linked_since') }}{% else %}cast(null as timestamp){% endif %} as linked_since,
    {% if others %}{{ secure_datasets._all_linked(others) }}{% else %}cast(null as string){% endif %} as linked
from {% if others and is_told %}{{ secure_datasets._linked_by_name(relation, view, parts, others, within, keys) }}
{%- else %}{{ relation(view) }} as seen
{{ secure_datasets._of_the_asked('seen', own, within, keys) }}{% endif %}
{%- if others %}
group by user_id, {{ own.key }}
{%- endif %}
{%- endmacro %}


{# A way in words, with the names of its groups and of the linked objects. #}
{% macro _way_in_words() -%}
concat(
    shown.permission_name, shown.shown_with, ': ', paths.path_kind,
    coalesce(concat(', role ', paths.role_name), ''),
    coalesce(concat(', through ', paths.group_chain), ''),
    ', by ', paths.grant_table, ' ', paths.grant_id,
    coalesce(concat(' and user_group_members ', paths.user_group_member_id), '')
)
{%- endmacro %}


{# What identifies a way: the ids of its rows and groups, and a digest of all linked objects. #}
{% macro _way_without_names() -%}
concat_ws(
    '|', shown.permission_name, paths.path_kind, coalesce(paths.role_name, ''), paths.grant_table, cast(paths.grant_id as string),
    coalesce(cast(paths.user_group_member_id as string), ''),
    coalesce(array_join(transform(paths.group_ids, each -> cast(each as string)), '>'), ''),
    -- All linked objects, if the right shows some.
    shown.linked
)
{%- endmacro %}


{#
    The keys of a tier except the key of its right, each with the type of its object. The type is
    none if the config does not know it, as can happen in a customer's own tier.

    parts  the result of tier_parts() for the tier
#}
{% macro _other_keys(parts) %}
    {%- set others = [] -%}
    {%- for key in parts['keys'] if key != parts.rights[0].key -%}
        {%- set types = parts.rights | selectattr('key', 'equalto', key) | map(attribute='object_type') | list -%}
        {% do others.append({'key': key, 'object_type': types[0] if types else none}) %}
    {%- endfor -%}
    {{ return(others) }}
{% endmacro %}


{#
    A digest of a user's access to an object as a reviewer sees it: object, user and all ways.
    The query groups by object and user. The digest begins with letters and a dash, so that no
    spreadsheet reads it as a number.
#}
{% macro _what_is_seen() -%}
concat('v1-', left(sha2(concat_ws(';', object_type, cast(object_id as string), cast(user_id as string), array_join(array_sort(collect_set(unnamed_way)), ';')), 256), 32))
{%- endmacro %}


{# The CTE with the present digest of each access, from the ways of `_shown_ways`. #}
{% macro _seen_now() -%}
seen_now as (

    select
        user_id,
        object_type,
        object_id,
        {{ secure_datasets._what_is_seen() }} as seen
    from ways
    group by user_id, object_type, object_id

)
{%- endmacro %}


{# Whether a column has the form of the digest `seen`, as a decision quotes it. #}
{% macro _is_what_is_seen(column) -%}
{{ column }} rlike '^v1-[0-9a-f]{32}$'
{%- endmacro %}


{# A text that is a whole number, as one; else null. #}
{% macro _id_in(column) -%}
case when {{ column }} rlike '^[+-]?[0-9]{1,19}$' then try_cast({{ column }} as bigint) end
{%- endmacro %}


{#
    The people who decide about a person's access and act on its findings: never the person.

    is_in_charge       whether the person is in charge of the object
    number_in_charge   the number of people in charge of the object
    is_administrator   whether the person is a global administrator
    is_theirs          whether the global administrators decide
    others             the people who decide if the global administrators do not
#}
{% macro _who_else(is_in_charge, number_in_charge, is_administrator, is_theirs, others) -%}
case
    when {{ is_in_charge }}
        then concat(
            case when {{ number_in_charge }} > 1 then 'somebody else in charge, or ' else '' end,
            case when {{ is_administrator }} then 'another' else 'a' end, ' global administrator'
        )
    when not ({{ is_theirs }}) then {{ others }}
    when {{ is_administrator }} then 'another global administrator'
    else 'the global administrators'
end
{%- endmacro %}


{# The name of a person in a row of stg_users: the full name, else the login, else the e-mail address. #}
{% macro _person_called() -%}
coalesce(nullif(concat_ws(' ', first_name, last_name), ''), login_name, email)
{%- endmacro %}


{#
    The CTE with the name of each user, live or not, and why the newest row is rejected. `relation`
    names the relations.
#}
{% macro _users_by_name(relation) -%}
named_users as (

    -- A rejected row may have the id of a valid row.
    select
        user_id,
        max({{ secure_datasets._person_called() }}) as person,
        count(case when is_live then 1 end) > 0 as is_live,
        case when count_if(rejection_reason is null) = 0 then min(rejection_reason) end as rejection_reason,
        {{ secure_datasets._gone() }} as gone
    from {{ relation('stg_users') }}
    where user_id is not null
    group by user_id
    {%- set before = secure_datasets.undelivered_rows('users', relation) %}
    {%- if before %}
    union all
    select user_id, {{ secure_datasets._person_called() }} as person, false as is_live, rejection_reason, {{ secure_datasets._is_undelivered() }} as gone
    from (
        {{ before | indent(8) }}
    ) as undelivered
    {%- endif %}

)
{%- endmacro %}


{# The type of the objects in each raw table of objects and groups. #}
{% macro _types_of_things() %}
    {{ return({'user_groups': 'User Group', 'meta_data_sources': 'Data Source', 'projects': 'Project', 'reports': 'Report'}) }}
{% endmacro %}


{# The type of the objects in a raw table; the name of a table without a type. #}
{% macro _type_of_rows(table) -%}
{{ secure_datasets._types_of_things().get(table, table) }}
{%- endmacro %}


{#
    The CTE with the name of each group and object, live or not, and why the newest row is rejected.
    `relation` names the relations.
#}
{% macro _things_by_name(relation) -%}
{%- set types = secure_datasets._types_of_things() -%}
{%- set tables = secure_datasets.repository_tables() -%}
named_things as (

    -- A rejected row may have the id of a valid row.
    select
        object_type,
        object_id,
        coalesce(max(case when is_live then name end), max(name)) as name,
        count(case when is_live then 1 end) > 0 as is_live,
        case when count_if(rejection_reason is null) = 0 then min(rejection_reason) end as rejection_reason,
        {{ secure_datasets._gone() }} as gone
    from (
        {%- for table, type in types.items() %}
        select '{{ type }}' as object_type, {{ tables[table].key }} as object_id, name, is_live, rejection_reason, is_deleted, deleted_on
        from {{ relation('stg_' ~ table) }}
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    ) as things
    where object_id is not null
    group by object_type, object_id
    {%- for table, type in types.items() %}
    {%- set before = secure_datasets.undelivered_rows(table, relation) %}
    {%- if before %}
    union all
    select '{{ type }}' as object_type, {{ tables[table].key }} as object_id, name, false as is_live, rejection_reason, {{ secure_datasets._is_undelivered() }} as gone
    from (
        {{ before | indent(8) }}
    ) as undelivered
    {%- endif %}
    {%- endfor %}

)
{%- endmacro %}


{# An object by its number, followed by its name if it has one. #}
{% macro _numbered(type, id, name) -%}
concat('{{ type }} ', {{ id }}, coalesce(concat(' (', nullif({{ name }}, ''), ')'), ''))
{%- endmacro %}


{#
    Why something is not live: its newest row is rejected, or marks it as not live, or does not
    exist. A rejected row is mended in its source.
#}
{% macro _not_live(type, id, name, named) -%}
case
    when {{ named }}.rejection_reason is not null then concat('the newest row of ', {{ secure_datasets._numbered(type, id, name) }}, {{ secure_datasets.sql_text(" can't be used (") }}, {{ named }}.rejection_reason, ')')
    else concat({{ secure_datasets._numbered(type, id, name) }}, ' ', coalesce({{ named }}.gone, 'is not live'))
end
{%- endmacro %}


{# Since when a way is there: its permission and, if it goes by a group, the membership. Null if not known. #}
{% macro _way_since(paths) -%}
case
    when {{ paths }}.user_group_member_id is null then {{ paths }}.date_created
    else {{ secure_datasets._latest([paths ~ '.date_created', paths ~ '.member_date_created']) }}
end
{%- endmacro %}


{# The latest of several times, unless one is not known. #}
{% macro _latest(times) -%}
case
    when {% for time in times %}{{ time }} is not null{{ ' and ' if not loop.last }}{% endfor %}
        then {{ 'greatest(' ~ times | join(', ') ~ ')' if times | length > 1 else times[0] }}
end
{%- endmacro %}


{# The earliest time of a group, unless one is not known. #}
{% macro _earliest(time) -%}
case when count({{ time }}) = count(*) then min({{ time }}) end
{%- endmacro %}


{#
    A semi join that keeps the rows of an access view whose keys are in `within`.

    own           the right of the access view
    within, keys  as in `_shown_ways`
#}
{% macro _of_the_asked(alias, own, within, keys) -%}
left semi join {{ within }}
    on
        {{ within }}.object_type = {{ secure_datasets.sql_text(own.object_type) }}
        and {{ alias }}.{{ own.key }} = {{ within }}.object_id
        {%- if 'user_id' in keys %}
        and {{ alias }}.user_id = {{ within }}.user_id
        {%- endif %}
{%- endmacro %}


{# The CTE of accesses to data sources and projects, one row for each user and object, from the access views. #}
{% macro _access_now() -%}
{%- set config = secure_datasets.secure_datasets_config() -%}
access_now as (

    -- A user may see both tables and results of a data source.
    select distinct user_id, object_type, object_id
    from (
        {%- for name, tier in secure_datasets._reviewed_tiers().items() %}
        {%- set own = secure_datasets.tier_parts(name, config).rights[0] %}
        select user_id, {{ secure_datasets.sql_text(own.object_type) }} as object_type, {{ own.key }} as object_id
        from {{ ref(tier.access_view) }}
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    ) as shown_by_tiers

)
{%- endmacro %}


{#
    The rows of an access view, each with the names of the linked objects, its place among the
    links, and the time since when it shows there. The time is null if it is not known.

    parts         the result of tier_parts() for the tier
    within, keys  as in `_shown_ways`
#}
{% macro _linked_by_name(relation, view, parts, others, within, keys) -%}
{%- set own = parts.rights[0] -%}
(
    select
        linked.user_id,
        linked.{{ own.key }},
        {%- for other in others %}
        linked.{{ other.key }},
        {%- endfor %}
        concat_ws(
            ' with '
            {%- for other in others -%}
            , {% if other.object_type %}coalesce(concat(nullif(named_{{ other.key }}.object_name, ''), ' (', linked.{{ other.key }}, ')'), {% endif -%}
            concat({{ secure_datasets.sql_text((other.object_type or other.key) ~ ' ') }}, linked.{{ other.key }}){{ ')' if other.object_type }}
            {%- endfor -%}
        ) as called,
        row_number() over (
            partition by linked.user_id, linked.{{ own.key }}
            order by {% for other in others %}linked.{{ other.key }}{{ ', ' if not loop.last }}{% endfor %}
        ) as place,
        {{ secure_datasets._latest(secure_datasets._columns_of_linked_times(parts)) if parts.is_whole else 'cast(null as timestamp)' }} as linked_since
    from {{ relation(view) }} as linked
    -- Only rows that are shown are looked up.
    {{ secure_datasets._of_the_asked('linked', own, within, keys) | indent }}
    {{- secure_datasets._joins_of_linked_times(relation, parts, within, keys) | indent(4) }}
    {%- for other in others if other.object_type %}
    left join {{ relation('int_securable_objects') }} as named_{{ other.key }}
        on named_{{ other.key }}.object_type = {{ secure_datasets.sql_text(other.object_type) }} and linked.{{ other.key }} = named_{{ other.key }}.object_id
    {%- endfor %}
) as linked_by_name
{%- endmacro %}


{#
    The joins of the times that decide since when linked objects show: of the rights on the other
    objects, and of the links.

    parts, within, keys  as in `_linked_by_name`
#}
{% macro _joins_of_linked_times(relation, parts, within, keys) -%}
{%- for right in parts.rights if right.key != parts.rights[0].key %}
left join (
    select
        user_id,
        object_id,
        {{ secure_datasets._earliest(secure_datasets._way_since('paths')) }} as since
    from {{ relation('explained_access_paths') }} as paths
    {%- if 'user_id' in keys %}
    left semi join {{ within }}
        on paths.user_id = {{ within }}.user_id
    {%- endif %}
    where object_type = {{ secure_datasets.sql_text(right.object_type) }} and permission_name = {{ secure_datasets.sql_text(right.permission) }}
    group by user_id, object_id
) as days_{{ right.key }}
    on linked.user_id = days_{{ right.key }}.user_id and linked.{{ right.key }} = days_{{ right.key }}.object_id
{%- endfor %}
{%- for link in parts.links %}
left join (
    -- Several rows may link the same objects.
    select
        {%- for key in parts['keys'] %}
        {{ key }},
        {%- endfor %}
        {{ secure_datasets._earliest('date_created') }} as date_created
    from {{ relation('stg_' ~ link.table) }}
    where is_live
    group by {{ parts['keys'] | join(', ') }}
) as {{ link.table }}
    on {% for key in parts['keys'] %}linked.{{ key }} = {{ link.table }}.{{ key }}{{ ' and ' if not loop.last }}{% endfor %}
{%- endfor %}
{%- endmacro %}


{# The columns of `_joins_of_linked_times`. #}
{% macro _columns_of_linked_times(parts) %}
    {%- set times = [] -%}
    {%- for right in parts.rights if right.key != parts.rights[0].key -%}
        {% do times.append('days_' ~ right.key ~ '.since') %}
    {%- endfor -%}
    {%- for link in parts.links -%}
        {% do times.append(link.table ~ '.date_created') %}
    {%- endfor -%}
    {{ return(times) }}
{% endmacro %}


{# A digest of all linked objects: it changes when the set of links changes. #}
{% macro _all_linked(others) -%}
left(sha2(array_join(array_sort(collect_set(concat_ws('/'{% for other in others %}, cast({{ other.key }} as string){% endfor %}))), ','), 256), 32)
{%- endmacro %}


{# The names of the first five linked objects, and the number of further ones. #}
{% macro _first_linked() -%}
concat(
    ' in ',
    array_join(transform(array_sort(collect_list(case when place <= 5 then struct(place, called) end)), each -> each.called), ', '),
    case when count(*) > 5 then concat(' and ', count(*) - 5, ' more') else '' end
)
{%- endmacro %}


{# A text for a row that the version before still had: the day since when it is missing. #}
{% macro _is_undelivered() -%}
concat('is no longer delivered since ', left(undelivered_since, 10))
{%- endmacro %}


{#
    An aggregate over the rows with one id: a text that its row is deleted, with the day if known.
    Null if the feed marks no row as deleted or one of the rows is live.
#}
{% macro _gone() -%}
case when bool_or(is_deleted) and not bool_or(is_live) then coalesce(concat('was deleted on ', cast({{ secure_datasets.utc_day('max(deleted_on)') }} as string)), 'is deleted') end
{%- endmacro %}


{# The tiers that a pack covers: their rights are on data sources or projects. #}
{% macro _reviewed_tiers() %}
    {%- set tiers = {} -%}
    {%- for name, tier in secure_datasets.secure_datasets_config().tiers.items() if tier.right and tier.right.object_type in ['Data Source', 'Project'] -%}
        {% do tiers.update({name: tier}) %}
    {%- endfor -%}
    {{ return(tiers) }}
{% endmacro %}
