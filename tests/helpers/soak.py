"""Compares project and oracle over many random worlds; shrinks a world that differs.

    python tests/helpers/soak.py [--as-of] WORLDS [SEED] [ZONE ANSI]

runs the worlds of WORLDS seeds from SEED on, in batches whose sessions alternate, or
all in one time zone and ANSI mode. With `--as-of` each batch is compared as of one of
its load times, with the oracle on the deliveries until then. The first difference
ends it with exit code 1, and with a world as small as can be in target/soak/<seed>/: a
CSV per raw table, and difference.txt.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from comparison import COMPARED, described
from compiled import COMPILED_AS_OF, as_of, compile_models, laid_out
from oracle.contract import (
    TABLES,
    Evaluation,
    World,
    delivered_until,
    evaluate,
    write_world,
)
from pipeline import AN_ERROR, SESSIONS, Pipeline, compare, session_of, session_settings
from projects import ROOT, copy_project
from worlds import batch, moments_of

# Planning is most of the work, and the same for many worlds as for few.
WORLDS_IN_A_BATCH = 80
FOLDER = ROOT / "target" / "soak"
# Results to keep while shrinking; a small world has about fifty.
KEPT = 2000

Item = TypeVar("Item")
Found = dict[str, list]
Judge = Callable[[World], Evaluation]


def minimal(items: Sequence[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """Return items none of which can be left out without making it pass.

    Leaves out chunks, first large ones, at last single items, until none can go.
    """
    kept, size = list(items), max(1, len(items) // 2)
    while kept:
        before, start = len(kept), 0
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            if fails(rest):
                kept = rest
            else:
                start += size
        if size == 1 and len(kept) == before:
            break
        size = max(1, size // 2)
    return kept


def shrunk(world: World, fails: Callable[[World], bool]) -> World:
    """Return a smaller world that fails as well: fewer tables, rows and values."""
    tables = minimal(
        [table for table in TABLES if world[table]],
        lambda kept: fails({t: world[t] if t in kept else [] for t in TABLES}),
    )
    print(f"  tables: {', '.join(tables)}", flush=True)

    def of_rows(rows: list[tuple[str, int]]) -> World:
        return {t: [world[t][i] for table, i in rows if table == t] for t in TABLES}

    rows = minimal(
        [(table, index) for table in tables for index in range(len(world[table]))],
        lambda kept: fails(of_rows(kept)),
    )
    print(f"  rows: {len(rows)}", flush=True)
    small = of_rows(rows)

    def of_values(values: list[tuple[str, int, str]]) -> World:
        given = set(values)
        return {
            table: [
                {c: v if (table, index, c) in given else None for c, v in row.items()}
                for index, row in enumerate(small[table])
            ]
            for table in TABLES
        }

    values = minimal(
        [
            (table, index, column)
            for table in tables
            for index, row in enumerate(small[table])
            for column, value in row.items()
            if value is not None
        ],
        lambda kept: fails(of_values(kept)),
    )
    print(f"  values: {len(values)}", flush=True)
    return of_values(values)


def differing_seeds(
    seeds: list[int], fails: Callable[[World], bool]
) -> tuple[list[int], World]:
    """Return the seed whose world fails alone, or the few whose worlds must meet."""
    while len(seeds) > 1:
        middle = len(seeds) // 2
        halves = [seeds[:middle], seeds[middle:]]
        half = next((half for half in halves if fails(batch(half))), None)
        if half is None:
            break
        print(f"  seeds {half[0]} to {half[-1]}", flush=True)
        seeds = half
    return seeds, batch(seeds)


def hunt(
    pipeline: Pipeline, seeds: list[int], found: Found, session: str, judge: Judge
) -> Path:
    """Find the world that differs, shrink it and write it; return the folder."""
    print(described(found), flush=True)
    relation = next((name for name in COMPARED if name in found), AN_ERROR)
    relations = COMPARED if relation == AN_ERROR else [relation]
    print(f"shrinking by {relation}", flush=True)

    def fails(world: World) -> bool:
        if len(pipeline.kept) > KEPT:
            pipeline.kept.clear()
        return relation in compare(pipeline, world, relations, judge(world))

    seeds, world = differing_seeds(seeds, fails)
    small = shrunk(world, fails)
    folder = FOLDER / "-".join(map(str, seeds[:1] + seeds[1:][-1:]))
    write_world(small, folder)
    rows = sum(map(len, small.values()))
    tables = ", ".join(
        f"{len(small[table])} {table}" for table in TABLES if small[table]
    )
    (folder / "difference.txt").write_text(
        f"seeds {', '.join(map(str, seeds))}; {session}; {rows} rows: {tables}\n\n"
        f"{described(compare(pipeline, small, expected=judge(small)), rows=100)}\n",
        encoding="utf-8",
    )
    return folder


def evaluated_as_of(world: World, moment: datetime) -> Evaluation:
    """Evaluate what a world was at a moment."""
    return evaluate(delivered_until(world, moment))


def a_moment_of(world: World, seed: int) -> datetime:
    """Return one of the load times of a world, always the same for the same seed."""
    return random.Random(seed).choice(moments_of(world))


def soak(
    worlds: int, first: int, sessions: Sequence[tuple[str, str]], is_past: bool
) -> int:
    """Compare the worlds of so many seeds; return the exit code."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        project = copy_project(Path(folder) / "project")
        spark = session_of(project)
        variables = {"as_of": str(COMPILED_AS_OF)} if is_past else {}
        compiled = compile_models(project, project / "target", **variables)
        for start in range(0, worlds, WORLDS_IN_A_BATCH):
            zone, ansi = sessions[start // WORLDS_IN_A_BATCH % len(sessions)]
            end = min(start + WORLDS_IN_A_BATCH, worlds)
            seeds = list(range(first + start, first + end))
            session = f"time zone {zone}, ANSI {ansi}"
            world, models, judge = batch(seeds), laid_out(compiled, ansi), evaluate
            if is_past:
                moment = a_moment_of(world, start)
                session += f", as of {moment}"
                models = as_of(compiled, moment)
                judge = partial(evaluated_as_of, moment=moment)
            with session_settings(spark, zone, ansi):
                pipeline = Pipeline(spark, models)
                found = compare(pipeline, world, expected=judge(world))
                if found:
                    print(f"seeds {seeds[0]} to {seeds[-1]} differ; {session}")
                    pipeline = Pipeline(spark, models, kept={})
                    print(hunt(pipeline, seeds, found, session, judge))
                    return 1
            seconds = time.monotonic() - started
            print(f"{end} of {worlds} worlds, {seconds:.0f} s; {session}", flush=True)
    print(f"{worlds} worlds from seed {first}: no difference, {seconds:.0f} s")
    return 0


def main() -> None:
    """Read the command line."""
    arguments = [each for each in sys.argv[1:] if each != "--as-of"]
    is_past = len(arguments) < len(sys.argv) - 1
    if len(arguments) not in (1, 2, 4):
        sys.exit(
            "usage: python tests/helpers/soak.py [--as-of] WORLDS [SEED] [ZONE ANSI]"
        )
    worlds, first = (*map(int, arguments[:2]), 0)[:2]
    sessions = [tuple(arguments[2:])] if arguments[2:] else SESSIONS
    sys.exit(soak(worlds, first, sessions, is_past))


if __name__ == "__main__":
    main()
