{#
    Says whether this command may publish something now, and holds the lock for it until
    end_run(): a run that lost its lock is stopped, and beside another run the answer is no.
#}
{% macro hold_run() %}
    {{ return(adapter.hold_run(*_parts_of_run())) }}
{% endmacro %}
