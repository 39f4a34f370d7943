{#
    Renders the findings of an access review, by the rules of finding_rules(): each with its severity,
    the people who should act, and the exception that excuses it as long as it is in force.
#}
{% macro access_findings_query() -%}
with judged_grants as (

    select * from {{ ref('judged_grants') }}

),

{{ secure_datasets._users_by_name(ref) }},

{{ secure_datasets._things_by_name(ref) }},

{{ secure_datasets._reviewed_people() }},

{{ secure_datasets._toxic_pairs() }},

{{ secure_datasets._settled() }},

{{ secure_datasets._who_acts() }},

found as (

    {{ secure_datasets._people_findings() | indent }}
    union all
    {{ secure_datasets._unjudged_findings() | indent }}
    union all
    {{ secure_datasets._object_findings() | indent }}
    union all
    {{ secure_datasets._toxic_findings() | indent }}
    union all
    {{ secure_datasets._decision_findings() | indent }}
    union all
    {{ secure_datasets._grant_findings() | indent }}

),

{{ secure_datasets._finding_exceptions() }},

{{ secure_datasets._judged_findings() }}

select * from final
{%- endmacro %}


{# The exceptions, one per finding. #}
{% macro _finding_exceptions() -%}
exceptions as (

    select
        trim(rule) as rule,
        trim(subject) as subject,
        min(owner) as owner,
        min(reason) as reason,
        min(expires_on) as expires_on
    from {{ ref('finding_exceptions') }}
    where trim(owner) != '' and trim(reason) != ''
    group by trim(rule), trim(subject)

)
{%- endmacro %}


{# Each finding with its severity, who acts on it, and its exception. #}
{% macro _judged_findings() -%}
final as (

    select
        found.rule,
        {{ secure_datasets._severity_of_rule() | indent(8) }} as severity,
        found.subject,
        found.user_id,
        found.object_type,
        found.object_id,
        found.raw_table,
        found.raw_id,
        found.detail,
        -- As with decisions, nobody acts on a finding about their own access.
        {{ secure_datasets._who_else(
            'own_charges.user_id is not null', 'in_charge.number_in_charge', 'coalesce(admins.is_global_admin, false)', 'in_charge.who_acts is null', 'in_charge.who_acts',
        ) | indent(8) }} as who_acts,
        exceptions.owner as exception_owner,
        exceptions.reason as exception_reason,
        exceptions.expires_on as exception_expires_on,
        coalesce(exceptions.expires_on >= cast({{ secure_datasets.judged_on() }} as date), false) as is_excused
    from found
    left join in_charge
        on
            found.object_type = in_charge.object_type
            and found.object_id = in_charge.object_id
    left join charges as own_charges
        on
            found.user_id = own_charges.user_id
            and found.object_type = own_charges.object_type
            and found.object_id = own_charges.object_id
    left join admins
        on found.user_id = admins.user_id
    left join exceptions
        on
            found.rule = exceptions.rule
            and found.subject = exceptions.subject

)
{%- endmacro %}


{# The severity of a finding's rule. #}
{% macro _severity_of_rule() -%}
case found.rule
    {%- for rule, severity in secure_datasets.finding_rules().items() %}
    when '{{ rule }}' then '{{ severity }}'
    {%- endfor %}
end
{%- endmacro %}
