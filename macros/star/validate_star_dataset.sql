{#
    Checks what a dataset reads of the star: its query, if it has one, and that the columns
    are there by which row-security objects restrict it.

    name     the dataset
    config   the document of secure_datasets_config(), its relations checked already
#}
{% macro validate_star_dataset(name, config) %}
    {%- set entry, dataset = "dataset '" ~ name ~ "'", config.datasets[name] -%}
    {%- if dataset.query is defined -%}
        {% do _check_query(entry, dataset, config.get('relations', {})) %}
        {%- set roots = star_query(dataset, config).roots -%}
        {%- if roots | length != 1 -%}
            {% do _config_error(entry, "'query' needs one relation to which all others can be joined, and there " ~ ("is none" if not roots else "are " ~ roots | join(', ') ~ ": name the one in 'fact'")) %}
        {%- endif -%}
    {%- else -%}
        {%- set restrictions = restrictions_on(dataset, config) -%}
        {%- if restrictions and end_of_chain(name, config) != name -%}
            {% do _config_error(entry, "row_security '" ~ restrictions[0].object.unique_name ~ "' restricts it, and must restrict the end of its chain instead, '" ~ end_of_chain(name, config) ~ "'") %}
        {%- endif -%}
        {%- for restriction in restrictions -%}
            {%- set link = restriction.links[-1] if restriction.links else restriction.path[0] -%}
            {%- for column in link['from'].join_columns if column not in dataset.columns -%}
                {% do _config_error(entry, "row_security '" ~ restriction.object.unique_name ~ "' restricts it by '" ~ column ~ "', which must be among its columns") %}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# A query over the star: dimensions, each a column of a relation, and measures. #}
{% macro _check_query(entry, dataset, relations) %}
    {% do _check_keys(entry ~ ', query', dataset.query, required=[], optional=['dimensions', 'measures', 'fact']) %}
    {%- set dimensions, measures = dataset.query.get('dimensions', {}), dataset.query.get('measures', {}) -%}
    {%- if dimensions is not mapping or measures is not mapping or not (dimensions or measures) -%}
        {% do _config_error(entry, "'query' must map columns to 'dimensions' and 'measures'") %}
    {%- endif -%}
    {%- if dimensions | list + measures | list != dataset.columns -%}
        {% do _config_error(entry, "'columns' must be the dimensions of its query and then the measures, in order") %}
    {%- endif -%}
    {%- if dimensions | list != dataset.unique_key -%}
        {% do _config_error(entry, "'unique_key' must be the dimensions of its query") %}
    {%- endif -%}
    {%- for column, place in dimensions.items() -%}
        {%- set parts = (place | string).split('.') -%}
        {%- if parts | length != 2 or parts[1] not in relations.get(parts[0], {}).get('columns', {}) -%}
            {% do _config_error(entry, "the dimension '" ~ column ~ "' must be <relation>.<column>, and '" ~ place ~ "' is none of 'relations'") %}
        {%- endif -%}
    {%- endfor -%}
    {%- for column, measure in measures.items() -%}
        {% do check_policy_sql(entry, "query.measures." ~ column, measure, '', []) %}
    {%- endfor -%}
    {%- if 'fact' in dataset.query and relations.get(dataset.query.fact, {}).get('kind') != 'fact' -%}
        {% do _config_error(entry, "'query.fact' must name a relation of the kind fact") %}
    {%- endif -%}
{% endmacro %}
