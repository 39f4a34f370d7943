{#
    The row-security objects that restrict a dataset, and the path to each. The rules by scope
    stand here alone:

    the dataset reads                                        related  fact      all
    the secured level, or a path to it, and no fact          yes      yes       yes
    dimensions tied to it only through a fact, and no fact   no       no        yes
    a fact, and the secured level                            no       yes       yes
    a fact, without the secured level                        no       totals    totals
    nothing that is tied to it                               no       no        no

    yes: always; totals: if the object has secure_totals. Attributes above the secured level
    alone count as totals. A column of a fact itself is below every level.

    Renders   nothing; returns a list of `object`, the entry, `keys_name`, the name of the CTE
              with the keys that a row must have, `alias`, its name in joins, `columns`, the
              restricting columns, `path`, the relationships that lead to the object, and
              `ways`, the paths of a dimension that only facts tie to it

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro restrictions_on(dataset, config) %}
    {{ return(adapter.secure_datasets().restrictions_on(dataset, config)) }}
{% endmacro %}
