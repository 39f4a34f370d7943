"""Makes small wrong edits of the leak detector's proof, which its cases must notice.

    python tests/helpers/leak_mutants.py [NAME ...]

One line tells of each edit: killed, or SURVIVED. The exit code is 1 if any survived.
"""

from __future__ import annotations

import sys
from types import ModuleType

from leak_cases import LEAKING, NOT_PROVEN, PROVEN, verdict
from mutant_runner import Edits, chosen, try_all
from projects import ROOT

from dbt_spark_session.leaks.proof import UNPROVEN

PROOF = "src/dbt_spark_session/leaks/proof.py"

# file: (name, old text, new text); the old text stands in the file exactly once.
MUTANTS: Edits = {
    PROOF: [
        (
            "any join of two protected sides is one of the same user",
            "is_met = both or not (",
            "is_met = True or not (",
        ),
        (
            "any equality is one of user_id",
            "both = [(a, b) for a, b in pairs if a in left_keys and b in right_keys]",
            "both = pairs",
        ),
        (
            "a left join keeps the right user_id",
            '"LEFT": left,',
            '"LEFT": left | right,',
        ),
        (
            "what may be null is a key",
            "strict = _paired(scope, alias, equalities(on, null_safe=False)) + using",
            "strict = pairs",
        ),
        (
            "a right join keeps the left user_id",
            '"RIGHT": right,',
            '"RIGHT": left | right,',
        ),
        (
            "a full join keeps both",
            "kept.get(way, set(either.values()))",
            "kept.get(way, left | right)",
        ),
        (
            "what stands in one of two conditions holds",
            "elif isinstance(node, exp.And):",
            "elif isinstance(node, (exp.And, exp.Or)):",
        ),
        (
            "a subquery is always of the same user",
            "if (rows := self.rows(query, ctes, scope)).reads:",
            "if (rows := self.rows(query, ctes, scope)).problem and False:",
        ),
        (
            "any equality with the row outside holds a subquery to one user",
            "return found[1] in found[0].keys | found[0].null_or_keys",
            "return True",
        ),
        (
            "any column inside holds a subquery to one user",
            "if scope.key_of(inside) and scope.is_outer_key(outside):",
            "if scope.is_outer_key(outside):",
        ),
        (
            "what is looked up may be anything",
            "return any(ref in scope.keys | scope.null_or_keys for ref in looked_up)",
            "return True",
        ),
        (
            "an aggregate without a group by is free",
            "        if group is None:\n            if scope.reads:",
            "        if group is None:\n            if False:",
        ),
        (
            "any group by will do",
            "        if keys:\n            scope.keys,",
            "        if keys := keys or scope.keys:\n            scope.keys,",
        ),
        (
            "grouping sets are free",
            "return set.intersection(*found) if found else set()",
            "return set.union(*found) if found else set()",
        ),
        (
            "what stands before grouping sets is in each of them",
            "            terms = sets\n",
            "            terms += sets\n",
        ),
        (
            "windows are compared without case",
            "named = {w.name: w for",
            "named = {w.name.lower(): w for",
        ),
        (
            "a pivot keeps what it names",
            "left = [column for column in rows.columns if column not in gone]",
            "left = list(rows.columns)",
        ),
        (
            "what a pivot makes is no other user_id",
            "keys = rows.keys & set(left) - set(made)",
            "keys = rows.keys & set(left)",
        ),
        (
            "a recursive CTE is what its start is",
            "            if (rows.keys, rows.reads) == (before.keys, before.reads):",
            "            if True:",
        ),
        (
            "a natural join is one by nothing",
            "shared = [name for name in left if name in rows.columns]",
            "shared = []",
        ),
        (
            "every spelling is one name",
            "if odd := sorted(self.odd.intersection(shared)):",
            "if odd := []:",
        ),
        (
            "each hint is known",
            "not HINTS.issuperset(words)",
            "False",
        ),
        (
            "a filter on any side makes an outer join an inner one",
            "any(a == alias and rows.has(name) for a, name in scope.not_null)",
            "bool(scope.not_null)",
        ),
        (
            "a filter on a field of a struct is one on a column",
            "any(a == alias and rows.has(name) for a, name in scope.not_null)",
            "any(a == alias for a, name in scope.not_null)",
        ),
        (
            "each field of a struct is user_id",
            "if scope.key_of(part.expression)",
            "if True",
        ),
        (
            "any window will do",
            "if not any(scope.key_of(term) for term in partition):",
            "if False:",
        ),
        (
            "a window's order is its partition",
            'partition += definition.args.get("partition_by") or []',
            'partition += [*(definition.args.get("partition_by") or []),'
            " *(o.this for o in _order_of(definition))]",
        ),
        (
            "a limit is free",
            'return bool(node.args.get("offset") or (limit and not is_all))',
            "return False",
        ),
        (
            "a sample is free",
            'if sample.args.get("size") or sample.args.get("seed"):',
            "if False:",
        ),
        (
            "one branch of a union is enough",
            "places = own if places is None else places & own",
            "places = own if places is None else places | own",
        ),
        (
            "a column that is left out stays",
            "if key.split(FIELD)[0] not in inner}",
            "}",
        ),
        (
            "any cast keeps users apart",
            "    return cast.to.this in types",
            "    return True or cast.to.this in types",
        ),
        (
            "what is in no CTE is open",
            '        if rows is None:\n            name = ".".join',
            "        if rows is None:\n            return OPEN\n"
            '            name = ".".join',
        ),
        (
            "a relation without a schema is known",
            "            if table.name.lower() not in ctes:",
            "            if False:",
        ),
        (
            "having alone groups nothing",
            'is_grouped = node.args.get("group") or node.args.get("having")',
            'is_grouped = node.args.get("group")',
        ),
        (
            "every function is known",
            "        if word not in known and word not in WORDS and word not in named:",
            "        if False:",
        ),
        (
            "what is in a query's parts is not looked at",
            "        if value and name not in PARTS[kind]:",
            "        if False:",
        ),
        (
            "a query over open rows is looked at",
            "or self.reads_protected(node, ctes):",
            "or True:",
        ),
    ],
}


def edited(old: str, new: str) -> ModuleType:
    """Return the module with one edit."""
    module = ModuleType("dbt_spark_session.leaks.edited")
    # A dataclass looks its module up.
    sys.modules[module.__name__] = module
    text = (ROOT / PROOF).read_text(encoding="utf-8").replace(old, new)
    exec(compile(text, PROOF, "exec"), module.__dict__)
    return module


def killer(old: str, new: str) -> str | None:
    """Return the first case that notices an edit."""
    module = edited(old, new)
    expected = {
        **{name: (query, None) for name, query in PROVEN.items()},
        **{name: (query, rule) for name, (rule, query) in LEAKING.items()},
        **{name: (query, UNPROVEN) for name, query in NOT_PROVEN.items()},
    }
    for name, (query, rule) in expected.items():
        if verdict(query, module) != rule:
            return name
    return None


def main() -> None:
    """Try all mutants, or those named."""
    mutants = chosen(MUTANTS, sys.argv[1:])
    try_all(mutants, lambda mutant: killer(mutant.old, mutant.new))


if __name__ == "__main__":
    main()
