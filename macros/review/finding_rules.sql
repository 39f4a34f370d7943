{#
    The rules of findings, each with its severity `high`, `medium` or `low`: the product's default,
    or the value in the variable `finding_severities`. Each rule is a page in docs/findings.

    Returns  severities by rule
#}
{% macro finding_rules() %}
    {%- set rules = {
        'dormant-admin': 'high',
        'removed-and-still-there': 'high',
        'toxic-pair': 'high',
        'too-many-global-admins': 'medium',
        'dormant-access': 'medium',
        'data-source-without-owner': 'medium',
        'group-parent-ignored': 'medium',
        'void-decision': 'medium',
        'grant-gives-nothing': 'low',
        'grant-has-run-out': 'low',
        'redundant-grant': 'low',
        'second-way': 'low',
    } -%}
    {%- set severities = var('finding_severities') -%}
    {%- if severities is not mapping -%}
        {{ exceptions.raise_compiler_error("finding_severities is '" ~ severities ~ "'; it must be severities by rule.") }}
    {%- endif -%}
    {%- for rule, severity in severities.items() -%}
        {%- if rule not in rules -%}
            {{ exceptions.raise_compiler_error("finding_severities names the rule '" ~ rule ~ "'; the rules are " ~ rules.keys() | join(', ') ~ ".") }}
        {%- elif severity not in ['high', 'medium', 'low'] -%}
            {{ exceptions.raise_compiler_error("finding_severities says '" ~ severity ~ "' of " ~ rule ~ "; it must be high, medium or low.") }}
        {%- endif -%}
        {% do rules.update({rule: severity}) %}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}
