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


def tables(results: dict) -> str:
    """Return the tables of what was measured, as Markdown."""
    parts = [_readers(results)]
    if "growth" in results:
        parts.append(_typical_user(results))
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
