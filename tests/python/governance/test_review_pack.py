"""The pack of a review: V2 and V4, without Spark."""

from __future__ import annotations

import csv
import hashlib
import html
import re
import tracemalloc
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
import yaml
from oracle.contract import (
    ROLE_PERMISSIONS,
    Rights,
    user_data_source_access,
    user_project_access,
    user_results_access,
)
from own_config import together
from projects import ROOT
from random_worlds import random_world
from review_packs import (
    HOSTILE,
    a_way,
    an_access,
    evil_access,
    hostile_pack,
    own_seed,
    reviewed_sample,
)
from review_sandbox import Reviewed, asked_with
from sample import EXPECTED
from tier_questions import nobody_sees, raw
from why_sandbox import Asked, access_paths

from secure_datasets.review import adapter, made, pack, reviews
from secure_datasets.review.finding_rules import RULES
from secure_datasets.review.queries.users import users_called
from secure_datasets.review.words import STATUSES, TOLD, URGENT

# What the pages are made of, and nothing else.
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "nav"),
    *("h1", "h2", "h3", "p", "ol", "a", "ul", "li", "span", "strong", "div", "script"),
    *("form", "label", "input", "output", "table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "rect", "br"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "scope"),
    *(
        "data-table",
        "data-sort",
        "data-label",
        "hidden",
        "for",
        "type",
        "autocomplete",
        "href",
    ),
    *("viewbox", "preserveaspectratio", "aria-hidden", "width", "height"),
}
VOID = {"meta", "input", "br"}
GLOBAL = "the global administrators"
TOTALS = {
    "severities": {}, "excused": 0, "statuses": {}, "objects": 1, "rows": 1,
    "users": 1, "folder": "review", "rejected": None,
}  # fmt: skip
ADMINISTRATORS = {
    "isolheim": "Ingrid Solheim (isolheim)",
    "iconti": "Isabella Conti (iconti, dormant)",
}


class Page(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        # Whether what comes next stands in the same line.
        self.goes_on = False
        self.inline: dict[str, list[str]] = {"style": [], "script": []}
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))
        self.goes_on = tag == "span"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.goes_on = tag == "span"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.inline:
            self.inline[self.open[-1]].append(data)
        elif self.goes_on and self.texts:
            self.texts[-1] += data
        else:
            self.texts.append(data)
        self.goes_on = False

    def linked(self) -> set[str]:
        """Return the files that are linked."""
        links = {link["href"].partition("#")[0] for link in self.all("a")}
        return links - {""}

    def all(self, tag: str) -> list[dict]:
        """Return the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def evil(tmp_path_factory) -> Path:
    """A pack of evil names."""
    return hostile_pack(tmp_path_factory.mktemp("evil") / "review")


def test_V2_nothing_in_a_name_is_an_element_or_an_attribute(evil):
    files = sorted(evil.glob("*.html"))
    assert len(files) == len(HOSTILE) + 3
    for file in files:
        page = Page(file)
        assert {tag for tag, _ in page.elements} <= ELEMENTS
        assert {a for _, attributes in page.elements for a in attributes} <= ATTRIBUTES
    texts = [" ".join(Page(evil / f"data-source-{i}.html").texts) for i in range(4)]
    assert HOSTILE[0] in texts[0] and "{{ 7 * 7 }}" in texts[1]
    assert "{{ 7 * 7 }}{% raw %}" in texts[3]
    # Where the global administrators are in charge, they are named.
    assert "{{ 7 * 7 }}{% raw %} (" in texts[0]


def test_V2_a_page_runs_and_asks_for_nothing_but_what_its_policy_names(evil):
    for file in evil.glob("*.html"):
        page = Page(file)
        (policy,) = (
            meta["content"]
            for meta in page.all("meta")
            if meta.get("http-equiv") == "Content-Security-Policy"
        )
        assert policy.startswith("default-src 'none'; ")
        allowed = set(re.findall(r"'sha256-[^']+'", policy))
        inline = [*page.inline["style"], *page.inline["script"]]
        digests = {
            f"'sha256-{b64encode(hashlib.sha256(t.encode()).digest()).decode()}'"
            for t in inline
        }
        assert len(inline) == 5 and digests == allowed
        assert "unsafe" not in policy and "http" not in policy
        links = page.linked()
        assert all((evil / link).is_file() for link in links), links
        assert not re.search(r"url\(|@import|fetch\(|XMLHttp", "".join(inline))


def marked(path: Path) -> str:
    """Return a page without what its cells are called on a phone."""
    return re.sub(' data-label="[^"]*"', "", path.read_text(encoding="utf-8"))


def cells(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_V2_no_cell_is_a_formula_and_nothing_hides_in_one(evil):
    for file in evil.glob("*.csv"):
        for row in cells(file):
            for text in row.values():
                assert not text.lstrip().startswith(("=", "+", "-", "@", "\uff1d"))
                assert "\n" not in text and "\u202e" not in text
    numbers = cells(evil / "data-source-0.csv")
    assert [row["user id"] for row in numbers] == ["0"]
    assert pack.cell(-5) == "-5" and pack.cell("-5") == "'-5"


@pytest.mark.parametrize("name", HOSTILE)
def test_V2_what_turns_or_hides_text_is_shown_as_a_mark(name):
    assert all(c.isprintable() for c in pack.shown(name))


def test_V2_what_is_too_much_for_a_page_is_counted_and_linked(tmp_path, monkeypatch):
    monkeypatch.setattr(pack, "MOST_SHOWN", 3)
    folder = hostile_pack(tmp_path / "review", 5)
    page = Page(folder / "data-source-6.html")
    text = " ".join(" ".join(page.texts).split())
    assert "3 of 5 people are shown here." in text
    assert "3 of 5 findings are shown here." in text
    assert len(cells(folder / "data-source-6.csv")) == 5
    everything = " ".join(" ".join(Page(folder / "findings.html").texts).split())
    assert f"3 of {5 * len(HOSTILE)} findings are shown here." in everything
    assert len(cells(folder / "findings.csv")) == 5 * len(HOSTILE)


def test_V2_a_page_is_readable_without_its_scripts(evil):
    page = Page(evil / "data-source-0.html")
    (form,) = page.all("form")
    # The script shows it: without, there is nothing that does nothing.
    assert "hidden" in form
    assert not any("hidden" in row for row in page.all("tr"))
    assert len(page.all("h1")) == 1
    assert {label["for"] for label in page.all("label")} == {
        field["id"] for field in page.all("input")
    }
    assert all(head.get("scope") == "col" for head in page.all("th"))


def one_person(number: int) -> Iterator[dict]:
    """Yield as many people of one object, of whom nobody keeps any."""
    for i in range(number):
        person = f"Person {i} " + "x" * 200
        yield an_access(
            user_id=i, person=person, login_name=f"p{i}", status="certified"
        )


def test_V4_the_rows_of_an_object_are_not_held(tmp_path):
    project = {"object_type": "Project", "object_id": 1, "object_name": "Core",
               "in_charge": "Ines", "not_listed": 0}  # fmt: skip
    peaks = {}
    for number in (2_000, 20_000):
        tracemalloc.start()
        written = pack.Pack(tmp_path / str(number), "").write(
            [project], one_person(number), [], []
        )
        peaks[number] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert written["rows"] == number
    assert peaks[20_000] < 1.5 * peaks[2_000]


def test_V2_a_pack_that_fails_leaves_the_one_before(tmp_path):
    folder = hostile_pack(tmp_path / "review")
    before = (folder / "index.html").read_bytes()

    def stops() -> Iterator[dict]:
        yield from one_person(3)
        raise RuntimeError

    project = {"object_type": "Project", "object_id": 1, "object_name": "Core",
               "in_charge": "Ines", "not_listed": 0}  # fmt: skip
    with pytest.raises(RuntimeError):
        pack.Pack(folder, "").write([project], stops(), [], [])
    assert (folder / "index.html").read_bytes() == before
    # What it has left is cleared away by the next one.
    pack.Pack(folder, "").write([project], one_person(3), [], [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["review"]
    assert not (folder / "data-source-0.html").exists()


def in_projects(ids: list[int], rights: Rights) -> str:
    """Return how a way names the projects in which it shows results."""
    names = {key: rights.objects["Project"][key]["name"] for key in ids[:5]}
    told = [f"{n} ({key})" if n else f"Project {key}" for key, n in names.items()]
    more = f" and {len(ids) - 5} more" if ids[5:] else ""
    return f"in {', '.join(told)}{more}"


def test_V2_a_way_to_results_names_five_projects_and_counts_the_others(tmp_path):
    world = looked_after().world
    for key in range(1, 8):
        name = chr(64 + key) if key != 2 else None
        if key > 1:
            world["projects"].append(raw("projects", id=key, name=name))
        world["project_permissions"].append(
            raw("project_permissions", id=key + 10, project_id=key, user_id=1)
        )
        world["project_data_sources"].append(
            raw("project_data_sources", id=key + 10, project_id=key,
                meta_data_source_id=1)
        )  # fmt: skip
    Reviewed(world).pack(tmp_path / "review")
    (line,) = cells(tmp_path / "review/data-source-1.csv")
    assert (
        "View Test Results in Core (1), Project 2, C (3), D (4), E (5) and 2 more:"
        " Data Source Owner"
    ) in line["through what"]


@pytest.mark.parametrize("seed", [2, 7])
def test_V2_each_object_has_a_page_with_exactly_those_who_have_access(seed, tmp_path):
    reviewed = Reviewed(random_world(seed))
    totals = reviewed.pack(tmp_path / "review")
    rights = Rights(reviewed.staging)
    wanted = {
        ("Data Source", row["meta_data_source_id"], row["user_id"])
        for view in (user_data_source_access, user_results_access)
        for row in view(rights)
    } | {
        ("Project", row["project_id"], row["user_id"])
        for row in user_project_access(rights)
    }
    # The projects in which the results of a data source show, five by name.
    projects = defaultdict(set)
    for row in user_results_access(rights):
        project = row["project_id"]
        projects[row["meta_data_source_id"], row["user_id"]].add(project)
    named = {key: in_projects(sorted(ids), rights) for key, ids in projects.items()}
    held = defaultdict(set)
    for path in access_paths(reviewed.staging):
        user, *of_object = path[:3]
        if (*of_object, user) not in wanted:
            held[tuple(of_object)].add(user)
    told, pages = set(), set()
    for kind in ("Data Source", "Project"):
        for key in rights.objects[kind]:
            page = f"{kind.lower().replace(' ', '-')}-{key}"
            pages |= {f"{page}.html", f"{page}.csv"}
            more = re.findall(
                r"(\d+) (?:person has|people have) other rights alone on it",
                words(tmp_path / "review" / f"{page}.html"),
            )
            not_listed = len(held[kind, key])
            assert more == ([str(not_listed)] if not_listed else [])
            for row in cells(tmp_path / "review" / f"{page}.csv"):
                assert row["decision"] == "" and row["through what"]
                user = int(row["user id"])
                told.add((kind, key, user))
                shown = re.findall(r"View Test Results (.*?):", row["through what"])
                results = kind == "Data Source" and (key, user) in named
                assert set(shown) == ({named[key, user]} if results else set())
    assert told == wanted and totals["rows"] == len(wanted)
    assert any(
        held[kind, key] for kind in rights.objects for key in rights.objects[kind]
    )
    others = {
        *("index.html", "help.html", "users.csv", "findings.html", "findings.csv"),
        "rejected.csv",
    }
    assert {p.name for p in (tmp_path / "review").iterdir()} == pages | others
    found = reviewed.rows("select * from access_findings")
    assert len(cells(tmp_path / "review/findings.csv")) == len(found)
    assert totals["excused"] == 0
    assert sum(totals["severities"].values()) == len(found)


def looked_after() -> Reviewed:
    """A data source of user 1, one of nobody, and a project that 2 administers."""
    world = nobody_sees()
    # One login is known, so that who has none has never logged in.
    world["users"][0]["date_last_login"] = "2026-06-30 00:00:00"
    world["users"].append(raw("users", id=2, login_name="bo", last_name="Berg"))
    world["meta_data_sources"][0]["owner_user_id"] = "1"
    world["meta_data_sources"].append(raw("meta_data_sources", id=2, name="dwh"))
    world["project_permissions"] = [
        raw("project_permissions", id=1, project_id=1, user_id=2, role_name="Admin")
    ]
    return Reviewed(world)


def test_V2_a_pack_of_an_owner_is_about_what_they_are_in_charge_of(tmp_path):
    reviewed = looked_after()
    for user, page in ((1, "data-source-1"), (2, "project-1")):
        folder = tmp_path / str(user)
        reviewed.pack(folder, [user])
        objects = {path.stem for path in folder.glob("*-*.html")}
        assert objects == {page}
    reviewed.pack(tmp_path / "all")
    index = " ".join(Page(tmp_path / "all/index.html").texts)
    assert "Berg (bo)" in index and "the global administrators" in index
    found = {row["rule"] for row in cells(tmp_path / "2/findings.csv")}
    assert "data-source-without-owner" not in found
    everywhere = {row["rule"] for row in cells(tmp_path / "all/findings.csv")}
    assert "data-source-without-owner" in everywhere


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    """The pack of the sample."""
    folder = tmp_path_factory.mktemp("sample") / "review"
    reviewed = reviewed_sample()
    reviewed.pack(folder)
    reviewed.person(folder, 12)
    return folder


def words(path: Path) -> str:
    """Return the text of a page, in one line."""
    return " ".join(" ".join(Page(path).texts).split())


def test_V3_pages_and_tables_say_where_access_stands(sample):
    index = words(sample / "index.html")
    told = "1 to be removed (1 put off), 0 unreadable, 2 void, 1 new since, 1 overdue,"
    assert told in index and "125 never reviewed, 4 certified" in index
    assert "34 people with 134 accesses, each of one person to one of these" in index
    cards = words(sample / "data-source-2.html")
    assert "11 of 14 are not certified: " in cards
    assert (
        "2026-09-30; keep by Björn Ekdahl on 2026-06-22" in cards
        and "to be removed, put off until 2026-07-31 (Björn Ekdahl)" in cards
    )
    assert "overdue, was until 2026-06-18" in words(sample / "data-source-1.html")
    rows = {row["user id"]: row for row in cells(sample / "data-source-2.csv")}
    assert (rows["24"]["status"], rows["24"]["certified until"]) == (
        "certified",
        "2026-09-30",
    )
    assert rows["24"]["last decision"] == "keep by Björn Ekdahl on 2026-06-22"
    assert rows["33"]["status"] == "to be removed"
    assert rows["33"]["last decision"] == "remove by Björn Ekdahl on 2026-05-22"
    # The others were never reviewed.
    assert [row["last decision"] for row in rows.values()].count("") == 10
    filled = ("decision", "decided by", "decided on")
    assert {row[name] for row in rows.values() for name in filled} == {""}
    assert len({row["seen"] for row in rows.values()}) == len(rows)
    (removed,) = (
        row
        for row in cells(sample / "findings.csv")
        if row["rule"] == "removed-and-still-there"
    )
    names = {row["user id"]: row["person"] for row in cells(sample / "users.csv")}
    assert removed["about"] == "user 33 on Data Source 2"
    assert removed["by name"] == f"{names['33']} on card_payments"
    users = {row["user id"]: row for row in cells(sample / "users.csv")}
    assert (users["33"]["objects"], users["33"]["not certified"]) == ("8", "7")
    assert len(users) == 34


def test_V3_a_pack_certifies_nothing_that_no_run_has_looked_at_since(tmp_path):
    """Rights are run more often than reviews: what was certified may have changed."""
    name, user = "data-source-2", "24"
    # One of its own, since its rows change.
    reviewed = reviewed_sample(review_decisions=own_seed("review_decisions"))
    folder = tmp_path / "review"

    def told() -> tuple[str, str]:
        reviewed.pack(folder)
        rows = {row["user id"]: row for row in cells(folder / f"{name}.csv")}
        return rows[user]["status"], rows[user]["certified until"]

    def not_certified() -> int:
        (row,) = (r for r in cells(folder / "users.csv") if r["user id"] == user)
        (page,) = reviewed.person(folder, int(user))
        said = f"{row['not certified']} of {row['objects']} are not certified."
        assert said in words(folder / f"{page}.html")
        return int(row["not certified"])

    assert told() == ("certified", "2026-09-30")
    before = not_certified()
    # On the day after the last one that it certifies.
    day, reviewed.day = reviewed.day, "2026-10-01"
    assert told() == ("overdue", "2026-09-30")
    reviewed.day = day
    reviewed.database.connection.execute(
        "update explained_access_paths set grant_id = grant_id + 1000"
        f" where user_id = {user} and object_id = 2 and object_type = 'Data Source'"
    )
    assert told() == ("new since", "")
    assert not_certified() == before + 1
    assert "12 of 14 are not certified: " in words(folder / f"{name}.html")


def test_V2_the_index_shows_how_many_have_access_to_how_much(sample):
    bounds = {"1": (1, 1), "2 to 3": (2, 3), "4 to 7": (4, 7), "8 to 15": (8, 15)}
    text = marked(sample / "index.html").partition('id="reach"')[2]
    bars = re.findall(
        r'<td class="number">([^<]+)</td><td class="bar"><svg [^>]+>'
        r'<rect width="([\d.]+)" height="10"></rect></svg>(\d+)</td>',
        text,
    )
    objects = [int(row["objects"]) for row in cells(sample / "users.csv")]
    people = {
        told: sum(first <= number <= last for number in objects)
        for told, (first, last) in bounds.items()
    }
    assert {told: int(number) for told, _, number in bars} == people
    most = max(people.values())
    for told, width, _ in bars:
        assert float(width) == round(100 * people[told] / most, 1)


def test_V2_the_index_shows_how_much_access_there_was_over_the_months(evil, sample):
    text = marked(evil / "index.html")
    bars = re.findall(
        r'<td class="date">([^<]+)</td><td class="bar"><svg [^>]+>'
        r'<rect width="([\d.]+)" height="10"></rect></svg>(\d+)</td>'
        r'<td class="number">(\d+)</td>',
        text,
    )
    now = len(HOSTILE)
    assert bars == [
        ("2026-01-01", "0.0", "0", "1"),
        ("2026-02-01", "100.0", "25", "1"),
        ("2026-03-01", "32.0", "8", "1"),
        # What the pack says itself is as its other pages have it.
        ("in this pack", str(round(4.0 * now, 1)), str(now), str(now)),
    ]
    assert "Access over the months" not in words(sample / "index.html")


def test_V2_a_tier_whose_past_is_not_known_is_named(tmp_path):
    whole = pack.Pack(tmp_path / "review", "today")
    whole.write([], [], [], [], months_not_told=["squads", HOSTILE[0]])
    said = "as the past of these tiers can't be: squads, <img src=x onerror=alert(1)>."
    assert said in words(tmp_path / "review/index.html")


@pytest.mark.parametrize(
    ("day", "months", "first", "last"),
    [
        ("2026-07-01", 1, "2026-07-01", "2026-07-01"),
        ("2026-07-31", 12, "2025-08-01", "2026-07-01"),
        ("2026-01-15", 2, "2025-12-01", "2026-01-01"),
        ("2024-12-31", 25, "2022-12-01", "2024-12-01"),
    ],
)
def test_V2_months_are_told_from_their_first_days_on(day, months, first, last):
    days = reviews.first_days(date.fromisoformat(day), months)
    assert (len(days), str(days[0]), str(days[-1])) == (months, first, last)
    assert {each.day for each in days} == {1} and days == sorted({*days})


class Noted(reviews.Reviews):
    """Notes what is written, in the place of a pack."""

    def __init__(self) -> None:
        self.written: list[tuple] = []

    def rows(self, query: str) -> list[dict]:
        """Nothing is asked for a pack."""
        raise AssertionError

    access_over = rows

    def stopped(self, sentence: str) -> NoReturn:
        """Stop with one sentence."""
        raise adapter.ReviewError(sentence)

    def write(self, queries, made, is_whole, history=None, campaign=None) -> dict:
        """Note the text of a pack and its history, and return no totals."""
        self.written.append((made, history))
        return TOTALS


def noting(document: str, days: dict[str, str | None]) -> tuple[Asked, Noted]:
    """Return macros whose operation only notes what is written, on these days."""
    macros, noted = asked_with(document, "2026-07-01", "{}"), Noted()
    macros.stand_in(
        adapter=SimpleNamespace(
            **vars(macros._templates["review"].globals["adapter"]),
            access_reviews=lambda: noted,
            access_timelines=lambda: None,
        ),
        rows_of=lambda query: [days],
        print_table=lambda heads, rows: "",
    )
    return macros, noted


def test_V2_months_are_told_by_the_tiers_of_the_pack():
    document = yaml.safe_dump(together(), sort_keys=False)
    parts = {"models": [], "tiers_not_told": ["results", "reports"]}
    days = {"read_on": "2026-06-30", "judged_on": "2026-07-01", "today": "2026-07-02"}
    for delivered_on, last in [
        ("2026-06-02", "2026-06-02"),
        ("2026-08-02", "2026-06-30"),
        (None, "2026-06-30"),
    ]:
        macros, noted = noting(document, days | {"delivered_on": delivered_on})
        macros.stand_in(timeline_parts=lambda timelines: parts)
        assert "reports" in macros.secure_datasets_config()["tiers"]
        macros.review()
        assert macros.warnings == []
        macros.review(months=12)
        (_, none), (_, told) = noted.written
        assert none is None
        assert told.pop("parts") == parts | {"raw_tables": macros.repository_tables()}
        # A tier that a pack tells nothing of may be as it likes.
        assert told == {"months": 12, "last": last, "not_told": ["results"]}
        assert macros.warnings == [
            "review: access over the months is not told, as the past of these tiers"
            " can't be: results."
        ]


def test_V6_the_index_tells_how_much_each_person_in_charge_has_decided(sample):
    wanted: dict[str, list] = {}
    for path in [*sample.glob("data-source-*.csv"), *sample.glob("project-*.csv")]:
        for line in cells(path):
            for person in line["in charge"].split(", "):
                is_decided = line["status"] in ("certified", "to be removed")
                wanted.setdefault(person, []).append(is_decided)
    table = marked(sample / "index.html").partition('id="progress"')[2]
    rows = re.findall(
        r'<tr><td>([^<]+)</td><td class="number">\d+</td><td class="number">(\d+)</td>'
        r'<td class="bar"><svg [^>]+><rect width="([\d.]+)" height="10"></rect></svg>'
        r"(\d+)</td>",
        table,
    )
    found = {html.unescape(row[0]): (int(row[1]), int(row[3])) for row in rows}
    told = {person: (len(of), sum(of)) for person, of in wanted.items()}
    # Who is in charge of what nobody has access to has nothing to decide.
    assert {k: v for k, v in found.items() if v[0]} == told
    assert any(decided for _, decided in told.values())
    left = [int(row[1]) - int(row[3]) for row in rows]
    assert left == sorted(left, reverse=True)


@pytest.mark.parametrize(
    ("day", "until"),
    [
        ("2026-10-02", ", 29 days from 2026-10-02"),
        ("2026-10-30", ", 1 day from 2026-10-30"),
        ("2026-10-31", ", 0 days from 2026-10-31"),
        ("2026-11-01", ", which is over"),
    ],
)
def test_V6_each_page_bears_campaign_deadline_and_on_paper_the_object(
    day, until, tmp_path
):
    name = "</style><b>Autumn"
    campaign = pack.Campaign(name, date(2026, 10, 31), date.fromisoformat(day))
    objects = [{"object_type": "Project", "object_id": 1, "object_name": 'a";}',
                "in_charge": "", "not_listed": 0}]  # fmt: skip
    whole = pack.Pack(tmp_path / "review", "", campaign=campaign)
    whole.write(objects, [], [], [])
    for path in (tmp_path / "review").glob("*.html"):
        assert f"{name}: decide until 2026-10-31{until}" in words(path)
    page = Page(tmp_path / "review/project-1.html")
    (style,) = (text for text in page.inline["style"] if "@page { @top" in text)
    (told,) = re.findall(r'content: "([^"]*)"', style)
    read = "".join(chr(int(code, 16)) for code in told.split("\\")[1:])
    assert read == f'a";}}, {name}, {day}'


@pytest.mark.parametrize("deadline", ["31.10.2026", "soon", "2026-02-30"])
def test_V6_a_deadline_that_is_no_day_is_told_in_a_sentence(deadline):
    asks = adapter.AccessReviews(SimpleNamespace())
    said = f"review: 'deadline' is '{deadline}', which is no day: write 2026-09-30."
    with pytest.raises(adapter.ReviewError, match=re.escape(said)):
        asks.campaign("Autumn", deadline, "2026-10-02")
    assert asks.campaign(None, None, "2026-10-02").says == ""


def test_V6_what_a_membership_also_gives_is_told_once_a_page(tmp_path):
    reviewed = reviewed_sample()
    reviewed.person(tmp_path / "review", 8)
    page = marked(tmp_path / "review/person-8.html")
    told = page.count("user_group_members 9 also gives rights on")
    assert told == page.count('id="user_group_members-9"') == 1
    others = len(cells(tmp_path / "review/person-8.csv")) - 1
    assert page.count('<a href="#user_group_members-9">') == others > 0


class Written(adapter.AccessReviews):
    """A review whose rows are given, and whose pack is written into a folder."""

    folder = Path()

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _session(self) -> str:
        return "the session"

    def rows(self, query: list) -> list:
        return query


@pytest.mark.parametrize("is_whole", [True, False])
def test_V2_months_are_of_the_objects_of_the_pack(is_whole, tmp_path, monkeypatch):
    asked = []

    def access_on(*given, **more) -> list[dict]:
        asked.append((*given, more))
        return [{"day": date(2026, 7, 1), "accesses": 3, "people": 2}]

    monkeypatch.setattr("secure_datasets.questions.timeline.days.access_on", access_on)
    objects = [
        {"object_type": kind, "object_id": key, "object_name": "o", "in_charge": "",
         "not_listed": 0}
        for kind, key in [("Data Source", 4), ("Project", 1), ("Project", 2)]
    ]  # fmt: skip
    rows = {"objects": iter(objects)}
    rows |= {name: [] for name in ("people", "findings", "users")}
    history = {"months": 2, "last": "2026-07-09", "parts": "parts", "not_told": []}
    found = Written(tmp_path / "review").write(rows, "today", is_whole, history)
    assert found["objects"] == 3
    days = [date(2026, 6, 1), date(2026, 7, 1)]
    ids = {"Data Source": {4}, "Project": {1, 2}}
    more = {"are_all": is_whole}
    assert asked == [("the session", days, ids, "parts", more)]
    assert "2026-07-01 3 2 in this pack 0 0" in words(tmp_path / "review/index.html")
    # Nothing is worked out that is not told.
    rows |= {"objects": objects}
    for nothing in (None, history | {"not_told": ["squads"]}):
        Written(tmp_path / "review").write(rows, "today", is_whole, nothing)
        assert len(asked) == 1


def test_V2_raw_tables_that_cannot_be_read_are_told_in_a_sentence(
    tmp_path, monkeypatch
):
    from pyspark.errors import AnalysisException

    def access_on(*given, **more) -> list:
        raise AnalysisException("The table can't be found.\nIts plan")

    monkeypatch.setattr("secure_datasets.questions.timeline.days.access_on", access_on)
    history = {"months": 2, "last": "2026-07-09", "parts": {}, "not_told": []}
    with pytest.raises(adapter.ReviewError) as stopped:
        Written(tmp_path / "review").write({"objects": []}, "", True, history)
    said = "from the raw tables: The table can't be found. Without months, a pack needs"
    assert said in str(stopped.value) and "Its plan" not in str(stopped.value)
    assert not (tmp_path / "review").exists()


@pytest.mark.parametrize("asked", [-1, "all", True, None, 1.5, 121, "121"])
def test_V2_months_are_a_whole_number(asked):
    asks = adapter.AccessReviews(SimpleNamespace())
    assert (asks.months(0), asks.months("12"), asks.months(120)) == (0, 12, 120)
    told = "are told at most" if str(asked) == "121" else "which is no whole number"
    with pytest.raises(adapter.ReviewError, match=f"review: 'months' is .*{told}"):
        asks.months(asked)


def test_V2_the_page_of_a_person_has_all_their_access_and_nothing_else(sample):
    everybody = [
        row
        for path in sample.glob("*-*.csv")
        if not path.name.startswith("person")
        for row in cells(path)
    ]
    own = cells(sample / "person-12.csv")
    wanted = [row for row in everybody if row["user id"] == "12"]
    assert sorted(map(str, own)) == sorted(map(str, wanted)) and len(own) == 6
    page = Page(sample / "person-12.html")
    assert all((sample / link).is_file() for link in page.linked())
    text = words(sample / "person-12.html")
    assert "Fatima Al-Rashid" in text and "6 of 6 are not certified." in text
    assert "new since" in text and "user 12 on Project 1" in text


def test_V2_the_page_of_a_person_needs_no_pack(tmp_path):
    reviewed = looked_after()
    assert reviewed.person(tmp_path / "review", 2) == ["person-2"]
    assert {path.name for path in (tmp_path / "review").iterdir()} == {
        *("person-2.html", "person-2.csv", "help.html"),
    }
    assert [p.name for p in tmp_path.iterdir()] == ["review"]
    page = Page(tmp_path / "review/person-2.html")
    # The findings beside the access are on the page itself.
    assert page.linked() == {"person-2.csv", "person-2.html", "help.html"}
    # Who has access to nothing has a page that says so.
    reviewed.person(tmp_path / "review", 1)
    assert "Berg" in words(tmp_path / "review/person-2.html")


@pytest.mark.parametrize("name", HOSTILE)
def test_V2_nothing_in_a_name_breaks_the_page_of_a_person(name, tmp_path):
    row = evil_access(1, name) | {"objects": 1, "to_decide": 1}
    pack.Pack(tmp_path / "review", name).write_people([row], [row], [])
    page = Page(tmp_path / "review/person-1.html")
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    assert {a for _, attributes in page.elements for a in attributes} <= ATTRIBUTES
    assert "\u202e" not in "".join(page.texts)


def test_V2_who_has_no_name_is_called_by_login_address_or_id(tmp_path):
    world = nobody_sees()
    world["users"] = [
        raw("users", id=1, login_name="ann"),
        raw("users", id=2, email="bo@example.com"),
        raw("users", id=3),
        raw("users", id=4, login_name="di", first_name="Di"),
    ]
    world["meta_data_sources"][0]["owner_user_id"] = "1"
    world["data_source_permissions"] = [
        raw("data_source_permissions", id=i, meta_data_source_id=1, user_id=i,
            role_name="ViewMetadata")
        for i in (2, 3, 4)
    ]  # fmt: skip
    reviewed = Reviewed(world)
    reviewed.pack(tmp_path / "pack")
    page = tmp_path / "pack/data-source-1.csv"
    with page.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {(line["user id"], line["person"]) for line in lines} == {
        ("1", "ann"), ("2", "bo@example.com"), ("3", "user 3"), ("4", "Di")
    }  # fmt: skip
    assert {line["in charge"] for line in lines} == {"ann (1)"}
    html = marked(tmp_path / "pack/data-source-1.html")
    assert "<td></td>" not in html and "<td>(" not in html and "<td> (" not in html
    # A finding names whom it is about as well.
    with (tmp_path / "pack/findings.csv").open(encoding="utf-8-sig") as file:
        named = {row["about"]: row["by name"] for row in csv.DictReader(file)}
    about = {s: n for s, n in named.items() if s.startswith("user ")}
    assert all(about.values()), about


def test_V2_an_owner_whom_nobody_knows_is_told_in_a_sentence():
    asked = adapter.AccessReviews(SimpleNamespace())
    assert asked.users("ann", [{"user_id": 1}, {"user_id": 3}]) == [1, 3]
    with pytest.raises(adapter.ReviewError) as wrong:
        asked.users("a\u001bn", [])
    assert (
        "review: there is no live user with the id, login name or e-mail address 'a?n'."
        in str(wrong.value)
    )


def test_V2_what_is_shipped_says_its_licence():
    names = {path.name for path in pack.ASSETS.iterdir()}
    assert {"LICENSE.simple.css", "LICENSE.sortable"} <= names
    assert {*pack.STYLES, *pack.SCRIPTS} <= names


def test_V2_the_page_tells_what_dbt_says():
    page = (ROOT / "docs/review.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"`(review: there is no live user.*?)`", page)
    with pytest.raises(adapter.ReviewError, match=re.escape(told)):
        adapter.AccessReviews(SimpleNamespace()).users("ann", [])
    for rule in ("dormant-admin", "redundant-grant"):
        assert rule in page and (ROOT / f"docs/findings/{rule}.md").is_file()


def test_who_is_asked_for_is_found_by_the_case_of_ascii_letters_only():
    # The lower case of the Kelvin sign is the letter k: a pack is for whom it names.
    world = nobody_sees()
    for user, name in enumerate(("mark", "mar\u212a"), 2):
        email = f"{name}@example.org"
        world["users"].append(raw("users", id=user, login_name=name, email=email))
    reviewed = Reviewed(world)
    for asked, user in {
        "mark": 2, "MARK": 2, "mar\u212a": 3, "Mark@example.org": 2, "3": 3,
    }.items():  # fmt: skip
        found = reviewed.rows(users_called(reviewed.built, asked))
        assert [row["user_id"] for row in found] == [user], asked


def found_on(page: str, folder: Path) -> list[str]:
    """Return the cells of the column of who decides, by line."""
    text = marked(folder / page)
    cells = re.findall(r'<td class="decides">(.*?)</td>', text)
    return [html.unescape(re.sub("<[^>]+>", " ", cell)).strip() for cell in cells]


def test_V2_who_may_not_decide_is_told_who_does(tmp_path):
    reviewed = reviewed_sample()
    rows = reviewed.rows(
        "select owner_user_id from int_securable_objects"
        " where object_type = 'Data Source' and object_id = 2"
    )
    (own,) = (row["owner_user_id"] for row in rows)
    reviewed.pack(tmp_path)
    lines = cells(tmp_path / "data-source-2.csv")
    told = found_on("data-source-2.html", tmp_path)
    assert len(told) == len(lines)
    for line, said in zip(lines, told, strict=True):
        ways = line["through what"].split("; ")
        wanted, names = "", []
        if all(", by user_global_roles " in way for way in ways):
            is_one = line["login"] in ADMINISTRATORS
            wanted = "another global administrator" if is_one else GLOBAL
        if int(line["user id"]) == own:
            # Nobody else is in charge of it.
            wanted = "a global administrator"
        if wanted:
            # By name, but for the person.
            names = [n for login, n in ADMINISTRATORS.items() if login != line["login"]]
        shown = f"{wanted}: {', '.join(names)}" if wanted else "yours: keep or remove"
        if line["status"] in ("certified", "to be removed"):
            shown = "nothing to decide"
        assert said == shown, line
        # What is written into a table comes back: nothing stands there.
        assert (line["decision"], line["who else decides"]) == ("", wanted)
    assert len(set(told)) == 6
    page = words(tmp_path / "data-source-2.html")
    others = sum("administrator" in said for said in told)
    undecided = 11 - others - 1
    assert (
        f"11 of 14 are not certified: {undecided} to decide, {others} for others to"
        " decide, 1 to be removed, put off."
    ) in page


def test_V2_a_line_that_is_decided_after_what_a_finding_asks_says_so(sample):
    told = 0
    tables = [*sample.glob("data-source-*.csv"), *sample.glob("project-*.csv")]
    for table in tables:
        page, lines = table.with_suffix(".html").name, cells(table)
        after = 0
        for line, said in zip(lines, found_on(page, sample), strict=True):
            found = line["findings"].split("; ")
            asked = {
                rule
                for rule, _, row in (each.partition(": ") for each in found)
                if rule == "toxic-pair"
                or (
                    rule in ("redundant-grant", "second-way")
                    and re.search(rf"\b{row}\b", line["through what"])
                )
            }
            is_left = line["status"] not in ("certified", "to be removed")
            named = set(re.findall(r"First see to\s+([\w-]+)\s*\.", said))
            assert named == (asked if is_left else set()), line
            assert bool(line["first see to"]) is bool(named)
            # The same sentences, with nothing to follow.
            plain = re.sub(r"First see to\s+[\w-]+\s*\.\s*", "", said)
            assert " ".join(plain.split()).endswith(line["first see to"])
            assert line["first see to"].count("remove") >= len(named)
            after += bool(asked) and is_left and not line["who else decides"]
        number = f"{after} to decide after what a finding asks"
        assert (number in words(sample / page)) is bool(after)
        told += after
    assert told > 2


def test_V2_what_else_a_membership_gives_stands_below_the_ways(sample):
    reviewed = reviewed_sample()
    given = defaultdict(set)
    for row in reviewed.rows("select * from explained_access_paths"):
        key = row["object_type"], row["object_id"]
        if row["user_group_member_id"] is not None:
            given[f"user_group_members {row['user_group_member_id']}"].add(key)
        elif row["grant_table"] == "user_global_roles":
            given[f"user_global_roles {row['grant_id']}"].add(key)
    objects = reviewed.rows("select * from int_securable_objects")
    names = {
        (row["object_type"], row["object_id"]): row["object_name"] for row in objects
    }
    told: Counter[str] = Counter()
    for path in sample.glob("*-[0-9]*.csv"):
        page = words(path.with_suffix(".html"))
        for line in cells(path):
            by = r"user_group_members \d+|user_global_roles \d+"
            rows = re.findall(by, line["through what"])
            here = line["object type"], int(line["object id"])
            said = {
                f"{row} also gives rights on {len(others)} other"
                f" object{'s' if len(others) > 1 else ''}: "
                + ", ".join(f"{names[o]} ({o[0]} {o[1]})" for o in others)
                for row in rows
                if (others := sorted(given[row] - {here}))
            }
            assert line["what it also gives"] == "; ".join(sorted(said))
            # The page names ten.
            assert all(text.split(": ")[0] in page for text in said)
            told.update(text.split()[0] for text in said)
    assert told["user_group_members"] > 20 and told["user_global_roles"] > 20


def test_V2_the_help_says_what_each_role_holds(sample):
    text = words(sample / "help.html")
    for object_type, by_role in ROLE_PERMISSIONS.items():
        for role, permissions in by_role.items():
            named = role or "(a row without a role)"
            held = ", ".join(sorted(permissions)) or "grants nothing here"
            assert f"{object_type} {named}: {held}" in text


@pytest.mark.parametrize(
    ("others", "is_administrator", "said"),
    [
        ((), False, "a global administrator"),
        ((), True, "another global administrator"),
        ([3], False, "somebody else in charge, or a global administrator"),
        (range(3, 10), True,
         "somebody else in charge, or another global administrator"),
    ],
)  # fmt: skip
def test_V2_who_is_in_charge_is_told_who_else_decides_and_acts(
    others, is_administrator, said, tmp_path
):
    world = looked_after().world
    for key, user in enumerate((2, *others), 20):
        if user != 2:
            world["users"].append(raw("users", id=user, login_name=f"u{user}"))
        world["project_permissions"].append(
            raw("project_permissions", id=key, project_id=1, user_id=user,
                role_name="Admin")
        )  # fmt: skip
    if is_administrator:
        world["user_global_roles"] = [
            raw("user_global_roles", id=1, user_id=2, role_name="Global.Admin")
        ]
    reviewed = Reviewed(world)
    reviewed.pack(tmp_path / "review")
    lines = cells(tmp_path / "review/project-1.csv")
    told = {line["user id"]: line["who else decides"] for line in lines}
    assert told["2"] == said
    # And of the grant that is there twice.
    (twice,) = (
        row
        for row in cells(tmp_path / "review/findings.csv")
        if row["about"] == "project_permissions 20"
    )
    assert twice["who should act"] == said


def test_V2_a_global_administrator_is_never_told_to_decide_about_herself(sample):
    """Nor to act on what is found of her."""
    lines = [line for path in sample.glob("*-*.csv") for line in cells(path)]
    own = {
        (line["login"], line["who else decides"])
        for line in lines
        if line["login"] in ("isolheim", "iconti")
        # What somebody else is in charge of, and gave her, too.
        and line["who else decides"]
    }
    assert own == {
        ("isolheim", "another global administrator"),
        ("iconti", "another global administrator"),
    }
    acts = {
        (row["rule"], row["about"]): row["who should act"]
        for row in cells(sample / "findings.csv")
    }
    assert acts["dormant-admin", "user 32"] == "another global administrator"
    # A grant of hers, on what a global administrator does not own.
    assert acts["redundant-grant", "data_source_permissions 50"] == (
        "another global administrator"
    )


def test_V2_global_administrators_decide_where_they_are_in_charge(sample):
    index = (sample / "index.html").read_text(encoding="utf-8")
    for name in ("customer_portal", "fraud_alerts", "loan_origination"):
        (page,) = re.findall(rf'href="([\w-]+)\.html">{name}<', index)
        named = "Ingrid Solheim (isolheim), Isabella Conti (iconti, dormant)"
        told = f"In charge: the global administrators: {named}."
        assert told in words(sample / f"{page}.html")
        lines = cells(sample / f"{page}.csv")
        assert any("user_global_roles" in line["through what"] for line in lines)
        # But not about their own access.
        own = {line["login"]: line["who else decides"] for line in lines}
        for login in ("isolheim", "iconti"):
            assert own.pop(login) == "another global administrator"
        assert set(own.values()) == {""}
    assert f"it is the global administrators: {named}." in words(sample / "help.html")


def test_V2_a_table_has_all_ways_and_a_page_ten_of_them(tmp_path):
    ways = [a_way(f"way {i:02}") for i in range(13)]
    rows = [row | {"ways": ways} for row in one_person(1)]
    project = {"object_type": "Project", "object_id": 1, "object_name": "Core",
               "in_charge": "Ines", "not_listed": 0}  # fmt: skip
    pack.Pack(tmp_path / "review", "").write([project], rows, [], [])
    page = words(tmp_path / "review/project-1.html")
    assert "way 09 and 3 more" in page and "way 10" not in page
    (line,) = cells(tmp_path / "review/project-1.csv")
    assert line["through what"].split("; ") == [way["way"] for way in ways]


@pytest.mark.parametrize(
    ("since", "decided_on", "said"),
    [
        ("2026-06-02", "2026-06-01", "new: a way, since 2026-06-02"),
        ("2026-06-01", "2026-06-01", "a way, since 2026-06-01"),
        ("2026-06-02", None, "a way, since 2026-06-02"),
        (None, "2026-06-01", "a way"),
    ],
)
def test_V3_a_way_that_came_after_the_last_decision_is_new(since, decided_on, said):
    access = an_access(last_decided_on=decided_on, ways=[a_way("a way", since)])
    assert pack._told_access(access)["through"] == said


def test_V3_the_pack_of_the_sample_tells_the_new_way(sample):
    (line,) = (
        line
        for path in sample.glob("project-*.csv")
        for line in cells(path)
        if line["status"] == "new since"
    )
    decided_on = line["last decision"].rpartition(" ")[2]
    for way in line["through what"].split("; "):
        since = way.rpartition(" since ")[2][:10]
        assert way.startswith("new: ") == (since > decided_on)


EXCUSE = ("who answers for it", "excused because", "excused until")


def test_V1_what_is_excused_says_by_whom_why_and_until_when(sample):
    lines = cells(sample / "findings.csv")
    excused = [line for line in lines if line["excused"] == "yes"]
    exceptions = {tuple(row[:2]): row[2:] for row in own_seed("finding_exceptions")}
    text = words(sample / "findings.html")
    assert excused
    for line in excused:
        owner, reason, until = exceptions[line["rule"], line["about"]]
        told = tuple(line[f"{what}"] for what in EXCUSE)
        assert told == (owner, reason, until)
        assert f"Excused until {until}, {owner} answers for it: {reason}" in text
    others = [line for line in lines if line["excused"] == "no"]
    # An exception that has run out is told, too.
    over = [line for line in others if line["excused until"]]
    (_, about, owner, reason, until), *_ = [
        row for row in own_seed("finding_exceptions") if row[4] < "2026-07-01"
    ]
    by = f"{owner} (whom it is about)"
    told = (about, by, reason, until)
    assert [(line["about"], *(line[w] for w in EXCUSE)) for line in over] == [told]
    assert f"No longer excused: it was until {until}, by {by}: {reason}" in text
    assert {r[w] for r in others if r not in over for w in EXCUSE} == {""}
    # Beside the person, too.
    people = {row["user id"]: row for row in cells(sample / "data-source-2.csv")}
    assert people["33"]["findings"] == "removed-and-still-there (excused)"
    # Counted once: neither among the others on the index, nor of an object.
    index = words(sample / "index.html")
    assert f"excused findings, not among these: {len(excused)}" in index
    for severity in pack.SEVERITIES:
        number = sum(line["severity"] == severity for line in others)
        assert f"{severity} findings: {number}" in index


def test_V2_the_help_tells_what_each_status_and_each_rule_means(sample):
    text = words(sample / "help.html")
    rules = ((name, rule.meaning, rule.remedy) for name, rule in RULES.items())
    for told in (*STATUSES.items(), *rules):
        assert " ".join(told) in text
    named = {row.get("id") for row in Page(sample / "help.html").all("tr")}
    assert set(RULES) <= named


def test_V2_what_is_said_of_access_type_is_linked(sample):
    page = Page(sample / "help.html")
    (head,) = (head for head in page.all("h2") if head.get("id"))
    links = [link["href"] for link in page.all("a")]
    assert links.count(f"help.html#{head['id']}") == 2


def test_V2_the_page_of_findings_says_what_they_are_of(sample, tmp_path):
    assert TOLD["whole"] in words(sample / "findings.html")
    reviewed_sample().pack(tmp_path, [3])
    assert TOLD["part"] in words(tmp_path / "findings.html")


def test_V3_the_index_counts_of_each_object_what_is_urgent(sample):
    text = marked(sample / "index.html")
    objects = text.partition('id="objects"')[2].partition("</table>")[0]
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)', objects)
    told = {}
    for line in objects.split("<tr>")[2:]:
        numbers = [re.sub("<[^>]+>", "", c) for c in line.split("</td>")]
        (page,) = re.findall(r'href="([\w-]+)\.html"', line)
        told[page] = int(numbers[heads.index("Urgent")])
    counted = {
        page: sum(line["status"] in URGENT for line in cells(sample / f"{page}.csv"))
        for page in told
    }
    # What is put off until a day is not.
    counted["data-source-2"] -= 1
    assert told == counted and sum(told.values()) == 4
    assert set(STATUSES) - set(URGENT) == {"never reviewed", "certified"}
    for page in ("index", "help"):
        assert (
            "counts accesses that are to be removed, unreadable, void, new since or"
            " overdue"
        ) in words(sample / f"{page}.html")


def test_V2_a_pack_of_a_global_administrator_lacks_what_nobody_is_in_charge_of(
    sample, tmp_path
):
    reviewed_sample().pack(tmp_path, [1])
    assert not list(tmp_path.glob("*-*.csv"))
    lines = [line for path in sample.glob("*-*.csv") for line in cells(path)]
    assert any(line["who else decides"] == GLOBAL for line in lines)


def test_V2_severity_and_status_sort_by_what_has_to_be_done_first(sample):
    def ranks(text: str, words: list[str]) -> None:
        for rank, word in re.findall(r'data-sort="(\d+)"[^>]*>([a-z ]+)', text):
            assert words.index(word) == int(rank)

    page = marked(sample / "data-source-2.html")
    people, _, findings = page.partition("<h2>Findings</h2>")
    ranks(people, list(STATUSES))
    # What is excused comes after all that is not.
    others = re.sub(r'<tr id="[^"]*" class="excused">.*', "", findings)
    ranks(others, list(pack.SEVERITIES))
    assert re.findall(r'class="excused"><td data-sort="(\d)">high', findings) == ["3"]
    assert 'data-sort="0"' in people and "data-sort" in findings


@pytest.mark.parametrize(
    ("read_on", "judged_on", "today", "said"),
    [
        ("2026-07-01", "2026-07-01", "2026-07-01", ""),
        # A sample, of whatever day its rights are.
        *(
            (read_on, "2026-07-01", "2026-11-23",
             " The day of a decision may not be later than 2026-07-01.")
            for read_on in ("2026-07-01", "2026-11-23")
        ),
        # A run of some days ago.
        ("2026-06-28", "2026-07-01", "2026-07-01",
         " What is certified or overdue is so on 2026-07-01; the rights, and what is"
         " found, excused or dormant, are as the runs before have left them, and may"
         " be otherwise on that day."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("delivered_on", ["2026-06-27", None])
def test_V2_a_page_says_what_holds_as_of_which_day(
    read_on, judged_on, today, said, delivered_on
):
    reviewed = looked_after()
    reviewed.day = judged_on
    days = {"read_on": read_on, "judged_on": judged_on, "today": today}
    days["delivered_on"] = delivered_on
    delivered = f", the newest delivered on {delivered_on}" if delivered_on else ""
    is_sample = judged_on != today
    first = f"This is the sample: read it as if today were {judged_on}. "
    judged = f"Judged as of {judged_on}. "
    settings = {"dormant_days": 90, "review_days": 100}
    for owner, whose in (("", ""), ("ann", "What ann is in charge of. ")):
        assert made.made_of(days, settings, owner) == (
            f"{first if is_sample else ''}{whose}Rights as read on {read_on}{delivered}"
            f". {'' if is_sample else judged}Who has not logged in for 90 days is"
            f" dormant. A decision certifies for 100 days.{said}"
        )
    # Rights that were run alone since.
    said = made.made_of(days, settings, "ann", "Since then, more.")
    assert " A decision certifies for 100 days. Since then, more." in said
    reviewed.database.connection.execute(
        "create table access_freshness as select timestamp '2026-06-28 23:00' read_at,"
        " timestamp '2026-06-27 23:00' newest_delivery"
    )
    (found,) = reviewed.rows(made.days_of_review(reviewed.built))
    assert (found["read_on"], found["judged_on"]) == ("2026-06-28", judged_on)
    assert found["delivered_on"] == "2026-06-27"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["today"])


ACCESS_VIEWS = [
    "vw_secure_user_data_source_access", "vw_secure_user_project_access",
    "vw_secure_user_results_access",
]  # fmt: skip
AS_NOW = (
    "Since findings and statuses were worked out, {}: who has access, and through what,"
    " is told as it is now, the others as they were before. Run dbt, and write the pack"
    " again."
)
OF_NEITHER = (
    "Since {} made, {}. What is told is by the newest of each that is built, and may be"
    " that of neither state. Run dbt, and write the pack again."
)
ROWS = "other rows of users were staged"


@pytest.mark.parametrize(
    ("tables", "stored", "of_before", "said"),
    [
        ([], [], [], None),
        # The rights were run alone.
        (["users"], [], ["access_findings", "review_status"], AS_NOW.format(ROWS)),
        ([], ["role_permissions"], ["access_findings", "judged_grants"],
         AS_NOW.format("role_permissions was made anew")),
        # Staging was, or what follows it failed.
        (["users"], [], ["access_findings", "explained_access_paths"],
         OF_NEITHER.format("access_findings, explained_access_paths were", ROWS)),
        *((["users"], [], [view], OF_NEITHER.format(f"{view} was", ROWS))
          for view in (*ACCESS_VIEWS, "int_access_paths", "vw_secure_user_roles")),
    ],
)  # fmt: skip
def test_V2_a_pack_says_where_what_it_reads_is_of_several_states(
    tables, stored, of_before, said
):
    names = ("read_on", "delivered_on", "judged_on", "today")
    days = dict.fromkeys(names, "2026-07-01")
    macros, noted = noting(looked_after().document, days)
    macros.since |= {"tables": tables, "stored": stored, "of_before": of_before}
    macros.review()
    asked = {
        *("review_status", "access_findings", "judged_grants", "judged_decisions"),
        *("explained_access_paths", "int_access_paths", "int_securable_objects"),
        *("vw_secure_user_roles", *ACCESS_VIEWS),
        *("review_decisions", "finding_exceptions", "toxic_pairs", "role_permissions"),
    }
    assert sorted(macros.asked_since) == sorted(asked)
    assert macros.warnings == ([f"review: {said}"] if said else [])
    ((text, _),) = noted.written
    assert text.endswith(f"certifies for 100 days.{f' {said}' if said else ''}")


def test_V2_who_looks_after_a_report_is_told_what_is_found_of_it(tmp_path):
    world = nobody_sees()
    world["meta_data_sources"][0]["owner_user_id"] = "1"
    world["reports"].append(raw("reports", id=5, name="month", owner_user_id=1))
    grant = {"id": 6, "report_id": 5, "user_group_id": 9, "role_name": "View"}
    world["report_permissions"] = [raw("report_permissions", **grant)]
    reviewed = Reviewed(world)
    reviewed.pack(tmp_path / "own", [1])
    reviewed.pack(tmp_path / "none", [2])
    found = {row["about"] for row in cells(tmp_path / "own/findings.csv")}
    about = {
        row["subject"]
        for row in reviewed.findings().values()
        if (row["object_type"], row["object_id"]) == ("Report", 5)
    }
    assert about and about <= found
    assert cells(tmp_path / "none/findings.csv") == []


def test_V1_who_decided_about_themselves_is_not_told_to_act(sample):
    (void,) = (
        line
        for line in cells(sample / "findings.csv")
        if line["rule"] == "void-decision" and line["about"].startswith("user 28 ")
    )
    # Who owns the data source is the one who may not.
    assert void["who should act"] == "a global administrator"


def test_V2_since_is_said_to_be_earlier_where_a_way_has_no_day(sample):
    told = set()
    for path in sample.glob("*-*.csv"):
        for line in cells(path):
            dated = [", since " in way for way in line["through what"].split("; ")]
            if not any(dated):
                assert line["since"] == "not known"
            else:
                assert line["since"].endswith(" or earlier") is not all(dated)
            told.add((any(dated), all(dated)))
    assert told == {(False, False), (True, False), (True, True)}


def test_V3_a_void_decision_is_told_where_it_stands(sample):
    lines = [line for path in sample.glob("*-*.csv") for line in cells(path)]
    void = {line["last decision"] for line in lines if line["status"] == "void"}
    assert void == {
        # He owns it, and is not live.
        "keep by Dmitri Volkov (not in charge now) on 2026-04-02",
        "keep by Elena Petrova on 2026-06-15",
    }


@pytest.mark.parametrize(
    ("decided_by", "said"),
    [
        ("bekdahl", "keep by Björn Ekdahl on 2026-06-22"),
        # She is in charge of another data source.
        ("praman", "keep by Priya Raman (not in charge now) on 2026-06-22"),
        ("isolheim", "keep by Ingrid Solheim on 2026-06-22"),
    ],
)
def test_V3_who_decided_and_is_not_in_charge_is_told(decided_by, said, tmp_path):
    about = ("Data Source", "2", "24")
    decisions = [
        (*row[:5], decided_by if row[:3] == about else row[5], row[6])
        for row in own_seed("review_decisions")
    ]
    reviewed_sample(review_decisions=decisions).pack(tmp_path)
    (line,) = (
        line
        for line in cells(tmp_path / "data-source-2.csv")
        if line["user id"] == "24"
    )
    assert (line["status"], line["last decision"]) == ("certified", said)
    assert line["in charge"] == "Björn Ekdahl (bekdahl)"


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        ("33", "33 (whom it is about)"),
        (" TNkosi", " TNkosi (whom it is about)"),
        ("Thabo Nkosi", "Thabo Nkosi (whom it is about)"),
        ("Björn Ekdahl", "Björn Ekdahl"),
    ],
)
def test_V1_an_exception_by_whom_it_is_about_is_told(owner, said, tmp_path):
    about = ("removed-and-still-there", "user 33 on Data Source 2")
    exception = (*about, owner, "meant", "2026-07-31")
    reviewed_sample(finding_exceptions=[exception]).pack(tmp_path)
    (excused,) = (
        line
        for line in cells(tmp_path / "findings.csv")
        if (line["rule"], line["about"]) == about
    )
    assert (excused["excused"], excused["who answers for it"]) == ("yes", said)


def test_V2_a_pack_of_an_owner_has_what_is_found_of_its_people(tmp_path):
    reviewed = reviewed_sample()
    reviewed.pack(tmp_path, [14])
    found = {row["rule"]: row for row in cells(tmp_path / "findings.csv")}
    assert found["dormant-admin"]["by name"] == "Isabella Conti"
    # Who owns a report is named as elsewhere.
    acting = {
        row["who should act"]
        for row in cells(tmp_path / "findings.csv")
        if row["about"] == "report_permissions 16"
    }
    assert acting == {"Björn Ekdahl (bekdahl)"}
    everything = reviewed_sample()
    everything.pack(tmp_path / "all")
    rings = [
        row
        for row in cells(tmp_path / "all/findings.csv")
        if row["rule"] == "group-parent-ignored"
    ]
    assert rings and all(row["by name"] for row in rings)


ABOUT_ROW = ("data_source_permissions", "project_permissions", "user_group_members")


def test_V1_what_is_found_of_a_row_stands_beside_each_access_by_it(sample):
    found = {
        row["about"]: row["rule"]
        for row in cells(sample / "findings.csv")
        if row["about"].startswith(ABOUT_ROW)
    }
    beside = set()
    for path in sample.glob("*-*.csv"):
        for line in cells(path):
            rows = re.findall(
                r"\w+ \d+", re.sub(r"\([^)]*\)", "", line["through what"])
            )
            for row in set(rows) & set(found):
                assert f"{found[row]}: {row}" in line["findings"].split("; ")
                beside.add((row, path.stem, line["user id"]))
    # A membership; and a grant of a group, of which all its people have a way.
    told = {(page, user) for row, page, user in beside if row == "user_group_members 2"}
    places = ("data-source-7", "data-source-8", "project-7", "person-12")
    assert told == {(page, "12") for page in places}
    told = {
        (page, user) for row, page, user in beside if row == "project_permissions 5"
    }
    assert told == {("project-2", user) for user in ("6", "13", "24")}


def test_V1_what_is_found_of_a_row_stands_beside_no_other_access(sample):
    for path in sample.glob("*-*.csv"):
        for line in cells(path):
            for row in re.findall(
                r"[\w-]+: (user_group_members \d+)", line["findings"]
            ):
                assert f"and {row}" in line["through what"]


def test_V2_what_stands_beside_an_access_is_among_the_findings_of_each_pack(tmp_path):
    reviewed, told = reviewed_sample(), {}
    # In charge of what 12 has by a membership, and of what a group's grant gives.
    for user in (2, 14, 31):
        folder = tmp_path / str(user)
        reviewed.pack(folder, [user])
        found = [(r["rule"], r["about"]) for r in cells(folder / "findings.csv")]
        assert len(found) == len(set(found))
        for path in folder.glob("*-*.csv"):
            for line in cells(path):
                for named in re.findall(
                    r"([\w-]+): (\w+ \d+)(?:;|$)", line["findings"]
                ):
                    assert named in found
                    told.setdefault(named, set()).add(user)
    assert told["redundant-grant", "user_group_members 2"] == {2}
    assert 14 in told["redundant-grant", "project_permissions 5"]
    assert 31 in told["redundant-grant", "project_permissions 19"]


@pytest.mark.parametrize(
    ("user", "row"),
    [
        (12, "user_group_members 2"),
        # Of a group that the person is in.
        (13, "project_permissions 5"),
        (34, "project_permissions 19"),
    ],
)
def test_V2_what_stands_beside_an_access_is_on_the_page_of_the_person(
    user, row, tmp_path
):
    (page,) = reviewed_sample().person(tmp_path, user)
    access, _, findings = words(tmp_path / f"{page}.html").partition("Severity")
    assert f"redundant-grant: {row}" in access
    assert findings.count(f"redundant-grant {row} ") == 1


def test_V2_a_finding_of_a_membership_is_counted_once_and_of_no_object(sample):
    lines = [
        r for r in cells(sample / "findings.csv") if r["rule"] == "redundant-grant"
    ]
    assert [r["about"] for r in lines].count("user_group_members 2") == 1
    page = marked(sample / "data-source-7.html")
    people, _, findings = page.partition("<h2>Findings</h2>")
    assert "redundant-grant: user_group_members 2" in people
    about, _, of_people = findings.partition("<h3>About memberships")
    assert "user_group_members 2" not in about
    assert "None about this data source itself." in about
    assert of_people.count("<td>user_group_members 2</td>") == 1
    index = marked(sample / "index.html")
    (line,) = re.findall(r'<tr><td><a href="data-source-7\.html">.*', index)
    number = re.findall(r'<td class="number">(\d+)</td>', line)[-1]
    assert int(number) == about.count("<tr id=")


DAYS = {
    "right": "2026-02-01", "member": "2026-03-01", "link": "2026-04-01",
    "other member": "2026-05-01", "other link": "2026-01-05",
}  # fmt: skip


@pytest.mark.parametrize(
    ("days", "since"),
    [
        # In the one project since the link, in the other since the membership.
        ({}, "2026-04-01"),
        ({"link": "2026-06-01"}, "2026-05-01"),
        ({"link": "2026-02-15"}, "2026-03-01"),
        ({"right": "2026-07-01"}, "2026-07-01"),
        ({"other member": "2026-01-06"}, "2026-02-01"),
        # Nobody knows which of the two came first.
        ({"other link": None}, "not known"),
        ({"member": None}, "not known"),
        ({"right": None}, "not known"),
    ],
)
def test_V2_results_are_shown_since_one_of_their_projects_shows_them(
    days, since, tmp_path
):
    on = DAYS | days

    def dated(name: str, table: str, **values: object) -> dict:
        day = on[name]
        return raw(table, **values) | {"date_created": day and f"{day} 10:00:00"}

    world = nobody_sees()
    world["projects"].append(raw("projects", id=2, name="Other"))
    world["data_source_permissions"] = [
        dated("right", "data_source_permissions", id=1, meta_data_source_id=1,
              user_id=1, role_name="ViewTestResults")
    ]  # fmt: skip
    world["project_permissions"] = [
        dated(name, "project_permissions", id=key, project_id=key, user_id=1)
        for key, name in ((1, "member"), (2, "other member"))
    ]
    world["project_data_sources"] = [
        dated(name, "project_data_sources", id=key, project_id=key,
              meta_data_source_id=1)
        for key, name in ((1, "link"), (2, "other link"))
    ]  # fmt: skip
    Reviewed(world).pack(tmp_path)
    (line,) = cells(tmp_path / "data-source-1.csv")
    ways = re.findall(r"View Test Results[^;]*", line["through what"])
    told = f", since {since}" if since != "not known" else ""
    assert ways == [
        "View Test Results in Core (1), Other (2): User, role ViewTestResults, by"
        f" data_source_permissions 1{told}"
    ]
    assert line["since"] == since


def test_V2_in_the_sample_results_are_shown_no_sooner_than_a_project(sample):
    for number, person, since in (
        (3, "Leïla Benkhaled", "2026-03-26"),
        (8, "Beatriz Nogueira", "2026-03-23"),
    ):
        lines = cells(sample / f"data-source-{number}.csv")
        (told,) = (line["since"] for line in lines if line["person"] == person)
        assert told == since


def test_V2_a_table_says_how_grave_the_gravest_finding_is(sample):
    told = set()
    for table in [*sample.glob("data-source-*.csv"), *sample.glob("project-*.csv")]:
        page, lines = table.with_suffix(".html"), cells(table)
        rows = re.findall(r'<td class="found">(.*?)</td>', marked(page))
        for line, found in zip(lines, rows, strict=True):
            grave = re.findall(r'<span class="(high|medium|low)">', found)
            gravest = min(grave, key=pack.SEVERITIES.index, default="")
            assert line["gravest finding"] == gravest
            told.add(gravest)
    assert told == {"high", "medium", "low", ""}


def test_V2_a_line_is_theirs_once_what_a_finding_asks_is_seen_to(sample):
    for asks, said in (("7", "yours, once this is seen to"), ("5", pack.YOURS)):
        lines = cells(sample / "data-source-1.csv")
        (at,) = (at for at, line in enumerate(lines) if line["user id"] == asks)
        assert found_on("data-source-1.html", sample)[at].startswith(said)


def test_V2_the_pack_of_an_owner_says_where_what_is_left_over_is_found(
    sample, tmp_path
):
    told = "are found, as grant-gives-nothing"
    assert f"{told}." in words(sample / "index.html")
    reviewed_sample().pack(tmp_path, [3])
    elsewhere = "; those of what has no page here, in the pack of everything."
    assert told + elsewhere in words(tmp_path / "index.html")


def test_V2_the_rows_that_could_not_be_read_are_told(sample, tmp_path):
    deciding = {
        *("users", "user_groups", "user_group_members", "user_global_roles"),
        *("meta_data_sources", "data_source_permissions", "project_data_sources"),
        *("projects", "project_permissions", "reports", "report_permissions"),
    }
    wanted = {
        (table, raw_id)
        for table, raw_id, _ in EXPECTED["rejected_rows"]
        if table in deciding
    }
    lines = cells(sample / "rejected.csv")
    assert {(line["table"], line["row"]) for line in lines} == wanted
    assert all(line["why"] and line["loaded on"] for line in lines)
    number = len(wanted)
    told = f"{number} rows that decide about rights could not be used, and give nobody"
    assert told in words(sample / "index.html")
    assert "findings.html#rejected" in {
        link["href"] for link in Page(sample / "index.html").all("a")
    }
    page = words(sample / "findings.html")
    told = (
        "users 39 its date_last_login 'yesterday' can't be read is_active 'true' 2026"
    )
    assert told in page
    assert "data_source_permissions 33 it names neither a user nor a group" in page
    # As they were delivered: which of them was to end something.
    (line,) = (r for r in lines if r["row"] == "A-15")
    assert line["what it names"] == "user_group_id '6', user_id '24', is_active 'false'"
    assert line["what it names"] in page
    assert all("@" not in each["what it names"] for each in lines)
    # They name nothing that can be relied on: whose they are is not told.
    reviewed_sample().pack(tmp_path, [3])
    for name in ("index", "findings"):
        assert TOLD["unread_in_part"] in words(tmp_path / f"{name}.html")
    assert not (tmp_path / "rejected.csv").exists()


@pytest.mark.parametrize("seed", [2, 7])
def test_V2_the_rejected_rows_of_a_world_are_those_of_the_contract(seed, tmp_path):
    reviewed = Reviewed(random_world(seed))
    totals = reviewed.pack(tmp_path / "review")
    others = {"meta_schemas", "meta_tables", "meta_columns", "tests", "jobs", "events"}
    wanted = Counter(
        (table, pack.cell(raw_id))
        for table, raw_id, *_ in reviewed.staging.rejected
        if table not in others and not table.endswith("_executions")
    )
    lines = cells(tmp_path / "review/rejected.csv")
    assert Counter((line["table"], line["row"]) for line in lines) == wanted
    assert totals["rejected"] == wanted.total() > 0


def test_V2_each_way_says_by_whom_it_was_given(sample):
    by = {}
    for table in ("data_source_permissions", "project_permissions",
                  "user_global_roles", "user_group_members"):  # fmt: skip
        for row in reviewed_sample().rows(f"select * from stg_{table}"):
            by[f"{table} {row[table[:-1] + '_id']}"] = row["created_by"]
    own = 0
    for path in sample.glob("*-*.csv"):
        page = words(path.with_suffix(".html"))
        for line in cells(path):
            for way in line["through what"].split("; "):
                rows = re.findall(r"\w+ \d+", way.partition(", by ")[2])[:2]
                for row, said in zip(
                    rows, ("granted by", "made a member by"), strict=False
                ):
                    if by.get(row):
                        is_own = by[row] == line["login"]
                        more = ", whose access it is" if is_own else ""
                        assert f"{said} {by[row]}{more}" in way
                        own += is_own
                assert way in page or line["person"] == "Isabella Conti"
    assert own > 5


@pytest.mark.parametrize(
    ("login", "by", "said"),
    [
        ("ann", "bo", "a way, granted by bo"),
        ("ann", "ANN", "a way, granted by ANN, whose access it is"),
        ("mark", "mar\u212a", "a way, granted by mar\u212a"),
        (None, "bo", "a way, granted by bo"),
    ],
)
def test_V2_who_gave_something_to_themselves_is_told(login, by, said):
    way = a_way("a way", granted_by=by)
    access = an_access(login_name=login, ways=[way])
    assert pack._told_access(access)["through"] == said


def test_V2_a_pack_of_an_owner_names_no_other_objects_of_a_membership(tmp_path):
    reviewed_sample().pack(tmp_path, [3])
    told = {
        line["what it also gives"]
        for path in tmp_path.glob("*-*.csv")
        for line in cells(path)
    }
    names = {path.stem for path in tmp_path.glob("*-*.csv")}
    assert names == {"data-source-1", "project-1"}
    named = {name for text in told for name in re.findall(r"\((\w[\w ]+ \d+)\)", text)}
    assert named == {"Data Source 1", "Project 1"}
    assert any(" and 5 more" in text for text in told)
    # Nor by anything else that stands on its pages.
    for path in tmp_path.glob("*-*.html"):
        assert "Daily Reconciliation Scorecard" not in words(path)


def test_V2_a_page_names_ten_other_objects_and_a_table_thirty(tmp_path):
    world = nobody_sees()
    for key in range(1, 121):
        if key > 1:
            world["projects"].append(raw("projects", id=key, name=f"P{key}"))
        world["project_permissions"].append(
            raw("project_permissions", id=key, project_id=key, user_group_id=1)
        )
    Reviewed(world).pack(tmp_path / "review")
    (line,) = cells(tmp_path / "review/project-5.csv")
    first, more = [f"P{key} (Project {key})" for key in range(2, 121) if key != 5], 119
    told = f"user_group_members 1 also gives rights on {more} other objects: Core"
    assert line["what it also gives"] == (
        f"{told} (Project 1), {', '.join(first[:29])} and 89 more"
    )
    page = words(tmp_path / "review/project-5.html")
    assert f"{told} (Project 1), {', '.join(first[:9])} and 109 more" in page


def test_V2_what_is_to_be_seen_to_first_is_on_the_page(sample):
    """Each finding that an access waits for is told below the people."""
    told = 0
    for path in sample.glob("*-[0-9]*.html"):
        text = path.read_text(encoding="utf-8")
        rows = set(re.findall(r'<tr id="(f-\w+)"', text))
        asked = re.findall(r'First see to <a href="[\w.-]+#(f-\w+)">', text)
        assert set(asked) <= rows, path.name
        told += len(asked)
    assert told > 4
    everything = marked(sample / "findings.html")
    links = {
        link["href"].partition("#")[2]
        for path in sample.glob("*.html")
        for link in Page(path).all("a")
        if link["href"].startswith("findings.html#f-")
    }
    assert links and links <= set(re.findall(r'<tr id="(f-\w+)"', everything))


@pytest.mark.parametrize(
    ("since", "last_login", "said"),
    [
        ("2026-03-01", "2026-02-28", "2026-02-28 (before this access)"),
        ("2026-03-01", "2026-03-01", "2026-03-01"),
        ("2026-03-01", None, "never"),
        (None, "2026-02-28", "2026-02-28"),
    ],
)
def test_V2_a_last_login_before_the_access_says_so(since, last_login, said):
    access = an_access(ways=[a_way("a", since)], since=since, last_login=last_login)
    assert pack._told_access(access)["last_login"] == said
    # Another way may be older.
    access["ways"].append(a_way("b"))
    assert pack._told_access(access)["last_login"] == (last_login or "never")


def test_V2_the_findings_of_the_index_add_up(sample):
    lines = [line for line in cells(sample / "findings.csv") if line["excused"] == "no"]
    index = words(sample / "index.html")
    (here, other, whole) = map(int, re.search(
        r"without excused ones: (\d+) in all. The other (\d+) of the (\d+) findings",
        index,
    ).groups())  # fmt: skip
    text = marked(sample / "index.html")
    column = re.findall(r'<td class="number">(\d+)</td><td><a href="[\w-]+.csv">', text)
    assert here == sum(map(int, column)) and whole == here + other == len(lines)
    (told,) = re.findall(r"are in all findings alone: (.*?)\.", index)
    numbers = {
        what: int(number)
        for number, what in (each.split(" about ") for each in told.split(", "))
    }
    assert sum(numbers.values()) == other
    about = [line["about"] for line in lines]
    assert numbers["memberships"] == sum(
        a.startswith("user_group_members") for a in about
    )
    assert numbers["global roles"] == sum(
        a.startswith("user_global_roles") for a in about
    )
    assert numbers["groups"] == sum(a.startswith("User Group") for a in about)
    assert numbers["people as a whole"] == sum(
        bool(re.fullmatch(r"user \d+", a)) for a in about
    )


def test_V2_a_group_s_duplicate_is_given_by_one_of_several_rows(sample):
    lines = cells(sample / "project-6.csv")
    told = [line["first see to"] for line in lines if "19" in line["first see to"]]
    same = "everybody in the group has the same by one of these rows: project_permissio"
    assert told and all(same in each for each in told)


def test_V2_a_duplicate_says_what_to_do_who_does_it_and_why(sample):
    (line,) = (r for r in cells(sample / "data-source-1.csv") if r["user id"] == "7")
    assert line["first see to"] == (
        "This grant is a duplicate: Aoife Brennan has the same in another way by"
        " data_source_permissions 4. Have data_source_permissions 21 switched off"
        " first, unless both are meant. To write remove is to end all of the access,"
        " and not the duplicate alone. Who sees to it: Priya Raman (praman)."
    )
    (line,) = (r for r in cells(sample / "project-1.csv") if r["user id"] == "12")
    assert line["first see to"] == (
        "Nobody should hold both Create Tests and Label Manager on one project. Here"
        " they are held: Create Tests, by project_permissions 3; Label Manager, by"
        " project_permissions 41. Have one of the two taken away first, or write remove"
        " now, by which all of it goes. Who sees to it: Priya Raman (praman)."
    )


@pytest.mark.parametrize(
    ("roles", "pair", "is_reached"),
    [
        # The only way is by the first row: with it gone, the pair is still held.
        (
            ["ViewMetadata", "ManageConnections", "ManagePermissions"],
            ("Manage Connections", "Manage Permissions"),
            False,
        ),
        (["ViewMetadata", "ManagePermissions"],
         ("View Metadata", "Manage Permissions"), True),
        # The row of a way gives one of the two.
        (["Tester", "ManagePermissions"], ("Create Tests", "Manage Permissions"), True),
        (["Tester", "ManagePermissions"], ("Manage Permissions", "Create Tests"), True),
        # So does another, which is no way.
        (["Tester", "ManagePermissions", "CreateTests"],
         ("Create Tests", "Manage Permissions"), False),
    ],
)  # fmt: skip
def test_V2_remove_is_offered_where_it_takes_one_of_a_toxic_pair_away(
    roles, pair, is_reached, tmp_path
):
    world = nobody_sees()
    world["users"] = [raw("users", id=1, first_name="Ann"), raw("users", id=2)]
    world["meta_data_sources"][0]["owner_user_id"] = "2"
    world["data_source_permissions"] = [
        raw("data_source_permissions", id=key, meta_data_source_id=1, user_id=1,
            role_name=role)
        for key, role in enumerate(roles, 1)
    ]  # fmt: skip
    Reviewed(world, toxic_pairs=[("Data Source", *pair, None)]).pack(tmp_path / "pack")
    (line,) = (
        r for r in cells(tmp_path / "pack/data-source-1.csv") if r["user id"] == "1"
    )
    told = f"Nobody should hold both {' and '.join(pair)} on one data source. Here"
    assert line["first see to"].startswith(told)
    assert " Have one of the two taken away first" in line["first see to"]
    assert (", or write remove now," in line["first see to"]) is is_reached
    beside = ": remove does not reach it, as each is held by a row that is no way here."
    assert (beside in line["first see to"]) is not is_reached


@pytest.mark.parametrize(
    ("status", "decides", "said"),
    [
        ("never reviewed", None, "yours: keep or remove"),
        ("overdue", None, "yours: keep or remove"),
        ("certified", None, "nothing to decide"),
        ("certified", "a global administrator", "nothing to decide"),
        ("to be removed", None, "nothing to decide"),
        ("void", "Ines Ash (ines)", "Ines Ash (ines)"),
        ("void", "a global administrator", "a global administrator: Bo (bo), Cy (3)"),
        ("void", GLOBAL, "the global administrators: Bo (bo), Cy (3)"),
    ],
)
def test_V2_a_line_says_who_decides(status, decides, said, tmp_path):
    whole = pack.Pack(tmp_path / "review", "")
    whole.administrators = [(2, "Bo (bo)"), (3, "Cy (3)")]
    row = an_access(status=status, decides=decides)
    assert whole._told(row, "findings.html", set())["who_decides"] == said
    # On the page of a person, who is in charge is named.
    own = "Ines" if said.startswith("yours") else said
    assert whole._told(row, "person-1.html", set(), True)["who_decides"] == own


def test_V2_another_administrator_is_never_the_person(tmp_path):
    whole = pack.Pack(tmp_path / "review", "")
    row = an_access(decides="another global administrator", user_id=2)
    whole.administrators = [(2, "Bo (bo)"), (3, "Cy (3)")]
    assert whole._told(row, "", set())["who_decides"].endswith(": Cy (3)")
    whole.administrators = [(2, "Bo (bo)")]
    assert whole._told(row, "", set())["who_decides"].endswith(
        ": there is none, so ask who runs the review"
    )


def test_V3_a_removal_that_is_put_off_is_so_until_its_last_day(tmp_path):
    for day, is_put_off in (("2026-07-31", True), ("2026-08-01", False)):
        reviewed = reviewed_sample()
        # The findings are of the run before.
        reviewed.day = day
        totals = reviewed.pack(tmp_path / day)
        assert totals["statuses"]["to be removed"] == 1
        assert totals["put_off"] == is_put_off
        (line,) = (
            r for r in cells(tmp_path / day / "data-source-2.csv")
            if r["user id"] == "33"
        )  # fmt: skip
        assert line["status"] == "to be removed"
        assert line["put off until"] == ("2026-07-31" if is_put_off else "")
        page = words(tmp_path / day / "data-source-2.html")
        assert ("put off until 2026-07-31 (Björn Ekdahl)" in page) is is_put_off


def test_V1_what_is_excused_comes_last_on_the_page_and_in_the_table(sample):
    lines = cells(sample / "findings.csv")
    excused = [line["excused"] for line in lines]
    assert excused == sorted(excused) and "yes" in excused
    ranks = [
        pack.SEVERITIES.index(r["severity"]) for r in lines if r["excused"] == "no"
    ]
    assert ranks == sorted(ranks)
    text = marked(sample / "findings.html")
    rows = re.findall(r'<tr id="f-\w+"( class="excused")?>.*?</tr>', text)
    assert [bool(row) for row in rows] == [each == "yes" for each in excused]
    page = words(sample / "findings.html")
    places = [page.index(f" {r['rule']} {r['about']} ") for r in lines]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (
            14,
            ["14 rows that decide about rights could not be used: see findings.html."],
        ),
        (1, ["1 row that decides about rights could not be used: see findings.html."]),
        (0, []),
        # Of an owner's pack it is not told.
        (None, []),
    ],
)
def test_V2_what_is_printed_counts_the_rows_that_could_not_be_read(number, said):
    printed = printed_of(rejected=number)
    assert [line for line in printed if "could not be used" in line] == said


def printed_of(owner: str = "", **more: object) -> list[str]:
    """Return what is printed of a pack, beside its tables."""
    macros = {"print_table": lambda heads, rows: ""}
    return reviews.print_totals(TOTALS | more, owner, macros)


@pytest.mark.parametrize(("owner", "objects"), [("ann", 0), ("ann", 1), ("", 0)])
def test_V2_an_owner_of_nothing_is_told_who_decides_about_it(owner, objects):
    """The pack of everything names global administrators where nobody is in charge."""
    told = "ann is in charge of nothing. What has nobody in charge is in the pack of"
    printed = printed_of(owner, objects=objects)
    said = any(line.startswith(told) for line in printed)
    assert said is (owner == "ann" and not objects)
