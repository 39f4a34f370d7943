"""The tables of a review, filled by people, come back as a seed: V3, without Spark."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from projects import ROOT
from review_packs import own_seed, reviewed_sample
from review_sandbox import Reviewed

from secure_datasets.review import decisions, pack, words

DAY = "2026-07-01"


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> tuple[Reviewed, Path]:
    """The sample, and its pack."""
    folder = tmp_path_factory.mktemp("pack") / "review"
    reviewed = reviewed_sample()
    reviewed.pack(folder)
    return reviewed, folder


def filled(
    path: Path, to: Path, separator: str = ",", mark: bool = True, **cells: str
) -> Path:
    """Save a table as a spreadsheet does, with the same cells filled in every line."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    encoding = "utf-8-sig" if mark else "utf-8"
    with to.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, lines[0], delimiter=separator)
        writer.writeheader()
        writer.writerows(
            line | {name.replace("_", " "): cell for name, cell in cells.items()}
            for line in lines
        )
    return to


@pytest.mark.parametrize(
    ("separator", "mark"), [(",", True), (";", True), ("\t", False)]
)
def test_V3_a_filled_table_certifies_what_it_shows(sample, tmp_path, separator, mark):
    _, folder = sample
    name = "data-source-8.csv"
    table = filled(folder / name, tmp_path / name, separator, mark, decision=" Keep")
    seed = tmp_path / "review_decisions.csv"
    given = [str(table), "--seed", str(seed), "--by", "isolheim", "--on", DAY]
    assert decisions.main(given) == 0
    with seed.open(encoding="utf-8", newline="") as file:
        rows = [tuple(line) for line in csv.reader(file)]
    assert rows[0] == tuple(Path(ROOT / "seeds/review/review_decisions.csv")
                            .read_text().strip().split(","))  # fmt: skip
    again = reviewed_sample(review_decisions=rows[1:])
    told = {
        row["user_id"]: (row["status"], row["certified_until"])
        for row in again.rows("select * from review_status where object_id = 8"
                              " and object_type = 'Data Source'")
    }  # fmt: skip
    # Of herself, Ingrid Solheim certifies nothing.
    assert told.pop(1) == ("void", None)
    assert len(told) == len(rows) - 2
    assert set(told.values()) == {("certified", "2026-10-09")}


def test_V3_a_table_that_comes_back_twice_adds_nothing(sample, tmp_path, capsys):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", decision="keep")
    seed = tmp_path / "seed.csv"
    header = ",".join(decisions.COLUMNS)
    older = "Project,1,7,v1-0,keep,bo,2026-01-01"
    seed.write_text(f"{header}\n{older}\n")
    given = [str(table), "--seed", str(seed), "--by", "2", "--on", DAY]
    assert [decisions.main(given), decisions.main(given)] == [0, 0]
    said = capsys.readouterr().out
    assert re.findall(r"^(\d+) decisions", said, re.M) == ["7", "0"]
    lines = seed.read_text().splitlines()
    assert lines[:2] == [header, older] and len(lines) == 9


def test_V3_a_line_without_a_decision_is_left_for_the_next_time(sample, tmp_path):
    _, folder = sample
    assert list(decisions.decisions_in(folder / "project-1.csv", "2", DAY)) == []


def test_V3_what_a_line_says_goes_before_what_is_said_of_all(sample, tmp_path):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", decision="REMOVE",
                   decided_by="praman", decided_on="2026-06-30")  # fmt: skip
    rows = list(decisions.decisions_in(table, "2", DAY))
    assert {(r["decision"], r["decided_by"], r["decided_on"]) for r in rows} == {
        ("remove", "praman", "2026-06-30")
    }


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-5", "@SUM(1)", " =1", "'a", "'=1", "''=1", "plain", "", "\uff1d1"],
)
def test_V3_a_guarded_cell_comes_back_as_it_was(text):
    assert decisions.unguarded(pack.cell(text)) == text


def test_V3_a_login_that_a_spreadsheet_would_compute_comes_back(sample, tmp_path):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", decision="keep",
                   decided_by=pack.cell("=ed"), decided_on=DAY)  # fmt: skip
    assert {row["decided_by"] for row in decisions.decisions_in(table)} == {"=ed"}


WRONG = {
    "the decision is 'maybe'; it must be keep or remove.": {"decision": "maybe"},
    "the day is '30.06.2026'; it must be written like 2026-07-01, or as --dates says,"
    " such as DD.MM.YYYY.": {
        "decision": "keep", "decided_by": "2", "decided_on": "30.06.2026"},
    "'seen' is empty.": {"decision": "keep", "seen": ""},
    "'decided by' is empty: write it there, or give --by.": {
        "decision": "keep", "decided_on": DAY},
    "'seen' is 'v1-12'; it must stay as the pack has it.": {
        "decision": "keep", "decided_by": "2", "decided_on": DAY, "seen": "v1-12"},
    "'decided by' is 'Björn Ekdahl'; it must be an id, a login name or an e-mail"
    " address, without a space or a sign that nobody sees.": {
        "decision": "keep", "decided_by": "Björn Ekdahl", "decided_on": DAY},
    "'decided by' is '2?'; it must be an id, a login name or an e-mail address,"
    " without a space or a sign that nobody sees.": {
        "decision": "keep", "decided_by": "2\u200b", "decided_on": DAY},
    "the day 9999-01-01 has not come.": {
        "decision": "keep", "decided_by": "2", "decided_on": "9999-01-01"},
    "the object id is '8.0'; it must be a whole number.": {
        "decision": "keep", "decided_by": "2", "decided_on": DAY, "object_id": "8.0"},
    "the user id is 'all'; it must be a whole number.": {
        "decision": "keep", "decided_by": "2", "decided_on": DAY, "user_id": "all"},
    "the object type is 'Everything'; it must be Data Source or Project.": {
        "decision": "keep", "decided_by": "2", "decided_on": DAY,
        "object_type": "Everything"},
}  # fmt: skip


@pytest.mark.parametrize(("said", "cells"), WRONG.items(), ids=WRONG)
def test_V3_a_line_that_cannot_be_taken_is_named_and_the_seed_stays(
    sample, tmp_path, capsys, said, cells
):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", **cells)
    seed = tmp_path / "seed.csv"
    seed.write_text("as it was\n")
    assert decisions.main([str(table), "--seed", str(seed)]) == 1
    # Each line of the table, since each has the same mistake.
    found = capsys.readouterr().err.splitlines()
    assert [line for line in found if line.endswith(said)] == [
        f"{table}, line {number}: {said}" for number in range(2, 9)
    ]
    assert seed.read_text() == "as it was\n"


def test_V3_all_that_is_wrong_in_a_line_is_named_at_once(sample, tmp_path):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", decision="yes",
                   decided_by="Björn Ekdahl", decided_on="01/07/2026")  # fmt: skip
    with pytest.raises(decisions.DecisionError) as wrong:
        decisions.decisions_in(table)
    first = [each for each in wrong.value.args if ", line 2: " in each]
    assert [each.split(": ")[1].split("'")[0] for each in first] == [
        "the decision is ", "", "the day is ",
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["16", "LWisniewski"])
def test_V3_what_people_keep_of_their_own_is_told(sample, tmp_path, capsys, by):
    _, folder = sample
    table = filled(folder / "data-source-1.csv", tmp_path / "t.csv", decision="keep")
    with table.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    own = [line for line in lines if by.lower() in (line["user id"], line["login"])]
    first = [line for line in lines if line["first see to"]]
    given = ["--seed", str(tmp_path / "seed.csv"), "--by", by, "--on", DAY]
    assert decisions.main([str(table), *given]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    told = f"{len(own)} by whose own access is kept, which counts for nothing"
    assert len(own) == 1 and told in said
    assert len(first) > 0 and f"{len(first)} kept of what was first to be s" in said


def test_V3_all_tables_are_looked_at_and_each_is_counted(sample, tmp_path, capsys):
    _, folder = sample
    wrong = filled(folder / "project-1.csv", tmp_path / "w.csv", decision="maybe")
    with (folder / "project-1.csv").open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file))
    place = lines[0].index("decision")
    for number, line in enumerate(lines[1:]):
        line[place] = ["keep", "remove", "", "KEEP", "", "", ""][number]
    mixed, seed = tmp_path / "m.csv", tmp_path / "seed.csv"
    with mixed.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    given = ["--seed", str(seed), "--by", "2", "--on", DAY]
    missing = tmp_path / "none.csv"
    assert decisions.main([str(wrong), str(missing), str(mixed), *given]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 8 and said[-1].startswith(f"{missing} can't be read")
    assert not seed.exists()
    assert decisions.main([str(mixed), *given]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{mixed}: 2 keep, 1 remove, 1 about what others decide, as the table says",
        f"3 decisions added to {seed}.",
    ]


def test_V3_what_is_odd_of_a_table_is_told(sample, tmp_path, capsys):
    _, folder = sample
    table = filled(folder / "data-source-2.csv", tmp_path / "t.csv", decision="keep")
    given = ["--seed", str(tmp_path / "seed.csv"), "--by", "14", "--on", DAY]
    assert decisions.main([str(table), *given]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        f"{table}: 14 keep, 0 remove, 4 about what others decide, as the table says,"
        " 1 by whose own access is kept, which counts for nothing,"
        " 1 of what was to be removed is kept now"
    )


def test_V3_keep_and_remove_on_one_day_are_refused(sample, tmp_path, capsys):
    _, folder = sample
    seed = tmp_path / "seed.csv"
    given = ["--seed", str(seed), "--by", "2", "--on", DAY]
    tables = [
        str(filled(folder / "project-1.csv", tmp_path / f"{word}.csv", decision=word))
        for word in ("keep", "remove")
    ]
    assert decisions.main([*tables, *given]) == 1
    assert not seed.exists()
    assert decisions.main([tables[0], *given]) == 0
    before = seed.read_text()
    capsys.readouterr()
    assert decisions.main([tables[1], *given]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 7 and seed.read_text() == before
    assert "on Project 1, keep and remove are both decided on 2026-07-01: " in said[0]


@pytest.mark.parametrize("by", ["16", "LWisniewski"])
def test_V3_who_keeps_the_own_access_holds_up_no_removal(sample, tmp_path, by):
    """Such a keep counts for nothing, whether the removal stands in the seed or not."""
    _, folder = sample
    path, seed = folder / "data-source-1.csv", tmp_path / "seed.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        head, *lines = list(csv.reader(file))
    (own,) = (line for line in lines if line[head.index("login")] == "lwisniewski")
    tables = {}
    for word, who in (("keep", by), ("remove", "7"), ("keep", "7")):
        line = dict(zip(head, own, strict=True))
        line |= {"decision": word, "decided by": who, "decided on": DAY}
        tables[word, who] = tmp_path / f"{word}-{who}.csv"
        with tables[word, who].open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, line.values()])
    removed, kept = str(tables["remove", "7"]), str(tables["keep", by])
    assert decisions.main([kept, removed, "--seed", str(seed)]) == 0
    assert decisions.main([kept, removed, "--seed", str(seed)]) == 0
    assert len(seed.read_text().splitlines()) == 3
    seed.unlink()
    both = [removed, str(tables["keep", "7"])]
    assert decisions.main([*both, "--seed", str(seed)]) == 1


def test_V3_a_line_that_tells_what_separates_cells_is_passed_over(sample, tmp_path):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", ";", decision="no")
    text = table.read_text(encoding="utf-8-sig")
    table.write_text(f"sep=;\n{text}", encoding="utf-8-sig")
    with pytest.raises(decisions.DecisionError) as wrong:
        decisions.decisions_in(table, "2", DAY)
    assert "line 3: the decision is 'no'" in wrong.value.args[0]


def test_V3_a_file_that_is_no_table_is_named(tmp_path, capsys):
    table, seed = tmp_path / "t.csv", tmp_path / "seed.csv"
    given = [str(table), "--seed", str(seed)]
    assert decisions.main(given) == 1
    table.write_text("a,b\n1,2\n")
    assert decisions.main(given) == 1
    table.write_bytes(b"object type\n\xff\n")
    assert decisions.main(given) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"{table} can't be read: ")
    assert said[1:] == [
        f"{table} has no column 'object type': its first line must be as the pack has"
        " it, each name in a cell of its own.",
        f"{table} is not in UTF-8: save it as 'CSV UTF-8'.",
    ]
    seed.write_text("a,b\n")
    table.write_text(",".join(pack.PEOPLE.values()))
    assert decisions.main(given) == 1
    assert "has other columns than object_type, " in capsys.readouterr().err
    assert not seed.with_name("seed.csv.new").exists()


def cells_of(path: Path) -> list[list[str]]:
    """Return the cells of a table of the pack."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def saved(path: Path, cells: list[list[str]], above: str = "") -> Path:
    """Save cells as a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(above)
        csv.writer(file).writerows(cells)
    return path


GIVEN = ("--by", "praman", "--on", DAY)


def test_V7_blank_and_short_lines_are_taken(sample, tmp_path):
    _, folder = sample
    head, first, *others = cells_of(folder / "project-1.csv")
    first[head.index("decision")] = "keep"
    lines = [[], head, [" ", ""], [*first, "", ""], [], ["Project"], others[0][:5], []]
    table = saved(tmp_path / "t.csv", lines, "\n \n")
    (row,) = decisions.decisions_in(table, "praman", DAY)
    assert row["user_id"] == first[head.index("user id")]


def test_V7_a_line_with_cells_too_many_is_named(sample, tmp_path, capsys):
    _, folder = sample
    head, first, *others = cells_of(folder / "project-1.csv")
    first[head.index("decision")] = "keep"
    table = saved(tmp_path / "t.csv", [head, [*first, "x"], *others])
    seed = tmp_path / "seed.csv"
    assert decisions.main([str(table), "--seed", str(seed), *GIVEN]) == 1
    assert capsys.readouterr().err == (
        f"{table}, line 2: it has {len(head) + 1} cells and the first line {len(head)};"
        " a cell with ',' in it must stand in quotes.\n"
    )
    assert not seed.exists()


def test_V7_a_cell_without_end_is_named_in_a_table_and_in_the_seed(
    sample, tmp_path, capsys
):
    _, folder = sample
    head, *lines = cells_of(folder / "project-1.csv")
    for line in lines:
        line[head.index("decision")] = "keep"
    whole = saved(tmp_path / "whole.csv", [head, *lines])
    long = [*lines[1]]
    long[head.index("through what")] = "x" * 131_073
    table = saved(tmp_path / "t.csv", [head, lines[0], long, [], *lines[2:], long])
    seed, header = tmp_path / "seed.csv", ",".join(decisions.COLUMNS)
    seed.write_text(f'{header}\n\nProject,1,7,v1-0,keep,bo,"{"y" * 140_000}"\n')
    before = csv.field_size_limit()
    for given, number in ((table, 3), (whole, None)):
        assert decisions.main([str(given), "--seed", str(seed), *GIVEN]) == 1
        said = capsys.readouterr().err.splitlines()
        at = [f"{table}, line {n}" for n in (3, len(lines) + 3)]
        wanted = at if number else [f"{seed}, line 3"]
        assert said == [
            f"{place}: a cell has more than 131072 characters; is there a quote without"
            " its other end?"
            for place in wanted
        ]
    # Whoever reads tables beside this one reads as before.
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("dates", "written"),
    [
        ("DD.MM.YYYY", "20.11.2025"), ("D.M.YYYY", "20.11.2025"),
        ("MM/DD/YY", "11/20/25"), ("YYYY/M/D", "2025/11/20"), ("DD-MM-YYYY", DAY),
    ],
)  # fmt: skip
def test_V7_days_are_taken_as_the_tables_write_them(sample, tmp_path, dates, written):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", decision="keep",
                   decided_by="2", decided_on=written)  # fmt: skip
    seed = tmp_path / "seed.csv"
    given = [str(table), "--seed", str(seed), "--dates", dates]
    assert decisions.main(given) == 0
    days = {line.split(",")[-1] for line in seed.read_text().splitlines()[1:]}
    assert days == {DAY if written == DAY else "2025-11-20"}


def test_V7_a_day_of_another_form_is_named_and_so_is_a_form_that_is_none(
    sample, tmp_path, capsys
):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", decision="keep",
                   decided_by="2", decided_on="20.11.2025")  # fmt: skip
    given = [str(table), "--seed", str(tmp_path / "seed.csv"), "--dates"]
    assert decisions.main([*given, "MM.DD.YYYY"]) == 1
    assert "the day is '20.11.2025'; it must be" in capsys.readouterr().err
    for dates in ("de_DE", "DD.MM", "DD.DD.YYYY", "DDD.MM.YYYY", "D.M.Y", "DMMYYYY"):
        assert decisions.main([*given, dates]) == 1
        assert set(capsys.readouterr().err.splitlines()) == {
            f"--dates is '{dates}'; it must be written like DD.MM.YYYY or MM/DD/YY."
        }


@pytest.mark.parametrize(
    "again",
    [
        "Decision ", "decision\u200b", "\u2060decision", "deci\u00adsion",
        "DEC\u0130SION", "\uff44ecision", "deci sion", "decision\u00a0",
        "decision\ufe0f",
        "\u3164decision", "decision\x00", "\U000e0001decision", "\ufeffdecision",
    ],
)  # fmt: skip
def test_V7_a_column_that_is_there_twice_is_named(sample, tmp_path, capsys, again):
    _, folder = sample
    head, *lines = cells_of(folder / "project-1.csv")
    cells = [[*head, again], *([*line, "keep"] for line in lines)]
    table = saved(tmp_path / "t.csv", cells)
    seed = tmp_path / "seed.csv"
    assert decisions.main([str(table), "--seed", str(seed), *GIVEN]) == 1
    assert capsys.readouterr().err == (
        f"{table}, line 1: the column 'decision' is there 2 times; take out those that"
        " do not count.\n"
    )
    assert not seed.exists()


def test_V7_a_column_is_known_by_what_people_see_of_its_name(sample, tmp_path):
    _, folder = sample
    head, *lines = cells_of(folder / "project-1.csv")
    named = {"decision": "\u200bDecision", "decided by": "Decided\u00a0\u2009by"}
    place = head.index("decision")
    cells = [[named.get(name, name) for name in head]]
    cells += [[*line[:place], "keep", *line[place + 1 :]] for line in lines]
    table = saved(tmp_path / "t.csv", cells)
    assert len(decisions.decisions_in(table, "praman", DAY)) == len(lines)


def test_V7_a_decision_in_a_column_without_a_name_is_named(sample, tmp_path):
    _, folder = sample
    head, *lines = cells_of(folder / "project-1.csv")
    cells = [[*head, "", "\u200b"], *([*line, "a note", "Remove "] for line in lines)]
    table = saved(tmp_path / "t.csv", cells)
    with pytest.raises(decisions.DecisionError) as found:
        decisions.decisions_in(table, "praman", DAY)
    assert found.value.args == tuple(
        f"{table}, line {number}: 'Remove' stands in a column without a name; it must"
        " stand under 'decision'."
        for number in range(2, len(lines) + 2)
    )


def test_V7_a_decision_in_another_column_is_named(sample, tmp_path):
    _, folder = sample
    head, *_ = cells_of(folder / "project-1.csv")
    shifted = [""] * head.index("decided by")
    table = saved(tmp_path / "t.csv", [head, ["remove"], [*shifted, "Keep"], ["x"]])
    with pytest.raises(decisions.DecisionError) as found:
        decisions.decisions_in(table, "praman", DAY)
    assert found.value.args == (
        f"{table}, line 2: 'remove' stands under '{head[0]}'; it must stand under"
        " 'decision'.",
        f"{table}, line 3: 'Keep' stands under 'decided by'; it must stand under"
        " 'decision'.",
    )


def test_V7_a_seed_that_cannot_be_taken_is_named_and_stays(sample, tmp_path, capsys):
    _, folder = sample
    table = filled(folder / "project-1.csv", tmp_path / "t.csv", decision="keep")
    seed, header = tmp_path / "seed.csv", ",".join(decisions.COLUMNS)
    given = [str(table), "--seed", str(seed), *GIVEN]
    for text in (f"{header}\nProject,1,7\n\nProject\n", f"{header}\n\xff\n"):
        seed.write_text(text, encoding="latin-1")
        assert decisions.main(given) == 1
        assert seed.read_text(encoding="latin-1") == text
    assert capsys.readouterr().err.splitlines() == [
        f"{seed}, line 2: it has 3 cells and not 7.",
        f"{seed}, line 4: it has 1 cells and not 7.",
        f"{seed} is not in UTF-8: save it as 'CSV UTF-8'.",
    ]
    # Blank lines, and the mark of a spreadsheet, are no mistakes.
    seed.write_text(f"{header}\n\n", encoding="utf-8-sig")
    assert decisions.main(given) == 0
    nowhere = tmp_path / "none" / "seed.csv"
    assert decisions.main([str(table), "--seed", str(nowhere), *GIVEN]) == 1
    assert capsys.readouterr().err == (
        f"{nowhere} can't be written: No such file or directory.\n"
    )


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        # Whatever follows would be one cell, and its decisions would be lost.
        ('"Data Source,1,2\n', "line 2: it can't be read as a line of a table"),
        ('Data Source,1,"2\nProject,1,"2,x\n', "line 2: it can't be read as a line"),
        ('"Data Source\nProject",1\n', "line 2: 'object type' goes over several lines"),
        ("Data Source;1;2;s;keep;praman;2026-07-01\n", "line 2: it is one cell; what"),
    ],
)
def test_V7_no_decision_is_lost_behind_a_broken_line(
    tmp_path, capsys, broken, sentence
):
    header = ",".join(decisions.PEOPLE[column] for column in decisions.COLUMNS)
    last = f"Project,1,2,v1-{'0' * 32},remove,praman,2026-07-01\n"
    table, seed = tmp_path / "project-1.csv", tmp_path / "review_decisions.csv"
    table.write_text(f"{header}\n{broken}{last}")
    assert decisions.main([str(table), "--seed", str(seed)]) == 1
    assert sentence in capsys.readouterr().err
    assert not seed.exists()


# A note is a column of the reviewer's own.
@pytest.mark.parametrize("column", ["person", "through what", "note"])
def test_V7_no_line_is_lost_behind_quotes_in_what_is_not_read(tmp_path, column):
    read = [decisions.PEOPLE[each] for each in decisions.COLUMNS]
    head = ["object", column, *read]
    if column == "note":
        head = ["object", *read, column, "more"]

    def line(user: str, decision: str, said: str) -> str:
        cells = {"object": "A", "object type": "Project", "object id": "1"}
        cells |= {"user id": user, "decision": decision, column: said}
        cells |= {"seen": f"v1-{'0' * 32}", "decided by": "praman", "decided on": DAY}
        return ",".join(cells.get(name, "") for name in head)

    table, lines = (
        tmp_path / "t.csv",
        [line("1", "keep", '"x'), line("2", "remove", 'x"')],
    )
    table.write_text("\n".join([",".join(head), *lines]))
    with pytest.raises(decisions.DecisionError) as found:
        decisions.decisions_in(table)
    assert found.value.args == (
        f"{table}, line 2: '{column}' goes over several lines; is there a quote without"
        " its other end?",
    )
    # What a reviewer writes on several lines is no line of the table.
    lines[0] = line("1", "keep", '"Asked him.\nHe left, and came back."')
    table.write_text("\n".join([",".join(head), lines[0]]))
    if column == "note":
        assert [row["user_id"] for row in decisions.decisions_in(table)] == ["1"]


def test_V7_an_id_has_one_spelling(tmp_path, capsys):
    header = ",".join(decisions.PEOPLE[column] for column in decisions.COLUMNS)
    rest = f"v1-{'0' * 32},{{}},praman,2026-07-01\n"
    keep, remove = rest.format("keep"), rest.format("remove")
    table, seed = tmp_path / "project-1.csv", tmp_path / "review_decisions.csv"
    table.write_text(f"{header}\nProject,01,+2,{keep}")
    assert decisions.main([str(table), "--seed", str(seed)]) == 0
    assert "\nProject,1,2," in seed.read_text()
    seed.write_text(seed.read_text().replace("Project,1,2", "Project,1,+2"))
    table.write_text(f"{header}\nProject,1,002,{remove}")
    assert decisions.main([str(table), "--seed", str(seed)]) == 1
    assert "keep and remove are both decided" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "is_an_id"),
    [
        ("9223372036854775807", True),
        ("-9223372036854775808", True),
        ("1234567890123456789", True),
        ("9223372036854775808", False),
        ("-9223372036854775809", False),
    ],
)
def test_V7_an_id_is_any_bigint(tmp_path, capsys, text, is_an_id):
    header = ",".join(decisions.PEOPLE[column] for column in decisions.COLUMNS)
    table, seed = tmp_path / "project-1.csv", tmp_path / "review_decisions.csv"
    rest = f"v1-{'0' * 32},keep,praman,2026-07-01"
    table.write_text(f"{header}\nProject,{text},{text},{rest}\n")
    assert decisions.main([str(table), "--seed", str(seed)]) == (not is_an_id)
    assert is_an_id or f"the user id is '{text}'" in capsys.readouterr().err
    assert not is_an_id or f"\nProject,{text},{text}," in seed.read_text()


def test_V7_a_name_with_an_odd_line_end_is_one_cell(sample, tmp_path):
    _, folder = sample
    head, *lines = cells_of(folder / "project-1.csv")
    for line in lines:
        line[head.index("person")] = "a\u2028b\x85c\x0bd"
        line[head.index("decision")] = "keep"
    table = tmp_path / "t.csv"
    table.write_text(
        "\n".join(",".join(f"{cell}".replace(",", " ") for cell in line)
                  for line in [head, *lines]), encoding="utf-8",
    )  # fmt: skip
    assert len(decisions.decisions_in(table, "praman", DAY)) == len(lines)


def test_V3_the_sample_s_seed_is_as_the_command_writes_it():
    assert {row[4] for row in own_seed("review_decisions")} == set(decisions.DECISIONS)


def test_V3_the_page_tells_how_tables_come_back():
    page = (ROOT / "docs/review.md").read_text(encoding="utf-8")
    assert "secure-datasets decisions" in page
    for status, meaning in words.STATUSES.items():
        assert f"| {status} | {meaning}" in page
