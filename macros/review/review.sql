{#
    Writes the pack of a review into the folder `review` of dbt's target: an index, and a page
    and a table for each live data source and project; or, beside it, the page of a person.

    Call    dbt run-operation review
            dbt run-operation review --args '{owner: praman, months: 12}'
            dbt run-operation review --args '{user: hpark}'
    owner   restricts the pack to the objects in this user's charge: an id, a login name or an
            e-mail address
    user    writes only the page of this user, named in the same way
    campaign, deadline  a name and a last day, printed on the pages
    months  the number of months in the index, each with the amount of access at its beginning;
            only this argument makes the macro read the raw tables
#}
{% macro review(owner=none, user=none, months=0, campaign=none, deadline=none) %}
    {%- set reviews = adapter.access_reviews() -%}
    {%- set owner, user, months = secure_datasets._asked(owner), secure_datasets._asked(user), reviews.months(months) -%}
    {%- if owner and user -%}
        {% do reviews.stop('ask for what an owner is in charge of, or for the page of a user, and not for both.') %}
    {%- endif -%}
    {%- if user and months -%}
        {% do reviews.stop('the page of a user tells no months: ask for them with a pack.') %}
    {%- endif -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name in ['access_freshness', 'access_findings', 'review_status'] -%}
        {%- if not adapter.get_relation(node.database, node.schema, node.alias) -%}
            {% do adapter.access_questions().not_built('review', [node.name], node.schema) %}
        {%- endif -%}
    {%- endfor -%}
    {%- set ids = reviews.users(owner or user, secure_datasets.rows_of(secure_datasets._users_called(owner or user))) if owner or user else none -%}
    {%- set told = secure_datasets._of_before(secure_datasets.staged_since(
        ['review_status', 'access_findings', 'judged_grants', 'judged_decisions'] + secure_datasets._rights_of_review()
        + ['review_decisions', 'finding_exceptions', 'toxic_pairs', 'role_permissions']
    )) -%}
    {%- set days = secure_datasets.rows_of(secure_datasets._days_of_review())[0] -%}
    {%- set made = secure_datasets._made_of(days, owner, told) -%}
    {%- set part_of = reviews.campaign(campaign, deadline, days.judged_on) -%}
    {%- if told -%}
        {% do exceptions.warn('review: ' ~ told) %}
    {%- endif -%}
    {%- if user -%}
        {%- for path in reviews.write_people(secure_datasets.review_queries(users=ids), made, part_of) -%}
            {{ print('Open ' ~ secure_datasets.printable(path)) }}
        {%- endfor -%}
    {%- else -%}
        {% do secure_datasets._print_pack(reviews.write(secure_datasets.review_queries(ids), made, ids is none, secure_datasets._history(months, days), part_of), owner) %}
    {%- endif -%}
{% endmacro %}


{# The days that a pack bears: when the rights were read and delivered, as of when they are judged, and today. #}
{% macro _days_of_review() -%}
select
    cast({{ secure_datasets.utc_day('min(read_at)') }} as string) as read_on,
    cast({{ secure_datasets.utc_day('max(newest_delivery)') }} as string) as delivered_on,
    cast(cast({{ secure_datasets.judged_on() }} as date) as string) as judged_on,
    cast({{ secure_datasets.utc_day('current_timestamp()') }} as string) as today
from {{ secure_datasets.relation_named('access_freshness') }}
{%- endmacro %}


{#
    The text with the sources of a pack and the day of its judgement. A sample has a fixed day of
    judgement, and its text begins with that day.

    days   the row of _days_of_review()
    owner  the owner of the pack; an empty text for the pack of everything
    told   a warning if the pack mixes several runs; else an empty text
#}
{% macro _made_of(days, owner='', told='') -%}
    {%- set is_sample = days.judged_on != days.today -%}
    {{ return(
        ('This is the sample: read it as if today were ' ~ days.judged_on ~ '. ' if is_sample else '')
        ~ ('What ' ~ owner ~ ' is in charge of. ' if owner else '')
        ~ 'Rights as read on ' ~ days.read_on ~ (', the newest delivered on ' ~ days.delivered_on if days.delivered_on else '') ~ '. ' ~ ('' if is_sample else 'Judged as of ' ~ days.judged_on ~ '. ')
        ~ 'Who has not logged in for ' ~ var('dormant_days') ~ ' days is dormant. A decision certifies for ' ~ var('review_days') ~ ' days.'
        ~ (' ' ~ told if told else '')
        ~ (' The day of a decision may not be later than ' ~ days.judged_on ~ '.' if is_sample else secure_datasets._where_days_differ(days))
    ) }}
{%- endmacro %}


{# The relations with access to data sources and projects, and the ways to it, that a pack reads. #}
{% macro _rights_of_review() %}
    {%- set names = ['explained_access_paths', 'int_access_paths', 'int_securable_objects', 'vw_secure_user_roles'] -%}
    {%- for tier in secure_datasets._reviewed_tiers().values() -%}
        {% do names.append(tier.access_view) %}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# The tiers that a pack covers: their rights are on data sources or projects. #}
{% macro _reviewed_tiers() %}
    {%- set tiers = {} -%}
    {%- for name, tier in secure_datasets.secure_datasets_config().tiers.items() if tier.right and tier.right.object_type in ['Data Source', 'Project'] -%}
        {% do tiers.update({name: tier}) %}
    {%- endfor -%}
    {{ return(tiers) }}
{% endmacro %}


{#
    The inputs of the timeline in a pack: the number of months, the last day, the parts of a
    timeline, and the tiers of the pack whose past is not known. None if `months` is 0. The last
    day is the newest delivery of the pack, so later deliveries count in no month.

    days  the row of _days_of_review()
#}
{% macro _history(months, days) %}
    {%- if not months -%}
        {{ return(none) }}
    {%- endif -%}
    {% do secure_datasets.check_raw_schema() %}
    {%- set parts = secure_datasets.timeline_parts(adapter.access_timelines()) -%}
    {%- set not_told = parts.tiers_not_told | select('in', secure_datasets._reviewed_tiers()) | list -%}
    {%- if not_told -%}
        {% do exceptions.warn("review: access over the months is not told, as the past of these tiers can't be: " ~ not_told | join(', ') ~ '.') %}
    {%- endif -%}
    {{ return({
        'months': months,
        'last': [days.delivered_on or days.read_on, days.read_on] | min,
        'parts': dict(parts, raw_tables=secure_datasets.repository_tables()),
        'not_told': not_told,
    }) }}
{% endmacro %}


{#
    A warning that the inputs of a pack come from several runs; an empty text if one run made all.
    Inputs differ after a run of the rights alone or a load of decisions; and the rights can be
    older, too, after a run of staging alone or a failed run.

    ahead  the result of staged_since() for the inputs
#}
{% macro _of_before(ahead) -%}
    {%- set anew = adapter.access_questions().made_anew(ahead.tables, ahead.stored) -%}
    {%- set before = ahead.of_before | select('in', secure_datasets._rights_of_review()) | list -%}
    {%- if not anew -%}
        {{ return('') }}
    {%- elif before -%}
        {{ return(
            'Since ' ~ ahead.of_before | join(', ') ~ (' were' if ahead.of_before | length > 1 else ' was') ~ ' made, ' ~ anew ~ '. What is told is by '
            'the newest of each that is built, and may be that of neither state. Run dbt, and write the pack again.'
        ) }}
    {%- endif -%}
    {{ return(
        'Since findings and statuses were worked out, ' ~ anew ~ ': who has access, and through what, is told as it is now, the '
        'others as they were before. Run dbt, and write the pack again.'
    ) }}
{%- endmacro %}


{# A text with the day of each fact, if rights or findings come from a run of a different day; else an empty text. #}
{% macro _where_days_differ(days) -%}
    {%- if days.read_on != days.judged_on -%}
        {{ return(' What is certified or overdue is so on ' ~ days.judged_on ~ '; the rights, and what is found, excused or dormant, are as the runs before have left them, and may be otherwise on that day.') }}
    {%- endif -%}
    {{ return('') }}
{%- endmacro %}


{# A name as a trimmed text; an empty text for none. #}
{% macro _asked(name) -%}
    {{ return(name | string | trim if name is not none else '') }}
{%- endmacro %}


{# Prints the totals of a written pack, of everything or of one owner. #}
{% macro _print_pack(totals, owner='') %}
    {%- set told = [] -%}
    {%- for severity, number in totals.severities.items() -%}
        {% do told.append([severity, number | string]) %}
    {%- endfor -%}
    {% do secure_datasets.print_table(['findings', 'number'], told + [['excused', totals.excused | string]]) %}
    {%- set told = [] -%}
    {%- for status, number in totals.statuses.items() -%}
        {% do told.append([status, number | string]) %}
    {%- endfor -%}
    {% do secure_datasets.print_table(['status', 'number'], told) %}
    {{ print(totals.objects ~ ' data sources and projects, ' ~ totals.rows ~ ' accesses of ' ~ totals.users ~ ' people.') }}
    {%- if totals.rejected -%}
        {{ print(totals.rejected ~ (' row that decides' if totals.rejected == 1 else ' rows that decide') ~ ' about rights could not be used: see findings.html.') }}
    {%- endif -%}
    {%- if owner and not totals.objects -%}
        {{ print(secure_datasets.printable(owner) ~ ' is in charge of nothing. What has nobody in charge is in the pack of everything, from which global administrators decide.') }}
    {%- endif -%}
    {{ print('Open ' ~ secure_datasets.printable(totals.folder) ~ '/index.html') }}
{% endmacro %}


{# The live users that are called so. #}
{% macro _users_called(asked) -%}
{%- set text = secure_datasets.sql_text(asked) -%}
select user_id
from {{ secure_datasets.relation_named('stg_users') }}
where
    is_live
    and (
        cast(user_id as string) = {{ text }}
        or {{ secure_datasets.ascii_lower('login_name') }} = {{ secure_datasets.ascii_lower(text) }}
        or {{ secure_datasets.ascii_lower('email') }} = {{ secure_datasets.ascii_lower(text) }}
    )
order by user_id
{%- endmacro %}
