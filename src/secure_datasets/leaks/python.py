"""What a Python model may read, as far as its code tells."""

from __future__ import annotations

from dbt_common.exceptions import CompilationError
from sqlglot import exp

from dbt_secure_spark.queries import queries_of_python
from secure_datasets.leaks.proof import NotUnderstood, tokens_and_tree


def what_python_asks(code: str) -> tuple[str, ...] | None:
    """Return the queries of a Python model beside ref() and source(), if it is known.

    None where the code may read by other means: modules that read files, names that are
    put together, what begins with an underscore.
    """
    try:
        queries, views = queries_of_python("", code)
        return tuple(_over_relations(query, views) for query in queries)
    except (SyntaxError, CompilationError, NotUnderstood):
        return None


def _over_relations(query: str, views: set[str]) -> str:
    """Return a query that names relations of a schema and temporary views alone."""
    _, tree = tokens_and_tree(query)
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        is_named = isinstance(table.this, exp.Identifier)
        if not is_named or (not table.db and table.name.lower() not in ctes | views):
            raise NotUnderstood("a relation without a schema")
    return query
