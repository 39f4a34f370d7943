{#
    Returns whether this command may publish now, and holds the lock for it until end_run(). A run
    that lost its lock stops; if a different run holds the lock, the result is false.
#}
{% macro hold_run() %}
    {{ return(adapter.hold_run(*_parts_of_run())) }}
{% endmacro %}
