{#
    The leaks, each with the exception that excuses it as long as it is in force. The model
    `leaks` and the data test use this query, and a test without Spark runs it in SQLite: it
    is plain enough for any engine.

    An exception counts until the day it expires, and only with an owner and a reason.
#}
{% macro leaks_query() -%}
with found (model_name, rule, protected_dataset, path, problem) as (
    {{ secure_datasets.values_query(secure_datasets.find_leaks(), 5) | indent }}
),

exceptions as (
    select
        model_name,
        min(owner) as owner,
        min(expires_on) as expires_on
    from {{ ref('leak_exceptions') }}
    where trim(owner) != '' and trim(reason) != ''
    group by model_name
)

select
    found.model_name,
    found.rule,
    found.protected_dataset,
    found.path,
    found.problem,
    exceptions.owner as exception_owner,
    exceptions.expires_on as exception_expires_on,
    coalesce(exceptions.expires_on >= cast({{ secure_datasets.judged_on() }} as date), false) as is_excused
from found
left join exceptions
    on found.model_name = exceptions.model_name
{%- endmacro %}
