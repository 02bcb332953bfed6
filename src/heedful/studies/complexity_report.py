"""The study of complexity in words: measured exponents beside the paper's, and every deviation with its reason.

A reason is a figure of the same study: what the counted operations say over the same sizes, and how many operations a
second were done at the smallest and at the largest of them.
"""

from dataclasses import asdict

from heedful.evaluation.intervals import Estimate
from heedful.reports.report import Block, LinePlot, Point, Report, Series, Table
from heedful.studies.complexity import Cell, Crossing, Exponents, Findings, asymptotic, crossings, fit
from heedful.studies.layers import FAMILIES, rounds_of


def complexity_report(findings: Findings) -> Report:
    """Say what was found."""
    times, memories = fit(findings, lambda cell: cell.total), fit(findings, lambda cell: float(cell.peak))
    met = crossings(findings)
    blocks: list[Block] = [
        "What one layer of each family costs, forward and backward, on one sequence of n positions and d features, "
        "beside the table of section 4 of Attention Is All You Need. Exponents are fitted to the larger half of the "
        "sizes by regression on logarithms; intervals are 95 %.",
        _exponents_table("Time grows as n^a · d^b", times),
        *_deviations(findings, times),
        *_time_plots(findings),
        _exponents_table("Memory grows as n^a · d^b", memories, of_memory=True),
        "The fused kernel never holds the n² weights, so that attention's memory grows like everybody's, with n; the "
        "equation written out holds them all.",
        *_memory_plots(findings),
        _steps_table(findings),
        _reach_table(findings),
        _reach_plot(findings),
        *_crossings(findings, met),
    ]
    if findings.left_out:
        left = ", ".join(f"{FAMILIES[f].name} n = {n:,} d = {d:,} on {device}" for device, f, n, d in findings.left_out)
        blocks.append(f"Left out as too large for the time, the memory or the kernel: {left}.")
    return Report("complexity", "Why self-attention: what a layer costs", blocks, _data(findings, times, memories, met))


def _exponents_table(title: str, fits: list[Exponents], *, of_memory: bool = False) -> Table:
    rows = []
    for found in fits:
        family = FAMILIES[found.family]
        cells = [found.device, family.operations]
        for size in ("n", "d"):
            cells += [_shown(found.measured[size])] if of_memory else _theory(found, size)
        rows.append([family.name, *cells])
    if of_memory:
        return Table(title, ["layer", "device", "operations", "a measured", "b measured"], rows)
    columns = ["layer", "device", "paper", "a paper", "a counted", "a measured", "b paper", "b counted", "b measured"]
    note = "Counted: the exponent of the multiply-adds over the same sizes. * the paper's value lies in the interval."
    return Table(title, columns, rows, note)


def _theory(found: Exponents, size: str) -> list[str]:
    exponents = FAMILIES[found.family].exponents
    expected = None if exponents is None else exponents[size]
    holds = expected is not None and expected in found.measured[size]
    return [
        "–" if expected is None else str(expected),
        f"{found.counted[size].value:.2f}",
        _shown(found.measured[size]) + ("*" if holds else " "),
    ]


def _shown(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _deviations(findings: Findings, fits: list[Exponents]) -> list[str]:
    """Explain, by figures, every exponent whose interval does not hold what the paper says."""
    told = []
    for found in fits:
        family = FAMILIES[found.family]
        off = [
            size
            for size in ("n", "d")
            if (family.exponents or {}).get(size, found.counted[size].value) not in found.measured[size]
        ]
        if not off and family.exponents is not None:
            continue
        cells = sorted(asymptotic(findings.of(found.device, found.family)), key=lambda cell: cell.length * cell.width)
        first, last = cells[0], cells[-1]
        sentences = []
        if family.exponents is None:
            share = 2 * last.length / (2 * last.length + 4 * last.width)
            least = 2 * first.length / (2 * first.length + 4 * first.width)
            sentences.append(
                f"its operations are a sum: the part that grows with n² is {100 * least:.0f} % of them at "
                f"n = {first.length:,}, d = {first.width:,} and {100 * share:.0f} % at n = {last.length:,}, "
                f"d = {last.width:,}; short texts are dominated by the linear projections"
            )
        if off:
            sentences.append(
                f"the exponent of {' and of '.join(off)} is not that of the operations because they are not equally "
                f"quick: {_rate(first)} billion multiply-adds a second at n = {first.length:,}, "
                f"d = {first.width:,}, {_rate(last)} billion at n = {last.length:,}, d = {last.width:,}"
            )
        told.append(f"{family.name} on {found.device}: {'; '.join(sentences)}.")
    return told


def _rate(cell: Cell) -> str:
    """Return billions of multiply-adds a second; a backward pass has twice those of a forward pass."""
    rate = 3 * FAMILIES[cell.family].multiply_adds(cell.length, cell.width) / cell.total / 1e9
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.2f}"


def _time_plots(findings: Findings) -> list[Block]:
    plots: list[Block] = []
    for device in findings.sizes.devices:
        width, length = max(findings.sizes.widths), sorted(findings.sizes.lengths)[len(findings.sizes.lengths) // 2]
        over_n = {f: [c for c in findings.of(device, f) if c.width == width] for f in FAMILIES}
        over_d = {f: [c for c in findings.of(device, f) if c.length == length] for f in FAMILIES}
        plots += [
            _plot(
                f"time_over_n_{_file(device)}",
                f"Time over length, d = {width}, on {device}",
                "length n",
                {f: [Point(c.length, 1000 * c.total) for c in cells] for f, cells in over_n.items()},
            ),
            _plot(
                f"time_over_d_{_file(device)}",
                f"Time over width, n = {length}, on {device}",
                "width d",
                {f: [Point(c.width, 1000 * c.total) for c in cells] for f, cells in over_d.items()},
            ),
        ]
    return plots


def _memory_plots(findings: Findings) -> list[Block]:
    width = max(findings.sizes.widths)
    return [
        _plot(
            f"memory_over_n_{_file(device)}",
            f"Peak memory over length, d = {width}, on {device}",
            "length n",
            {f: [Point(c.length, c.peak / 1e6) for c in findings.of(device, f) if c.width == width] for f in FAMILIES},
            unit="megabytes",
        )
        for device in findings.sizes.devices
    ]


def _plot(
    name: str, title: str, x_label: str, points: dict[str, list[Point]], *, unit: str = "milliseconds"
) -> LinePlot:
    series = [Series(FAMILIES[family].name, line) for family, line in points.items() if line]
    return LinePlot(name, title, x_label, unit, series, log_x=True, log_y=True)


def _file(device: str) -> str:
    return device.replace(":", "_")


def _steps_table(findings: Findings) -> Table:
    lengths = sorted(next(iter(findings.chains.values())))
    rows = []
    for family, chain in findings.chains.items():
        grown = (chain[lengths[-1]] - chain[lengths[0]]) / (lengths[-1] - lengths[0])
        rows.append(
            [FAMILIES[family].name, *(f"{chain[n]:,}" for n in lengths), f"{grown:g}", FAMILIES[family].sequential]
        )
    columns = ["layer", *(f"n = {n}" for n in lengths), "more for each position", "paper"]
    note = "The longest chain of operations in the graph of a forward pass each of which needs the one before."
    return Table("Sequential steps", columns, rows, note)


def _reach_table(findings: Findings) -> Table:
    rounds = rounds_of(2)
    lengths = sorted(next(iter(findings.reaches.values())))
    rows = [
        [rounds[name].name, *(f"{found[n]:,}" for n in lengths), rounds[name].path]
        for name, found in findings.reaches.items()
    ]
    note = (
        "Layers, of the recurrent one steps, until the last output feels the first input: until its gradient with "
        "respect to that input is not zero."
    )
    return Table("Longest path", ["layer", *(f"n = {n}" for n in lengths), "paper"], rows, note)


def _reach_plot(findings: Findings) -> LinePlot:
    rounds = rounds_of(2)
    series = [
        Series(rounds[name].name, [Point(n, count) for n, count in found.items()])
        for name, found in findings.reaches.items()
    ]
    title = "Layers or steps until the last output feels the first input"
    return LinePlot("longest_path", title, "length n", "layers or steps", series, log_x=True, log_y=True)


def _crossings(findings: Findings, met: list[Crossing]) -> list[Block]:
    if not met:
        return []
    rows = [
        [FAMILIES[it.other].name, it.device, f"{it.width:,}", _length(it.counted), _measured_crossing(it)] for it in met
    ]
    columns = ["attention against", "device", "d", "dearer by operations from n =", "dearer by the clock from n ="]
    counted = {it.width: it.counted for it in met if it.other == "recurrent"}
    width = max(counted)
    claim = (
        "“Width is larger than length, so attention is cheaper” is a statement about sentences. By operations, "
        f"attention with its projections is dearer than a recurrent layer from n = {counted[width]:,.0f} on at "
        f"d = {width:,}: as long as n is below d it holds, and a text of {8 * width:,} tokens takes "
        f"{_times(8 * width, width):.1f} times the operations of the recurrent layer."
    )
    blocks: list[Block] = [Table("Where the lines cross", columns, rows), claim]
    for device in findings.sizes.devices:
        crossed = [it for it in met if it.device == device and it.other == "recurrent" and it.measured is not None]
        blocks.append(
            f"By the clock on {device}, attention is overtaken by the recurrent layer at "
            + ", ".join(f"n = {it.measured:,.0f} for d = {it.width:,}" for it in crossed if it.measured)
            + ": a recurrent layer loses time at every step, which moves the crossing but does not abolish it."
            if crossed
            else f"By the clock on {device}, the recurrent layer does not overtake attention up to "
            f"n = {max(findings.sizes.lengths):,}: its steps follow one another, and that costs more than the "
            "operations that attention has in excess. Measure longer texts: --lengths."
        )
    return blocks


def _times(length: int, width: int) -> float:
    return FAMILIES["projected"].multiply_adds(length, width) / FAMILIES["recurrent"].multiply_adds(length, width)


def _length(length: float) -> str:
    return "always" if length < 1 else f"{length:,.0f}"


def _measured_crossing(met: Crossing) -> str:
    if met.measured is not None:
        return f"{met.measured:,.0f}"
    if met.is_slower_at_end:
        return "always"
    return f"not up to {met.longest:,}" + ("" if met.expected is None else f", at this rate {met.expected:,.0f}")


def _data(
    findings: Findings, times: list[Exponents], memories: list[Exponents], met: list[Crossing]
) -> dict[str, object]:
    return {
        "sizes": asdict(findings.sizes),
        "cells": [asdict(cell) for cell in findings.cells],
        "time_exponents": [asdict(found) for found in times],
        "memory_exponents": [asdict(found) for found in memories],
        "sequential_steps": findings.chains,
        "longest_path": findings.reaches,
        "crossings": [asdict(it) for it in met],
        "left_out": findings.left_out,
    }
