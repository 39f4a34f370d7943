{#
    What a dataset reads of the star; none if it reads nothing of it.

    Renders   nothing; returns `columns`, the relation and the column of each dimension,
              `root`, the relation to which all others are joined, `has_fact`, whether that is
              a fact, and `roots`, all relations that could be it: there must be one

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro star_query(dataset, config) %}
    {%- set relations = config.relations or {} -%}
    {%- set columns = [] -%}
    {%- if dataset.query is not defined -%}
        {%- if dataset.base not in relations -%}
            {{ return(none) }}
        {%- endif -%}
        {%- for column in dataset.columns -%}
            {% do columns.append([dataset.base, column]) %}
        {%- endfor -%}
        {%- set roots = [dataset.base] -%}
    {%- else -%}
        {%- for place in (dataset.query.dimensions or {}).values() -%}
            {% do columns.append(place.split('.')) %}
        {%- endfor -%}
        {%- set used = columns | map('first') | unique | list -%}
        {%- set roots = [] -%}
        {%- if not dataset.query.measures -%}
            {% do roots.extend(_roots_of(used, used, config)) %}
        {%- endif -%}
        {%- if not roots -%}
            {%- set facts = relations.items() | selectattr('1.kind', 'equalto', 'fact') | map('first') -%}
            {% do roots.extend(_roots_of(facts, used, config)) %}
        {%- endif -%}
        {%- if dataset.query.fact -%}
            {%- set roots = roots | select('equalto', dataset.query.fact) | list -%}
        {%- endif -%}
    {%- endif -%}
    {{ return({
        'columns': columns,
        'roots': roots,
        'root': roots | first,
        'has_fact': relations.get(roots | first, {}).get('kind') == 'fact',
    }) }}
{% endmacro %}


{# Those of the candidates from which all the relations used can be reached. #}
{% macro _roots_of(candidates, used, config) %}
    {%- set roots = [] -%}
    {%- for candidate in candidates -%}
        {%- set paths = relationship_paths(candidate, config) -%}
        {%- if used | reject('in', paths) | list | length == 0 -%}
            {% do roots.append(candidate) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(roots) }}
{% endmacro %}
