"""Makes small wrong edits of comparisons and timelines, which tests must notice.

    python tests/helpers/governance_mutants.py [NAME ...]

An edit is made in a copy of the project, and the tests of that file that need no Spark
are run there. One line tells of each edit which test has killed it, or SURVIVED. The
exit code is 1 if any survived.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from mutant_runner import Edits, Mutant, chosen, failing_test, made_in, try_all
from projects import copy_project

CHANGED = "macros/changes/changed_access_query.sql"
RAW_ROWS = "macros/changes/changed_raw_rows_query.sql"
PATHS = "macros/changes/changed_paths_query.sql"
CAUSES = "macros/changes/access_changes_query.sql"
ROWS = "macros/changes/row_changes_query.sql"
COUNTS = "macros/changes/changed_row_counts_query.sql"
LIMITS = "macros/changes/limits_query.sql"
BASES = "macros/changes/changed_base_rows_query.sql"
PAIRS = "src/access_changes/changes.py"
STATES = "src/access_changes/states.py"
REPORT = "src/access_changes/report.py"
WAYS = "src/access_timeline/changes.py"
SELECTION = "src/access_timeline/selection.py"
MODELS = "src/access_timeline/models.py"
QUESTIONS = "src/access_timeline/questions.py"
ANSWERS = "src/access_timeline/answers.py"
TOLD = "src/access_timeline/text.py"

COMPARISON = "tests/python/governance/test_access_changes.py"
TIMELINE = "tests/python/oracle/test_timeline.py"
TESTS = {
    STATES: "tests/python/governance/test_compared_states.py",
    REPORT: "tests/python/governance/test_change_report.py",
    **dict.fromkeys((WAYS, SELECTION, MODELS, QUESTIONS, ANSWERS, TOLD), TIMELINE),
}

MUTANTS: Edits = {
    CHANGED: [
        (
            "what is lost is not looked for",
            "    where\n        before_rows.user_id is null\n        or after_rows",
            "    where\n        before_rows.user_id is null\n        or before_rows",
        ),
        (
            "what is gained is not looked for",
            "    where\n        before_rows.user_id is null\n        or after_rows",
            "    where\n        after_rows.user_id is null\n        or after_rows",
        ),
        (
            "another access type is no change",
            "or not (before_rows.access_type <=> after_rows.access_type)",
            "or false",
        ),
        (
            "the objects of a user are one",
            "            and before_rows.{{ key }} = after_rows.{{ key }}\n",
            "",
        ),
        (
            "who has another access type to the same objects is passed over",
            "(['access_type'] if has_type else [])",
            "[]",
        ),
        (
            "who has as many of other objects is passed over",
            "xxhash64({{ told | join(', ') }})",
            "xxhash64({{ told[1:] | join(', ') or 1 }})",
        ),
        (
            "who has another one is passed over",
            "having bit_xor(digest) != 0",
            "having false",
        ),
        (
            "a tier of one state is gained and never lost",
            "{{ 'true' if pair.before else 'false' }} as is_before",
            "false as is_before",
        ),
    ],
    RAW_ROWS: [
        (
            "rows that do not count are compared",
            "(select * from {{ after.schema }}.stg_{{ name }} where is_live) as after",
            "(select * from {{ after.schema }}.stg_{{ name }}) as after",
        ),
        (
            "a row that names another one is the same",
            "or not (before_rows.{{ column }} <=> after_rows.{{ column }})",
            "or false",
        ),
        (
            "a role is no part of a row",
            "(['role_name'] if table.object_type else [])",
            "[]",
        ),
        ("what came has gone", "then 'came'", "then 'went'"),
    ],
    CAUSES: [
        (
            "whatever moved is a cause",
            "        where parts.is_explained or (changed.is_before and",
            "        where true or (changed.is_before and",
        ),
        (
            "one path that moved explains a part",
            "count(distinct paths.path_key) = count(distinct found.path_key)",
            "count(distinct found.path_key) > 0",
        ),
        (
            "a changed row is none that moved",
            "and (evidence.is_whole or changed_rows.change != 'changed')",
            "and changed_rows.change != 'changed'",
        ),
        (
            "a group that is held by counts with its parent",
            "'group_id != user_group_id'",
            "'true'",
        ),
        (
            "a ring that opens is nothing",
            "on chains.group_id = cast(rings.group_id as bigint)",
            "on chains.group_id = cast(rings.group_id as bigint) and false",
        ),
        (
            "memberships are no evidence",
            "{%- do rows.append([\"'user_group_members'\", "
            "'user_group_member_id', 'true', 'paths_' ~ state.side]) -%}",
            "",
        ),
        (
            "the paths of a state are those of both",
            "where side = {{ secure_datasets.sql_text(state.side) }}",
            "where true",
        ),
    ],
    PATHS: [
        (
            "links of any objects are paths",
            "        and changed.{{ key }} = links.{{ key }}\n",
            "",
        ),
        (
            "paths to any object count",
            "('asked', 'paths', right)",
            "('asked', 'paths', right | reject('equalto', 'object_id') | list)",
        ),
        (
            "paths of any permission count",
            "('asked', 'paths', right)",
            "('asked', 'paths', right[:-1])",
        ),
        (
            "no tier asks for rights",
            "        {%- endset -%}\n        {%- do queries.append(query) -%}",
            "        {%- endset -%}\n        {%- set queries = [query] -%}",
        ),
    ],
    ROWS: [
        (
            "what raw rows do not make is by definition alone",
            "counted.rows_unexplained > 0 and roles_of_users.user_id is null",
            "false",
        ),
        (
            "access that gives none of the rows is a cause",
            "    left anti join (select dataset, user_id from counted where"
            " rows_by_access = 0)",
            "    left anti join (select dataset, user_id from counted where false)",
        ),
        (
            "other roles show other columns",
            "counted.rows_redefined > 0 or ",
            "",
        ),
        (
            "access that comes in another way explains rows",
            "    where change != 'other access_type'\n",
            "",
        ),
        (
            "access to any tier explains rows",
            "        on tiers.tier = of_access.tier\n",
            "        on true\n",
        ),
        (
            "all raw rows are named",
            "    where place <= {{ rows_named }}\n",
            "",
        ),
        (
            "those that are left out are not counted",
            "max(in_all) - count(*) as left_out",
            "0 as left_out",
        ),
        (
            "the name of a group is no role",
            "and not (named_before.name <=> named_after.name)",
            "and false",
        ),
        (
            "roles have no raw rows",
            "    on moved.user_id = roles_of_users.user_id",
            "    on false",
        ),
    ],
    COUNTS: [
        (
            "a row that is gained is new in the base",
            "count_if(not is_before and not was_there) as rows_came",
            "count_if(not is_before) as rows_came",
        ),
        (
            "the rows of all users are one's",
            "            before_rows.user_id <=> after_rows.user_id\n",
            "            true\n",
        ),
        (
            "what is shown was covered",
            "({{ shown.before }} and not ({{ shown.after }}))",
            "({{ shown.after }} and not ({{ shown.before }}))",
        ),
        (
            "access to any object explains rows",
            "            and {{ way.base }}.{{ column }} = {{ way.name }}.{{ key }}\n",
            "",
        ),
        (
            "access explains rows of any case",
            "            and {{ way.base }}.{{ way.applies }}\n",
            "",
        ),
        (
            "access that is lost explains rows that are gained",
            "is_before != is_after and is_{{ way.held }}",
            "is_before != is_after",
        ),
        (
            "access to what a row has moved to takes none away",
            ", [pair.after, 'before']] if",
            "] if",
        ),
        (
            "a base that moved explains no row",
            "is_unexplained and not is_moved and not is_by_access",
            "is_unexplained and not is_by_access",
        ),
        (
            "a new column shows nothing new",
            "    {%- for change in told -%}\n        {%- set is_value",
            "    {%- for change in told if column not in pair.new -%}\n"
            "        {%- set is_value",
        ),
        (
            "a column that goes is nothing that goes",
            "masked + pair.new + pair.gone -%}",
            "masked + pair.new -%}",
        ),
        (
            "rows are gained with any new column",
            "            {%- for column in pair.new if column not in pair.given %},",
            "            {%- for column in [] %},",
        ),
        (
            "what a mask gives in a new column is nothing",
            "' is not null)' if change == 'masked_otherwise' and is_shown != 'true'",
            "' is not null)' if change == 'masked_otherwise' and false",
        ),
        (
            "another value is masked otherwise",
            "                    and before_base.{{ column }} <=>"
            " after_base.{{ column }}\n",
            "",
        ),
        (
            "a digest is the same for other rows",
            "xxhash64(row_key, is_before,",
            "xxhash64('', is_before,",
        ),
    ],
    BASES: [
        (
            "raw rows are those of nobody else's change",
            "where seen_there.is_seen is null\n",
            "where seen_there.is_seen is not null\n",
        ),
        (
            "a row that moves below another one has not changed",
            "where others.is_there is null or not ({{ secure_datasets._is_same_row("
            "'base', 'others', pair.deciding) }})",
            "where others.is_there is null",
        ),
        (
            "what a row stands below has not gone",
            "            {%- for level in levels %}\n            {%- set here",
            "            {%- for level in levels[:1] %}\n            {%- set here",
        ),
        (
            "what a row has moved below has not gone",
            "            {%- if change == 'went' and not loop.first %}",
            "            {%- if false %}",
        ),
        (
            "what a row has moved below goes with its own parent alone",
            "'now_' ~ (number - 1) ~ '.')",
            "'here_' ~ (number - 1) ~ '.')",
        ),
    ],
    PAIRS: [
        (
            "rows are compared with a state that has none",
            'if kind == "datasets" and not all(map(self.has_datasets, states)):',
            "if False:",
        ),
        (
            "a ring is its first group",
            "                ring.append(member)\n",
            "                break\n",
        ),
        (
            "the groups above are not followed",
            "        while size != len(found):",
            "        while size and size != len(found):",
        ),
    ],
    LIMITS: [
        (
            "what is new is about no limit",
            "    where names.is_before = 'no'\n",
            "    where false\n",
        ),
        (
            "what is new is about each limit",
            "        having max(is_before = 'yes' and is_after = 'no')\n",
            "",
        ),
    ],
    STATES: [
        (
            "a state that is being built is finished",
            '        if definitions(adapter, f"{name}{SUFFIX}", f"{PREFIX}*"):',
            "        if False:",
        ),
        (
            "any version will do",
            "        if versions != [adapter.product_version()]:",
            "        if not versions:",
        ),
        (
            "other models may be built beside",
            "    if found := sorted(others):",
            "    if found := []:",
        ),
        (
            "views may be of before",
            "            if now and version not in now:",
            "            if False:",
        ),
        (
            "secure datasets may be of before",
            '[*built["dataset"], PATHS]',
            "[PATHS]",
        ),
        (
            "access may be of other raw rows than its paths",
            '[*built["tier"], ROLES])',
            "[])",
        ),
        (
            "what was staged may be of other raw rows than access",
            "    for relation, versions in staged.items():\n        add(relation, v",
            "    for relation, versions in ():\n        add(relation, v",
        ),
        (
            "rows that are read again are others",
            "read.run != oldest.run and not read.found_the_same(oldest):",
            "read.run != oldest.run:",
        ),
        (
            "limits of the base hold up what mends them",
            "    if not limits_are_of_base:",
            "    if True:",
        ),
        (
            "an object may be spelled anyhow",
            '            and row["object"]\n',
            "            and False\n",
        ),
        (
            "a number may have noughts before it",
            "    return not PADDED.search(named) and any(",
            "    return any(",
        ),
        (
            "a part of an object is none",
            '    starts = places if text.startswith("*") else places[:1]',
            "    starts = places[:1]",
        ),
        (
            "a limit may be about nothing",
            '        return f"it limits nothing',
            '        return None and f"it limits nothing',
        ),
        (
            "an approver may be empty",
            '("limit_name", "changes", "approver", "reason")',
            '("limit_name", "changes", "reason")',
        ),
    ],
    REPORT: [
        (
            "a call for somebody is let through",
            'LOOKALIKES = {"@": "\\uff20", "#": "\\uff03"}',
            'LOOKALIKES = {"#": "\\uff03"}',
        ),
        (
            "columns that one state alone shows are not named",
            '            if each["dataset"] in told:',
            "            if False:",
        ),
        (
            "what is left out is not said",
            "    if shown >= number:\n        return []",
            "    if True:\n        return []",
        ),
        (
            "an address may be a name",
            "return user if not name or MAIL.search(name) else",
            "return user if not name else",
        ),
        (
            "an approver may be an address",
            "MAIL_TOLD if MAIL.search(word) else word for word",
            "word for word",
        ),
    ],
    WAYS: [
        (
            "a way holds a moment longer",
            "return self.first <= moment <= self.last",
            "return self.first <= moment <= self.last + 1",
        ),
        (
            "kinds of ways make no difference",
            'of_kind.setdefault(way.kind if by_kind else "", [])',
            'of_kind.setdefault("", [])',
        ),
        (
            "kinds of ways always make a difference",
            'of_kind.setdefault(way.kind if by_kind else "", [])',
            "of_kind.setdefault(way.kind, [])",
        ),
        (
            "what was there before is given again",
            "if has and after and not before:",
            "if has and after:",
        ),
        (
            "what closes a ring is not told",
            "            if row[0] == GROUPS and moment in moments",
            "            if False",
        ),
        (
            "a tier has no links",
            "    return [*rights, *links]",
            "    return rights",
        ),
        (
            "all rows of a way are named",
            "            if moment in self.moved.get(row, frozenset())",
            "            if True",
        ),
    ],
    SELECTION: [
        (
            "what groups hold is not needed",
            "found += self._found(Wanted(tuple(self.grants), GROUP,",
            "self._found(Wanted(tuple(self.grants), GROUP,",
        ),
        (
            "what a user owns is not needed",
            "                for column in self._owner_columns(name)\n            ),\n"
            "            Wanted((GROUPS,), PARENT),\n        )",
            "                for column in ()\n            ),\n"
            "            Wanted((GROUPS,), PARENT),\n        )",
        ),
        (
            "a global role reaches nothing",
            "linked = everything if is_powerful else self._links_of(objects)",
            "linked = self._links_of(objects)",
        ),
        (
            "groups are followed down from a user's",
            "reached(_named(found, MEMBERS, GROUP), parents, is_up=True)",
            "reached(_named(found, MEMBERS, GROUP), parents, is_up=False)",
        ),
        (
            "members of the groups below are nobody",
            " | _named(members, MEMBERS, USER) | owners",
            " | owners",
        ),
        (
            "the owner of an object is nobody",
            " | _named(members, MEMBERS, USER) | owners",
            " | _named(members, MEMBERS, USER)",
        ),
        (
            "holders of a global role are nobody",
            "        users |= _named(found, ROLES, USER)\n",
            "",
        ),
        (
            "objects that are linked are not needed",
            "        objects = self._objects_of(links)\n",
            "        objects = {}\n",
        ),
        (
            "groups are followed one step",
            "        waiting += new\n",
            "",
        ),
        (
            "links are not needed",
            "            for table in self.links\n            for column, parent",
            "            for table in ()\n            for column, parent",
        ),
    ],
    MODELS: [
        (
            "a customer's model may be called as staging is",
            'if name.startswith(PREFIX) and node["package_name"] == "secure_datasets":',
            "if name.startswith(PREFIX):",
        ),
        (
            "what reads past staging is told",
            "                raise NotToldError(name)",
            "                pass",
        ),
        (
            "the parents of models are not run",
            '                add(nodes[parent]["name"])',
            "                pass",
        ),
    ],
    QUESTIONS: [
        (
            "a user and an object may be asked about at once",
            'if bool(asked["user"]) == bool(asked["object"]):',
            'if not asked["user"] and not asked["object"]:',
        ),
        (
            "any limit will do",
            "not str(limit).isdecimal() or not int(limit)",
            "False",
        ),
        (
            "who was never there has no access",
            'if not found["asked"] and question["kind"] == "user":',
            "if False:",
        ),
    ],
    ANSWERS: [
        (
            "the beginning is a moment",
            "    if micros == BEGINNING:\n        return None\n",
            "",
        ),
    ],
    TOLD: [
        (
            "what was lost is told as it would be now",
            '    if change["change"] != "gained":\n'
            '        carried = change["carried_before"] or "-"\n',
            "",
        ),
        (
            "changes that are left out are not said",
            '    if found["left_out"]:',
            "    if False:",
        ),
    ],
}


def killer(project: Path, mutant: Mutant) -> str | None:
    """Return the test that fails with an edit."""
    with made_in(project, mutant):
        # Parsing the project takes longer than all the others.
        tests = [TESTS.get(mutant.file, COMPARISON), "-k", "not tells_its_own_tier"]
        return failing_test(project, tests)


def main() -> None:
    """Try all mutants, or those named."""
    mutants = chosen(MUTANTS, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        project = copy_project(Path(folder) / "project")
        for test in sorted({TESTS.get(mutant.file, COMPARISON) for mutant in mutants}):
            if failing := failing_test(project, [test, "-k", "not tells_its_own_tier"]):
                sys.exit(f"without any edit: {failing}")
        try_all(mutants, lambda mutant: killer(project, mutant))


if __name__ == "__main__":
    main()
