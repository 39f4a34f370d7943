"""The SQL that a proof understands: its parts, functions, tokens and statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from secure_datasets.sql.functions import GENERATORS, names
from secure_datasets.sql.statements import (
    DIALECT,
    FUNCTIONS,
    OF_SEVERAL_ROWS,
    WORDS,
    NotUnderstood,
    functions_called,
    named_with_columns,
    tokens_and_tree,
)

Name = tuple[str, str]
# Columns that a file or a table format adds: they reveal the places of rows.
HIDDEN = names(
    """
    _change_type _commit_timestamp _commit_version _deleted _file
    _last_updated_sequence_number _metadata _partition _pos _row_id _spec_id
    """
)
GENERATOR_NODES = (exp.UDTF, exp.Explode, exp.Posexplode, exp.Inline, exp.Stack)
# Window functions that the parser does not count among the aggregates.
WINDOW_NODES = tuple(
    {exp.RowNumber, exp.Rank, exp.DenseRank, exp.CumeDist, exp.PercentRank, exp.Ntile}
)
# The known arguments of the parts of a query. Every further argument is refused.
PARTS: dict[type, frozenset[str]] = {
    exp.Select: names(
        "with_ expressions from_ joins laterals where group having qualify windows"
        " distinct order sort cluster distribute limit offset hint"
    ),
    exp.SetOperation: names("with_ this expression distinct order limit offset"),
    exp.Subquery: frozenset(("this", "alias", "with_", "pivots")),
    exp.Table: frozenset(("this", "db", "catalog", "alias", "sample", "pivots")),
    exp.TableSample: names("percent size bucket_numerator bucket_denominator seed"),
    exp.Pivot: names(
        "expressions fields unpivot include_nulls alias columns pivot_column_naming"
    ),
    exp.Join: frozenset(("this", "side", "kind", "on", "using", "method")),
    exp.Lateral: frozenset(("this", "view", "outer", "alias")),
    exp.CTE: frozenset(("this", "alias")),
    exp.With: frozenset(("expressions", "recursive")),
    exp.TableAlias: frozenset(("this", "columns")),
    exp.Star: frozenset(("except_",)),
    exp.Group: frozenset(
        ("expressions", "all", "rollup", "cube", "grouping_sets", "totals")
    ),
    exp.Window: frozenset(("this", "partition_by", "order", "spec", "alias", "over")),
    exp.Distinct: frozenset(("expressions",)),
    exp.Values: frozenset(("expressions", "alias")),
}
# Hints change the execution of a query, but not its result.
HINTS = names(
    """
    broadcast broadcastjoin coalesce mapjoin merge mergejoin rebalance repartition
    repartition_by_range shuffle_hash shuffle_merge shuffle_replicate_nl shufflemerge
    """
)
# Statements that write no rows.
UPKEEP = (exp.Grant, exp.Revoke, exp.Analyze, exp.Comment, exp.Refresh)
UPKEEP_COMMANDS = {"ANALYZE", "OPTIMIZE", "VACUUM", "REFRESH", "MSCK", "MSCK REPAIR"}
# A setting that changes how long a query takes, and no result.
SET_FOR_SPEED = re.compile(
    r"set\s+spark\.sql\.(shuffle\.partitions|adaptive\.(?!custom)[\w.]+)\s*=\s*\w+",
    re.I,
)
# The key of a parsed query's metadata: whether commas separate relations.
COMMAS = "commas"
# Functions that make rows from one row, or a value, by a time: a group by them holds no
# further rows. They also add a column, which a star may have or not.
OF_TIMES = names("session_window window window_time")


class UnknownRelation(NotUnderstood):
    """The query reads a relation that the project does not know."""


def words_of(column: exp.Column) -> set[str]:
    """Return the parts of a column's name."""
    return {part.name.lower() for part in column.parts}


def check_commas(joins: list[exp.Join]) -> None:
    """Raise if a join after a comma may name a relation before the comma.

    Spark reads `a, b join c` as `a cross join (b join c)`.
    """
    here: set[str] | None = None
    for join in joins:
        name = join.this.alias_or_name.lower()
        if (join.kind or "").upper() == "CROSS":
            here = {name}
            continue
        if here is None:
            continue
        here.add(name)
        on = join.args.get("on")
        named = {c.table.lower() for c in on.find_all(exp.Column)} if on else set()
        is_outer = (join.side or "").upper() in ("RIGHT", "FULL")
        is_shared = join.args.get("using") or join.args.get("method")
        if is_outer or is_shared or not here >= named:
            raise NotUnderstood("a join after a comma: write cross join for the comma")


def walk(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the parts of an expression; a subquery's own parts are left out."""
    yield node
    if subquery_of(node) is not None:
        if isinstance(node, exp.In):
            yield from walk(node.this)
        return
    if isinstance(node, exp.Query):
        return
    for child in node.iter_expressions():
        yield from walk(child)


def subquery_of(node: exp.Expression) -> exp.Expression | None:
    """Return the query of a subquery in an expression."""
    if isinstance(node, exp.In):
        return node.args.get("query")
    if isinstance(node, exp.Subquery):
        return node
    if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
        return node.this
    return None


def check_parts(node: exp.Expression) -> None:
    """Raise NotUnderstood if a part of a query has an unknown argument."""
    kind = next(kind for kind in PARTS if isinstance(node, kind))
    for name, value in node.args.items():
        if value and name not in PARTS[kind]:
            raise NotUnderstood(
                f"{name.strip('_')} in {kind_of(node)} is not known here"
            )


def check_function(node: exp.Func) -> None:
    """Raise NotUnderstood if a function is not Spark's own."""
    known = FUNCTIONS | OF_TIMES
    if isinstance(node, exp.Anonymous) and node.name.lower() not in known:
        raise NotUnderstood(f"the function {node.name.lower()} is not known here")


def is_aggregate(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in OF_SEVERAL_ROWS
    return isinstance(node, (exp.AggFunc, *WINDOW_NODES))


def is_windowed(node: exp.Expression) -> bool:
    """Whether a window applies to an aggregate."""
    while isinstance(
        node.parent, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)
    ):
        if node.arg_key != "this":
            return False
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def is_generator(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in GENERATORS
    return isinstance(node, GENERATOR_NODES)


def has_generator(node: exp.Expression) -> bool:
    return any(map(is_generator, node.find_all(exp.Func)))


def kind_of(node: exp.Expression) -> str:
    return type(node).__name__.lower()


def text_of(node: exp.Expression) -> str:
    return node.sql(dialect=DIALECT, comments=False)


def _check_functions(tokens: list[Token], nodes: list[exp.Expression]) -> None:
    """Raise unless each function is Spark's own, and the parser knows the aggregates.

    Otherwise an aggregate would go unseen if a version of the parser took it for a
    function of one row.
    """
    known = FUNCTIONS | OF_TIMES
    named = named_with_columns(nodes)
    called = [(parts[-1].lower(), len(parts) > 1) for parts in functions_called(tokens)]
    for word, is_qualified in called:
        if is_qualified:
            raise NotUnderstood(f"the function {word} of a schema is not known here")
        if word not in known and word not in WORDS and word not in named:
            raise NotUnderstood(f"the function {word} is not known here")
    functions = [node for node in nodes if isinstance(node, exp.Func)]
    for function in functions:
        if function.name.lower() != "range":
            check_function(function)
    spelled = sum(word in OF_SEVERAL_ROWS for word, _ in called)
    # The `any` of `like any (...)` is no aggregate.
    spelled -= sum(
        isinstance(node, exp.Any) and isinstance(node.parent, (exp.Like, exp.ILike))
        for node in nodes
    )
    if spelled != sum(map(is_aggregate, functions)):
        raise NotUnderstood("an aggregate is not read as one")


def _check_hints(sql: str, tokens: list[Token]) -> None:
    """Raise unless each hint is known, and ends in Spark at the same place as here."""
    hints = [token.text for token in tokens if token.token_type is TokenType.HINT]
    texts = [token.text for token in tokens if token.token_type is TokenType.STRING]
    if sql.count("/*+") != sum(text.count("/*+") for text in (*hints, *texts)):
        raise NotUnderstood("a hint stands beside another, or not after its select")
    for hint in hints:
        body = hint.removeprefix("/*+").removesuffix("*/").lower()
        words = re.sub(r"\([^()]*\)", " ", body).replace(",", " ").split()
        if not re.fullmatch(r"[\w\s.,()]*", body) or not HINTS.issuperset(words):
            raise NotUnderstood(f"the hint {body.strip()} is not known here")


def parse(sql: str) -> exp.Expression:
    """Parse one query with known functions only, or raise NotUnderstood."""
    tokens, tree = tokens_and_tree(sql)
    _check_hints(sql, tokens)
    for hint in list(tree.find_all(exp.Hint)):
        # A hint changes the execution, not the result.
        hint.pop()
    _check_functions(tokens, list(tree.walk()))
    # The parser takes a comma between relations for a cross join.
    crossed = sum(token.token_type is TokenType.CROSS for token in tokens)
    crosses = [j for j in tree.find_all(exp.Join) if (j.kind or "").upper() == "CROSS"]
    tree.meta[COMMAS] = len(crosses) > crossed
    for select in tree.find_all(exp.Select):
        _leave_brackets(select)
    return tree


def _leave_brackets(select: exp.Select) -> None:
    """Take joins in brackets out of them where they stand first: they come first."""
    begun = select.args.get("from_")
    while begun and isinstance(begun.this, exp.Subquery):
        brackets, first = begun.this, begun.this.this
        joins = [*(first.args.get("joins") or []), *(brackets.args.get("joins") or [])]
        named = {name for name, value in brackets.args.items() if value}
        if isinstance(first, exp.Query) and not isinstance(first, exp.Subquery):
            return
        if not joins or named - {"this", "joins"}:
            return
        for each in (first, brackets):
            each.set("joins", None)
        begun.set("this", first)
        select.set("joins", [*joins, *(select.args.get("joins") or [])])


def check_names(names: Iterable[str]) -> None:
    """Raise if Spark may take two names for one that are not one in lower case.

    It finds a CTE, and a column of a `using`, by Java's comparison without case, which
    also takes a long s for an s, and an i without a dot for an i.
    """
    found: dict[str, str] = {}
    for name in sorted({name.lower() for name in names}):
        other = found.setdefault("".join(map(_java_letter, name)), name)
        if other != name:
            raise NotUnderstood(f"Spark may take {name} and {other} for one name")


def _java_letter(letter: str) -> str:
    """Return a letter as Java's `equalsIgnoreCase` compares it: one stays one."""
    upper = letter.upper()
    return (upper if len(upper) == 1 else letter).lower()[0]


def is_of_a_row(sql: str) -> bool:
    """Whether an expression reads one row only, whatever it calls."""
    try:
        tree = parse(f"select {sql} from rows")
    except NotUnderstood:
        return False
    return not any(
        isinstance(node, (exp.Subquery, exp.Window))
        or (isinstance(node, exp.Anonymous) and node.name.lower() in OF_TIMES)
        or (isinstance(node, exp.Query) and node is not tree)
        or is_aggregate(node)
        for node in tree.walk()
    )


def is_upkeep(sql: str) -> bool:
    """Whether a statement maintains a table and writes no rows."""
    try:
        tokens, tree = tokens_and_tree(sql)
        _check_hints(sql, tokens)
    except NotUnderstood:
        return False
    if isinstance(tree, exp.Set):
        return bool(SET_FOR_SPEED.fullmatch(sql.strip()))
    if isinstance(tree, exp.Command):
        return tree.name.upper() in UPKEEP_COMMANDS
    if isinstance(tree, exp.Alter):
        actions = tree.args.get("actions") or []
        is_of_table = actions and tree.args.get("kind") == "TABLE"
        return bool(is_of_table) and all(map(_tells, actions))
    return isinstance(tree, UPKEEP)


def _tells(action: exp.Expression) -> bool:
    """Whether an action of `alter table` says something of rows, and changes none."""
    given = {name for name, value in action.args.items() if value}
    if isinstance(action, exp.AlterColumn):
        is_not_null = given == {"this"} and action.args.get("allow_null") is False
        return given == {"this", "comment"} or is_not_null
    if isinstance(action, exp.AddConstraint):
        # With `rely`, the engine takes a constraint for true, and leaves out steps.
        return not any(
            part.args.get("options")
            or isinstance(part, exp.Query)
            or (isinstance(part, exp.Func) and not isinstance(part, exp.Connector))
            for part in action.walk()
        )
    return (
        isinstance(action, exp.AlterSet)
        and given == {"expressions"}
        and all(isinstance(each, exp.Properties) for each in action.expressions)
    )


def deletes_from(sql: str, relation: Name) -> bool:
    """Whether a statement deletes rows of a relation, each by its own columns."""
    try:
        tokens, tree = tokens_and_tree(sql)
        _check_hints(sql, tokens)
        nodes = list(tree.walk())
        _check_functions(tokens, nodes)
    except NotUnderstood:
        return False
    given = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Delete) or not given <= {"this", "where"}:
        return False
    is_own = isinstance(tree.this, exp.Table) and relation_named(tree.this) == relation
    return is_own and not any(
        isinstance(node, (exp.Query, exp.Window))
        or (isinstance(node, exp.Table) and node is not tree.this)
        or (isinstance(node, exp.Column) and HIDDEN & words_of(node))
        or is_aggregate(node)
        or is_generator(node)
        for node in nodes
    )


def relations_of(tree: exp.Expression) -> set[Name]:
    """Return the relations that a query names with their schema."""
    return {
        relation_named(table)
        for table in tree.find_all(exp.Table)
        if table.db and isinstance(table.this, exp.Identifier)
    }


def relation_named(table: exp.Table) -> Name:
    """Return the schema and the name of a table."""
    return schema_and_name(table.catalog, table.db, table.name)


def schema_and_name(catalog: str, schema: str, name: str) -> Name:
    """Return a schema and a name; the schema includes a catalog that is not Spark's."""
    is_own = catalog.lower() in ("", "spark_catalog")
    found = schema if is_own else f"{catalog}.{schema}"
    return found.lower(), name.lower()
