"""The report of what changes: D3 and D5. What names hold never breaks it."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from secure_datasets.questions.changes.report import (
    NOTHING,
    in_short,
    markdown,
    user_name,
)

EVIL = (
    *("<img src=x onerror=alert(1)>", "a | b", "line\nbreak", "`code`", "@everyone"),
    *("[x](http://evil.example)", "www.evil.example", "https://evil.example", "#12"),
    *(
        "**bold**",
        "_under_",
        "\u202eback",
        "zero\u200bwidth",
        "&amp;",
        "a\\|b",
        "~~x~~",
    ),
    *("ann@bank.example", "\x1b[2J", "- item", "1. item", "$x$", "GH-1", "![a](b)"),
    *("---", "a" * 500, "{{ x }}", "<!-- x", "</td></table><script>"),
)
TEXTS = [
    *EVIL,
    "card_payments",
    "__init__",
    "a_b_ c",
    "_a_b_",
    "Zo\u00eb \u674e",
    "O'Neil, Ann",
]


def github() -> MarkdownIt:
    """Return what renders Markdown with tables, as sites do."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def facts(name: str | None = "Ann", **given) -> dict:
    """Return what one user who gains one project gives, with all names the same."""
    path = {
        "permission_name": "Project Member", "path_kind": "Group",
        "grant_table": "project_permissions", "grant_id": 5, "role_name": name,
        "group_chain": name,
    }  # fmt: skip
    user = {"user_id": 7, "first_name": name, "last_name": name}
    sums = {
        "values_newly_covered": 2, "values_newly_shown": 1,
        "values_masked_otherwise": 0,
    }  # fmt: skip
    return {
        "before": "a", "after": "b", "are_rows_compared": True, "are_past": False,
        "not_there": [], "not_built": {}, "columns": [], "limits_about_nothing": [],
        "totals": {
            "all": 1, "gained": 1, "lost": 0, "other": 0, "users_gaining": 1,
            "users_losing": 0, "objects_gained": 1, "objects_lost": 0,
        },
        "row_totals": sums | {
            "changes": 1, "users": 1, "rows_gained": 3, "rows_lost": 0,
        },
        "datasets": [
            {"dataset": "tests", "users": 1, "rows_gained": 3, "rows_lost": 0} | sums
        ],
        "users": [
            user | {"gained": 1, "lost": 0, "rows_gained": 3, "rows_lost": 0} | sums
        ],
        "users_in_all": 1,
        "objects": [
            {
                "kind": "project_id", "object_keys": "project_id=1", "in_all": 1,
                "object_name": name, "users_gaining": 1, "users_losing": 0, "others": 0,
            }
        ],
        "changes": [
            user | {
                "tier": "project", "object_keys": "project_id=1", "change": "gained",
                "access_type_before": None, "access_type_after": None,
                "paths_before": None, "paths_after": [path],
                "causes": ["project_permissions 5 came"],
                "how": [None],
            }
        ],
        "row_changes": [
            user | {
                "dataset": "tests", "rows_gained": 3, "rows_lost": 0,
                "causes": ["access"],
                "cause_rows": ["project_permissions 5 came"],
                "cause_rows_left_out": 0,
            } | sums
        ],
        "limits": [
            {
                "limit_name": name, "found": "1 user gains", "allowed": "0",
                "changes": "0f", "is_exceeded": True, "approver": name,
            }
        ],
    } | given  # fmt: skip


def cells(text: str) -> list[int]:
    """Return how many cells each row of the tables has, as a renderer sees them."""
    parser, counts = github(), []
    for token in parser.parse(text):
        if token.type == "tr_open":
            counts.append(0)
        elif token.type in ("td_open", "th_open"):
            counts[-1] += 1
    return counts


def kinds(text: str) -> set[str]:
    """Return the kinds of what a renderer makes of the text."""
    tokens = github().parse(text)
    return {t.type for token in tokens for t in (token, *(token.children or ()))}


def blocks(text: str) -> list[str]:
    """Return the blocks that a renderer makes of the text, in order."""
    return [token.type for token in github().parse(text)]


def test_D3_says_the_totals_in_one_sentence_then_tables_then_the_changes():
    lines = markdown(facts()).splitlines()
    assert lines[0] == "# What changes between `a` and `b`"
    assert lines[2] == (
        "1 user gains access to 1 object, 0 users lose access to 0 objects, 3 rows of"
        " secure datasets are gained and 0 lost, 2 values newly masked and 1 newly"
        " shown."
    )
    assert [line for line in lines if line.startswith("## ")] == [
        "## Limits", "## By project", "## By dataset", "## By user", "## The changes",
        "## The rows",
    ]  # fmt: skip
    assert (
        "| Ann Ann (user 7) | gained | `project` | Ann (`project_id=1`) | Group,"
        in markdown(facts())
    )
    assert "`project_permissions` 5 came" in markdown(facts())
    given = facts()
    given["changes"][0] |= {"how": ["deleted on 2026-03-04"]}
    assert "`project_permissions` 5 came, deleted on 2026-03-04" in markdown(given)


NO_ACCESS = {"gained": 0, "users_gaining": 0, "objects_gained": 0, "all": 0}


def test_D3_the_sentence_says_where_only_rows_change():
    text = markdown(facts(totals=facts()["totals"] | NO_ACCESS, changes=[], objects=[]))
    assert text.splitlines()[2].startswith(
        "No one gains or loses access to an object, 3 rows of secure datasets are"
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "1 right comes in another way"), (2, "2 rights come in another way")],
)
def test_D3_what_comes_in_another_way_is_counted(number, said):
    text = markdown(facts(totals=facts()["totals"] | {"other": number}))
    assert f", {said}, " in text


def test_D3_an_object_that_several_lose_is_one():
    several = {"lost": 11, "users_losing": 10, "objects_lost": 6, "all": 12}
    text = markdown(facts(totals=facts()["totals"] | several))
    assert "1 user gains access to 1 object, 10 users lose access to 6 objects," in text


def test_D1_columns_that_one_state_alone_shows_are_named():
    columns = [
        {"dataset": "tests", "new": ["test_title"], "gone": ["test_name", "x"]},
        {"dataset": "jobs", "new": ["job_name"], "gone": []},
    ]
    text = markdown(facts(columns=columns))
    assert (
        "\n`tests` newly shows `test_title` and no longer shows `test_name`, `x`.\n"
        in text
    )
    # Nobody's rows show it.
    assert "`jobs`" not in text


@pytest.mark.parametrize("name", TEXTS)
def test_D3_nothing_in_a_name_breaks_or_injects(name):
    plain, text = markdown(facts("x")), markdown(facts(name))
    assert cells(text) == cells(plain)
    assert blocks(text) == blocks(plain)
    assert kinds(text) <= kinds(plain) | {"text_special"}
    assert len(text.splitlines()) == len(plain.splitlines())
    shown = github().render(text)
    # What sites make links of, once Markdown is read.
    assert "@" not in shown
    assert not re.search(r"#\d|www\.|https?://", shown)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u200b-\u200f\u202a-\u202e]", text)


def test_D3_no_email_address_is_told():
    text = markdown(facts("ann@bank.example"))
    assert "| user 7 |" in text
    assert "ann" not in text.split("## The rows")[1]


@pytest.mark.parametrize("sign", "@\uff20\ufe6b")
@pytest.mark.parametrize("approver", ["{}", "Ines <{}>", "mail:{}", "x " * 35 + "{}"])
def test_D3_no_email_address_is_told_of_an_approver(sign, approver):
    limit = facts("x")["limits"][0]
    limit |= {"approver": approver.format(f"ines.berg{sign}bank.example")}
    text = markdown(facts("x", limits=[limit]))
    assert "berg" not in text
    assert "ines" not in text
    assert ("approved by Ines" in text) is approver.startswith("Ines")


def test_D3_a_user_without_a_name_is_called_by_login_and_never_by_an_address():
    named = {"first_name": None, "last_name": None}
    said = user_name(named | {"user_id": 7, "login_name": "cblecker"})
    assert said == "cblecker (user 7)"
    assert user_name(named | {"user_id": 7, "login_name": "a@b.org"}) == "user 7"
    assert user_name(named | {"user_id": 7, "login_name": None}) == "user 7"


def test_D3_no_email_address_is_told_by_which_something_is_called():
    text = markdown(facts("all.staff@bank.example"))
    assert "staff" not in text
    assert "| user 7 |" in text
    # Somebody whose name has the sign by itself is still named.
    assert "Ann \uff20 Work Ann \uff20 Work (user 7)" in markdown(facts("Ann @ Work"))


def test_D3_the_same_input_gives_the_same_bytes():
    assert markdown(facts()) == markdown(facts())


def test_D3_what_is_left_out_is_counted():
    more = {"all": 1001, "gained": 1001}
    text = markdown(facts(totals=facts()["totals"] | more, users_in_all=31))
    assert "1,000 changes more left out" in text
    assert "30 users more left out" in text
    row_totals = facts()["row_totals"] | {"changes": 9}
    assert "8 changes more left out: see `row_changes`" in markdown(
        facts(row_totals=row_totals)
    )
    assert "left out" not in markdown(facts())
    change, row = facts()["changes"][0], facts()["row_changes"][0]
    change = change | {"paths_after": change["paths_after"] * 4}
    row = row | {"cause_rows_left_out": 1}
    text = markdown(facts(changes=[change], row_changes=[row]))
    assert "; 1 path more |" in text
    assert "; 1 row more |" in text


def test_D3_a_limit_that_is_exceeded_is_named_with_its_fingerprint():
    limit = facts()["limits"][0] | {"limit_name": "no one", "approver": None}
    text = markdown(facts(limits=[limit]))
    assert (
        "- no one: 1 user gains, where 0 may; **not approved**. Changes `0f`." in text
    )
    assert "approved by Ines" in markdown(facts(limits=[limit | {"approver": "Ines"}]))
    assert "## Limits" not in markdown(facts(limits=[limit | {"is_exceeded": False}]))


NO_CHANGE = {
    "totals": {
        "all": 0, "gained": 0, "lost": 0, "other": 0, "users_gaining": 0,
        "users_losing": 0, "objects_gained": 0, "objects_lost": 0,
    },
    "row_totals": {
        "changes": 0, "users": 0, "rows_gained": 0, "rows_lost": 0,
        "values_newly_covered": 0, "values_newly_shown": 0,
        "values_masked_otherwise": 0,
    },
    "datasets": [], "users": [], "users_in_all": 0, "objects": [], "changes": [],
    "row_changes": [], "limits": [],
}  # fmt: skip


def test_D5_no_change_is_one_sentence():
    assert markdown(facts(**NO_CHANGE)) == (
        f"# What changes between `a` and `b`\n\n{NOTHING}\n"
    )


def test_D4_what_neither_state_has_built_is_named():
    """Or a limit that nobody asked would be taken for one that held."""
    text = markdown(facts(**NO_CHANGE, not_there=["jobs", "tests"]))
    assert text.endswith(
        f"{NOTHING}\n\nNot compared, and limits of them not asked, since neither state"
        " has them built: `jobs`, `tests`.\n"
    )


def test_the_end_of_a_comparison_is_one_screen():
    many = {
        key: facts()[key] * 40
        for key in ("users", "datasets", "changes", "row_changes")
    }
    objects = [
        row | {"kind": kind, "in_all": 40}
        for kind in ("project_id", "meta_data_source_id")
        for row in facts()["objects"] * 40
    ]
    given = facts(**many, objects=objects, users_in_all=40)
    text = in_short(given)
    assert len(text.splitlines()) <= 50
    assert text.startswith(markdown(given)[:200])
    assert text.endswith("\nAll of it: target/access_changes.md\n")
    assert text.count("37 ") == 4
    for heading in ("## Limits", "## By project", "## By dataset", "## By user"):
        assert heading in text
    assert "## The changes" not in text and "## The rows" not in text


def test_T5_past_states_are_by_the_definitions_of_today():
    text = markdown(facts(**NO_CHANGE, are_past=True, are_rows_compared=False))
    assert text.endswith(
        f"{NOTHING}\n\nPast states are built by the definitions of today.\n\nRows are"
        " not compared, and limits of datasets not asked: at least one of the states"
        " has no secure dataset.\n"
    )


def test_D4_a_limit_that_is_passed_over_is_told():
    text = markdown(facts(limits_about_nothing=["Line 3: no role `a|b`."]))
    assert "## Limits" in text
    assert "- Passed over. Line 3&#58; no role &#96;a&#124;b&#96;." in text
