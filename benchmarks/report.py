"""Tells what was measured: lines while it runs, then tables, JSON and a plot."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from queries import DATASETS

TIERS = list(dict.fromkeys(DATASETS.values()))
# How many times a ratio must be the last one, or the reverse, to be told.
MOVED = 1.5
USERS = ["typical", "many rights", "admin", "none"]


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def overhead(measured: dict) -> float:
    """How many times the filter by hand a reader waits."""
    seconds = measured["seconds"]
    (secured,) = set(seconds) & {"secure", "row_security"}
    return seconds[secured] / seconds["by_hand"]


def say_reading(measured: dict) -> None:
    """One line on one user's query of one dataset."""
    seconds = measured["seconds"]
    say(
        f"{measured['user']:12} {measured['dataset']:16} {measured['rows']:>9,} rows"
        f"  by hand {seconds['by_hand']:6.3f} s  secure {overhead(measured):5.2f}x"
    )


def say_plain_views(dataset: str, seconds: dict[str, float]) -> None:
    """One line on a query with nothing stored."""
    times = seconds["plain"] / seconds["secure"]
    say(f"plain views: {dataset:16} {times:5.1f}x as long as secure")


def say_growth(dataset: str, seconds: dict[str, float]) -> None:
    """One line on a query after the users grew."""
    times = seconds["grown"] / seconds["as_it_was"]
    say(f"ten times the users: {dataset:16} {times:.2f}x")


def say_postgres(measured: dict) -> None:
    """One line on one user's query under PostgreSQL's row security."""
    say(
        f"PostgreSQL: {measured['user']:12} {measured['dataset']:16}"
        f"  by hand {measured['seconds']['by_hand']:6.3f} s"
        f"  row security {overhead(measured):5.2f}x"
    )


def say_alternatives(dataset: str, seconds: dict[str, float]) -> None:
    """One line on a query answered by other ways."""
    hand = seconds["by_hand"]
    ways = (f"{name} {taken / hand:.2f}x" for name, taken in seconds.items())
    say(f"alternatives: {dataset:16} {'  '.join(ways)}")


def tables(results: dict) -> str:
    """Return the tables of what was measured, as Markdown."""
    parts = [_readers(results)]
    if "growth" in results:
        parts.append(_typical_user(results))
    if "alternatives" in results:
        parts.append(_alternatives(results))
    parts.append(_figures(results))
    return "\n\n".join("\n".join(lines) for lines in parts)


def _readers(results: dict) -> list[str]:
    in_postgres = {
        (r["user"], r["dataset"]): f"{overhead(r):.2f}x"
        for r in results.get("postgres", ())
    }
    lines = [
        "| user | dataset | keys | rows | read | by hand | secure | PostgreSQL |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for measured in results["readers"]:
        user, dataset = measured["user"], measured["dataset"]
        lines.append(
            f"| {user} | {dataset} | {measured['keys']:,} | {measured['rows']:,}"
            f" | {measured['rows_read'] / measured['base_rows']:.0%}"
            f" | {measured['seconds']['by_hand']:.3f} s"
            f" | {overhead(measured):.2f}x | {in_postgres.get((user, dataset), '')} |"
        )
    return lines


def _typical_user(results: dict) -> list[str]:
    lines = [
        "| typical user | ten times the users | plain views |",
        "|---|--:|--:|",
    ]
    for dataset, seconds in results["growth"]["seconds"].items():
        line = f"| {dataset} | {seconds['grown'] / seconds['as_it_was']:.2f}x |"
        if plain := results.get("plain_views", {}).get(dataset):
            line += f" {plain['plain'] / plain['secure']:.0f}x"
        lines.append(f"{line} |")
    return lines


def _alternatives(results: dict) -> list[str]:
    """Each way relative to the filter by hand in Spark, PostgreSQL's rows included."""
    in_postgres = {
        r["dataset"]: r["seconds"]["row_security"]
        for r in results.get("postgres", ())
        if r["user"] == "typical"
    }
    lines = [
        "| typical user | by hand | secure | a filter in the query | a view by hand"
        " | DuckDB | Sail | PostgreSQL |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for dataset, seconds in results["alternatives"].items():
        hand = seconds["by_hand"]
        ways = [seconds[way] for way in ("secure", "filtered", "view_by_hand")]
        ways += [seconds["duckdb"], seconds.get("sail"), in_postgres.get(dataset)]
        told = (f"{taken / hand:.2f}x" if taken else "" for taken in ways)
        lines.append(f"| {dataset} | {hand:.3f} s | {' | '.join(told)} |")
    return lines


def _figures(results: dict) -> list[str]:
    taken = results["seconds"]
    lines = [
        "| what | figure |",
        "|---|--:|",
        f"| generating the world | {taken['generate']:.0f} s |",
        f"| dbt run | {taken['dbt run']:.0f} s |",
    ]
    if whole := results.get("unfiltered"):
        lines += [
            f"| all of `vw_secure_dataset_tables`, no user: rows | {whole['rows']:,} |",
            f"| the same, rows of the base | {whole['base_rows']:,} |",
            "| the same, time against the base |"
            f" {whole['seconds']['secure'] / whole['seconds']['base']:.0f}x |",
        ]
    if resolved := results.get("resolution"):
        taken, stored = resolved["seconds"], sum(resolved["rows"].values())
        lines += [
            f"| resolving access: rows stored | {stored:,} |",
            f"| resolving access: rows a second | {stored / taken['resolve']:,.0f} |",
            "| resolving against only writing the rows |"
            f" {taken['resolve'] / taken['only_write']:.2f}x |",
            f"| resolving against DuckDB | {taken['resolve'] / taken['duckdb']:.2f}x |",
        ]
    memory = results["memory"]
    lines += [
        f"| the driver's heap, allowed | {memory['heap_allowed'] / 2**30:.1f} GiB |",
        f"| the driver's JVM, peak resident | {memory['jvm_peak'] / 2**30:.1f} GiB |",
    ]
    return lines


def ratios(results: dict) -> dict[str, float]:
    """Return what may be compared with another run: no seconds, but what they make."""
    found = {f"{r['user']}, {r['dataset']}": overhead(r) for r in results["readers"]}
    found |= {
        f"ten times the users, {name}": seconds["grown"] / seconds["as_it_was"]
        for name, seconds in results.get("growth", {}).get("seconds", {}).items()
    }
    found |= {
        f"DuckDB, {name}": seconds["duckdb"] / seconds["by_hand"]
        for name, seconds in results.get("alternatives", {}).items()
    }
    if resolved := results.get("resolution"):
        taken = resolved["seconds"]
        found["resolving, of writing"] = taken["resolve"] / taken["only_write"]
    return {name: round(ratio, 2) for name, ratio in found.items()}


def hold(results: dict, path: Path, keep: bool) -> None:
    """Print which ratios differ from the last that were kept, or keep these.

    Those of other sizes are not compared. What differs by less than MOVED is noise.
    """
    now = {"sizes": results["sizes"], "ratios": ratios(results)}
    if keep:
        path.write_text(json.dumps(now, indent=1) + "\n")
        return
    last = json.loads(path.read_text())
    if last["sizes"] != now["sizes"]:
        say(f"\nThe ratios in {path.name} are of other sizes: not compared")
        return
    moved = {
        name: (before, now["ratios"][name])
        for name, before in last["ratios"].items()
        if name in now["ratios"]
        and not 1 / MOVED < now["ratios"][name] / before < MOVED
    }
    say(f"\nOf {len(last['ratios'])} ratios, {len(moved)} differ from the last kept")
    for name, (before, after) in moved.items():
        say(f"{name:32} {before:5.2f}x, now {after:5.2f}x")


def save(results: dict, folder: Path) -> None:
    """Write what was measured so far."""
    folder.mkdir(exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def tell(results: dict, folder: Path) -> None:
    """Print the tables; write them and the plot."""
    text = tables(results)
    say(f"\n{text}\n\n{results['machine']}")
    (folder / "tables.md").write_text(text + "\n")
    plot(results, folder / "overhead.png")


def plot(results: dict, path: Path) -> None:
    """Draw the overhead by tier, and the growth where it was measured."""
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(11, 4), width_ratios=[3, 1], layout="constrained"
    )
    width = 0.2
    for number, user in enumerate(USERS):
        heights = [
            statistics.geometric_mean(
                overhead(r)
                for r in results["readers"]
                if r["user"] == user and r["tier"] == tier
            )
            for tier in TIERS
        ]
        places = [place + (number - 1.5) * width for place in range(len(TIERS))]
        left.bar(places, heights, width, label=user)
    left.axhline(1, color="black", linewidth=1)
    left.set_xticks(range(len(TIERS)), TIERS)
    left.set_ylabel("time, filter by hand = 1")
    left.set_title("One user's query by tier")
    left.legend(title="user")
    if "growth" in results:
        seconds = results["growth"]["seconds"]
        times = [s["grown"] / s["as_it_was"] for s in seconds.values()]
        right.bar(list(seconds), times, 0.6)
        right.axhline(1, color="black", linewidth=1)
        right.tick_params(axis="x", rotation=60)
        right.set_title("Ten times the users")
    else:
        right.remove()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
