"""Makes small wrong edits of the question why, which its tests must notice.

    python tests/helpers/why_mutants.py [NAME ...]

An edit is made in a copy of the project, and the tests that are about the file run
there, without Spark, until one fails. One line tells of each edit: killed by a test, or
SURVIVED. The exit code is 1 if any survived.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from mutant_runner import Edits, Mutant, chosen, failing_test, made_in, try_all
from projects import copy_project

ANSWERS = "src/access_questions/answers.py"
MISSING = "src/access_questions/missing.py"
MISSED = "src/access_questions/near_misses.py"
QUESTIONS = "src/access_questions/questions.py"
ROLES = "src/access_questions/roles.py"
SUPPORT = "src/access_questions/support.py"
TEXT = "src/access_questions/text.py"
PARTS = "macros/operations/_why_parts.sql"
KEYS = "macros/predicate/_key_parts.sql"
CASES = "macros/predicate/gate_cases.sql"
GATES = "macros/predicate/gates_query.sql"
EXPLANATIONS = "macros/audit/access_explanations_query.sql"
PATHS = "models/governance/explained_access_paths.sql"
LINEAGE = "src/dbt_spark_session/lineage.py"

NOT = "tests/python/governance/test_why_not.py"
OF_NEAREST = "tests/python/governance/test_nearest_grants.py"
OF_LAST = "tests/python/governance/test_last_support.py"
PAGE = "tests/python/governance/test_why_docs.py"
OF_WHY = "tests/python/governance/test_why.py"
OVER = (
    f"{OF_NEAREST}::test_W1_what_opens_the_dataset_below_opens_what_has_no_rules_of_its"
    "_own"
)
BEHIND = [
    f"{OF_NEAREST}::test_W4_{name}"
    for name in (
        "a_set_says_which_gates_it_leaves_closed",
        "a_role_whose_condition_is_not_true_of_the_row_opens_no_conditions",
    )
]
# Small worlds first, then the laws.
NEAREST = [
    f"{OF_NEAREST}::test_W4_two_grants_are_told_beside_the_one_group_that_would_give"
    "_both",
    f"{OF_NEAREST}::test_W4_a_row_with_two_sides_asks_for_both",
    f"{OF_NEAREST}::test_W4_the_ten_of_many_pairs_are_those_that_give_the_least",
    f"{OF_NEAREST}::test_W4_nothing_opens_a_tier_of_a_row_that_names_no_object",
    f"{OF_NEAREST}::test_W4_a_role_that_the_user_holds_already_is_not_given",
    *(
        f"{OF_NEAREST}::test_{name}"
        for name in (
            "W4_a_membership_says_which_keys_of_row_security_it_brings",
            "W4_rows_of_datasets_over_another_one_come_with_it",
            "W1_what_opens_the_dataset_below_opens_what_has_no_rules_of_its_own",
        )
    ),
    OF_NEAREST,
]
LAST = [
    f"{OF_LAST}::test_W7_{name}"
    for name in (
        "one_path_means_its_rows_and_two_paths_mean_none",
        "both_sides_of_a_row_count",
        "what_can_t_be_told_is_called_not_known",
        "who_is_allowed_a_view_needs_no_role",
        "of_what_only_facts_tie_to_a_key_one_fact_is_enough",
    )
] + [OF_LAST]
# Those that ask the operation many times notice nothing more.
QUICK, SLOW = (
    [f"{OF_WHY}::test_{name}" for name in names]
    for names in (
        (
            "W2_a_path_is_to_one_right_on_one_object",
            "W4_what_opens_the_tier_alone_is_not_told_as_enough",
            "W6_masks_of_the_datasets_below_are_those_of_columns_that_one_sees",
            "W6_who_is_allowed_a_view_is_under_no_mask",
            "W6_who_sees_a_masked_value_is_told_where_it_is_certain",
            "W6_conditions_that_hide_a_row_say_which_role_would_show_it",
            "W1_a_key_that_is_there_twice_is_seen_where_one_of_its_rows_is",
            "W9_a_question_that_has_no_answer_is_one_sentence",
            "W9_two_users_with_one_address_are_both_answered",
            "W1_an_answer_that_is_not_as_it_is_shown_says_so",
            "W1_all_that_an_answer_reads_is_asked_whether_it_is_of_one_state",
            "W1_a_view_that_is_closed_says_whose_decision_opens_it",
            "W1_the_owner_by_whom_a_view_is_closed_is_told",
            "W5_of_many_groups_that_have_a_key_some_are_told",
            "W5_row_security_is_opened_by_a_membership_too",
            "W9_a_number_is_the_same_however_it_is_written",
            "W9_a_user_whose_row_is_rejected_is_found_by_all_that_was_delivered",
            "W9_a_user_in_conflict_is_found_by_each_of_the_deliveries",
        ),
        ("W1_W6_policies_show_and_mask_as_the_evaluator_says",),
    )
)
# Over few worlds: each edit is compiled anew.
OF_ANSWERS = "tests/meaning/test_answers.py"
os.environ.setdefault("WORLDS", "5")
# The tests that are about a file, those first that are the quickest to notice.
TESTS: dict[str, list[str]] = {
    ANSWERS: [*QUICK, OVER, *BEHIND, PAGE, NOT, *SLOW, OF_ANSWERS],
    MISSING: [*NEAREST, PAGE],
    MISSED: [NOT, PAGE],
    QUESTIONS: [*QUICK, PAGE],
    ROLES: [NOT, *NEAREST],
    SUPPORT: [*LAST, OF_ANSWERS, PAGE],
    TEXT: [*LAST, *BEHIND, *QUICK, PAGE],
    PARTS: [*QUICK, PAGE, NOT, *LAST, *NEAREST],
    KEYS: [*LAST, PAGE, *SLOW, OF_ANSWERS],
    CASES: [PAGE, *SLOW, OF_ANSWERS],
    GATES: [PAGE, *SLOW, OF_ANSWERS],
    EXPLANATIONS: [OF_ANSWERS],
    PATHS: [OF_ANSWERS],
    LINEAGE: [
        "tests/python/publishing/test_publishing.py::"
        "test_W1_what_is_of_another_state_than_what_else_is_read_is_told"
    ],
}

MUTANTS: Edits = {
    ANSWERS: [
        (
            "groups that have a key are not told",
            """f"{f', {member}: {listed(groups, SOME)}' if groups else ''}\"""",
            """f"{'' if groups else ''}\"""",
        ),
        (
            "what opens the dataset below opens what has rules",
            'if any(rule["gate"] != "masks" for rule in facts["rules"]):',
            "if False:",
        ),
        (
            "masks are rules that decide of rows",
            'if any(rule["gate"] != "masks" for rule in facts["rules"]):',
            'if facts["rules"]:',
        ),
        (
            "a decision helps while the owner is gone",
            'if owner is not None and not outcome["owner_is_live"]:',
            "if False:",
        ),
        (
            "a decision of the user helps while the owner's is missing",
            "    if owner is not None:\n",
            "    if False:\n",
        ),
        (
            "the second side alone is asked for",
            "is_open = first and second is not False",
            "is_open = second is not False",
        ),
        (
            "the second side need not be held",
            "is_open = first and second is not False",
            "is_open = first",
        ),
        (
            "a path to another object is a path",
            'and path["object_id"] == keys[right["key"]]\n',
            "",
        ),
        (
            "a path to another right is a path",
            '        and path["permission_name"] == right["permission"]\n',
            "",
        ),
        (
            "a mask of lower order is put on",
            "elif put_on is not None and applies:",
            "elif False:",
        ),
        (
            "who is allowed a view is told of masks",
            "            if is_free:\n                fate",
            "            if False:\n                fate",
        ),
        (
            "who is allowed a view is under its conditions",
            "    if is_free:\n        return gate(",
            "    if False:\n        return gate(",
        ),
        (
            "who is denied a view sees it",
            'state = state_of(not row[f"rule_{hides}"])',
            "state = OPEN",
        ),
        (
            "row security never hides",
            "state_of(not closed), says, notes)\n\n\ndef security_note",
            "OPEN, says, notes)\n\n\ndef security_note",
        ),
        (
            "a user who is not active passes",
            '    if person["is_live"]:\n        return gate("user", OPEN',
            '    if True:\n        return gate("user", OPEN',
        ),
        (
            "a null condition shows",
            '        if row[f"rule_{number}"]:\n            (hides if',
            '        if row[f"rule_{number}"] is not False:\n            (hides if',
        ),
        (
            "the last closed gate is named",
            'return next((item for item in gates if item["state"] == CLOSED), None)',
            "return next((item for item in reversed(gates)"
            ' if item["state"] == CLOSED), None)',
        ),
        (
            "nothing is hidden with its parent",
            "        found += _trace_notes(parent, whose_parent)\n",
            "",
        ),
        (
            "masks of the dataset below are all shown",
            'masks = [item for item in answer["masks"]'
            ' if item["column"] in facts["columns"]]',
            'masks = list(answer["masks"])',
        ),
        (
            "masks of the dataset below are not shown",
            '    return ([{"dataset": below, "masks": masks}] if masks else [])'
            " + further",
            "    return further",
        ),
        (
            "what closes one of two gaps opens the tier",
            "set(lacking[0]).intersection(*lacking)",
            "set(lacking[0])",
        ),
        (
            "any role lifts a mask",
            "return [role for role in first if role in lifting]",
            "return first",
        ),
        (
            "keys of a set open no row security",
            '        if set(keys) & set(found["row_keys"]):\n',
            "        if False:\n",
        ),
        (
            "any key of a set opens row security",
            '        if set(keys) & set(found["row_keys"]):\n',
            "        if keys:\n",
        ),
        (
            "roles of a set show nothing",
            'roles = {*facts["roles"], *given["roles"]}',
            'roles = {*facts["roles"]}',
        ),
        (
            "roles of a set show what no condition is true of",
            "is_true is not True if restricts(rule) else is_true",
            "True",
        ),
        (
            "what is closed behind the first closed gate is not told",
            'if each["gate"] != closed["gate"]',
            'if each["gate"] == closed["gate"]',
        ),
        (
            "the best of several rows is the worst",
            "if not best or _openness(answer) > _openness(best):",
            "if not best or _openness(answer) < _openness(best):",
        ),
    ],
    MISSING: [
        (
            "keys that the user holds are brought",
            "keys=self.group_keys[group] - self.held_keys,",
            "keys=self.group_keys[group],",
        ),
        (
            "keys of groups above are not brought",
            '|= keys_of[row["ancestor_user_group_id"]]',
            '|= keys_of[row["user_group_id"]]',
        ),
        (
            "a role that brings more is offered",
            "            if not any(other < names for other in roles.values())\n",
            "",
        ),
        (
            "what is held already is gained",
            "for right in row.rights} - self.held\n        new_links",
            "for right in row.rights}\n        new_links",
        ),
        (
            "what is asked about is gained",
            "if (tier, keys) not in self.asked)",
            "if True)",
        ),
        (
            "a set may have a row too many",
            "if not gaps and self._is_minimal(rows):",
            "if not gaps:",
        ),
        (
            "only the fewest rows are told",
            "        if len(found) < LIMIT:\n",
            "        if not found:\n",
        ),
        (
            "what gains the most comes first",
            "gap: sorted(rows, key=self.weights.__getitem__)",
            "gap: sorted(rows, key=self.weights.__getitem__, reverse=True)",
        ),
        (
            "a link is forgotten",
            "link_rows = tuple(state.link_row(*link) for link in sorted(links))",
            "link_rows = ()",
        ),
        (
            "a row without an object can be opened",
            "if any(None in keys.values() for _, keys in sides):\n        return []",
            "if False:\n        return []",
        ),
        (
            "a permission on what is not live is offered",
            " or (object_type, object_id) not in self.live:",
            ":",
        ),
        (
            "groups pass nothing on",
            'by_holder[row["ancestor_user_group_id"]]',
            'by_holder[row["user_group_id"]]',
        ),
        (
            "the row that is asked about is something else",
            "name: count - (name == dataset)",
            "name: count",
        ),
        (
            "a second side that no row names is asked for",
            'if keys and not (keys is case["second_keys"] and line["has_no_second"])',
            "if keys",
        ),
        (
            "roles that the user holds are given",
            "for role in sorted(row.roles - state.held_roles, key=role_called)",
            "for role in sorted(row.roles, key=role_called)",
        ),
        (
            "roles of the group alone are given",
            'name = names.get(row["ancestor_user_group_id"])',
            'name = names.get(row["user_group_id"])',
        ),
        (
            "each line counts once",
            'count += line["row_count"]',
            "count += 1",
        ),
    ],
    MISSED: [
        (
            "a delivery that is not active was one once",
            '            if not delivery["is_active"]:\n                continue\n',
            "",
        ),
        (
            "what is rejected is not told",
            "                yield Candidate(table, raw_id, delivery,"
            " [Flaw(why, mend)])\n",
            "            continue\n",
        ),
        (
            "what came later is not told",
            'if not (delivery["is_later"] and delivery["is_active"]):',
            "if True:",
        ),
        (
            "each that came later is the newest",
            '    if delivery["is_newest"]:\n',
            "    if True:\n",
        ),
        (
            "what came later and contradicts itself is taken",
            'if delivery["newest_is_conflict"]:',
            "if False:",
        ),
        (
            "what came later and is switched off does not supersede",
            'if not delivery["newest_is_active"]:',
            "if False:",
        ),
        (
            "what the source has right already could be put right",
            'return is_clear and not _said_otherwise(delivery, columns, "newest_")',
            "return True",
        ),
        (
            "what came anew could be put right as it was",
            '    if staged["newest_is_later"]:\n',
            "    if False:\n",
        ),
        (
            "a ring is not told",
            "        if both_live and (group, parent) not in self.in_force:\n",
            "        if False:\n",
        ),
        (
            "former parents are not told",
            "links += [(up, [flaw]) for up, flaw in self.former.get(group, [])]",
            "pass",
        ),
        (
            "the way with the most flaws is told",
            "heappush(ways, (len(all_flaws), number, up, all_flaws))",
            "heappush(ways, (-len(all_flaws), number, up, all_flaws))",
        ),
        (
            "a role that brings something else would have done",
            "return role not in brought or permission in brought[role]",
            "return True",
        ),
        (
            "roles are compared as they are written",
            "return text.translate(_LOWER)",
            "return text",
        ),
        (
            "every global role reaches everything",
            "return object_type in GLOBAL_REACH.get(known[role], ())",
            "return True",
        ),
        (
            "a user who is not live is not told",
            'ends = [*_user_flaws(found["person"]), *_object_flaws(found["object"])]',
            'ends = _object_flaws(found["object"])',
        ),
        (
            "an object that is not live is not told",
            'ends = [*_user_flaws(found["person"]), *_object_flaws(found["object"])]',
            'ends = _user_flaws(found["person"])',
        ),
        (
            "a grant of others is told",
            'if holder == found["user_id"] else []',
            "if holder else []",
        ),
        (
            "former owners are not told",
            'judged(found["owned_table"], found["owned"], ["owner_user_id"])',
            'judged(found["owned_table"], [], ["owner_user_id"])',
        ),
        (
            "a row that is not active could be put right",
            "if reason not in MENDABLE or not is_active:",
            "if reason not in MENDABLE:",
        ),
        (
            "what was delivered of somebody else could be put right",
            'if text != ("" if said is None else str(said)):',
            "if False:",
        ),
        (
            "what names two holders could be put right",
            'if is_permission and delivery["user_id"] and delivery["user_group_id"]:',
            "if False:",
        ),
        (
            "a row with another flaw on its way would do",
            "return flaws[0].mend if len(flaws) == 1 else None",
            "return flaws[0].mend",
        ),
        (
            "a group in a ring could be switched on",
            "None if self._closes_a_ring(group) else mend",
            "mend",
        ),
        (
            "any role will do once it is put right",
            "mend and mend.note(None if is_known else permission)",
            "mend and mend.note(None)",
        ),
        (
            "links that don't count are not told",
            '    for row in judged(link["table"], deliveries, list(keys)):\n'
            "        if row.flaws:\n",
            '    for row in judged(link["table"], deliveries, list(keys)):\n'
            "        if False:\n",
        ),
    ],
    QUESTIONS: [
        (
            "a number is as it is written",
            "key: str(int(value)) if key in numbers and value is not None else value",
            "key: value",
        ),
        (
            "a number beyond every id is an id",
            " and -LARGEST_ID - 1 <= int(value) <= LARGEST_ID",
            "",
        ),
        (
            "a key that is missing is null",
            "            if key not in keys:\n",
            "            if False:\n",
        ),
        (
            "a sentence may steer the terminal",
            "raise QuestionError(without_steering(sentence))",
            "raise QuestionError(sentence)",
        ),
    ],
    ROLES: [
        (
            "plain membership comes with no role",
            "role: frozenset(names | by_role.get(None, set()))",
            "role: frozenset(names)",
        ),
    ],
    SUPPORT: [
        (
            "of several ways all rows count",
            "return reduce(frozenset.intersection, found)",
            "return NOTHING.union(*found)",
        ),
        (
            "the groups on the way are no rows",
            'return frozenset(rows | {Row("user_groups", group) for group in groups})',
            "return frozenset(rows)",
        ),
        (
            "groups above the holding one count",
            '                and step["depth"] <= end["depth"]\n',
            "",
        ),
        (
            "links don't count",
            '            found |= of_any(frozenset({Row(link["table"], r["link_id"])})'
            " for r in rows)\n",
            "            del rows\n",
        ),
        (
            "a tier that says nothing is told",
            '        if not parts["is_whole"]:\n            raise Untold\n',
            "",
        ),
        (
            "a decision that is there twice counts",
            'if sum(item["row_count"] for item in items) == 1:',
            "if items:",
        ),
        (
            "owners don't count",
            '            found.add(Row("users", owner))\n',
            "            pass\n",
        ),
        (
            "who is allowed a view needs a role",
            "    if not rules or view_gate(facts, row)[1]:\n",
            "    if not rules:\n",
        ),
        (
            "conditions over masked values are told",
            "    if masks_below(facts):\n",
            "    if False:\n",
        ),
        (
            "a key that is mapped twice counts",
            '        if mapped["row_count"] == 1:\n',
            "        if True:\n",
        ),
        (
            "groups of a key don't count",
            '        if security["is_of_groups"]:\n',
            "        if False:\n",
        ),
        (
            "any key will do",
            '        if mapped["filter_key"] != key or key is None:\n',
            "        if key is None:\n",
        ),
        (
            "dimensions on the way don't count",
            '        found |= {Row(step["relation"], says, *raw)}\n',
            "",
        ),
        (
            "any fact ties a dimension",
            '            if any(fact[column] != line[f"{column}_{number}"]'
            " for column in by):\n                continue\n",
            "",
        ),
        (
            "of the dataset below nothing counts",
            "        return frozenset(_as_row(item) for item in below)\n",
            "        return NOTHING\n",
        ),
        (
            "each row supports every gate",
            "for gate, needed in by_gate.items() if row in needed",
            "for gate in by_gate",
        ),
        (
            "only the first side counts",
            "            return of_tier(facts, sides_of(row, number, case))\n",
            "            return of_tier(facts, sides_of(row, number, case)[:1])\n",
        ),
    ],
    TEXT: [
        (
            "what is shown is always of before",
            '    is_shown_before = question["shown"] in answer["of_before"]\n',
            "    is_shown_before = True\n",
        ),
        (
            "a row for everyone has several ways",
            "FOR_EVERYONE if is_public else NO_SINGLE_ROW",
            "NO_SINGLE_ROW",
        ),
        (
            "every set leaves a gate closed",
            'which = sets_named(numbers, len(answer["nearest"]))',
            'which = "All sets"',
        ),
        (
            "not known reads as none",
            "        if rows is None:\n",
            "        if False:\n",
        ),
        (
            "the answer is turned round",
            "verb[not answer['seen']]",
            "verb[answer['seen']]",
        ),
    ],
    PARTS: [
        (
            "of a rejected user nothing is looked into",
            " ~ ' else ' ~ secure_datasets.delivered_value(column) ~ ' end' -%}",
            " ~ ' end' -%}",
        ),
        (
            "any delivery of a user in conflict names the user",
            "    and {{ secure_datasets._recency('delivered', feed) }} ="
            " {{ secure_datasets._recency('staged', feed) }}\n",
            "",
        ),
        (
            "users in conflict are found by one delivery",
            "(secure_datasets._ids_in_conflict(text) or ['null'])",
            "['null']",
        ),
        (
            "the newest is looked for among those that are asked for",
            "    left semi join asked_ids\n        on delivered.id <=> asked_ids.id\n",
            "    left semi join asked_ids\n        on delivered.id <=> asked_ids.id"
            " and {{ is_asked }}\n",
        ),
        (
            "what was delivered is compared by its load time alone",
            "struct({{ relation }}.modified_order, {{ relation }}.loaded_order,",
            "struct({{ relation }}.loaded_order,",
        ),
        (
            "whether it is active does not make it newer",
            "not {{ relation }}.is_active)",
            "true)",
        ),
        (
            "a rejected row was never modified",
            "cast(unix_micros({{ column }}) as string) else {{ text }} end as"
            " {{ column }}_text",
            "cast({{ column }} as string) end as {{ column }}_text",
        ),
        (
            "a rejected row is active",
            "            when rejection_reason is null then is_live\n",
            "            when rejection_reason is not null then true\n",
        ),
        (
            "groups below those with a key are not told",
            "    on mapping.{{ object.ids_column }} = chain.ancestor_user_group_id\n",
            "    on mapping.{{ object.ids_column }} = chain.user_group_id\n",
        ),
        (
            "groups with any key are told",
            "    on mapping.{{ object.filter_key_column }} = asked.filter_key\n",
            "    on true\n",
        ),
        (
            "rules of the dataset itself alone decide which rows are seen",
            "{%- for link in chain if secure_datasets.is_restricted",
            "{%- for link in chain[:1] if secure_datasets.is_restricted",
        ),
        (
            "datasets over others come with nothing",
            "{% do known.update({name: known[chain | last]}) %}",
            "{% do chain | last %}",
        ),
        (
            "the paths are of any state",
            "{% do names.extend(['explained_access_paths', ",
            "{% do names.extend([",
        ),
        (
            "what the dataset below reads is of any state",
            "{% do names.extend(secure_datasets._relations_of_answer({'kind'",
            "{% do ''.join(secure_datasets._relations_of_answer({'kind'",
        ),
        (
            "e-mail addresses are compared as they are written",
            "secure_datasets.ascii_lower(delivered) ~ ' = ' ~"
            " secure_datasets.ascii_lower(text)",
            "delivered ~ ' = ' ~ text",
        ),
        (
            "links that are not live link",
            "~ ' where is_live and ' ~ same",
            "~ ' where ' ~ same",
        ),
        (
            "memberships that are not live count",
            "where members.is_live and members.user_id",
            "where members.user_id",
        ),
        (
            "decisions are counted as one",
            "decision, count(*) as row_count from '",
            "decision, 1 as row_count from '",
        ),
        (
            "only the first side is to be opened",
            "{% do sides.append([case.tier, values]) %}",
            "{% do sides.append([case.tier, values]) if loop.first %}",
        ),
        (
            "what can be given is given to who has left",
            "{%- if sides[0][0] not in tiers or not person.is_live -%}",
            "{%- if sides[0][0] not in tiers -%}",
        ),
    ],
    KEYS: [
        (
            "keys are counted as one",
            "    count(*) as row_count\n",
            "    1 as row_count\n",
        ),
        (
            "every row leads to every key",
            "{{ 'where ' ~ filters | join(' and ') if filters }}",
            "",
        ),
    ],
    CASES: [
        (
            "the second side is the first",
            "right_exists(tier, rule.second_side['keys'], ruling, user)",
            "right_exists(tier, rule['keys'], ruling, user)",
        ),
    ],
    GATES: [
        (
            "masks are asked of no row",
            "{%- set terms, passes, shows = [ruling ~ '.asked_is_live'], [], [] -%}",
            "{%- set terms, passes, shows = ['false'], [], [] -%}",
        ),
    ],
    EXPLANATIONS: [
        (
            "paths to another object explain",
            "        and seen.{{ right.key }} = paths.object_id\n",
            "",
        ),
        (
            "paths of other users explain",
            "        seen.user_id = paths.user_id\n        and",
            "       ",
        ),
        (
            "links that are not live explain",
            "        links.is_live\n",
            "        true\n",
        ),
        (
            "paths to another right explain",
            "        and paths.permission_name ="
            " {{ secure_datasets.sql_text(right.permission) }}\n",
            "",
        ),
    ],
    PATHS: [
        (
            "a membership of another user is a way",
            "            access_paths.user_id = group_ways.user_id\n            and",
            "           ",
        ),
        (
            "chains go on above the holding group",
            "            and upper_ends.depth >= steps.depth\n",
            "",
        ),
        (
            "memberships that are not live are ways",
            "    from {{ ref('stg_user_group_members') }}\n    where is_live\n",
            "    from {{ ref('stg_user_group_members') }}\n",
        ),
        (
            "the role of another table's row",
            "access_paths.grant_table = grants.grant_table\n            and ",
            "",
        ),
    ],
    LINEAGE: [
        (
            "only the first relation may be of before",
            "            if changed or made:\n",
            "            if (changed or made) and name == next(iter(shown)):\n",
        ),
        (
            "what comes from no raw table is never of before",
            "                made.add(relation)\n",
            "                pass\n",
        ),
        (
            "what its raw tables tell of is told twice",
            "            if not changed and published",
            "            if published",
        ),
        (
            "seeds are never newer",
            "                    if seeds[seed] in ancestors\n",
            "                    if False\n",
        ),
        (
            "every seed is newer",
            "if run_of_version(seed) > run_of_version(version)",
            "if True",
        ),
    ],
}


def main() -> None:
    """Try all mutants, or those named."""
    mutants = chosen(MUTANTS, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        project = copy_project(Path(folder) / "project")

        def killer(mutant: Mutant) -> str | None:
            with made_in(project, mutant):
                return failing_test(project, TESTS[mutant.file])

        tests = sorted({test for names in TESTS.values() for test in names})
        if found := failing_test(project, tests):
            sys.exit(f"without any edit: {found}")
        try_all(mutants, killer)


if __name__ == "__main__":
    main()
