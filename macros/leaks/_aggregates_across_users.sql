{# How a model's text is searched for aggregates over the rows of several users. #}

{#
    What in a model's text brings rows of several users together: a `group by` or a window
    without user_id, or an aggregate without a `group by`. Any such place counts, whatever
    it reads. What another macro renders is not seen.

    Returns  texts that say what is wrong
#}
{% macro _aggregates_across_users(node) %}
    {%- if node.language == 'python' -%}
        {{ return(_aggregates_in_python(node.raw_code)) }}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for query in _simple_queries(node.raw_code) -%}
        {%- set grouped = modules.re.search('\\bgroup by\\b(.*?)(?:\\b(?:having|order by|limit|window|qualify|cluster by|distribute by|sort by)\\b|$)', query) -%}
        {%- set groups = grouped[1] if grouped else '' -%}
        {%- if grouped and not _names_user_id(groups) -%}
            {% do found.append('group by' ~ groups.rstrip() ~ ' without user_id') %}
        {%- elif modules.re.search('\\b(rollup|cube|grouping sets)\\b', groups) -%}
            {% do found.append('group by' ~ groups.rstrip() ~ ' with totals over all users') %}
        {%- elif not grouped and 'aggregate_of' in modules.re.sub('aggregate_of\\s+(?:window_of_user|over\\b)', '', query) -%}
            {% do found.append('an aggregate without a group by') %}
        {%- endif -%}
        {%- if modules.re.search('\\bover\\b', query) -%}
            {% do found.append('a window without user_id') %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{#
    The single `select`s of a text, without comments, texts, Jinja and parentheses. In them
    a call of an aggregate is `aggregate_of`, and a window by user_id `window_of_user`.
#}
{% macro _simple_queries(raw_code) %}
    {%- set aggregates = '(?!last_day$|bit_count$|bit_get$)(?:'
        ~ '(?:any|array_agg|avg|corr|count|every|first|grouping|kurtosis|last|listagg|max|mean|median|min|mode|percentile'
        ~ '|skewness|some|std|stddev|string_agg|sum|try_avg|try_sum|var|variance)(?:_\\w+)?'
        ~ '|(?:approx|bit|bool|collect|covar|histogram|hll|percentile|regr)_\\w+)' -%}
    {%- set ignored = '(?s){#.*?#}|/\\*.*?\\*/|--[^\\n]*|\'(?:[^\'\\\\]|\\\\.)*\'|{%.*?%}' -%}
    {%- set text = namespace(left=modules.re.sub(ignored, ' ', modules.re.sub('(?s){{.*?}}', ' rendered ', raw_code)) | lower) -%}
    {%- set text.left = modules.re.sub('\\s+', ' ', text.left) -%}
    {%- set queries = [] -%}
    {%- for _ in range(text.left.count('(')) -%}
        {%- set call = modules.re.search('(\\w*) ?\\(([^()]*)\\)', text.left) -%}
        {%- if call -%}
            {%- set inside = call[2].strip() -%}
            {%- if modules.re.match('(select|with)\\b', inside) -%}
                {% do queries.append(inside) %}
                {%- set simple = call[1] ~ ' subquery ' -%}
            {%- elif call[1] == 'over' and _names_user_id(_partition_of(inside)) -%}
                {%- set simple = ' window_of_user ' -%}
            {%- elif modules.re.fullmatch(aggregates, call[1]) -%}
                {%- set simple = ' aggregate_of ' -%}
            {%- else -%}
                {%- set simple = call[1] ~ ' ' ~ inside ~ ' ' -%}
            {%- endif -%}
            {%- set text.left = text.left[:call.start()] ~ simple ~ text.left[call.end():] -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set single = [] -%}
    {%- for query in queries + [text.left] -%}
        {% do single.extend(modules.re.split('\\b(?:union|intersect|except|minus)\\b', query)) %}
    {%- endfor -%}
    {{ return(single) }}
{% endmacro %}


{# Whether one of a list's terms is user_id itself, of whatever relation. #}
{% macro _names_user_id(terms) %}
    {{ return(modules.re.search('(?:^|,)\\s*(?:\\w+\\.)?user_id\\s*(?:,|$)', terms) is not none) }}
{% endmacro %}


{# The terms of a window's `partition by`. #}
{% macro _partition_of(window) %}
    {%- set partition = modules.re.search('partition by (.*?)(?:\\b(?:order by|rows|range)\\b|$)', window) -%}
    {{ return(partition[1] if partition else '') }}
{% endmacro %}


{# The same for the text of a Python model. #}
{% macro _aggregates_in_python(raw_code) %}
    {%- set found = [] -%}
    {%- set groups = modules.re.findall('(?is)\\b(groupby|partitionby|rollup|cube)\\(([^)]*)\\)', raw_code) -%}
    {%- for name, columns in groups if name | lower in ['rollup', 'cube'] or not modules.re.search('["\'](?:\\w+\\.)?user_id["\']', columns) -%}
        {% do found.append(name ~ ' without user_id') %}
    {%- endfor -%}
    {%- if not groups and modules.re.search('\\.agg\\(|\\.count\\(\\)', raw_code) -%}
        {% do found.append('an aggregate without groupBy') %}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}
