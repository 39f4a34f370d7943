{# The keys and paths of row security, for people. The rules are key_is_held's. #}


{# A query of a user's keys in a security object's map, with the id and the number of rows. #}
{% macro mapped_keys(object, user) -%}
{%- set held = secure_datasets._held_keys(object, user) -%}
select
    _mapping.{{ object.ids_column }} as holder,
    {{ held.key }} as filter_key,
    count(*) as row_count
from {{ held.relation }}
where
    {{ held.terms | indent(4) }}
    and {{ held.key }} is not null
group by _mapping.{{ object.ids_column }}, {{ held.key }}
{%- endmacro %}


{#
    A query of the lines that decide row security for a row, or for a line of an answer. For each
    security object: the key that the row leads to and the join columns on the path, or the columns
    that tie the row to the object over facts.

    rules   the result of rules_on(); its numbers name the columns
    name    the dataset whose rows are shown
    config  the document of secure_datasets_config()
    row     the row by its unique key, column to text
#}
{% macro key_lines(rules, name, config, row) -%}
{%- set dataset, joined, columns = config.datasets[name], [], [] -%}
{%- set star = secure_datasets.star_query(dataset, config) -%}
{%- set root = star.root if dataset.query is defined else name -%}
{%- set paths = secure_datasets.relationship_paths(star.root, config) -%}
{%- for rule in rules -%}
    {%- set number = loop.index -%}
    {%- if rule.gate == 'row security' and rule.restriction.ways -%}
        {%- for column in rule.restriction.columns -%}
            {%- do columns.append(root ~ '.' ~ column ~ ' as by_' ~ column ~ '_' ~ number) -%}
        {%- endfor -%}
    {%- elif rule.gate == 'row security' -%}
        {%- do columns.extend(secure_datasets._columns_of_path(rule.restriction.path, number, root)) -%}
    {%- endif -%}
{%- endfor -%}
select distinct
    {{ columns | join(',\n    ') }}
from {{ ref(star.root) }} as {{ root }}
{%- for relation, _ in star.columns if dataset.query is defined -%}
{{ secure_datasets.path_joins(paths[relation], 'left', joined) }}
{%- endfor -%}
{%- for rule in rules if rule.gate == 'row security' and not rule.restriction.ways -%}
{{ secure_datasets.path_joins(rule.restriction.path, 'left', joined, alias=root) }}
{%- endfor %}
{{ secure_datasets._places_are(root, dataset, row) }}
{%- endmacro %}


{# The same for rows of a fact that tie a dimension to a security object, by each of its paths. #}
{% macro key_lines_of_facts(restriction, way) -%}
{%- set columns = [] -%}
{%- for column in restriction.columns -%}
    {%- do columns.append(way.source ~ '.' ~ column ~ ' as by_' ~ column) -%}
{%- endfor -%}
{%- for path in way.paths -%}
    {%- do columns.extend(secure_datasets._columns_of_path(path, loop.index, way.fact)) -%}
{%- endfor -%}
select distinct
    {{ columns | join(',\n    ') }}
from {{ ref(way.fact) }} as {{ way.fact }}
{{- secure_datasets.path_joins(way.joined, 'inner', []) }}
{%- endmacro %}


{# The key at the end of a path, and the join columns of its relations; with a number. #}
{% macro _columns_of_path(path, number, root) %}
    {%- set end, columns = path[-1]['from'], [] -%}
    {%- do columns.append((root if path | length == 1 else end.dataset) ~ '.' ~ end.join_columns[0] ~ ' as key_' ~ number) -%}
    {%- for link in path if link.to.dataset is defined -%}
        {%- set place = loop.index -%}
        {%- for column in link['from'].join_columns -%}
            {%- do columns.append((root if place == 1 else link['from'].dataset) ~ '.' ~ column ~ ' as step_' ~ number ~ '_' ~ place ~ '_' ~ column) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# The condition that finds a row, or the rows that a line of an answer counts, by its key. #}
{% macro _places_are(root, dataset, row) -%}
{%- set filters = [] -%}
{%- for column, value in row.items() -%}
    {%- set place = dataset.query.dimensions[column] if dataset.query is defined else root ~ '.' ~ column -%}
    {%- do filters.append(place ~ ' is null' if value is none else 'cast(' ~ place ~ ' as string) = ' ~ secure_datasets.sql_text(value)) -%}
{%- endfor -%}
{{ 'where ' ~ filters | join(' and ') if filters }}
{%- endmacro %}


{# A query of the keys that a row, or the rows that an answer's line counts, lead to. #}
{% macro keys_of_row(restriction, name, config, row) -%}
{%- set queries = [] -%}
{%- for way in restriction.ways or [none] -%}
    {%- for path in (way.paths if way else [restriction.path]) -%}
        {%- do queries.append(secure_datasets._keys_of_path(restriction, way, path, name, config, row)) -%}
    {%- endfor -%}
{%- endfor -%}
{{ queries | join('\nunion\n') }}
{%- endmacro %}


{# The keys at the end of one path, from the rows of the dataset or of a fact. #}
{% macro _keys_of_path(restriction, way, path, name, config, row) -%}
{%- set dataset, joined = config.datasets[name], [] -%}
{%- set star, end = secure_datasets.star_query(dataset, config), path[-1]['from'] -%}
{%- set root = star.root if dataset.query is defined else name -%}
{%- set near = root if not way and path | length == 1 else end.dataset -%}
select distinct {{ near }}.{{ end.join_columns[0] }} as filter_key
from {{ ref(star.root) }} as {{ root }}
{%- if dataset.query is defined -%}
{%- set paths = secure_datasets.relationship_paths(star.root, config) -%}
{%- for relation, _ in star.columns -%}
{{ secure_datasets.path_joins(paths[relation], 'left', joined) }}
{%- endfor -%}
{%- endif -%}
{%- if way %}
inner join (
    select{% for column in restriction.columns %} {{ way.source }}.{{ column }} as by_{{ column }},{% endfor %} {{ end.dataset }}.{{ end.join_columns[0] }}
    from {{ ref(way.fact) }} as {{ way.fact }}
    {{- secure_datasets.path_joins(way.joined, 'inner', []) | indent(4) }}
) as {{ near }}
    on
    {%- for column in restriction.columns %} {{ 'and ' if not loop.first }}{{ root }}.{{ column }} = {{ near }}.by_{{ column }}{% endfor %}
{%- else -%}
{{ secure_datasets.path_joins(path[:-1], 'left', joined, alias=root) }}
{%- endif %}

{{ secure_datasets._places_are(root, dataset, row) }}
{%- endmacro %}


{# The path from a dataset's rows to a security object, in words. #}
{% macro way_in_words(restriction, base) -%}
{%- set words, object = [], restriction.object -%}
{%- for way in restriction.ways or [none] -%}
    {%- for path in (way.paths if way else [restriction.path]) -%}
        {%- set steps = [base ~ ' by ' ~ way.fact] if way else [] -%}
        {%- for link in path -%}
            {%- do steps.append(link['from'].dataset ~ '.' ~ link['from'].join_columns | join(', ')) -%}
        {%- endfor -%}
        {%- do steps.append(object.dataset ~ '.' ~ object.filter_key_column ~ ' by ' ~ object.ids_column) -%}
        {%- do words.append(steps | join(' > ')) -%}
    {%- endfor -%}
{%- endfor -%}
{{ return(words | join('; ')) }}
{%- endmacro %}


{# A query whether the answer of a query has the line at all, from all rows. #}
{% macro line_of_everyone(ruling, config, row) -%}
select 1 as is_there
from (
    {{ secure_datasets.answers_of_users(ruling, config, false) | indent(4) }}
) as answer
{{- secure_datasets._row_filter('answer', row) }}
{%- endmacro %}


{# The condition that finds a row by its key, each value compared as text. #}
{% macro _row_filter(relation, row) -%}
{%- for column, value in (row or {}).items() %}
{{ 'where' if loop.first else '    and' }} {{ relation }}.{{ column }} is {{ 'null' if value is none else 'not null' }}
{%- if value is not none %}
    and cast({{ relation }}.{{ column }} as string) = {{ secure_datasets.sql_text(value) }}
{%- endif %}
{%- endfor -%}
{%- endmacro %}
