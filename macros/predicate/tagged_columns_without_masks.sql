{#
    The columns with a tag in the documentation and without a mask: resource, tags and reason.

    config   the document of secure_datasets_config()
    but      tags that need no mask
#}
{% macro tagged_columns_without_masks(config, but) -%}
{%- set queries = [] -%}
{%- for bare in adapter.secure_datasets().bare_tags(config, but, secure_datasets.readers_clock()) -%}
{%- set query -%}
select
    {{ secure_datasets.sql_text(bare.resource) }} as resource,
    {{ secure_datasets.sql_text(bare.tags) }} as tags,
    {{ secure_datasets.sql_text('no mask is on it: write a policy with the resource {tag: ...}, or let the var tags_without_masks list the tag') }} as reason
where {{ bare.is_bare }}
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{{ secure_datasets.union_of(queries) }}
{%- endmacro %}
