{#
    The inputs of a timeline: the models of access, the raw tables that are staged for them with
    their queries, the seeds, and the parts of each tier.
#}
{% macro timeline_parts(timelines) %}
    {{ return(timelines.parts(secure_datasets, graph.nodes, render)) }}
{% endmacro %}
