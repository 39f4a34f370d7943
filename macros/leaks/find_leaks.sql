{#
    Where rows leave the rules that protect them: every model over a protected dataset that
    neither carries user_id through nor has rules of its own. Reads dbt's graph alone, so it
    needs no Spark; empty while dbt parses.

    A protected dataset is one that secure_datasets_config() names: a secure dataset, whose
    rows are per user, or a base, a dataset with policies or one from which a relationship
    leads to a security object, whose rows are of all users. A model with an entry there has
    rules of its own. A column user_id that is not documented is not there.

    Returns  rows of model, rule, protected dataset, path, and what is wrong
#}
{% macro find_leaks() %}
    {%- set found = [] -%}
    {# While dbt parses too: whoever asks depends on what the conditions ref(). #}
    {%- set config = secure_datasets_config() -%}
    {%- if execute -%}
        {%- set protected = _protected_datasets(config) -%}
        {%- set known = {} -%}
        {%- for node in graph.nodes.values() if node.resource_type in ['model', 'snapshot'] and node.unique_id not in protected -%}
            {%- set ways = _ways_from_protected(node, protected, known) -%}
            {%- for way in ways.values() if node.config.materialized != 'ephemeral' -%}
                {%- if not protected[way.path[0]] -%}
                    {% do found.append(_leak(node, 'rules-of-its-own', way.path, 'reads the rows of all users')) %}
                {%- elif way.drops -%}
                    {% do found.append(_leak(node, 'carry-user-id', way.path, way.drops ~ ' has no column user_id')) %}
                {%- endif -%}
            {%- endfor -%}
            {%- for way in ways.values() if protected[way.path[0]] -%}
                {%- for aggregate in _aggregates_across_users(node) if loop.first -%}
                    {% do found.append(_leak(node, 'group-by-user-id', way.path, aggregate)) %}
                {%- endfor -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}


{# The protected datasets' unique ids, and whether their rows are per user. #}
{% macro _protected_datasets(config) %}
    {%- set names = {} -%}
    {%- for policy in config.get('policies') or [] -%}
        {% do names.update({policy.resource.split('.')[0]: false}) %}
    {%- endfor -%}
    {%- for relationship in config.get('relationships') or [] -%}
        {% do names.update({relationship['from'].dataset: false}) %}
    {%- endfor -%}
    {%- for name, dataset in config.datasets.items() -%}
        {% do names.update({dataset.base: false, 'vw_secure_dataset_' ~ name: true}) %}
    {%- endfor -%}
    {%- set protected = {} -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed', 'snapshot'] and node.name in names -%}
        {% do protected.update({node.unique_id: names[node.name]}) %}
    {%- endfor -%}
    {{ return(protected) }}
{% endmacro %}


{#
    The ways to a node from the protected datasets next to it upstream: the path, and the
    first node after the dataset that drops user_id, none if all carry it. Of the ways from
    one dataset, one that carries user_id and one that drops it.

    known    the ways of the nodes visited before, which this adds to
#}
{% macro _ways_from_protected(node, protected, known) %}
    {%- if node.unique_id not in known -%}
        {%- set ways = {} -%}
        {%- set drops = none if 'user_id' in node.columns else node.name -%}
        {%- for parent in (node.get('depends_on') or {}).get('nodes', []) -%}
            {%- if parent in protected -%}
                {% do ways.update({parent ~ (drops is none): {'path': [parent, node.unique_id], 'drops': drops}}) %}
            {%- elif parent in graph.nodes -%}
                {%- for way in _ways_from_protected(graph.nodes[parent], protected, known).values() -%}
                    {%- set drops_here = way.drops or drops -%}
                    {% do ways.update({way.path[0] ~ (drops_here is none): {
                        'path': way.path + [node.unique_id], 'drops': drops_here,
                    }}) %}
                {%- endfor -%}
            {%- endif -%}
        {%- endfor -%}
        {% do known.update({node.unique_id: ways}) %}
    {%- endif -%}
    {{ return(known[node.unique_id]) }}
{% endmacro %}


{# A finding as a row. #}
{% macro _leak(node, rule, path, problem) %}
    {%- set names = [] -%}
    {%- for unique_id in path -%}
        {% do names.append(graph.nodes[unique_id].name) %}
    {%- endfor -%}
    {{ return([node.name, rule, names[0], names | join(' > '), problem]) }}
{% endmacro %}
