{#
    Stages one raw table: the newest delivery of each id, read and judged.

    Input     the source table, every column as text or in its own type
    Call      {{ stage_raw_table('users') }}, alone in models/staging/stg_users.sql
    Renders   one row per id, and one for each delivery whose id can't be read; a
              rejected row keeps its id and nothing else, so that it can't grant anything

    name      the raw table, an entry of repository_tables()
#}
{% macro stage_raw_table(name) %}
{%- set table = repository_tables().get(name) -%}
{%- if not table -%}
    {{ exceptions.raise_compiler_error("stage_raw_table: '" ~ name ~ "' is not a table of repository_tables().") }}
{%- endif -%}
{%- set own_columns = table.columns.keys() | reject('in', ['id', 'is_active']) | list -%}
-- depends_on: {{ ref('raw_deliveries') }}: what is newer than it may be missing here.
with source as (

    select * from {{ raw_relation(name) }}

),
{% if table.object_type %}
known_roles as (

    -- A role that carries several permissions has a row for each.
    select distinct
        role_name,
        true as is_known,
        {{ ascii_lower('role_name') }} as role_key
    from {{ ref('role_permissions') }}
    where object_type = '{{ table.object_type }}'

),
{% endif %}
deliveries as (

    select
        {{ read_value(trimmed_text('id'), 'bigint') }} as id,
        struct(
            {%- for column, type in table.columns.items() %}
            {{ delivered_text(column, type) }} as {{ column }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as delivery
    from source

),

dated as (

    select
        id,
        delivery,
        {{ delivery_is_active() }} as is_active,
        {{ delivery_order_key('date_modified') }} as modified_order,
        {{ delivery_order_key('sf_date_created') }} as loaded_order
    from deliveries

),

ranked as (

    select
        id,
        delivery,
        rank() over (
            partition by id
            order by modified_order desc, loaded_order desc, is_active asc
        ) as delivery_rank
    from dated

),

newest as (

    -- A delivery whose id can't be read competes with no other.
    select
        id,
        delivery,
        case
            when id is not null and count(*) over (partition by id) > 1
                then {{ delivery_as_json() }}
        end as tied_delivery
    from ranked
    where delivery_rank = 1 or id is null

),

compared as (

    select
        id,
        delivery,
        min(tied_delivery) over (partition by id)
        != max(tied_delivery) over (partition by id) as is_conflict,
        row_number() over (partition by id order by tied_delivery) as tie_number
    from newest

),

trimmed as (

    select
        id,
        delivery,
        is_conflict,
        {%- for column in table.columns if column != 'id' %}
        {{ trimmed_text('delivery.' ~ column) }} as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from compared
    where tie_number = 1 or id is null

),

judged as (

    select
        trimmed.id,
        trimmed.delivery,
        {%- for column, type in table.columns.items() if column != 'id' %}
        {{ staged_value(table, column, type) }} as {{ column }},
        {%- endfor %}
        {{ rejection_reason(table) | indent(8) }} as rejection_reason
    from trimmed
    {%- if table.object_type %}
    left join known_roles
        on {{ ascii_lower('trimmed.role_name') }} <=> known_roles.role_key
    {%- endif %}

)

select
    id as {{ table.key }},
    {%- for column in own_columns if column != 'sf_date_created' %}
    case when rejection_reason is null then {{ column }} end as {{ column }},
    {%- endfor %}
    rejection_reason is null and coalesce(is_active, false) as is_live,
    rejection_reason,
    case when rejection_reason is not null then delivery.id end as raw_id,
    case
        when rejection_reason is not null then {{ delivery_as_json() }}
    end as raw_row,
    sf_date_created
from judged
{% endmacro %}
