"""What every benchmark has in common: rows of ratios, printed as one table and, with --json, written as JSON."""

import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One comparison: `ours` and `theirs` in the same unit (more is better), and their ratio."""

    peer: str
    cell: str
    ours: float
    theirs: float
    ratio: float


def race(runners: Mapping[str, Callable[[], tuple[int, float]]], *, rounds: int) -> dict[str, float]:
    """Let all runners run in turn, `rounds` times after one untimed lap, and return each one's median rate.

    A runner returns how many tokens it made in how many seconds. Taking turns lets a disturbance of the machine hit all
    of them alike.
    """
    for run in runners.values():
        run()
    rates: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, run in runners.items():
            tokens, seconds = run()
            rates[name].append(tokens / seconds)
    return {name: statistics.median(values) for name, values in rates.items()}


def compare(cell: str, rates: Mapping[str, float], ours: str) -> list[Row]:
    """Set our rate against every other."""
    mine = rates[ours]
    return [Row(peer, cell, mine, rate, mine / rate) for peer, rate in rates.items() if peer != ours]


def report(rows: list[Row], unit: str, json_path: Path | None) -> None:
    """Print the table and write the rows."""
    print(f"{'peer':<24} {'cell':<20} {'Heedful':>12} {'peer':>12} {'ratio':>7}   ({unit})")
    for row in rows:
        print(f"{row.peer:<24} {row.cell:<20} {row.ours:>12,.0f} {row.theirs:>12,.0f} {row.ratio:>6.2f}x")
    if json_path is not None:
        json_path.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
