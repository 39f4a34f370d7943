"""When a right takes effect, and who is granted what: no page says it without a test.

Each such sentence stands here beside the tests that hold it. A sentence that is new, or
says something else than before, is found by its words.
"""

from __future__ import annotations

import re

import pytest
from projects import ROOT

# A sentence with one of these says when something acts, or who is granted what.
TELLING = re.compile(
    r"takes? effect|as soon as|stays? in force|in force until|acts? at once"
    r"|shows? at once|at the next read|is granted|are granted|nothing else is granted"
    r"|the rights of before|since revoked|is seen in a secure dataset when"
    r"|grants included|to withdraw|without a finding|as long as the access views",
    re.IGNORECASE,
)
# page: (what the sentence says, the tests that hold it).
SENTENCES: dict[str, list[tuple[str, list[str]]]] = {
    "README.md": [
        (
            "is deleted, a row that is deleted in the application stays in force",
            ["test_what_is_only_no_longer_delivered_stays_in_force"],
        ),
    ],
    "docs/feeds.md": [
        (
            "row that is deleted in the application stays in force",
            ["test_what_is_only_no_longer_delivered_stays_in_force"],
        ),
    ],
    "docs/as-of.md": [
        (
            "Nothing is granted there, and readers' views and functions are not made",
            [
                "test_T2_nothing_is_granted_on_a_past_state",
                "test_T2_a_past_state_has_no_readers",
            ],
        ),
    ],
    "docs/bad-input.md": [
        (
            "noticed, and stays in force until a full reload",
            ["test_what_is_only_no_longer_delivered_stays_in_force"],
        ),
        (
            "who reads secure datasets is granted what they are made of",
            ["test_who_reads_secure_datasets_is_not_granted_what_they_are_made_of"],
        ),
        (
            "A user whose id is lost there counts as live as long as the access views"
            " of data sources or projects hold a right of theirs",
            ["test_readers_see_what_the_datasets_hold_when_a_load_has_lost_users"],
        ),
    ],
    "docs/deployments.md": [
        (
            "Rights take effect when the secure datasets run.",
            ["test_a_right_takes_effect_when_the_secure_dataset_runs"],
        ),
        (
            "Other versions would show new rows under the rights of before",
            ["test_new_rows_are_not_shown_under_older_rights"],
        ),
        (
            "for a user who saw it in the state that the dataset last showed whole",
            [
                "test_after_a_partial_run_a_secure_dataset_shows_what_both_states_show",
                "test_a_revoked_right_shows_nothing_though_rows_have_moved",
            ],
        ),
        (
            "is always an error: it still shows the rights of before",
            ["test_a_dataset_that_can_not_be_narrowed_is_an_error"],
        ),
        (
            "*rights that were since revoked included*, until a run succeeds",
            ["test_a_failed_access_model_and_a_retry_leave_one_state"],
        ),
    ],
    "docs/policies.md": [
        (
            "A blank `is_active` is no doubt: the membership, the group below the"
            " role's or the row of a global role is not live, as if it said `false`,"
            " and is not rejected. It takes a mask by role off without a finding",
            [
                "test_a_raw_row_becomes_what_the_page_says",
                "test_a_mask_by_role_over_sound_groups_is_in_no_doubt",
            ],
        ),
        (
            "as soon as the dataset has a policy; each then bears its user",
            ["test_rows_for_everyone_are_looked_at_for_each_live_user"],
        ),
        (
            "nobody sees a row at the next read: as soon as"
            " `dbt seed --select view_decisions` has loaded the decisions",
            [
                "test_I_a_revoking_the_owner_stops_the_view_for_everybody_at_the_next_read",
                "test_I_a_a_revocation_holds_as_soon_as_the_decisions_are_loaded",
                "test_I_a_an_owner_who_is_not_live_has_no_decision",
            ],
        ),
    ],
    "docs/reading.md": [
        (
            "a run without leaves them, grants included, and warns",
            ["test_a_run_whose_vars_were_forgotten_drops_nothing"],
        ),
        (
            "To withdraw them, call `dbt run-operation publish_readers_objects`: it"
            " drops those whose variable it is not given",
            ["test_what_is_switched_off_is_dropped_and_nothing_else"],
        ),
        (
            "Of public rows, who is switched off in the staging that is published now"
            " is not live; of the others, who was so in the rights that the dataset is"
            " switched to: the two differ between staging and the end of a run, and"
            " after a run that failed. An id that is lost there, as by a [bad"
            " load](bad-input.md#lost-ids), is live as long as the access views of data"
            " sources or projects hold a right of it",
            [
                "test_who_is_switched_off_sees_no_public_row_though_rights_are",
                "test_readers_see_what_the_datasets_hold_when_a_load_has_lost_users",
            ],
        ),
        (
            "what a run publishes, the function shows at once",
            ["test_a_function_and_a_view_show_at_once_what_a_dataset_is_switched_to"],
        ),
        (
            "| `--vars` | who | is granted |",
            [
                "test_readers_are_granted_what_the_page_lists",
                "test_with_the_readers_views_no_plain_dataset_is_granted",
            ],
        ),
        (
            "Nothing else is granted",
            ["test_readers_are_granted_what_the_page_lists"],
        ),
    ],
    "docs/site/overview.md": [
        ("nothing is granted here", ["test_nothing_is_granted_unless_asked_for"]),
    ],
    "docs/decisions/adr-0002-published-views.md": [
        (
            "A change of rights is seen in a secure dataset when the dataset itself is"
            " run.",
            ["test_a_right_takes_effect_when_the_secure_dataset_runs"],
        ),
    ],
    "docs/decisions/adr-0006-one-state.md": [
        (
            "so that a load of theirs acts at once",
            ["test_I_a_a_revocation_holds_as_soon_as_the_decisions_are_loaded"],
        ),
    ],
    "models/_docs/concepts.md": [
        (
            "not noticed and stays in force until a full reload",
            ["test_what_is_only_no_longer_delivered_stays_in_force"],
        ),
        (
            "what it revokes stays in force",
            ["test_the_rejected_rows_are_those_told"],
        ),
        (
            "a right or a revocation takes effect in a secure dataset when the dataset"
            " itself is run, not before",
            ["test_a_right_takes_effect_when_the_secure_dataset_runs"],
        ),
    ],
}
# What the sample's deliveries are, row by row: the expectations hold it.
SAMPLE = "docs/sample-organisation.md"
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("README.md", "docs/**/*.md", "models/**/*.md")
    for path in ROOT.glob(pattern)
)


def on_one_line(text: str) -> str:
    """Return a text as it reads, however its lines are broken."""
    return " ".join(text.split())


@pytest.mark.parametrize("page", PAGES)
def test_a_sentence_of_when_a_right_takes_effect_is_held_by_a_test(page):
    text = on_one_line((ROOT / page).read_text(encoding="utf-8"))
    if page == SAMPLE:
        assert (ROOT / "tests/helpers/sample_expectations.yml").exists()
        return
    for sentence, _ in SENTENCES.get(page, ()):
        assert text.count(sentence) == 1, f"{page} no longer says: {sentence}"
        text = text.replace(sentence, "")
    found = [
        text[max(0, match.start() - 80) : match.end() + 80]
        for match in TELLING.finditer(text)
    ]
    assert not found, f"{page} says this, and no test is named for it"


def test_the_tests_that_hold_the_sentences_are_there():
    sources = "".join(
        path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py")
    )
    for page, sentences in SENTENCES.items():
        assert page in PAGES
        for sentence, tests in sentences:
            for test in tests:
                assert re.search(rf"^def {test}", sources, re.M), (sentence, test)
