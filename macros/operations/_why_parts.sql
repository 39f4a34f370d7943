{# The queries of the operation why; Python makes the answer from their results. #}


{# The users with an id, login name or e-mail address, for an operation; none is an error. #}
{% macro _people(user, operation) %}
    {%- set user, called = user | string | trim, [] -%}
    {%- set text = secure_datasets.sql_text(user) -%}
    {#- Staging keeps only the id and the delivered text of a rejected row. -#}
    {%- for column in ['login_name', 'email'] -%}
        {%- set delivered = 'case when rejection_reason is null then ' ~ column ~ ' else ' ~ secure_datasets.delivered_value(column) ~ ' end' -%}
        {% do called.append(secure_datasets.ascii_lower(delivered) ~ ' = ' ~ secure_datasets.ascii_lower(text)) %}
    {%- endfor -%}
    {%- set columns = 'user_id, login_name, first_name, last_name, email, is_live, rejection_reason, raw_row, is_deleted, deleted_on, date_modified, modified_by' -%}
    {%- set is_called = "cast(user_id as string) = " ~ text ~ ' or ' ~ called | join(' or ') -%}
    {%- set found = secure_datasets.rows_of(
        'select ' ~ columns ~ ' from ' ~ secure_datasets.relation_named('stg_users') ~ ' where user_id is not null and (' ~ is_called
        ~ ' or user_id in (' ~ (secure_datasets._ids_in_conflict(text) or ['null']) | join(', ') ~ '))'
    ) + secure_datasets._undelivered('users', columns ~ ', undelivered_since', is_called) -%}
    {%- if not found -%}
        {% do adapter.access_questions().no_user(user, operation) %}
    {%- endif -%}
    {{ return(found | sort(attribute='user_id')) }}
{% endmacro %}


{#
    The ids of the users that are rejected for a conflict, if one of the conflicting deliveries has
    this login name or e-mail address: staging keeps only one of these deliveries.
#}
{% macro _ids_in_conflict(text) %}
    {%- set called, stg_users = [], secure_datasets.relation_named('stg_users') -%}
    {%- if not secure_datasets.rows_of('select 1 as is_there from ' ~ stg_users ~ " where rejection_reason = 'conflict' limit 1") -%}
        {{ return([]) }}
    {%- endif -%}
    {%- for column in ['login_name', 'email'] -%}
        {% do called.append(secure_datasets.ascii_lower('ranked.' ~ column) ~ ' = ' ~ secure_datasets.ascii_lower(text)) %}
    {%- endfor -%}
    {%- set query -%}
with {{ secure_datasets.read_deliveries('users', ['login_name', 'email'], until=var('as_of', none)) }},

ranked as (

    select *, rank() over (partition by id {{ secure_datasets.newest_first(secure_datasets.feed_of('users')) }}) as place
    from dated

)

select distinct ranked.id as user_id
from ranked
inner join {{ stg_users }} as staged
    on ranked.id = staged.user_id and staged.rejection_reason = 'conflict'
where ranked.place = 1 and ({{ called | join(' or ') }})
    {%- endset -%}
    {{ return(secure_datasets.rows_of(query) | map(attribute='user_id') | list) }}
{% endmacro %}


{# The relations that an answer reads, besides its subject: for a layered dataset also its parent's. #}
{% macro _relations_of_answer(question, config) %}
    {%- set names, tiers = [], [] -%}
    {%- if question.kind == 'tier' -%}
        {% do tiers.append(question.name) %}
    {%- else -%}
        {%- set ruling = secure_datasets.ruling_dataset(question.name, config) -%}
        {%- set entry = config.datasets[ruling] -%}
        {%- if entry.base is defined -%}
            {% do names.append(entry.base) %}
        {%- endif -%}
        {%- if secure_datasets.parent_dataset(entry) -%}
            {% do names.extend(secure_datasets._relations_of_answer({'kind': 'dataset', 'name': secure_datasets.parent_dataset(entry)}, config)) %}
        {%- endif -%}
        {% do tiers.extend(secure_datasets.gate_cases(ruling, config) | map(attribute='tier') | select) %}
        {%- for gate in secure_datasets.rules_on(question.name, config, ruling) | map(attribute='gate') -%}
            {% do names.extend({'view authorization': ['view_outcomes', 'view_decisions'], 'row security': ['vw_secure_user_roles'], 'conditions': ['vw_secure_user_roles'], 'masks': ['vw_secure_user_roles']}.get(gate, [])) %}
        {%- endfor -%}
    {%- endif -%}
    {%- for tier in tiers -%}
        {% do names.append(config.tiers[tier].access_view) %}
    {%- endfor -%}
    {%- if tiers -%}
        {% do names.extend(['explained_access_paths', 'int_access_paths', 'int_securable_objects', 'int_user_group_ancestors', 'role_permissions']) %}
    {%- endif -%}
    {{ return(names | unique | list) }}
{% endmacro %}


{# The columns of a secure dataset that are whole numbers by the `data_type` in its documentation. #}
{% macro _number_keys(name) %}
    {%- set found = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name == 'vw_secure_dataset_' ~ name -%}
        {%- for column, documented in node.columns.items() if documented.data_type in ['bigint', 'int', 'integer', 'smallint', 'tinyint'] -%}
            {% do found.append(column) %}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# One user as rows of user_id and is_live. #}
{% macro _as_users(person) -%}
select cast({{ person.user_id }} as bigint) as user_id, {{ person.is_live | string | lower }} as is_live
{%- endmacro %}


{# The answer about a user and a row of a dataset, and about the dataset below it. #}
{% macro _answer_about_row(name, row, person, config) %}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set entry, parent = config.datasets[ruling], secure_datasets.parent_dataset(config.datasets[ruling]) -%}
    {%- set cases, rules = secure_datasets.gate_cases(ruling, config), secure_datasets.rules_on(name, config, ruling) -%}
    {%- set found = secure_datasets.rows_of(secure_datasets.gates_query(name, config, secure_datasets._as_users(person), row)) -%}
    {%- set facts = {
        'dataset': name, 'columns': config.datasets[name].columns, 'base': entry.base or "the answer of '" ~ ruling ~ "'", 'found': found, 'cases': cases, 'rules': rules,
        'is_query': entry.query is defined, 'exists': found | length > 0, 'below': none, 'missing': [],
        'outcome': none, 'roles': [], 'security': {}, 'parts': {}, 'paths': [], 'links': [], 'objects': [], 'missed': {}, 'nearest': none,
        'memberships': [], 'held_roles': [], 'global_roles': [], 'key_lines': [], 'decisions': none,
    } -%}
    {%- if parent -%}
        {% do facts.update({'below': {'dataset': parent, 'answer': secure_datasets._answer_about_row(parent, row, person, config)}}) %}
    {%- elif facts.is_query and not found -%}
        {%- set lines = secure_datasets.rows_of(secure_datasets.line_of_everyone(ruling, config, row)) -%}
        {% do facts.update({'exists': lines | length > 0}) %}
    {%- endif -%}
    {% do secure_datasets._add_rights_of_cases(facts, person, config) %}
    {%- if not found and not parent -%}
        {% do facts.update({'missing': secure_datasets._trace_rows(facts.base, row)}) %}
    {%- endif -%}
    {% do secure_datasets._add_rules(facts, name, row, person, config) %}
    {%- set answer = adapter.access_questions().row_answer(facts, person) -%}
    {%- if answer.seen -%}
        {% do secure_datasets._add_ways(facts, name, row, person, config) %}
        {% do answer.update({'last_support': adapter.access_questions().row_support(facts, person)}) %}
        {% do secure_datasets._add_names(answer.last_support or []) %}
    {%- endif -%}
    {{ return(answer) }}
{% endmacro %}


{# Adds the rights of the cases that apply to the row, and the nearest grants of the cases whose rights the user lacks. #}
{% macro _add_rights_of_cases(facts, person, config) %}
    {%- for line in facts.found -%}
        {%- for case in facts.cases if case.tier and line['case_' ~ case.number] -%}
            {%- set sides = [] -%}
            {%- for keys in [case['keys'], case.second_keys] if keys -%}
                {%- set values = {} -%}
                {%- for key, column in keys.items() -%}
                    {#- As a number in SQL: a tier's keys are ids. -#}
                    {% do values.update({key: line['key_' ~ column] | int if line['key_' ~ column] is not none else none}) %}
                {%- endfor -%}
                {% do secure_datasets._add_rights(facts, case.tier, values, person, config) %}
                {%- if loop.first or line['case_' ~ case.number ~ '_second'] is not none -%}
                    {% do sides.append([case.tier, values]) %}
                {%- endif -%}
            {%- endfor -%}
            {%- if not line['case_' ~ case.number ~ '_first'] or line['case_' ~ case.number ~ '_second'] is false -%}
                {% do secure_datasets._add_nearest(facts, sides, person, config, facts.dataset) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{# The answer about a user and an object of a tier. #}
{% macro _answer_about_object(name, keys, person, config) %}
    {%- set tier, values, columns, own_names = config.tiers[name], {}, [], {} -%}
    {%- for key, value in keys.items() -%}
        {% do values.update({key: value | int}) %}
        {% do own_names.update({key: key}) %}
        {% do columns.append('cast(' ~ value ~ ' as bigint) as ' ~ key) %}
    {%- endfor -%}
    {%- set held = secure_datasets.rows_of(
        'select 1 as is_held from (select ' ~ columns | join(', ') ~ ') as asked where '
        ~ secure_datasets.right_exists(tier, own_names, 'asked', person.user_id)
    ) -%}
    {%- set facts = {'tier': name, 'keys': values, 'is_held': held | length > 0, 'missing': [], 'parts': {}, 'paths': [], 'links': [], 'objects': [], 'missed': {}, 'nearest': none} -%}
    {%- for key, value in keys.items() -%}
        {%- set tables = [] -%}
        {%- for table in secure_datasets.repository_tables().values() -%}
            {% do tables.append(table.references.get(key)) %}
        {%- endfor -%}
        {%- for table in tables | select | unique -%}
            {% do facts.missing.append(secure_datasets._trace_row(table, value)) %}
        {%- endfor -%}
    {%- endfor -%}
    {% do secure_datasets._add_rights(facts, name, values, person, config) %}
    {%- if not held -%}
        {% do secure_datasets._add_nearest(facts, [[name, values]], person, config) %}
    {%- endif -%}
    {%- set answer = adapter.access_questions().object_answer(facts, person) -%}
    {%- if answer.seen -%}
        {% do answer.update({'last_support': adapter.access_questions().object_support(facts)}) %}
        {% do secure_datasets._add_names(answer.last_support or []) %}
    {%- endif -%}
    {{ return(answer) }}
{% endmacro %}


{# Adds the facts about a tier's rights on objects: their names, the paths of the user, and the links. #}
{% macro _add_rights(facts, tier, values, person, config) %}
    {%- set parts, paths, objects = secure_datasets.tier_parts(tier, config), [], [] -%}
    {% do facts.parts.update({tier: parts}) %}
    {%- for right in parts.rights if values[right.key] is not none -%}
        {%- set is_object = 'object_type = ' ~ secure_datasets.sql_text(right.object_type) ~ ' and object_id = ' ~ values[right.key] -%}
        {% do objects.append('(' ~ is_object ~ ')') %}
        {% do paths.append('(' ~ is_object ~ ' and permission_name = ' ~ secure_datasets.sql_text(right.permission) ~ ')') %}
    {%- endfor -%}
    {%- if paths -%}
        {%- set query = 'select * from ' ~ secure_datasets.relation_named('explained_access_paths') ~ ' where user_id = ' ~ person.user_id ~ ' and (' ~ paths | join(' or ') ~ ')' -%}
        {%- set found = secure_datasets.rows_of(query) -%}
        {% do secure_datasets._add_ends(found) %}
        {% do secure_datasets._add_new(facts.paths, found) %}
        {%- set query = 'select object_type, object_id, object_name from ' ~ secure_datasets.relation_named('int_securable_objects') ~ ' where ' ~ objects | join(' or ') -%}
        {% do secure_datasets._add_new(facts.objects, secure_datasets.rows_of(query)) %}
    {%- endif -%}
    {%- for link in parts.links if none not in values.values() -%}
        {%- set same = [] -%}
        {%- for key, value in values.items() -%}
            {% do same.append(key ~ ' = ' ~ value) %}
        {%- endfor -%}
        {%- set query = "select '" ~ link.table ~ "' as link_table, " ~ link.key ~ ' as link_id, ' ~ parts['keys'] | join(', ')
            ~ ', date_created, created_by from ' ~ secure_datasets.relation_named('stg_' ~ link.table) ~ ' where is_live and ' ~ same | join(' and ') -%}
        {% do secure_datasets._add_new(facts.links, secure_datasets.rows_of(query)) %}
    {%- endfor -%}
    {% do secure_datasets._add_missed(facts, parts, values, person) %}
{% endmacro %}


{# Adds to each path the earliest end of its rows, if any has an end. #}
{% macro _add_ends(paths) %}
    {%- for name in secure_datasets.rights_in_time() if 'valid_until' in secure_datasets.repository_tables()[name].columns -%}
        {%- set key, ids, ends = secure_datasets.repository_tables()[name].key, [], {} -%}
        {%- for path in paths -%}
            {% do ids.append(path.user_group_member_id if name == 'user_group_members' else path.grant_id if path.grant_table == name else none) %}
        {%- endfor -%}
        {%- set asked = ids | reject('none') | unique | list -%}
        {%- if asked -%}
            {%- for row in secure_datasets.rows_of('select ' ~ key ~ ' as id, valid_until from ' ~ secure_datasets.relation_named('stg_' ~ name) ~ ' where valid_until is not null and ' ~ key ~ ' in (' ~ asked | join(', ') ~ ')') -%}
                {% do ends.update({row.id: row.valid_until}) %}
            {%- endfor -%}
        {%- endif -%}
        {%- for path in paths -%}
            {%- set end = ends.get(ids[loop.index0]) -%}
            {%- if end -%}
                {% do path.update({'ends': [end, path.ends or end] | min}) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{# Adds the deliveries that would open a closed part of a tier, but do not count. #}
{% macro _add_missed(facts, parts, values, person) %}
    {%- set questions = adapter.access_questions() -%}
    {%- for right in parts.rights if values[right.key] is not none and not questions.is_held(facts, right, values) -%}
        {%- if 'of_user' not in facts -%}
            {% do facts.update({'of_user': secure_datasets._deliveries_of_user(person.user_id)}) %}
        {%- endif -%}
        {%- for name, table in secure_datasets.repository_tables().items() if table.holder and table.object_type == right.object_type -%}
            {%- set key = table.required[0] -%}
            {%- set of_object, owned = table.references[key], [] -%}
            {%- if 'owner_user_id' in secure_datasets.repository_tables()[of_object].references -%}
                {% do owned.extend(secure_datasets._deliveries_of(of_object, {'id': values[right.key], 'owner_user_id': person.user_id})) %}
            {%- endif -%}
            {%- set found = dict(
                facts.of_user, table=name, object_key=key, grants=secure_datasets._deliveries_of(name, {key: values[right.key]}),
                person=person, owned_table=of_object, owned=owned, object=secure_datasets._trace_row(of_object, values[right.key] | string)
            ) -%}
            {% do facts.missed.update({questions.missed_key(right, values[right.key]): questions.missed_paths(right, found)}) %}
        {%- endfor -%}
    {%- endfor -%}
    {%- for link in parts.links if none not in values.values() and not questions.is_linked(facts, link, values) -%}
        {%- set found = questions.missed_links(link, secure_datasets._deliveries_of(link.table, values), values) -%}
        {% do facts.missed.update({questions.missed_key(link, questions.named(values)): found}) %}
    {%- endfor -%}
{% endmacro %}


{# The deliveries of a user's memberships and global roles, with all groups and the role table. #}
{% macro _deliveries_of_user(user_id) %}
    {%- set parent -%}
        case when rejection_reason is null then parent_user_group_id
            else {{ secure_datasets.read_value(secure_datasets.delivered_value('parent_user_group_id'), 'bigint') }} end
    {%- endset -%}
    {{ return({
        'user_id': user_id,
        'members': secure_datasets._deliveries_of('user_group_members', {'user_id': user_id}),
        'global_roles': secure_datasets._deliveries_of('user_global_roles', {'user_id': user_id}),
        'groups': secure_datasets.rows_of('select user_group_id, name, is_live, rejection_reason, raw_row, is_deleted, deleted_on, date_modified, modified_by, ' ~ parent ~ ' as parent_user_group_id from '
            ~ secure_datasets.relation_named('stg_user_groups') ~ ' where user_group_id is not null')
            + secure_datasets._undelivered('user_groups', 'user_group_id, name, is_live, rejection_reason, raw_row, is_deleted, deleted_on, date_modified, modified_by, parent_user_group_id, undelivered_since'),
        'parents': secure_datasets._deliveries_of('user_groups', {}),
        'in_force': secure_datasets.rows_of('select user_group_id, ancestor_user_group_id from '
            ~ secure_datasets.relation_named('int_user_group_ancestors') ~ ' where depth = 1'),
        'roles': secure_datasets.rows_of('select object_type, role_name, permission_name from ' ~ ref('role_permissions')),
    }) }}
{% endmacro %}


{#
    The live rows of a raw table with these keys, and the deliveries with these keys that do not count, each
    with its reason.
#}
{% macro _deliveries_of(name, keys) %}
    {%- set linking, same = secure_datasets._linking_columns(), [] -%}
    {%- for column, value in keys.items() -%}
        {% do same.append(('row_id' if column == 'id' else column) ~ ' = ' ~ value) %}
    {%- endfor -%}
    {%- set query -%}
select *
from (
    {{ secure_datasets._asked_uncounted(name, linking) | indent(4) }}
    union all
    {{ secure_datasets._told_of(name, 'cast(null as string)', linking) | indent(4) }}
    from {{ secure_datasets.relation_named('stg_' ~ name) }}
    where is_live
) as found
where {{ same | join(' and ') or 'parent_user_group_id is not null' }}
order by row_id, raw_id, reason, detail, date_created, created_by
    {%- endset -%}
    {{ return(secure_datasets.rows_of(query)) }}
{% endmacro %}


{# A query of the deliveries that do not count in a raw table: it reads only this table. #}
{% macro _asked_uncounted(name, linking) -%}
{{ secure_datasets._uncounted_of([name], secure_datasets.relation_named, linking) }}
{%- endmacro %}


{#
    The rows of a raw table that counted in the version before and are no longer delivered, as not
    live; an empty list if no version before can be compared.

    columns   the columns of the result
    is_asked  a condition on the rows; all rows by default
#}
{% macro _undelivered(name, columns, is_asked='true') %}
    {%- set query = secure_datasets.undelivered_rows(name, secure_datasets.relation_named) -%}
    {%- set rows = secure_datasets.rows_of('select ' ~ columns ~ ' from (' ~ query ~ ') as undelivered where ' ~ is_asked) if query else [] -%}
    {%- for row in rows if 'is_live' in row -%}
        {% do row.update({'is_live': false}) %}
    {%- endfor -%}
    {{ return(rows) }}
{% endmacro %}


{# Adds the rows to a list that it does not contain yet. #}
{% macro _add_new(rows, found) %}
    {%- for row in found if row not in rows -%}
        {% do rows.append(row) %}
    {%- endfor -%}
{% endmacro %}


{# Adds the facts for the rules beyond the tier: roles, the outcome of the view, and keys. #}
{% macro _add_rules(facts, name, row, person, config) %}
    {%- set gates = facts.rules | map(attribute='gate') | list -%}
    {%- if 'conditions' in gates or 'masks' in gates -%}
        {%- set rules = facts.rules | selectattr('gate', 'in', ['conditions', 'masks']) | map(attribute='rule') -%}
        {% do facts.update({'roles': secure_datasets._roles_of_user(person, rules | map(attribute='named') | sum(start=[]))}) %}
    {%- endif -%}
    {%- if 'view authorization' in gates -%}
        {%- set query = 'select outcomes.outcome, outcomes.decided_by, owners.user_id as owner_id, owners.is_live as owner_is_live from '
            ~ secure_datasets.relation_named('view_outcomes') ~ ' as outcomes left join ' ~ secure_datasets.relation_named('stg_users')
            ~ " as owners on startswith(outcomes.decided_by, concat('owner ', cast(owners.user_id as string), ' on '))"
            ~ ' where outcomes.user_id = ' ~ person.user_id ~ ' and outcomes.view_name = ' ~ secure_datasets.sql_text('vw_secure_dataset_' ~ name) -%}
        {% do facts.update({'outcome': secure_datasets.rows_of(query) | first | default(none)}) %}
    {%- endif -%}
    {%- for rule in facts.rules -%}
        {%- if rule.gate == 'row security' -%}
            {%- set object = rule.restriction.object -%}
            {%- set mapped = secure_datasets.rows_of(secure_datasets.mapped_keys(object, person.user_id)) -%}
            {%- set keys_of_row = secure_datasets.keys_of_row(rule.restriction, secure_datasets.ruling_dataset(name, config), config, row) -%}
            {%- set of_row = secure_datasets.rows_of(keys_of_row) -%}
            {% do facts.security.update({loop.index: {
                'user_keys': mapped | map(attribute='filter_key') | unique(case_sensitive=true) | list, 'row_keys': of_row | map(attribute='filter_key') | list,
                'way': secure_datasets.way_in_words(rule.restriction, facts.base), 'mapped': mapped, 'mapping': object.dataset,
                'ids_column': object.ids_column, 'key_column': object.filter_key_column, 'is_of_groups': object.holder == 'group',
                'groups': secure_datasets.rows_of(secure_datasets._groups_with_keys(object, keys_of_row)) if object.holder == 'group' else [],
            }}) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# A query of the groups whose members hold one of these keys: groups that have it, and groups below them. #}
{% macro _groups_with_keys(object, keys) -%}
select distinct chain.user_group_id, named.name
from {{ ref(object.dataset) }} as mapping
left semi join ({{ keys }}) as asked
    on mapping.{{ object.filter_key_column }} = asked.filter_key
inner join {{ secure_datasets.relation_named('int_user_group_ancestors') }} as chain
    on mapping.{{ object.ids_column }} = chain.ancestor_user_group_id
inner join {{ secure_datasets.relation_named('stg_user_groups') }} as named
    on chain.user_group_id = named.user_group_id
order by chain.user_group_id
{%- endmacro %}


{# The staged rows that the keys of a base refer to, and their parents. #}
{% macro _trace_rows(base, row) %}
    {%- set found = [] -%}
    {%- for column, value in row.items() -%}
        {%- set table = secure_datasets.referenced_table(base, column, row) -%}
        {%- if table and value is not none -%}
            {% do found.append(secure_datasets._trace_row(table, value)) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# One staged row, none if it does not exist, and the parents that it requires. #}
{% macro _trace_row(name, value) %}
    {%- set table, traced = secure_datasets.repository_tables()[name], {'table': name, 'id': value, 'row': none, 'parents': []} -%}
    {%- set is_it = 'cast(' ~ table.key ~ ' as string) = ' ~ secure_datasets.sql_text(value) -%}
    {%- set found = secure_datasets.rows_of('select * from ' ~ secure_datasets.relation_named('stg_' ~ name) ~ ' where ' ~ is_it)
        or secure_datasets._undelivered(name, '*', is_it) -%}
    {%- if found -%}
        {% do traced.update({'row': found[0]}) %}
        {%- for column in table.required if column in table.references and found[0][column] is not none -%}
            {% do traced.parents.append([column, secure_datasets._trace_row(table.references[column], found[0][column] | string)]) %}
        {%- endfor -%}
    {%- endif -%}
    {{ return(traced) }}
{% endmacro %}


{# Adds the rows that open the gates beyond the tier: groups, roles, keys and decisions. #}
{% macro _add_ways(facts, name, row, person, config) %}
    {%- set gates, ruling = facts.rules | map(attribute='gate') | list, secure_datasets.ruling_dataset(name, config) -%}
    {%- if 'conditions' in gates or 'row security' in gates -%}
        {%- set of_user = ' where user_id = ' ~ person.user_id -%}
        {% do facts.update({
            'memberships': secure_datasets.rows_of('select members.user_group_member_id, chain.ancestor_user_group_id as user_group_id, chain.depth from '
                ~ secure_datasets.relation_named('stg_user_group_members') ~ ' as members inner join ' ~ secure_datasets.relation_named('int_user_group_ancestors')
                ~ ' as chain on members.user_group_id = chain.user_group_id where members.is_live and members.user_id = ' ~ person.user_id),
            'held_roles': secure_datasets.rows_of('select user_group_id, role_name from ' ~ secure_datasets.relation_named('vw_secure_user_roles') ~ of_user),
            'global_roles': secure_datasets.rows_of('select held.user_global_role_id, roles.permission_name as role_name from '
                ~ secure_datasets.relation_named('stg_user_global_roles') ~ ' as held inner join ' ~ ref('role_permissions')
                ~ " as roles on held.role_name = roles.role_name and roles.object_type = 'Global' where held.is_live and held.user_id = " ~ person.user_id),
        }) %}
    {%- endif -%}
    {%- if 'row security' in gates -%}
        {% do facts.update({'key_lines': secure_datasets.rows_of(secure_datasets.key_lines(facts.rules, ruling, config, row))}) %}
    {%- endif -%}
    {%- for rule in facts.rules -%}
        {%- if rule.gate == 'row security' -%}
            {%- set through = [] -%}
            {%- for way in rule.restriction.ways or [] -%}
                {%- set steps = [] -%}
                {%- for path in way.paths -%}
                    {% do steps.append(secure_datasets._steps_of_path(path)) %}
                {%- endfor -%}
                {% do through.append({'steps': steps, 'lines': secure_datasets.rows_of(secure_datasets.key_lines_of_facts(rule.restriction, way))}) %}
            {%- endfor -%}
            {% do facts.security[loop.index].update({'through': through, 'steps': secure_datasets._steps_of_path(rule.restriction.path)}) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if 'view authorization' in gates -%}
        {% do facts.update({'decisions': secure_datasets._decisions_about(name, person)}) %}
    {%- endif -%}
{% endmacro %}


{# Adds names to the rows of the last support: their own, or the names of their references. #}
{% macro _add_names(notes) %}
    {%- for name, table in secure_datasets.repository_tables().items() -%}
        {%- set ids = notes | selectattr('table', 'equalto', name) | map(attribute='id') | list
            + notes | selectattr('raw_table', 'defined') | selectattr('raw_table', 'equalto', name) | map(attribute='raw_id') | list -%}
        {%- if ids -%}
            {%- for found in secure_datasets.rows_of(secure_datasets._names_of_rows(name, ids | unique)) -%}
                {% do adapter.access_questions().add_names(notes, name, found) %}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# A query of some rows of a raw table: the id, then the row's own name or the names of its references. #}
{% macro _names_of_rows(name, ids) -%}
{%- set tables = secure_datasets.repository_tables() -%}
{%- set table, joins, columns = tables[name], [], [] -%}
{%- for column, other in ({} if 'name' in table.columns else table.references).items() -%}
    {%- set called = 'name' if 'name' in tables[other].columns else 'login_name' -%}
    {%- do columns.append('of_' ~ column ~ '.' ~ called ~ ' as name_' ~ loop.index) -%}
    {%- do joins.append('left join ' ~ secure_datasets.relation_named('stg_' ~ other) ~ ' as of_' ~ column ~ ' on told.' ~ column ~ ' = of_' ~ column ~ '.' ~ tables[other].key) -%}
{%- endfor -%}
{%- if 'name' in table.columns or 'login_name' in table.columns -%}
    {%- do columns.append('told.' ~ ('name' if 'name' in table.columns else 'login_name') ~ ' as name_1') -%}
{%- endif -%}
select told.{{ table.key }} as row_id, {{ columns | join(', ') }}
from {{ secure_datasets.relation_named('stg_' ~ name) }} as told
{{ joins | join('
') }}
where told.{{ table.key }} in ({{ ids | join(', ') }})
{%- endmacro %}


{# The relations on a way to a security object, each with its join columns and the raw table of these keys. #}
{% macro _steps_of_path(path) %}
    {%- set steps = [] -%}
    {%- for link in path if link.to.dataset is defined -%}
        {%- set columns = link['from'].join_columns -%}
        {% do steps.append({
            'relation': link.to.dataset, 'columns': columns,
            'raw_table': secure_datasets.referenced_table(link.to.dataset, columns[0], {}) if columns | length == 1 else none,
        }) %}
    {%- endfor -%}
    {{ return(steps) }}
{% endmacro %}


{# The decisions that leave the view of a dataset open to a user. #}
{% macro _decisions_about(name, person) %}
    {%- set view, references, gates, users, names = ('vw_secure_dataset_' ~ name) | lower, secure_datasets.view_references(), [], [person.user_id], [] -%}
    {%- for gate in references.gates if gate[0] == view -%}
        {% do gates.append([gate[1] | int, gate[2]]) %}
        {% do users.append(gate[1] | int) %}
    {%- endfor -%}
    {%- for object in [view] + gates | map(attribute=1) | list -%}
        {% do names.append(secure_datasets.sql_text(object)) %}
    {%- endfor -%}
    {{ return({
        'view': view, 'user_id': person.user_id, 'gates': gates,
        'rows': secure_datasets.rows_of('select user_id, lower(trim(object_name)) as object_name, decision, count(*) as row_count from '
            ~ ref('view_decisions') ~ ' where user_id in (' ~ users | unique | join(', ') ~ ') and lower(trim(object_name)) in (' ~ names | unique | join(', ')
            ~ ') group by user_id, lower(trim(object_name)), decision'),
    }) }}
{% endmacro %}


{#
    Adds the smallest sets of new rows that would open a tier for a live user on these objects, and
    their further effects. Nothing if the config does not name all rights of the tier.

    sides    pairs of tier and keys: all must be open
    dataset  the dataset of the row in question, if any
#}
{% macro _add_nearest(facts, sides, person, config, dataset=none) %}
    {%- set questions, state = adapter.access_questions(), secure_datasets._grants_state(sides, person, config) -%}
    {%- set counts, uncounted = [], [] -%}
    {%- if state is not none -%}
        {%- set sets, chains, restricted = questions.nearest(state, sides), secure_datasets._chains_to_tiers(config), [] -%}
        {%- for name, chain in chains.items() -%}
            {%- for link in chain if secure_datasets.is_restricted(link, config) -%}
                {% do restricted.append(name) %}
            {%- endfor -%}
        {%- endfor -%}
        {%- for found in sets -%}
            {% do counts.append({}) %}
        {%- endfor -%}
        {%- for name, entry in secure_datasets.datasets_with_tier(config).items() if sets -%}
            {#- The rows of a tier with an incomplete entry can't be counted. -#}
            {%- set cases = secure_datasets.gate_cases(name, config) | selectattr('tier', 'in', state.tiers) | list -%}
            {#- A past state may contain access alone, without the bases. -#}
            {%- if cases and not secure_datasets._is_built(entry.base) -%}
                {% do uncounted.append(entry.base) %}
            {%- endif -%}
            {%- for case in cases if entry.base not in uncounted -%}
                {%- set lines = secure_datasets._rows_by_keys(name, entry, case, questions.gained_keys(state, sets, case.tier)) -%}
                {%- for found in sets -%}
                    {%- set known = counts[loop.index0] -%}
                    {%- set count = known.get(name, 0) + questions.rows_gained(state, found, case, lines) -%}
                    {% do known.update({name: count}) %}
                {%- endfor -%}
            {%- endfor -%}
        {%- endfor -%}
        {#- A layered dataset gains the rows of the dataset at the end of its chain. -#}
        {%- for known in counts -%}
            {%- for name, chain in chains.items() if chain | last in known -%}
                {% do known.update({name: known[chain | last]}) %}
            {%- endfor -%}
        {%- endfor -%}
        {% do facts.update({'nearest': questions.set_notes(state, sides, sets, counts, restricted, dataset), 'given': questions.given_by(sets), 'in_charge': questions.in_charge(state, sides) if sets else [], 'uncounted': uncounted | unique | list}) %}
    {%- endif -%}
{% endmacro %}


{# Whether the relation of a model exists, whatever its type. #}
{% macro _is_built(name) %}
    {%- set found = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name == name -%}
        {%- if adapter.get_relation(node.database, node.schema, node.alias) -%}
            {% do found.append(name) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found | length > 0) }}
{% endmacro %}


{# The datasets whose chain ends at a dataset with a tier, each with its chain. #}
{% macro _chains_to_tiers(config) %}
    {%- set found, with_tier = {}, secure_datasets.datasets_with_tier(config) -%}
    {%- for name in config.datasets -%}
        {%- set chain = secure_datasets._chain_below(name, config) -%}
        {%- if chain | last in with_tier -%}
            {% do found.update({name: chain}) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# A dataset and its parents, down to the one without a parent. #}
{% macro _chain_below(name, config) %}
    {%- set parent = secure_datasets.parent_dataset(config.datasets[name]) -%}
    {{ return([name] + (secure_datasets._chain_below(parent, config) if parent else [])) }}
{% endmacro %}


{# The number of rows of a case by its deciding columns, for the rows that new rights could open. #}
{% macro _rows_by_keys(name, entry, case, gained) %}
    {%- set sides = [] -%}
    {%- for keys in [case['keys'], case.second_keys] if keys -%}
        {%- set terms = [] -%}
        {%- for key, column in keys.items() -%}
            {% do terms.append(name ~ '.' ~ column ~ ' in (' ~ gained[key] | join(', ') ~ ')' if gained[key] else 'false') %}
        {%- endfor -%}
        {% do sides.append('(' ~ terms | join(' and ') ~ ')') %}
    {%- endfor -%}
    {%- set columns = case.columns | join(', ') -%}
    {{ return(secure_datasets.rows_of(
        'select ' ~ columns ~ ', ' ~ (case.no_second or 'true') ~ ' as has_no_second, count(*) as row_count from ' ~ ref(entry.base) ~ ' as ' ~ name
        ~ ' where ' ~ case.applies ~ ' and (' ~ sides | join(' or ') ~ ') group by ' ~ columns
    )) }}
{% endmacro %}


{# The roles that a user holds: the role names, then the ids of the user's groups that are in `named`. #}
{% macro _roles_of_user(person, named) %}
    {%- set rows = secure_datasets.rows_of('select distinct user_group_id, role_name from ' ~ secure_datasets.relation_named('vw_secure_user_roles') ~ ' where user_id = ' ~ person.user_id) -%}
    {%- set names = rows | map(attribute='role_name') | reject('none') | unique(case_sensitive=true) | sort(case_sensitive=true) | list -%}
    {{ return(names + rows | map(attribute='user_group_id') | select('in', named) | unique | sort | list) }}
{% endmacro %}


{# Each role that a policy of a dataset names: the dataset, and the column of a mask. #}
{% macro _roles_of_policies(config) %}
    {%- set found = [] -%}
    {%- for name, entry in config.datasets.items() -%}
        {%- set policies = secure_datasets.policies_on(name, config) -%}
        {%- for role in (policies.conditions + policies.restrictive) | map(attribute='named') | sum(start=[]) -%}
            {% do found.append({'role': role, 'dataset': name, 'column': none}) %}
        {%- endfor -%}
        {%- for column, rules in policies.masks.items() if column in entry.columns -%}
            {%- for role in rules | map(attribute='named') | sum(start=[]) -%}
                {% do found.append({'role': role, 'dataset': name, 'column': column}) %}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The security objects whose keys groups have, and the datasets that each restricts. #}
{% macro _secured_by_groups(config) %}
    {%- set found = {} -%}
    {%- for name in config.datasets -%}
        {%- set ruling = config.datasets[secure_datasets.ruling_dataset(name, config)] -%}
        {%- for restriction in secure_datasets.restrictions_on(ruling, config) if restriction.object.holder == 'group' -%}
            {% do found.setdefault(restriction.object.unique_name, {'object': restriction.object, 'datasets': []}).datasets.append(name) %}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The keys of security objects, each with the object's name: the rows of `query_of(object, asked)`. #}
{% macro _keys_of(secured, query_of, asked) %}
    {%- set found = [] -%}
    {%- for name, entry in secured.items() -%}
        {%- for line in secure_datasets.rows_of(query_of(entry.object, asked)) -%}
            {% do found.append({'object': name, 'holder': line.holder, 'key': line.filter_key}) %}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# A query of the keys that a security object gives groups. #}
{% macro _keys_of_groups(object, ids) -%}
select distinct {{ object.ids_column }} as holder, {{ object.filter_key_column }} as filter_key
from {{ ref(object.dataset) }}
where {{ object.ids_column }} in ({{ ids | join(', ') }}) and {{ object.filter_key_column }} is not null
{%- endmacro %}


{# The state for the search for new rows; none if the tier's entry is incomplete or the user is not live. #}
{% macro _grants_state(sides, person, config) %}
    {%- set tiers, tables, holders, links, objects = {}, {}, [], {}, [] -%}
    {%- for name in config.tiers -%}
        {%- set parts = secure_datasets.tier_parts(name, config) -%}
        {%- if parts.is_whole -%}
            {% do tiers.update({name: parts}) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if sides[0][0] not in tiers or not person.is_live -%}
        {{ return(none) }}
    {%- endif -%}
    {%- for name, table in secure_datasets.repository_tables().items() if table.holder -%}
        {% do tables.update({table.object_type: [name, table.required[0]]}) %}
    {%- endfor -%}
    {%- for tier, keys in sides -%}
        {%- for right in tiers[tier].rights if right.object_type in tables and keys[right.key] is not none -%}
            {%- set name, key = tables[right.object_type] -%}
            {% do holders.append('select user_group_id from ' ~ secure_datasets.relation_named('stg_' ~ name) ~ ' where is_live and ' ~ key ~ ' = ' ~ keys[right.key]) %}
            {% do objects.append('(object_type = ' ~ secure_datasets.sql_text(right.object_type) ~ ' and object_id = ' ~ keys[right.key] ~ ')') %}
        {%- endfor -%}
    {%- endfor -%}
    {%- for parts in tiers.values() -%}
        {%- for link in parts.links -%}
            {% do links.update({link.table: secure_datasets.rows_of('select ' ~ parts['keys'] | join(', ') ~ ' from ' ~ secure_datasets.relation_named('stg_' ~ link.table) ~ ' where is_live')}) %}
        {%- endfor -%}
    {%- endfor -%}
    {%- set chains, secured = secure_datasets._chains_to_groups(holders) if holders else [], secure_datasets._secured_by_groups(config) -%}
    {%- set ids, policies = chains | map(attribute='ancestor_user_group_id') | unique | list, secure_datasets._roles_of_policies(config) -%}
    {{ return(adapter.access_questions().state({
        'person': person, 'tiers': tiers, 'tables': tables, 'links': links, 'chains': chains,
        'grants': secure_datasets._grants_of(ids, tables) if ids else [], 'policies': policies,
        'held_roles': secure_datasets._roles_of_user(person, policies | map(attribute='role') | list) if policies else [],
        'secured': secured,
        'group_keys': secure_datasets._keys_of(secured, secure_datasets._keys_of_groups, ids) if ids else [],
        'held_keys': secure_datasets._keys_of(secured, secure_datasets.mapped_keys, person.user_id) if ids else [],
        'held': secure_datasets.rows_of('select distinct object_type, object_id, permission_name from ' ~ secure_datasets.relation_named('int_access_paths') ~ ' where user_id = ' ~ person.user_id),
        'roles': secure_datasets.rows_of('select object_type, role_name, permission_name from ' ~ ref('role_permissions')),
        'names': secure_datasets.rows_of('select user_group_id, name from ' ~ secure_datasets.relation_named('stg_user_groups') ~ ' where user_group_id in (' ~ ids | join(', ') ~ ')') if ids else [],
        'objects': secure_datasets.rows_of('select object_type, object_id, object_name from ' ~ secure_datasets.relation_named('int_securable_objects') ~ ' where ' ~ objects | join(' or ')) if objects else [],
        'charges': secure_datasets._charges_on(objects) if objects else [],
    })) }}
{% endmacro %}


{# The links up to these groups: each group below one of them, with all its ancestors. `holders` are queries of groups. #}
{% macro _chains_to_groups(holders) %}
    {%- set ancestors = secure_datasets.relation_named('int_user_group_ancestors') -%}
    {{ return(secure_datasets.rows_of(
        'select chain.user_group_id, chain.ancestor_user_group_id from ' ~ ancestors ~ ' as chain left semi join (select holding.user_group_id from '
        ~ ancestors ~ ' as holding left semi join (' ~ holders | join(' union all ') ~ ') as holders on holding.ancestor_user_group_id = holders.user_group_id) as candidates'
        ~ ' on chain.user_group_id = candidates.user_group_id'
    )) }}
{% endmacro %}


{#
    The live grants of these groups on objects that are there.

    tables  by the type of objects: the raw table of permissions and its column of the object
#}
{% macro _grants_of(ids, tables) %}
    {%- set grants = [] -%}
    {%- for object_type, place in tables.items() -%}
        {% do grants.extend(secure_datasets.rows_of(
            'select ' ~ secure_datasets.sql_text(object_type) ~ ' as object_type, granted.' ~ place[1] ~ ' as object_id, granted.user_group_id, granted.role_name from '
            ~ secure_datasets.relation_named('stg_' ~ place[0]) ~ ' as granted left semi join ' ~ secure_datasets.relation_named('int_securable_objects')
            ~ ' as objects on objects.object_id = granted.' ~ place[1] ~ ' and objects.object_type = ' ~ secure_datasets.sql_text(object_type)
            ~ ' where granted.is_live and granted.user_group_id in (' ~ ids | join(', ') ~ ')'
        )) %}
    {%- endfor -%}
    {{ return(grants) }}
{% endmacro %}


{# The people in charge of some objects; each element of `objects` is a condition. #}
{% macro _charges_on(objects) %}
    {{ return(secure_datasets.rows_of(
        'select charges.object_type, charges.object_id, users.user_id, users.login_name, users.first_name, users.last_name, users.email from ('
        ~ secure_datasets.charges_query() ~ ') as charges inner join ' ~ secure_datasets.relation_named('stg_users') ~ ' as users'
        ~ ' on charges.user_id = users.user_id where ' ~ objects | join(' or ')
    )) }}
{% endmacro %}
