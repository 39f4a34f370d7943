{#
    Which row-security objects restrict a dataset, and by which way. It is the one place of
    the rules by scope:

    what the dataset reads                                   related  fact      all
    the secured level, or what has a way to it, and no fact  yes      yes       yes
    dimensions tied to it only through a fact, and no fact   no       no        yes
    a fact, and the secured level                            no       yes       yes
    a fact, without the secured level                        no       totals    totals
    what is tied to it in no way                             no       no        no

    yes: always; totals: if the object has secure_totals. So are attributes above the secured
    level alone. A column of a fact itself is below every level.

    Renders   nothing; returns a list of `object`, the entry, `keys_name`, the name of the CTE
              with the keys that a row must have, `path`, the relationships that lead to the
              object from what the dataset reads or from a fact, and then `links`, those that
              lead from the fact to what the dataset reads

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro restrictions_on(dataset, config) %}
    {%- set query = star_query(dataset, config) -%}
    {%- set found = [] -%}
    {%- for object in config.row_security or [] if query -%}
        {%- set path = _path_to_object(query.root, object, config) -%}
        {%- if path -%}
            {%- set is_in_scope = not query.has_fact or object.scope != 'related' -%}
            {%- if is_in_scope and (object.get('secure_totals', true) or _shows_secured_level(query, object, config)) -%}
                {% do found.append({
                    'keys_name': object.unique_name, 'object': object, 'path': path, 'links': none,
                }) %}
            {%- endif -%}
        {%- elif object.scope == 'all' and not query.has_fact -%}
            {% do found.extend(_restrictions_through_facts(query.root, object, config)) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The restrictions of a dimension that facts alone tie to the object: it must meet all. #}
{% macro _restrictions_through_facts(root, object, config) %}
    {%- set found = [] -%}
    {%- for fact, relation in config.relations.items() if relation.kind == 'fact' -%}
        {%- set links = relationship_paths(fact, config).get(root) -%}
        {%- set path = _path_to_object(fact, object, config) -%}
        {%- if links and path -%}
            {% do found.append({
                'keys_name': object.unique_name ~ '_through_' ~ fact,
                'object': object, 'path': path, 'links': links,
            }) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The relationships from a relation to a row-security object, the last one to itself. #}
{% macro _path_to_object(start, object, config) %}
    {%- set paths = relationship_paths(start, config) -%}
    {%- set found = [] -%}
    {%- for link in config.relationships if link.to.row_security == object.unique_name and link['from'].dataset in paths -%}
        {% do found.append(paths[link['from'].dataset] + [link]) %}
    {%- endfor -%}
    {%- for path in found if path | length == found | map('length') | min -%}
        {{ return(path) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# Whether a dimension shows the secured level or one below it, and not only ones above. #}
{% macro _shows_secured_level(query, object, config) %}
    {%- for relation, column in query.columns -%}
        {%- set path = _path_to_object(relation, object, config) -%}
        {%- if path and (path | length > 1 or not _is_above(column, path[0], config)) -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Whether a column is at a higher level than the one that is secured. #}
{% macro _is_above(column, link, config) %}
    {%- set level = namespace(of_column=0, of_key=0) -%}
    {%- for columns in config.relations[link['from'].dataset].get('levels', []) -%}
        {%- if column in columns -%}
            {%- set level.of_column = loop.index0 -%}
        {%- endif -%}
        {%- if link['from'].join_columns[0] in columns -%}
            {%- set level.of_key = loop.index0 -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(level.of_column > level.of_key) }}
{% endmacro %}
