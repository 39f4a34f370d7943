{#
    What the config's policies say of one dataset, with the defaults filled in. Under view
    authorization they are those at the end of its chain: its own would be rules on a view.

    Renders   nothing; returns `conditions`, a list of role and text, `masks`, for each masked
              column its masks, the highest order first, `roles`, for each role that they name
              the field that tells whether a user holds it, and `is_authorized`, whether
              view authorization says for whom they hold

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro policies_on(name, config) %}
    {%- set conditions, masks, roles = [], {}, [] -%}
    {%- set ruled = end_of_chain(name, config) -%}
    {%- for policy in config.policies or [] if policy.resource.split('.')[0] == ruled -%}
        {%- set column = policy.resource.split('.')[1:] | first -%}
        {#- A mask that names whom it spares is checked, and must not be rendered as none. -#}
        {%- if 'except' in policy -%}
            {% do _config_error("dataset '" ~ name ~ "'", "a mask has 'except', which is not rendered yet") %}
        {%- endif -%}
        {%- set rule = {
            'role': policy.role,
            'condition': _policy_text(policy.get('condition', true)),
            'mask': _policy_text(policy.mask),
            'mask_order': policy.get('mask_order', 0),
            'mask_on_null': policy.get('mask_on_null', 'mask'),
            'check': policy.get('check', true),
        } -%}
        {%- if column -%}
            {% do masks.setdefault(column, []).append(rule) %}
        {%- else -%}
            {% do conditions.append(rule) %}
        {%- endif -%}
        {%- if policy.role not in roles -%}
            {% do roles.append(policy.role) %}
        {%- endif -%}
    {%- endfor -%}
    {%- for column, rules in masks.items() -%}
        {% do masks.update({column: rules | sort(attribute='mask_order', reverse=true)}) %}
    {%- endfor -%}
    {%- set is_authorized = config.datasets[name].get('view_authorization', false) -%}
    {{ return({'conditions': conditions, 'masks': masks, 'roles': _role_fields(roles), 'is_authorized': is_authorized}) }}
{% endmacro %}


{#
    What each role's field of `held_roles` is called: as the role, on one line. Spark finds a
    field whatever the case of its letters, so roles that are alike are told apart by a number.
#}
{% macro _role_fields(roles) %}
    {%- set names, fields = [], {} -%}
    {%- for role in roles -%}
        {%- do names.append(role.split() | join(' ')) -%}
    {%- endfor -%}
    {#- Which letters beyond ASCII Spark takes for the same is not ours to know. -#}
    {%- set are_alike = names | unique | list | length < names | length or not (names | join).isascii() -%}
    {%- for role in roles -%}
        {%- do fields.update({role: (loop.index ~ ' ' if are_alike else '') ~ names[loop.index0]}) -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# A condition or a mask as SQL: YAML reads a bare true or 0 as more than text. #}
{% macro _policy_text(value) %}
    {{ return((value | string | lower) if value is boolean else (value | string | trim)) }}
{% endmacro %}
