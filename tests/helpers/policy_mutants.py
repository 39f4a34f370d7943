"""Makes small wrong edits of the policies, which the random cases must notice.

    python tests/helpers/policy_mutants.py [NAME ...]

An edit is made to the text of a macro or module as it is read; the secure datasets of
random cases are then rendered and compared with what the oracle of the policies
says. One line tells of each edit: killed, or SURVIVED. The exit code is 1 if any
survived.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from mutant_runner import Edits, chosen, try_all
from pipeline import session_of
from policy_battery import Battery
from projects import ROOT, copy_project
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from rendering import Stopped

# The seeds of each battery; a further one is for what the ones before it don't notice.
# Small ones: each is one query, and planning it grows faster than its cases.
BATTERIES = tuple(range(start, start + 5) for start in range(0, 105, 5))
ROWS = "macros/render/_policy_rows.sql"
MASKS = "macros/predicate/mask_condition.sql"
SHOWN = "macros/predicate/shown_by_none.sql"
STEPS = "macros/render/restricted_rows.sql"
SECURE = "macros/render/secure_dataset.sql"
RESTRICTED = "macros/plan/is_restricted.sql"
PLAN = "src/secure_config/plan.py"
STAR = "macros/render/_star_rows.sql"
CONDITION_SHOWS = (
    "shows.append(secure_datasets._is_under(rule, policies,"
    " '(' ~ rule.condition ~ ')'))"
)
COMPARED_LEVELS = "all(level_of[column] > level_of[key] for key in lead.columns)"

# file: (name, old text, new text); the old text stands in the file exactly once.
MUTANTS: Edits = {
    ROWS: [
        (
            "roles of another user",
            "{{ rows }}.user_id = users.user_id",
            "{{ rows }}.user_id != users.user_id",
        ),
        (
            "without a mask's role nothing is seen",
            "else 'left' }} join",
            "else 'inner' }} join",
        ),
        (
            "conditions of several roles are anded",
            "shows | join('\\nor ')",
            "shows | join('\\nand ')",
        ),
        (
            "a restrictive condition opens what the others hide",
            "terms | join('\\nand ')",
            "terms | join('\\nor ')",
        ),
        (
            "a restrictive condition binds to the last permissive one alone",
            "'(' ~ either ~ ')' if policies.restrictive and",
            "'(' ~ either ~ ')' if false and",
        ),
        (
            "a restrictive condition is for whom it should spare",
            "({{ held ~ ('' if rule.is_except else ' is not true') }} or",
            "({{ held ~ (' is not true' if rule.is_except else '') }} or",
        ),
        (
            "a restrictive condition hides from who holds no role at all",
            "({{ held ~ ('' if rule.is_except else ' is not true') }} or",
            "({{ held ~ ('' if rule.is_except else ' = false') }} or",
        ),
        (
            "a null in a restrictive condition shows",
            "' is not true') }} or ({{ rule.condition }}))",
            "' is not true') }} or ({{ rule.condition }}) is not false)",
        ),
        (
            "everybody's restrictive condition is for nobody",
            "{%- else -%}\n({{ rule.condition }})",
            "{%- else -%}\ntrue",
        ),
        (
            "everybody is nobody",
            "if rule.roles else 'true' }}",
            "if rule.roles else 'false' }}",
        ),
        (
            "lines of a mask are forgotten",
            "{{ secure_datasets.shown_by_none(lines) if lines else",
            "{{ secure_datasets.shown_by_none(lines) if false else",
        ),
        (
            "a line of a mask is for everybody",
            "_is_under(line, policies, '(' ~ line.condition ~ ')')",
            "_is_under(rule, policies, '(' ~ line.condition ~ ')')",
        ),
        (
            "a line of a mask shows every row",
            "_is_under(line, policies, '(' ~ line.condition ~ ')')",
            "_is_under(line, policies, 'true')",
        ),
        (
            "a mask is for whom it should spare",
            "~ (' is not true' if rule.is_except)) if",
            "~ ('' if rule.is_except)) if",
        ),
        (
            "a user without a role is spared",
            "~ (' is not true' if rule.is_except)) if",
            "~ (' = false' if rule.is_except)) if",
        ),
        (
            "a mask spares only who holds all of its roles",
            "{%- set any_held = held | join(' or ') -%}",
            "{%- set any_held = held | join(' and ') -%}",
        ),
        (
            "a condition needs no role",
            "    {{ holds_role }}\n    and",
            "    true\n    and",
        ),
        (
            "a role needs no condition",
            "{%- if rule.condition == 'true' -%}",
            "{%- if rule.condition -%}",
        ),
        (
            "a role without a condition sees nothing",
            "'true' -%}\n{{ holds_role }}",
            "'true' -%}\nfalse",
        ),
        (
            "any role will do",
            "array_contains(role_names, {{ secure_datasets.sql_text(role) }})",
            "array_contains(role_names, 'A')",
        ),
        (
            "a role and its condition are either",
            "    and {{ condition }}",
            "    or {{ condition }}",
        ),
        (
            "a condition loses its brackets",
            CONDITION_SHOWS,
            "shows.append(secure_datasets._is_under(rule, policies, rule.condition))",
        ),
        (
            "null shows",
            CONDITION_SHOWS,
            "shows.append(secure_datasets._is_under(rule, policies,"
            " 'coalesce((' ~ rule.condition ~ '), true)'))",
        ),
        (
            "a mask shows the column",
            "then try_cast({{ rule.mask }} as",
            "then try_cast({{ column }} as",
        ),
        ("what is not masked is null", "else {{ column }}\n", "else null\n"),
        (
            "only the first mask is put on",
            "{%- for rule in masks[column] %}",
            "{%- for rule in masks[column][:1] %}",
        ),
        (
            "who is denied a view sees it",
            "    and outcomes.outcome in ('Allow', 'Transform')\n",
            "",
        ),
        (
            "the outcome on any other view counts",
            "outcomes.view_name = {{ secure_datasets.sql_text(view) }}",
            "outcomes.view_name != {{ secure_datasets.sql_text(view) }}",
        ),
        (
            "the outcome of another user counts",
            "on tier_rows.user_id = outcomes.user_id",
            "on tier_rows.user_id != outcomes.user_id",
        ),
        (
            "who is allowed a view is under its conditions",
            "view_outcome = 'Allow'\\n    or",
            "false\\n    or",
        ),
        (
            "who is transformed is free of conditions",
            "view_outcome = 'Allow'\\n    or",
            "view_outcome = 'Transform'\\n    or",
        ),
        (
            "who is allowed a view is masked",
            "when view_outcome = 'Allow' then",
            "when false then",
        ),
        (
            "who is transformed is not masked",
            "when view_outcome = 'Allow' then",
            "when view_outcome is not null then",
        ),
    ],
    MASKS: [
        (
            "a mask's null never masks",
            "if rule.mask_on_null == 'mask'",
            "if false",
        ),
        (
            "a mask's null always masks",
            "if rule.mask_on_null == 'mask'",
            "if true",
        ),
        (
            "a null in a subquery passes",
            "'(not (' ~ rule.condition ~ ')) is not true'",
            "'(' ~ rule.condition ~ ') is not false'",
        ),
    ],
    SHOWN: [
        (
            "a mask shows what all of its lines show",
            "{{ lines | join('\\nor ') | indent(4) }}",
            "{{ lines | join('\\nand ') | indent(4) }}",
        ),
        (
            "a null in a line of a mask shows",
            ") is not true\n{%- endmacro %}",
            ") is false\n{%- endmacro %}",
        ),
    ],
    STEPS: [
        (
            "masks read hidden rows",
            "secure_datasets._masked_rows(ruling, steps[-1][0]",
            "secure_datasets._masked_rows(ruling,"
            " 'rows_with_roles' if policies.roles else steps[-1][0]",
        ),
        (
            "roles pass row security by",
            "secure_datasets._rows_with_roles(rows",
            "secure_datasets._rows_with_roles('tier_rows'",
        ),
        (
            "the outcome on the end of the chain counts",
            "secure_datasets._authorized_rows('vw_secure_dataset_' ~ name, columns)",
            "secure_datasets._authorized_rows('vw_secure_dataset_' ~ ruling, columns)",
        ),
    ],
    SECURE: [
        (
            "rows for everyone have no user",
            "restrictions, per_user=true)",
            "restrictions)",
        ),
        (
            "the layer below is passed by",
            "from {{ ref(dataset.base) }} as base\n{%- if per_user and",
            "from {{ ref('all_runs') }} as base\n{%- if per_user and",
        ),
    ],
    RESTRICTED: [
        (
            "view authorization alone is forgotten",
            "policies.is_authorized or (",
            "(",
        ),
    ],
    PLAN: [
        (
            "conditions are left out",
            'policies["conditions"] or policies["restrictive"]',
            'policies["restrictive"]',
        ),
        (
            "restrictive conditions are left out",
            'policies["conditions"] or policies["restrictive"]',
            'policies["conditions"]',
        ),
        (
            "who is allowed a view needs a role",
            "bool(is_for_some) and not is_authorized",
            "bool(is_for_some)",
        ),
        (
            "everybody needs a role",
            'conditions and not any(rule["is_except"] for rule in conditions)',
            "conditions",
        ),
        (
            "lower orders come first",
            'rule["mask_order"], reverse=True',
            'rule["mask_order"], reverse=False',
        ),
        (
            "the order is as written",
            'rules.sort(key=lambda rule: rule["mask_order"], reverse=True)',
            "pass",
        ),
        (
            "a mask is for the roles that it should spare",
            '"is_except": "except" in policy or not roles',
            '"is_except": False',
        ),
        (
            "null passes by default",
            'policy.get("mask_on_null", "mask")',
            '"pass"',
        ),
        (
            "conditions on another dataset",
            'parts_of(policy["resource"])[0] == name',
            'parts_of(policy["resource"])[0] != name',
        ),
        (
            "rules on a view of the chain count",
            "    ruling = ruling_dataset(name, config)",
            "    ruling = name",
        ),
        (
            "a condition is forgotten",
            'policy.get("condition", True)',
            "True",
        ),
        (
            "a chain ends where it begins",
            '    if dataset.get("view_authorization") and below:',
            "    if False:",
        ),
        (
            "every dataset over another one is a chain",
            '    if dataset.get("view_authorization") and below:',
            "    if below:",
        ),
        (
            "a fact is related",
            'if query["has_fact"] and security["scope"] == "related":',
            "if False:",
        ),
        (
            "related is nothing",
            'if query["has_fact"] and security["scope"] == "related":',
            'if security["scope"] == "related":',
        ),
        (
            "totals are never secured",
            'if security.get("secure_totals", True) or _shows',
            "if _shows",
        ),
        (
            "totals are always secured",
            'if security.get("secure_totals", True) or _shows',
            "if True or _shows",
        ),
        ("every level is above", COMPARED_LEVELS, "any(True for key in lead.columns)"),
        ("no level is above", COMPARED_LEVELS, "not lead.columns"),
        (
            "the secured level is above itself",
            COMPARED_LEVELS,
            COMPARED_LEVELS.replace(">", ">="),
        ),
        (
            "what stands at no level is at the lowest",
            "if not lead.is_key or not {column, *lead.columns} <= level_of.keys():",
            "level_of = {column: 0} | dict.fromkeys(lead.columns, 0) | level_of\n"
            "    if not lead.is_key:",
        ),
        (
            "what a fact's key joins is another dimension",
            "if set(lead.columns) <= set(joined):",
            "if False:",
        ),
        (
            "a query of dimensions reads a fact",
            'if not query.get("measures"):',
            "if False:",
        ),
    ],
    STAR: [
        (
            "keys are there as often as they are mapped",
            "select{{ ' distinct' if once and not is_list }}",
            "select",
        ),
        (
            "a row is there as often as its key",
            "{{ 'left semi' if user else 'inner' }} join",
            "inner join",
        ),
        (
            "keys of another group",
            "mapping.{{ object.ids_column }} = users.user_group_id",
            "mapping.{{ object.ids_column }} != users.user_group_id",
        ),
        (
            "a null key matches",
            "{{ column }} = {{ keys }}.filter_key",
            "{{ column }} <=> {{ keys }}.filter_key",
        ),
        (
            "the keys are another user's",
            "        {{ user }} = {{ restriction.alias }}.user_id",
            "        {{ user }} != {{ restriction.alias }}.user_id",
        ),
        (
            "a fact without a dimension is lost",
            "secure_datasets.path_joins(paths[relation], 'left', joined)",
            "secure_datasets.path_joins(paths[relation], 'inner', joined)",
        ),
        (
            "a query is not by user",
            "dimensions.values() | list + ([user] if user else [])",
            "dimensions.values() | list + (['units.user_id'] if restrictions "
            "else [])[:0]",
        ),
    ],
}


def edit_of(file: str, old: str, new: str) -> Callable[[Path, str], str]:
    """Return the edit of one file's text."""

    def edit(path: Path, text: str) -> str:
        return text.replace(old, new) if path == ROOT / file else text

    return edit


def killer(
    batteries: list[Battery],
    edit: Callable[[Path, str], str],
    checked: list[Battery],
) -> str | None:
    """Return what notices the edit, if anything does.

    A battery is first run without the edit, and then among those checked.
    """
    for battery in batteries:
        if battery not in checked:
            if differing := battery.differences():
                sys.exit(f"without any edit: {next(iter(differing.items()))}")
            checked.append(battery)
        try:
            differing = battery.differences(edit)
        except (PySparkException, Py4JError, Stopped) as error:
            return f"an error: {str(error).splitlines()[0][:60]}"
        if differing:
            seed, name = next(iter(differing))
            return f"{name} of the case {seed}"
    return None


def main() -> None:
    """Try all mutants, or those named."""
    mutants = chosen(MUTANTS, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        spark = session_of(copy_project(Path(folder) / "project"))
        batteries = [Battery(spark, seeds) for seeds in BATTERIES]
        checked: list[Battery] = []
        try_all(
            mutants,
            lambda mutant: killer(
                batteries, edit_of(mutant.file, mutant.old, mutant.new), checked
            ),
        )


if __name__ == "__main__":
    main()
