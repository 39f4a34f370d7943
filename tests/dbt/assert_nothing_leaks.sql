-- Fails with each path on which rows leave the rules that protect them.
-- Asks the graph itself and not the model `leaks`, which a new model may not be in yet.
{{ config(meta={'print_failures': true}) }}

select
    rule,
    path,
    problem,
    exception_expires_on
from (
    {{ secure_datasets.leaks_query() | indent }}
) as leaks
where not is_excused
