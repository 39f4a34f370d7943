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
              with the keys that a row must have, `alias`, its name where it is joined,
              `columns`, by which it restricts, `path`, the relationships that lead to the
              object, and `ways`, those of a dimension that only facts tie to it

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro restrictions_on(dataset, config) %}
    {{ return(adapter.secure_datasets().restrictions_on(dataset, config)) }}
{% endmacro %}
