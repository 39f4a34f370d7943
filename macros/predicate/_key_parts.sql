{# What row security decides by, for people: keys and ways. The rules are key_is_held's. #}


{# A query of the keys that a restriction's object maps a user to. #}
{% macro keys_of_user(restriction, user) -%}
{%- set held = secure_datasets._held_keys(restriction.object, user) -%}
select distinct {{ held.key }} as filter_key
from {{ held.relation }}
where
    {{ held.terms | indent(4) }}
    and {{ held.key }} is not null
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


{# The keys at the end of one path, from the rows of the dataset or from those of a fact. #}
{% macro _keys_of_path(restriction, way, path, name, config, row) -%}
{%- set dataset, joined = config.datasets[name], [] -%}
{%- set star, end = secure_datasets.star_query(dataset, config), path[-1]['from'] -%}
{%- set root = star.root if dataset.query is defined else name -%}
{%- set near = root if not way and path | length == 1 else end.dataset -%}
{%- set filters = [] -%}
{%- for column, value in row.items() -%}
    {%- set place = dataset.query.dimensions[column] if dataset.query is defined else root ~ '.' ~ column -%}
    {%- do filters.append(place ~ ' is null' if value is none else 'cast(' ~ place ~ ' as string) = ' ~ secure_datasets.sql_text(value)) -%}
{%- endfor -%}
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
{%- if filters %}
where {{ filters | join(' and ') }}
{%- endif %}
{%- endmacro %}


{# The way from a dataset's rows to a security object, as people read it. #}
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


{# Whether the answer of a query has a line at all, by whichever rows: a query of it. #}
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
