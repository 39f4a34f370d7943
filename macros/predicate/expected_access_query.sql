{#
    What is not so of the seed `expected_access`, and its rows that could not fail: one row for
    each expectation and user.

    Renders   subject, resource_type, resource, object, expects, found, user_id, reason
    config    the document of secure_datasets_config()
    today     SQL for the day on which expectations are judged
#}
{% macro expected_access_query(config, today) -%}
with expectations as (

    select
        concat_ws(' ', subject_type, subject) as called,
        trim(subject_type) as subject_type,
        trim(subject) as subject,
        trim(dataset) as dataset,
        trim(tier) as tier,
        coalesce(case when trim(dataset) is not null then 'dataset' end, 'tier') as resource_type,
        coalesce(trim(dataset), trim(tier)) as resource,
        coalesce(trim(object), '') as object,
        trim(expects) as expects,
        case when startswith(trim(expects), 'masked:') then trim(substring(trim(expects), 8)) end as masked_column,
        reason,
        expires_on
    from {{ ref('expected_access') }}

),

{{ secure_datasets._expected_subjects() }},

shown as (

    {{ secure_datasets._shown_objects(config) | indent(4) }}

),

masked as (

    {{ secure_datasets._masked_objects(config) | indent(4) }}

),

there as (

    {{ secure_datasets._objects_there(config) | indent(4) }}

),

problems as (

    {{ secure_datasets._void_expectations(config, today) | indent(4) }}

),

-- Each user whom an expectation is about, with what is.
judged as (

    select
        expectations.called,
        expectations.resource_type,
        expectations.resource,
        expectations.object,
        expectations.expects,
        expectations.masked_column,
        expectations.reason,
        subjects.user_id,
        max(shown.is_shown) is not null as is_seen,
        max(masked.is_masked) is not null as is_masked
    from expectations
    inner join subjects
        on expectations.subject_type = subjects.subject_type and expectations.subject = subjects.subject
    left join shown
        on
            expectations.resource_type = shown.resource_type
            and expectations.resource = shown.resource
            and expectations.object = shown.object
            and (subjects.user_id = shown.user_id or shown.user_id is null)
    left join masked
        on
            expectations.resource = masked.resource
            and expectations.object = masked.object
            and expectations.masked_column = masked.masked_column
            and subjects.user_id = masked.user_id
    group by
        expectations.called,
        expectations.resource_type,
        expectations.resource,
        expectations.object,
        expectations.expects,
        expectations.masked_column,
        expectations.reason,
        subjects.user_id

),

wrong as (

    select
        *,
        case when is_seen then 'sees it' else 'does not see it' end as found
    from judged
    where is_seen = (expects = 'does not see')
    union all
    select
        *,
        'sees the value' as found
    from judged
    where masked_column is not null and is_seen and not is_masked

),

-- Whoever sees an object that is for those alone who are expected to.
strangers as (

    select
        only_these.*,
        shown.user_id,
        'sees it, and is in no expectation' as found
    from (select * from expectations where subject_type = 'only') as only_these
    inner join shown
        on
            only_these.resource_type = shown.resource_type
            and only_these.resource = shown.resource
            and only_these.object = shown.object
    left anti join (select * from judged where expects != 'does not see') as expected
        on
            only_these.resource_type = expected.resource_type
            and only_these.resource = expected.resource
            and only_these.object = expected.object
            and shown.user_id = expected.user_id

)

select distinct
    called as subject,
    resource_type,
    resource,
    object,
    expects,
    found,
    user_id,
    reason
from (
    select called, resource_type, resource, object, expects, found, user_id, reason from wrong
    union all
    select called, resource_type, resource, object, expects, found, user_id, reason from strangers
    union all
    select called, resource_type, resource, object, expects, found, cast(null as bigint) as user_id, reason
    from problems
) as found_wrong
{%- endmacro %}


{# The users that subjects stand for; and the subjects that are there. #}
{% macro _expected_subjects() -%}
subjects as (

    select distinct
        expectations.subject_type,
        expectations.subject,
        users.user_id
    from expectations
    inner join {{ ref('stg_users') }} as users
        on
            expectations.subject = cast(users.user_id as string)
            or {{ secure_datasets.ascii_lower('expectations.subject') }} = {{ secure_datasets.ascii_lower('users.login_name') }}
    where expectations.subject_type = 'user'
    union
    select
        expectations.subject_type,
        expectations.subject,
        roles.user_id
    from expectations
    inner join {{ ref('vw_secure_user_roles') }} as roles
        on
            (expectations.subject = roles.role_name and (expectations.subject_type = 'role') = (roles.user_group_id is null))
            or (expectations.subject = cast(roles.user_group_id as string) and expectations.subject_type = 'group')
    where expectations.subject_type in ('group', 'role')

)
{%- endmacro %}


{# What each user sees of the expected objects: the rows of the secure datasets and access views. #}
{% macro _shown_objects(config) -%}
{%- set queries = [] -%}
{%- for name, dataset in config.datasets.items() -%}
    {%- do queries.append(secure_datasets._expected_of('dataset', name, ref('vw_secure_dataset_' ~ name), dataset.unique_key, 'user_id, true as is_shown')) -%}
{%- endfor -%}
{%- for name, tier in config.tiers.items() -%}
    {%- do queries.append(secure_datasets._expected_of('tier', name, ref(tier.access_view), tier.object_keys, 'user_id, true as is_shown')) -%}
{%- endfor -%}
{{ queries | join('\nunion all\n') }}
{%- endmacro %}


{# The rows of a relation that expectations are about, with more columns. #}
{% macro _expected_of(resource_type, name, relation, columns, more) -%}
select
    '{{ resource_type }}' as resource_type,
    '{{ name }}' as resource,
    {{ secure_datasets.named_keys(columns, 'source') }} as object{{ ',\n    ' ~ more if more }}
from {{ relation }} as source
left semi join expectations
    on
        expectations.resource_type = '{{ resource_type }}'
        and expectations.resource = '{{ name }}'
        and expectations.object = {{ secure_datasets.named_keys(columns, 'source') }}
{%- endmacro %}


{# The objects that are there, whoever sees them; of a tier of other keys than ids of raw tables, those that anybody has. #}
{% macro _objects_there(config) -%}
{%- set queries = [] -%}
{%- for name in config.datasets -%}
    {%- set below = secure_datasets._lowest_dataset(name, config) -%}
    {%- set entry = config.datasets[below] -%}
    {%- set relation = '(' ~ secure_datasets.answers_of_users(below, config, false) ~ ')' if entry.query is defined else ref(entry.base) -%}
    {%- do queries.append(secure_datasets._expected_of('dataset', name, relation, config.datasets[name].unique_key, '')) -%}
{%- endfor -%}
{%- for name, tier in config.tiers.items() -%}
    {%- do queries.append(secure_datasets._tier_objects_there(name, tier)) -%}
{%- endfor -%}
{{ queries | join('\nunion all\n') }}
{%- endmacro %}


{# The expected objects of a tier that are there: each of the keys is the id of a row. #}
{% macro _tier_objects_there(name, tier) -%}
{%- set tables, named = [], [] -%}
{%- for key in tier.object_keys -%}
    {%- set found = secure_datasets.repository_tables().values() | map(attribute='references') | map(attribute=key) | select | list -%}
    {%- if found -%}
        {%- do tables.append(found | first) -%}
    {%- endif -%}
{%- endfor -%}
{%- if tables | length != tier.object_keys | length -%}
{{ secure_datasets._expected_of('tier', name, ref(tier.access_view), tier.object_keys, '') }}
{%- else -%}
select
    expectations.resource_type,
    expectations.resource,
    expectations.object
from expectations
{%- for key in tier.object_keys %}
{%- set table, known = tables[loop.index0], 'known_' ~ loop.index %}
{%- do named.append("'" ~ (', ' if named) ~ key ~ "=', cast(" ~ known ~ '.' ~ secure_datasets.repository_tables()[table].key ~ ' as string)') %}
inner join {{ ref('stg_' ~ table) }} as {{ known }}
    on {% if loop.last -%}
        expectations.object = concat({{ named | join(', ') }})
    {%- else -%}
        startswith(expectations.object, concat({{ named | join(', ') }}, ', '))
    {%- endif -%}
{%- endfor %}
where expectations.resource_type = 'tier' and expectations.resource = '{{ name }}'
{%- endif -%}
{%- endmacro %}


{# The dataset at the end of a chain of datasets, which is over none. #}
{% macro _lowest_dataset(name, config) %}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set parent = secure_datasets.parent_dataset(config.datasets[ruling]) -%}
    {{ return(secure_datasets._lowest_dataset(parent, config) if parent else ruling) }}
{% endmacro %}


{# The expected objects of users with each column that a mask is put on. #}
{% macro _masked_objects(config) -%}
{%- set queries = [] -%}
{%- for name, dataset in config.datasets.items() -%}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set puts = {} -%}
    {%- for rule in secure_datasets.rules_on(name, config, ruling) if rule.is_mask -%}
        {%- do puts.setdefault(rule.column, []).append('(' ~ rule.applies ~ ')') -%}
    {%- endfor -%}
    {%- for column, terms in puts.items() -%}
        {%- set users = "select distinct subjects.user_id, true as is_live from subjects inner join expectations on subjects.subject_type = expectations.subject_type and subjects.subject = expectations.subject where expectations.resource_type = 'dataset' and expectations.resource = '" ~ name ~ "' and expectations.masked_column = '" ~ column ~ "'" -%}
        {%- set query -%}
select
    '{{ name }}' as resource,
    {{ secure_datasets.named_keys(dataset.unique_key, ruling) }} as object,
    '{{ column }}' as masked_column,
    {{ ruling }}.user_id,
    true as is_masked
from (
    {{ secure_datasets._rows_with_users(name, ruling, config, users, none) | indent(4) }}
) as {{ ruling }}
where {{ terms | join(' or ') }}
        {%- endset -%}
        {%- do queries.append(query) -%}
    {%- endfor -%}
{%- endfor -%}
{{ queries | join('\nunion all\n') or "select cast(null as string) as resource, cast(null as string) as object, cast(null as string) as masked_column, cast(null as bigint) as user_id, true as is_masked where false" }}
{%- endmacro %}


{# The expectations that could not fail, or not hold, each with what is wrong with it. #}
{% macro _void_expectations(config, today) -%}
select
    *,
    'its day is over: say what holds now' as found
from expectations
where expires_on < cast({{ today }} as date)
union all
select
    *,
    'say why, in reason' as found
from expectations
where reason is null
union all
select
    *,
    'name a dataset or a tier, one of them' as found
from expectations
where (dataset is null) = (tier is null)
union all
select
    *,
    'there is no such dataset or tier' as found
from expectations
where
    (dataset is null) != (tier is null)
    and not case
        when dataset is not null then dataset in ({{ secure_datasets._texts(config.datasets) }})
        else tier in ({{ secure_datasets._texts(config.tiers) }})
    end
union all
select
    *,
    'expects must be: sees, does not see, or masked:<column>, which is for datasets' as found
from expectations
where
    (coalesce(expects, '') not in ('sees', 'does not see') and masked_column is null)
    or (masked_column is not null and dataset is null)
    or (subject_type = 'only' and expects != 'sees')
union all
select
    *,
    'subject_type must be: user, group, role, or only, which has no subject' as found
from expectations
where
    coalesce(subject_type, '') not in ('user', 'group', 'role', 'only')
    or (subject is null) != (coalesce(subject_type, '') = 'only')
union all
select
    expectations.*,
    'there is no such subject, or nobody is in it' as found
from expectations
left anti join subjects
    on expectations.subject_type = subjects.subject_type and expectations.subject = subjects.subject
where expectations.subject_type in ('user', 'group', 'role')
union all
select
    expectations.*,
    'there is no such column with a mask' as found
from expectations
where
    expectations.masked_column is not null
    and concat_ws('.', expectations.dataset, expectations.masked_column) not in ({{ secure_datasets._texts(secure_datasets._masked_columns(config)) }})
union all
select
    expectations.*,
    'there is no such object' as found
from expectations
left anti join there
    on
        expectations.resource_type = there.resource_type
        and expectations.resource = there.resource
        and expectations.object = there.object
where expectations.dataset in ({{ secure_datasets._texts(config.datasets) }}) or expectations.tier in ({{ secure_datasets._texts(config.tiers) }})
{%- endmacro %}


{# The columns with a mask, as dataset and column. #}
{% macro _masked_columns(config) %}
    {%- set found = [] -%}
    {%- for name in config.datasets -%}
        {%- for column in secure_datasets.policies_on(name, config).masks if column in config.datasets[name].columns -%}
            {%- do found.append(name ~ '.' ~ column) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Names as literals, with commas. #}
{% macro _texts(names) -%}
{%- for name in names %}{{ secure_datasets.sql_text(name) }}{{ ', ' if not loop.last }}{% else %}null{% endfor -%}
{%- endmacro %}
