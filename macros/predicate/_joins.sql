{# Joins along the relationships of the star, for its queries and for the rules about them. #}


{# The joins along relationships, each relation once; `alias` stands for the first. #}
{% macro path_joins(path, kind, joined, alias=none) -%}
{%- for link in path if link.to.dataset is defined and link.to.dataset not in joined -%}
{%- set near = alias if alias and link == path[0] else link['from'].dataset -%}
{%- do joined.append(link.to.dataset) %}
{{ kind }} join {{ ref(link.to.dataset) }} as {{ link.to.dataset }}
    on {{ secure_datasets.columns_match(near, link.to.dataset, link['from'].join_columns) }}
{%- endfor -%}
{%- endmacro %}


{# The condition that two relations have the same values in these columns. #}
{% macro columns_match(left, right, columns) -%}
{%- for column in columns -%}
{{ ' and ' if not loop.first }}{{ left }}.{{ column }} = {{ right }}.{{ column }}
{%- endfor -%}
{%- endmacro %}
