"""Judges all models, and finds models that hold protected rows without their rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from secure_datasets.leaks.proof import (
    CARRY,
    GROUP,
    OPEN,
    OWN,
    UNPROVEN,
    USER,
    tree_rows,
)
from secure_datasets.leaks.scope import FIELD, Problem, Rows
from secure_datasets.leaks.understood import Name, parse, relations_of
from secure_datasets.sql.statements import NotUnderstood, tokens_and_tree

ALL_USERS = "reads the rows of all users"
UNKNOWN = "unknown"
Path = tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """A relation that the project stores or publishes, or that a database holds.

    name        the name for people
    relation    its schema and name in the database; none for a text without a relation
    queries     the compiled SQL of its rows; several if the SQL depends on the run;
                empty if the model is not judged
    reads       the keys of the models that it is known to read, with or without queries
    unproven    the reason why the queries prove nothing
    is_as_made  whether the relation has the columns of the queries in their order
    replaces    how a different user's rows may replace the rows of a user, if they do
    asks        its queries besides `reads`, if they are known: then the lack of a proof
                matters only over protected rows
    """

    name: str
    relation: Name | None
    queries: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    unproven: str | None = None
    is_as_made: bool = True
    replaces: str | None = None
    asks: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Protected:
    """The relations whose rows the models must keep apart.

    per_user   for the key of each relation with user_id, its columns, if their order is
               known
    for_all    the keys of relations with the rows of all users
    ruled      the keys of relations that are not judged: they have their own rules, or
               are the product's, for administrators
    """

    per_user: Mapping[str, tuple[str, ...] | None]
    for_all: frozenset[str]
    ruled: frozenset[str]


@dataclass(frozen=True)
class Finding:
    """A model that holds protected rows without their rules, or may do so."""

    model: str
    rule: str
    dataset: str
    path: Path
    problem: str


@dataclass(frozen=True)
class State:
    """The known properties of a model's rows, and their paths to the model."""

    rows: Rows
    paths: frozenset[Path] = frozenset()
    findings: tuple[Finding, ...] = field(default=())


class Detector:
    """Judges each model once, after the models that it reads."""

    def __init__(self, models: Mapping[str, Model], protected: Protected) -> None:
        self.models = models
        self.protected = protected
        self.states: dict[str, State] = {}
        # The models whose judgement has begun: each reads the next.
        self.begun: set[str] = set()
        # A source may be declared over the relation of a model.
        self.keys: dict[Name, list[str]] = {}
        for key, model in models.items():
            if model.relation:
                self.keys.setdefault(model.relation, []).append(key)

    def findings(self) -> list[Finding]:
        """Return the findings of all models."""
        found: list[Finding] = []
        for key, model in self.models.items():
            if key not in self.protected.ruled:
                found += self.look_at(key).findings
            elif model.unproven:
                # The rows at risk are its own: it may write them elsewhere.
                ways = ((model.name,),)
                found += self.found(key, model, UNPROVEN, ways, model.unproven).findings
        return sorted(found, key=lambda f: (f.model, f.path, f.rule))

    def state(self, key: str) -> State:
        """Return the state of a model for its readers."""
        name = self.models[key].name
        if key in self.protected.per_user:
            columns = self.protected.per_user[key]
            odd = frozenset(c.lower() for c in columns or () if c != c.lower())
            columns = tuple(c.lower() for c in columns) if columns else None
            rows = Rows(columns, frozenset((USER,)), frozenset((key,)), odd=odd)
            return State(rows, frozenset(((name,),)))
        if key in self.protected.for_all:
            problem = Problem(OWN, ALL_USERS)
            rows = Rows(None, frozenset(), frozenset((key,)), problem)
            return State(rows, frozenset(((name,),)))
        return self.look_at(key)

    def look_at(self, key: str) -> State:
        """Return the state of a model by its own queries.

        Raises NotUnderstood if the model reads itself.
        """
        if key not in self.states:
            if key in self.begun:
                raise NotUnderstood(f"{self.models[key].name} reads itself")
            self.begun.add(key)
            self.states[key] = self.judged(key, self.models[key])
            self.begun.remove(key)
        return self.states[key]

    def judged(self, key: str, model: Model) -> State:
        """Judge a model by the worst of its queries."""
        if model.unproven:
            return self.judged_unproven(key, model, model.unproven)
        states = [self.judged_query(key, model, query) for query in model.queries]
        with_findings = [state for state in states if state.findings]
        protected = [state for state in states if state.rows.reads]
        return next(iter([*with_findings, *protected, *states]), State(OPEN))

    def judged_unproven(self, key: str, model: Model, reason: str) -> State:
        """Judge a model without queries: it is open if it reads only open relations."""
        # A source may be declared over the relation of a model.
        read = {same for each in model.reads for same in self.keys_of_relation(each)}
        is_known = model.asks is not None
        for query in model.asks or ():
            try:
                names = relations_of(tokens_and_tree(query)[1])
            except NotUnderstood:
                is_known = False
            else:
                is_known = is_known and names <= self.keys.keys()
                read |= self.keys_of(names)
        is_known = is_known and read <= self.models.keys() - self.begun
        if is_known and not any(self.state(each).rows.reads for each in sorted(read)):
            return State(OPEN)
        return self.unproven(key, model, reason, read)

    def keys_of_relation(self, key: str) -> list[str]:
        """Return a key, and all further keys of the same relation."""
        model = self.models.get(key)
        return [key, *self.keys.get(model.relation, ())] if model else [key]

    def keys_of(self, names: Iterable[Name]) -> set[str]:
        """Return the keys of all models of some relations."""
        return {key for name in names for key in self.keys.get(name, ())}

    def judged_query(self, key: str, model: Model, query: str) -> State:
        """Judge a model by one of its queries."""
        read: set[str] = set()
        own = frozenset((key,))
        try:
            tree = parse(query)
            names = relations_of(tree)
            read = self.keys_of(names) - own
            states = {parent: self.state(parent) for parent in sorted(read)}
            bad = {k: s for k, s in states.items() if s.rows.problem}
            if bad:
                return self.over_rows_of_all(key, model, bad)
            if model.relation in names:
                # What any of its queries read may be among its earlier rows.
                for other in model.queries:
                    read |= self.keys_of(relations_of(parse(other))) - own
            made_of = [self.state(parent) for parent in sorted(read)]
            is_open = not any(state.rows.reads for state in made_of)

            def resolve(name: Name) -> Rows | None:
                if name == model.relation:
                    return before
                return _worst([states[each].rows for each in self.keys.get(name, ())])

            # Its queries made the earlier rows of the relation.
            before = OPEN
            if model.relation in names:
                columns = tree_rows(tree, resolve).columns
                keys = frozenset() if is_open else frozenset((USER,))
                reads = frozenset() if is_open else own
                # dbt adds rows by the columns' names.
                before = Rows(columns, keys, reads, is_unordered=not model.is_as_made)
            rows = tree_rows(tree, resolve)
        except NotUnderstood as reason:
            return self.unproven(key, model, str(reason), read)
        except Exception as error:
            # An error in the proof is no proof either.
            reason = f"the proof of it failed: {type(error).__name__}"
            return self.unproven(key, model, reason, read)
        columns = rows.columns if model.is_as_made else None
        if not rows.reads:
            return State(replace(rows, columns=columns, keys=frozenset()))
        of_others = [states[parent] for parent in rows.reads - own] or made_of
        paths = self.paths(model, of_others)
        if USER in rows.keys and model.replaces:
            return self.found(key, model, GROUP, paths, model.replaces)
        if USER in rows.keys:
            reads = frozenset((key,))
            kept = replace(rows, columns=columns, keys=frozenset((USER,)), reads=reads)
            return State(kept, paths)
        named = ", ".join(sorted(key.replace(FIELD, ".") for key in rows.keys))
        problem = rows.problem or Problem(
            CARRY, f"user_id is not among its columns, but as {named}"
        )
        responsible = problem.reads - own or rows.reads - own
        ways = self.paths(model, [states[parent] for parent in responsible] or made_of)
        return self.found(key, model, problem.rule, ways, problem.text)

    def over_rows_of_all(
        self, key: str, model: Model, parents: Mapping[str, State]
    ) -> State:
        """Judge a model that reads rows without a user_id to separate them."""
        states = []
        for parent, state in parents.items():
            problem = state.rows.problem or Problem(OWN, ALL_USERS)
            text = problem.text
            if parent not in self.protected.for_all and not text.startswith("through "):
                text = f"through {self.models[parent].name}: {text}"
            ways = self.paths(model, [state])
            states.append(self.found(key, model, problem.rule, ways, text))
        found = tuple(finding for state in states for finding in state.findings)
        paths = frozenset(path for state in states for path in state.paths)
        return State(states[0].rows, paths, found)

    def unproven(
        self, key: str, model: Model, reason: str, read: Iterable[str] = ()
    ) -> State:
        """Judge a model without a proof: each path to it is a finding."""
        parents = {*read, *model.reads} & (self.models.keys() - self.begun)
        ways = self.paths(model, [self.state(parent) for parent in sorted(parents)])
        ways = ways or frozenset(((UNKNOWN, model.name),))
        return self.found(key, model, UNPROVEN, ways, reason)

    @staticmethod
    def found(
        key: str, model: Model, rule: str, paths: Iterable[Path], text: str
    ) -> State:
        """Return a model's state with a finding for each path."""
        paths = frozenset(paths)
        findings = tuple(
            Finding(model.name, rule, path[0], path, text) for path in sorted(paths)
        )
        reads = frozenset((key,))
        rows = Rows(None, frozenset(), reads, Problem(rule, text, reads))
        return State(rows, paths, findings)

    @staticmethod
    def paths(model: Model, states: Iterable[State]) -> frozenset[Path]:
        """Return the paths to a model through its parents, one from each dataset."""
        ways: dict[str, Path] = {}
        for path in sorted((p for s in states for p in s.paths), key=len, reverse=True):
            ways[path[0]] = (*path, model.name)
        return frozenset(ways.values())


def _worst(rows: list[Rows]) -> Rows | None:
    """Return the worst state of a relation with several keys."""
    rows = [each for each in rows if each.reads] or rows
    if len(rows) < 2:
        return rows[0] if rows else None
    columns = {each.columns for each in rows}
    keys = frozenset.intersection(*(each.keys for each in rows))
    reads = frozenset().union(*(each.reads for each in rows))
    text = "two nodes make it, and no column tells the users of both apart"
    problem = Problem(CARRY, text, reads) if reads and not keys else None
    odd = frozenset().union(*(each.odd for each in rows))
    inexact = frozenset().union(*(each.inexact for each in rows))
    known = columns.pop() if len(columns) == 1 else None
    return Rows(known, keys, reads, problem, odd, inexact)
