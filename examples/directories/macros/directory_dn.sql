{#- A DN in the form in which DNs are compared: in small letters, without the spaces around its
    parts, with one way to write what is escaped. Two forms that are not told to be equal are two
    DNs: such a member is not found, and has no right. -#}
{% macro directory_dn(dn) -%}
{%- set escaped = namespace(sql=dn) -%}
{%- for sign, code in [("\\\\\\\\", "5c"), ("\\\\,", "2c"), ("\\\\+", "2b"), ("\\\\=", "3d"), ("\\\\;", "3b"), ("\\\\#", "23"), ("\\\\<", "3c"), ("\\\\>", "3e"), ('\\\\"', "22"), ("\\\\ ", "20")] -%}
{%- set escaped.sql = "replace(" ~ escaped.sql ~ ", '" ~ sign ~ "', '\\\\" ~ code ~ "')" -%}
{%- endfor -%}
lower(trim(regexp_replace({{ escaped.sql }}, ' *([,=+]) *', '$1')))
{%- endmacro %}
