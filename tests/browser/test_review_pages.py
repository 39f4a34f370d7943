"""The pages of a review in a real browser: opened from the disk, and operated.

It is Debian's Chromium, or the browser that CHROMIUM names.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from review_packs import hostile_pack, reviewed_sample

api = pytest.importorskip(
    "playwright.sync_api",
    reason="the browser is driven by playwright: make test-browser",
)
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright",
    reason="accessibility is looked at by axe: make test-browser",
)
WIDTHS = (390, 1440)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """The browser, without a network."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not program:
        pytest.skip("there is no browser: install Debian's chromium, or set CHROMIUM")
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def packs(tmp_path_factory) -> dict[str, Path]:
    """The pack of the sample, and one of evil names."""
    folder = tmp_path_factory.mktemp("packs")
    reviewed = reviewed_sample()
    reviewed.pack(folder / "sample")
    reviewed.person(folder / "sample", 12)
    return {"sample": folder / "sample", "evil": hostile_pack(folder / "evil")}


class Visit:
    """A page in the browser, and what it says and asks for while it is looked at."""

    def __init__(self, browser, width: int, **options) -> None:
        self.context = browser.new_context(
            offline=True, viewport={"width": width, "height": 900}, **options
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda asked: self.asked(asked.url))

    def asked(self, url: str) -> None:
        """Note a request of anything but a page of the pack."""
        if not (url.startswith("file://") and url.endswith(".html")):
            self.said.append(url)

    def open(self, path: Path) -> None:
        """Open a page from the disk."""
        self.page.goto(path.as_uri())

    def texts(self, selector: str) -> list[str]:
        """Return the texts of the visible elements."""
        found = self.page.locator(selector).all()
        return [element.inner_text() for element in found if element.is_visible()]


def cells_of(text: str) -> list[str]:
    """Return the texts of a line's cells, which stand below each other on a phone."""
    return re.split(r"\s*[\t\n]\s*", text)


@pytest.fixture(params=WIDTHS)
def visit(browser, request) -> Iterator[Visit]:
    """A visit at the width of a phone, and at that of a desk."""
    visit = Visit(browser, request.param)
    yield visit
    visit.context.close()
    assert visit.said == []


def test_V2_every_page_opens_and_is_no_wider_than_the_screen(visit, packs):
    for pack in packs.values():
        for path in sorted(pack.glob("*.html")):
            visit.open(path)
            width = visit.page.evaluate("document.documentElement.scrollWidth")
            assert width <= visit.page.viewport_size["width"], path.name
            assert len(visit.texts("h1")) == 1


def test_V6_tables_are_cards_on_a_phone(browser, packs):
    visit = Visit(browser, 390)
    for path in sorted(packs["sample"].glob("*.html")):
        visit.open(path)
        for table in visit.page.locator(".wide, .cards").all():
            widths = table.evaluate("each => [each.scrollWidth, each.clientWidth]")
            assert widths[0] <= widths[1], path.name
    labels = visit.page.locator(".cards td").first.evaluate(
        "each => getComputedStyle(each, '::before').content"
    )
    assert labels not in ("none", '""')
    visit.context.close()


def test_V2_the_list_is_searched_sorted_and_followed(visit, packs):
    visit.open(packs["sample"] / "index.html")
    rows = "#objects tbody tr"
    assert len(visit.texts(rows)) == 19
    visit.page.get_by_label("Search names, owners").fill("PRAMAN core")
    assert [cells_of(text)[0] for text in visit.texts(rows)] == [
        "core_banking",
        "Core Banking Reconciliation",
    ]
    assert visit.texts("output") == ["2 found"]
    visit.page.get_by_label("Search names, owners").fill("")
    people = visit.page.locator("#objects th", has_text="People")
    people.click()
    visit.page.wait_for_selector("#objects th[aria-sort]")
    visit.page.wait_for_timeout(100)
    numbers = [int(text) for text in visit.texts(f"{rows} td:nth-child(5)")]
    assert numbers == sorted(numbers)
    # By the keyboard, too.
    people.focus()
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_timeout(100)
    numbers = [int(text) for text in visit.texts(f"{rows} td:nth-child(5)")]
    assert numbers == sorted(numbers, reverse=True)
    visit.page.get_by_role("link", name="core_banking", exact=True).click()
    assert visit.texts("h1") == ["core_banking"]
    visit.page.get_by_label("Search people, ways, findings").fill("dormant-admin")
    assert len(visit.texts("#people tbody tr")) == 1
    visit.page.get_by_role("link", name="All data sources and projects").click()
    assert visit.texts("h1") == ["Access review"]
    visit.page.get_by_label("Search people, logins").fill("park")
    assert [cells_of(text)[1] for text in visit.texts("#users tbody tr")] == ["hpark"]


def test_V2_a_page_is_read_without_scripts(browser, packs):
    visit = Visit(browser, 1440, java_script_enabled=False)
    visit.open(packs["sample"] / "data-source-1.html")
    assert len(visit.texts("#people tbody tr")) == 11
    assert visit.texts("input") == []
    visit.context.close()


def test_V2_a_page_is_printed(visit, packs, tmp_path):
    visit.open(packs["sample"] / "data-source-8.html")
    visit.page.emulate_media(media="print")
    assert visit.texts("input") == []
    assert visit.texts(".sign") == ["Reviewed by", "On, and signed"]
    visit.page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_V2_nothing_stands_in_the_way_of_people_with_aids(visit, packs, scheme):
    visit.page.emulate_media(color_scheme=scheme)
    found = {}
    for pack in packs.values():
        for path in sorted(pack.glob("*.html")):
            visit.open(path)
            told = axe.Axe().run(visit.page).response
            assert told["passes"], "nothing was looked at"
            for each in told["violations"]:
                place = each["id"], each["impact"], each["nodes"][0]["html"]
                found.setdefault(path.name, []).append(place)
    assert found == {}


def test_V2_the_first_column_stays_in_sight_on_a_phone(browser, packs):
    visit = Visit(browser, 390)
    visit.open(packs["sample"] / "data-source-2.html")
    name = visit.page.locator("#people tbody td").first
    before = name.bounding_box()["x"]
    visit.page.locator(".wide").first.evaluate("box => { box.scrollLeft = 300 }")
    assert abs(name.bounding_box()["x"] - before) < 2
    visit.context.close()
    assert visit.said == []


def test_V2_names_are_found_without_their_accents(visit, packs):
    visit.open(packs["sample"] / "index.html")
    for asked, name in {"bjorn": "Björn Ekdahl", "luka": "Łukasz Wiśniewski"}.items():
        visit.page.get_by_label("Search people, logins").fill(asked)
        found = [cells_of(text)[0] for text in visit.texts("#users tbody tr")]
        assert found == [name]


def test_V2_status_is_sorted_by_what_has_to_be_done_first(visit, packs):
    visit.open(packs["sample"] / "data-source-2.html")
    visit.page.locator("#people th", has_text="Status").click()
    visit.page.wait_for_timeout(100)
    places = [
        int(cell.get_attribute("data-sort"))
        for cell in visit.page.locator("#people td[data-sort]").all()
    ]
    assert places == sorted(places) and places[0] == 0


def test_V2_no_day_is_broken_into_two_lines(visit, packs):
    for name in ("index", "data-source-2", "findings"):
        visit.open(packs["sample"] / f"{name}.html")
        lines = visit.page.evaluate(
            "[...document.querySelectorAll('td .date, .note .date, td.date')].map("
            "e => e.tagName == 'TD' ? 1 : e.getClientRects().length)"
        )
        assert lines and set(lines) == {1}, name
        # And each day stands in such a place.
        page = visit.page.locator("tbody").first
        days = page.evaluate(
            "body => [...body.querySelectorAll('td')].filter(cell => {"
            " const rest = cell.cloneNode(true);"
            " if (rest.className == 'date') return false;"
            " rest.querySelectorAll('.date').forEach(day => day.remove());"
            " return /\\d{4}-\\d\\d-\\d\\d/.test(rest.textContent) }).length"
        )
        assert days == 0, name


def test_V2_a_decision_is_written_on_paper_alone(visit, packs):
    visit.open(packs["sample"] / "data-source-2.html")
    heads = "#people th"
    assert "Who decides" in visit.texts(heads)
    assert "Keep or remove" not in visit.texts(heads)
    visit.page.emulate_media(media="print")
    assert visit.texts(heads)[-2:] == ["Who decides", "Keep or remove"]
    assert set(visit.texts("#people td.written")) == {""}
    # The ways are what most is read of.
    widths = {
        head.inner_text(): head.bounding_box()["width"]
        for head in visit.page.locator(heads).all()
    }
    assert max(widths, key=widths.get) == "Through what"


def test_V2_a_finding_beside_a_person_leads_to_what_is_found(visit, packs):
    visit.open(packs["sample"] / "data-source-1.html")
    visit.page.locator("#people td.found a", has_text="dormant-admin").click()
    assert visit.texts("h1") == ["Findings"]
    (row,) = visit.texts("tr:target")
    assert "Isabella Conti" in row
    excused = visit.page.locator("tr.excused td").first
    other = visit.page.locator("tbody tr:not(.excused) td").first
    color = "cell => getComputedStyle(cell).color"
    assert excused.evaluate(color) != other.evaluate(color)
