"""Runs many random cases of policies at once and compares them with the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product

from oracle.policies import Case, names_reader
from policy_sandbox import Sandbox, as_text, view_name
from projects import ROOT
from random_policies import COLUMNS, document, random_case, tables
from rendering import Macros


class Battery:
    """The cases of some seeds, their tables made once."""

    def __init__(
        self,
        sandbox: Sandbox,
        seeds: Iterable[int],
        only_queries: bool = False,
    ) -> None:
        self.sandbox = sandbox
        self.cases: dict[int, Case] = {seed: random_case(seed) for seed in seeds}
        if only_queries:
            for case in self.cases.values():
                case.policies = []
                case.datasets = [item for item in case.datasets if item.is_query]
        self.expected = {
            (seed, name): Counter(map(as_text, rows))
            for seed, case in self.cases.items()
            for name, rows in case.expected().items()
        }
        self._load()

    def _load(self) -> None:
        """Make one table of each kind with the rows of all cases, and views of it."""
        together: dict[str, tuple[str, list[tuple]]] = {}
        for seed, case in self.cases.items():
            for name, (schema, rows) in tables(case).items():
                _, lines = together.setdefault(name, (schema, []))
                lines += [(seed, *row) for row in rows]
        for name, (schema, lines) in together.items():
            columns = dict(part.strip().split(" ", 1) for part in schema.split(", "))
            # A view reads what bears the name when it is read: so one name a battery.
            of_all = view_name(f"{min(self.cases)}_and_more_{name}")
            self.sandbox.load(of_all, {"seed": "int"} | columns, lines)
            for seed in self.cases:
                self.sandbox.view(
                    view_name(f"{seed}_{name}"),
                    f"select {', '.join(columns)} from {of_all} where seed = {seed}",
                )

    def found(self) -> dict[tuple[int, str], Counter]:
        """Return the rows of the datasets."""
        asked = []
        for seed, case in self.cases.items():
            macros = self.macros(seed)
            for dataset in case.datasets:
                view = view_name(f"{seed}_vw_secure_dataset_{dataset.name}")
                self.sandbox.view(view, macros.secure_dataset(dataset.name))
                columns = [*dataset.columns, "user_id"]
                asked.append(((seed, dataset.name), columns, view))
        gotten: dict[tuple[int, str], Counter] = {
            key: Counter() for key in self.expected
        }
        for key, columns, row in self.sandbox.several(asked):
            gotten[key][as_text(dict(zip(columns, row, strict=True)))] += 1
        return gotten

    def macros(self, seed: int) -> Macros:
        """Return the macros over the config of a case."""
        case = self.cases[seed]
        return Macros(
            document(case),
            ref=lambda model: view_name(f"{seed}_{model}"),
            types=self._types(case),
            clock=case.moment,
        )

    def broken_laws(
        self, names: Iterable[str], seeds: Iterable[int] | None = None
    ) -> dict[tuple[int, str], list]:
        """Return what data tests find of the views that `found` has made.

        seeds  the cases to look at: all unless they are given
        """
        texts = {name: (ROOT / f"tests/dbt/{name}.sql").read_text() for name in names}
        asked = {}
        for seed in self.cases if seeds is None else seeds:
            macros = self.macros(seed)
            for name, text in texts.items():
                asked[seed, name] = self.sandbox.answer(macros.rendered(text))
        return {key: rows for key, rows in asked.items() if rows}

    def differences(self) -> dict[tuple[int, str], tuple]:
        """Return, of each dataset that differs, rows too many and rows missing."""
        return self.differences_of(self.found())

    def differences_of(self, found: dict[tuple[int, str], Counter]) -> dict:
        """Return the same of what was found."""
        return {
            key: (found[key] - rows, rows - found[key])
            for key, rows in self.expected.items()
            if found[key] != rows
        }

    def show_every_rule(self) -> None:
        """Stop if no case has a rule that the comparison should be about."""
        policies = [policy for case in self.cases.values() for policy in case.policies]
        assert {p.tag for p in policies} == {None, "place", "money", "audited"}
        policies = [policy for policy in policies if policy.tag is None]
        masks = [policy for policy in policies if policy.column]
        datasets = [d for case in self.cases.values() for d in case.datasets]
        assert {policy.mask_on_null for policy in masks} == {"mask", "pass"}
        assert {policy.condition is None for policy in masks} == {True, False}
        assert {len(policy.excepted) for policy in masks} == {0, 1, 2}
        assert {len(policy.shown_to) for policy in masks} == {0, 1, 2, 3}
        conditions = [policy for policy in policies if not policy.column]
        assert {policy.condition is None for policy in conditions} == {True, False}
        assert {(p.role == "*", bool(p.is_restrictive)) for p in conditions} == set(
            product([True, False], repeat=2)
        )
        assert 3 * sum(map(_has_both_kinds, self.cases.values())) >= len(self.cases)
        for kind in (masks, conditions):
            assert {p.holds_at(random_case(0).moment) for p in kind} == {True, False}
            assert {(bool(p.valid_from), bool(p.valid_until)) for p in kind} == set(
                product([True, False], repeat=2)
            )
        said = [p.condition for p in policies if p.condition]
        said += [where for p in masks for _, where in p.shown_to if where]
        assert {*map(names_reader, said)} == {True, False}
        rows = [Counter(user for user, _ in c.staff) for c in self.cases.values()]
        assert {n for found in rows for n in found.values()} == {1, 2}
        restrictive = [policy for policy in conditions if policy.is_restrictive]
        assert {len(policy.excepted) for policy in restrictive} == {0, 1, 2}
        assert {dataset.is_for_everyone for dataset in datasets} == {True, False}
        assert {dataset.is_query for dataset in datasets} == {True, False}
        assert {dataset.is_authorized for dataset in datasets} == {True, False}
        chains = {d.is_authorized for d in datasets if d.below}
        assert chains == {True, False}
        outcomes = {o for case in self.cases.values() for o in case.outcomes.values()}
        assert outcomes == {"Allow", "Transform", "Deny"}
        objects = {case.security for case in self.cases.values()}
        assert None in objects
        objects.discard(None)
        assert {item.scope for item in objects} == {"related", "fact", "all"}
        assert {item.secure_totals for item in objects} == {True, False}
        assert {item.use_filter_key for item in objects} == {True, False}
        assert {(item.is_of_runs, item.has_level) for item in objects} == set(
            product([True, False], repeat=2)
        )
        assert {dataset.below is None for dataset in datasets} == {True, False}
        assert sum(map(Counter.total, self.expected.values())) > 5 * len(self.cases)

    def _types(self, case: Case) -> dict[str, dict[str, str]]:
        """Return the types of the columns that may be masked."""
        secure = [f"vw_secure_dataset_{dataset.name}" for dataset in case.datasets]
        return dict.fromkeys(["all_runs", *secure], COLUMNS)


def _has_both_kinds(case: Case) -> bool:
    """Whether a dataset has two permissive conditions beside a restrictive one."""
    found = Counter(
        (policy.dataset, bool(policy.is_restrictive))
        for policy in case.policies
        if not policy.column and policy.tag is None
    )
    names = {name for name, _ in found}
    return any(found[name, False] > 1 and found[name, True] for name in names)
