"""A comparison as a report (reports/): tables and plots in words and figures, and what is behind them for programs."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, replace

from heedful.comparisons.candidates import settings_that_differ
from heedful.comparisons.comparison import Comparison, Pair, Row
from heedful.comparisons.judging import VALIDATION
from heedful.comparisons.measuring import AnswerCost, Costs
from heedful.comparisons.significance import Gap, Quality
from heedful.files import JsonValue
from heedful.reports.report import Block, IntervalPlot, LinePlot, NamedValue, Point, Report, Series, Table
from heedful.training.durability.journal import Journal, Record

_NUM_EXAMPLES = 6
_MOST_SHOWN = 300
_NONE = "–"


def report_of(comparison: Comparison) -> Report:
    """Return the report of a comparison; the table is about the first test set, others follow."""
    rows, cases = comparison.rows, comparison.cases
    blocks: list[Block] = [_introduction(comparison), _main_table(comparison)]
    blocks += [_quality_table(comparison, number) for number in range(1, len(cases))]
    blocks += [
        Table(
            "What could not be compared",
            ["", "why"],
            [[it.label, it.failure] for it in comparison.broken],
            is_prose=True,
        )
    ] * bool(comparison.broken)
    blocks += [_quality_plot(comparison, number) for number in range(len(cases))]
    blocks += [plot for number in range(len(cases)) if (plot := _length_plot(comparison, number)) is not None]
    blocks += [
        plot for plot in (_validation_curves(rows), _loss_curves(rows), *_speed_plots(comparison)) if plot is not None
    ]
    blocks += [_pairs_table(comparison, number) for number in range(len(cases)) if len(rows) > 1]
    blocks += [table for table in (_settings_table(rows), _examples(comparison)) if table is not None]
    return Report("comparison", f"Compared: {', '.join(row.label for row in rows)}", blocks, _data(comparison))


def summary_of(report: Report) -> Report:
    """Return what of a report is worth a terminal: everything before the first plot."""
    first = next(place for place, block in enumerate(report.blocks) if isinstance(block, IntervalPlot | LinePlot))
    return replace(report, blocks=report.blocks[:first])


def metric_name(comparison: Comparison) -> str:
    """Return the score that counts."""
    return comparison.rows[0].outcomes[0].scores[0].metrics[0].name


def _introduction(comparison: Comparison) -> str:
    rows, budget = comparison.rows, comparison.budget
    less = " (less is better)" if rows[0].outcomes[0].scores[0].metrics[0].is_less_better else ""
    names = ", ".join(f"{it.name} with {len(it.sources):,} cases" for it in comparison.cases)
    told = [f"All were scored by {metric_name(comparison)}{less} on the same test data ({names}), with one tokenizer."]
    if all(it.name.split(" ")[0] == VALIDATION for it in comparison.cases):
        told.append("No test set was named: the validation set chose the checkpoints and flatters all of them.")
    parameters = [row.costs.step.num_parameters for row in rows if row.costs is not None and row.costs.step is not None]
    if budget.parameters:
        told.append(f"Parameters are equal within {budget.tolerance:.0%}.")
    elif parameters and max(parameters) > 1.05 * min(parameters):
        told.append("Parameters differ by more than 5 %: compare them, too, or ask for --budget parameters.")
    tokens = [_tokens_of(row) for row in rows]
    if budget.seconds is not None:
        told.append(f"Each was given the steps it takes in {budget.seconds:,.0f} seconds of training on this machine.")
    elif max(tokens) > 1.05 * min(tokens):
        told.append("They were trained on different numbers of tokens: compare these, too, or ask for --budget tokens.")
    return " ".join(told)


def _tokens_of(row: Row) -> int:
    training = row.candidate.config.training
    return training.max_steps * training.batch_tokens * training.accumulate


def _main_table(comparison: Comparison) -> Table:
    rows, cells = comparison.rows, _quality_cells(comparison, 0)
    columns = ["", f"{metric_name(comparison)} ±", "seeds", f"vs {rows[0].label}", "p"]
    table = [
        [row.label, quality, str(len(row.outcomes)), gap, p_value]
        for row, (quality, gap, p_value) in zip(rows, cells, strict=True)
    ]
    if any(row.costs is not None for row in rows):
        known = {place for row in rows if row.costs is not None for place in row.costs.answers}
        places = [place for place in ("CPU", "CPU int8", "GPU") if place in known]
        columns += ["parameters", "train tok/s", "memory"]
        columns += [f"{what} {place}" for place in places for what in ("tok/s", "ms")]
        table = [[*cells, *_cost_cells(row.costs, places)] for cells, row in zip(table, rows, strict=True)]
    return Table(comparison.cases[0].name, columns, table, _TABLE_NOTE)


def _cost_cells(costs: Costs | None, places: Sequence[str]) -> list[str]:
    step = None if costs is None else costs.step
    answers = {} if costs is None else costs.answers
    return [
        _NONE if step is None else f"{step.num_parameters:,}",
        _NONE if step is None else f"{step.tokens_per_second:,.0f}",
        _NONE if step is None else f"{step.memory_bytes / 2**20:,.0f} MiB",
        *(cell for place in places for cell in _answer_cells(answers.get(place))),
    ]


_TABLE_NOTE = (
    "± is half the 95 % interval over test cases and, with several seeds, over seeds; a single seed says nothing about "
    "the others. p is how probable so large a difference from the first row would be if both were equally good. Train "
    "tok/s and memory are those of a training step, tok/s and ms those of answering, many at a time and one alone."
)


def _quality_table(comparison: Comparison, number: int) -> Table:
    cells = [
        [row.label, *found] for row, found in zip(comparison.rows, _quality_cells(comparison, number), strict=True)
    ]
    metric = comparison.rows[0].outcomes[0].scores[number].metrics[0].name
    return Table(comparison.cases[number].name, ["", f"{metric} ±", f"vs {comparison.rows[0].label}", "p"], cells)


def _quality_cells(comparison: Comparison, number: int) -> list[tuple[str, str, str]]:
    """Return for each row its score, its difference from the first, and how probable that is by chance."""
    rows, pairs = comparison.rows, comparison.pairs[number]
    digits = 3 if rows[0].outcomes[0].scores[number].metrics[0].is_less_better else 2
    cells = []
    for row in rows:
        pair = next((it for it in pairs if (it.first, it.second) == (rows[0].label, row.label)), None)
        gap = "" if pair is None else f"{pair.gap.difference:+.{digits}f} ± {_half(pair.gap):.{digits}f}"
        cells.append((_shown(row.judged[number][0].quality, digits), gap, "" if pair is None else _p(pair.gap.p_value)))
    return cells


def _shown(quality: Quality, digits: int) -> str:
    return f"{quality.value:.{digits}f} ± {(quality.high - quality.low) / 2:.{digits}f}"


def _half(gap: Gap) -> float:
    return (gap.high - gap.low) / 2


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _answer_cells(cost: AnswerCost | None) -> tuple[str, str]:
    return (_NONE, _NONE) if cost is None else (f"{cost.tokens_per_second:,.0f}", f"{cost.latency_ms:,.1f}")


def _quality_plot(comparison: Comparison, number: int) -> IntervalPlot:
    metric = comparison.rows[0].outcomes[0].scores[number].metrics[0].name
    values = []
    for row in comparison.rows:
        quality = row.judged[number][0].quality
        values.append(NamedValue(row.label[:40], quality.value, *_on_the_scale(quality)))
    title = f"{metric} on {comparison.cases[number].name}, 95 % intervals"
    return IntervalPlot(f"quality-{number + 1}", title, metric, values)


def _on_the_scale(quality: Quality) -> tuple[float, float]:
    """Return the ends of an interval as they are drawn: Student's may lie where no score can be."""
    return max(quality.low, min(0.0, quality.value)), min(quality.high, max(100.0, quality.value))


def _length_plot(comparison: Comparison, number: int) -> LinePlot | None:
    if not comparison.rows[0].lengths[number]:
        return None
    metric = comparison.rows[0].outcomes[0].scores[number].metrics[0].name
    series = [
        Series(
            row.label[:24],
            [Point(it.mean_length, it.quality.value, *_on_the_scale(it.quality)) for it in row.lengths[number]],
        )
        for row in comparison.rows
    ]
    title = f"{metric} by length on {comparison.cases[number].name}"
    note = "Groups of nearly equal size; each point stands at the mean length of its group."
    return LinePlot(f"length-{number + 1}", title, "source tokens", metric, series, note=note)


def _validation_curves(rows: Sequence[Row]) -> LinePlot | None:
    metric = rows[0].candidate.config.validation.metric
    return _curves(rows, "validation", metric, f"Validation {metric} while training", "validation-curves")


def _loss_curves(rows: Sequence[Row]) -> LinePlot | None:
    return _curves(rows, "train", "loss", "Training loss", "loss-curves")


def _curves(rows: Sequence[Row], kind: str, metric: str, title: str, name: str) -> LinePlot | None:
    """Draw a number of the journals over steps: the mean over seeds, between the lowest and the highest."""
    series = []
    for row in rows:
        curves = [_curve(Journal(it.run_folder / "metrics.jsonl").records(), kind, metric) for it in row.outcomes]
        steps = [step for step in curves[0] if all(step in curve for curve in curves)]
        points = []
        for step in steps:
            values = [curve[step] for curve in curves]
            band = (min(values), max(values)) if len(values) > 1 else (None, None)
            points.append(Point(step, statistics.fmean(values), *band))
        if points:
            series.append(Series(row.label[:24], points))
    note = "The mean over seeds; the band is from the lowest to the highest of them."
    return LinePlot(name, title, "steps", metric, series, note=note) if series else None


def _curve(records: Sequence[Record], kind: str, metric: str) -> dict[int, float]:
    found = {}
    for record in records:
        step, value = record.get("step"), record.get(metric)
        if record.get("kind") == kind and isinstance(step, int) and isinstance(value, int | float):
            found[step] = float(value)
    return found


def _speed_plots(comparison: Comparison) -> list[LinePlot]:
    """Draw quality over speed, for each place where models answer; a candidate is a point."""
    plots = []
    metric = metric_name(comparison)
    for place in ("CPU", "CPU int8", "GPU"):
        series = []
        for row in comparison.rows:
            cost = None if row.costs is None else row.costs.answers.get(place)
            if cost is not None:
                quality = row.judged[0][0].quality
                series.append(Series(row.label[:24], [Point(cost.tokens_per_second, quality.value)]))
        if series:
            name = f"speed-{place.lower().replace(' ', '-')}"
            title = f"{metric} and speed on a {place.replace(' int8', ' in 8 bits')}"
            plots.append(LinePlot(name, title, "tokens a second", metric, series))
    return plots


def _pairs_table(comparison: Comparison, number: int) -> Table:
    digits = 3 if comparison.rows[0].outcomes[0].scores[number].metrics[0].is_less_better else 2
    cells = [
        [
            f"{it.second} less {it.first}",
            f"{it.gap.difference:+.{digits}f}",
            f"[{it.gap.low:+.{digits}f}, {it.gap.high:+.{digits}f}]",
            _p(it.gap.p_value),
            _p(it.adjusted),
        ]
        for it in comparison.pairs[number]
    ]
    columns = ["", "difference", "95 % interval", "p", "p among all pairs"]
    note = "The last column is by Holm's method: among many pairs, some differ by chance."
    return Table(f"Every pair on {comparison.cases[number].name}", columns, cells, note)


def _settings_table(rows: Sequence[Row]) -> Table | None:
    settings = settings_that_differ([row.candidate for row in rows])
    if not settings:
        return None
    cells = [[name, *(_setting(value) for value in values)] for name, values in settings.items()]
    return Table("What differs in the settings", ["", *(row.label for row in rows)], cells)


def _setting(value: object) -> str:
    return _NONE if value is None else _cut(json.dumps(value, ensure_ascii=False))


def _examples(comparison: Comparison) -> Table | None:
    """Show the cases on which the first seeds of the candidates differ most in what they wrote."""
    rows, cases = comparison.rows, comparison.cases[0]
    outputs = [row.outcomes[0].scores[0].outputs for row in rows]
    if not outputs[0]:
        return None
    order = sorted(range(len(outputs[0])), key=lambda place: -len({its[place] for its in outputs}))
    cells = []
    for place in order[:_NUM_EXAMPLES]:
        cells += [["source", _cut(cases.sources[place])], ["reference", _cut(cases.references[place][0])]]
        cells += [[row.label, _cut(its[place])] for row, its in zip(rows, outputs, strict=True)]
    return Table(f"Where they differ most, on {cases.name}", ["", "text"], cells, is_prose=True)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _data(comparison: Comparison) -> dict[str, JsonValue]:
    rows: list[JsonValue] = [_row_data(comparison, row) for row in comparison.rows]
    pairs: list[JsonValue] = [
        {"test_set": cases.name, **_pair_data(it)}
        for cases, its in zip(comparison.cases, comparison.pairs, strict=True)
        for it in its
    ]
    return {
        "task": comparison.rows[0].candidate.config.task,
        "budget": asdict(comparison.budget),
        "test_sets": [{"name": it.name, "cases": len(it.sources), "sha256": it.digest} for it in comparison.cases],
        "candidates": rows,
        "pairs": pairs,
        "broken": [{"label": it.label, "failure": it.failure} for it in comparison.broken],
    }


def _row_data(comparison: Comparison, row: Row) -> dict[str, JsonValue]:
    scores: list[JsonValue] = []
    for number, cases in enumerate(comparison.cases):
        for metric, judged in zip(row.outcomes[0].scores[number].metrics, row.judged[number], strict=True):
            quality = judged.quality
            scores.append({"test_set": cases.name, "metric": metric.name, **_plain(asdict(quality))})
    lengths: list[JsonValue] = [
        {"test_set": cases.name, **_plain(asdict(it))}
        for cases, its in zip(comparison.cases, row.lengths, strict=True)
        for it in its
    ]
    return {
        "label": row.label,
        "seeds": [it.seed for it in row.outcomes],
        "runs": [str(it.run_folder) for it in row.outcomes],
        "steps": row.candidate.config.training.max_steps,
        "padded_tokens": _tokens_of(row),
        "scores": scores,
        "by_length": lengths,
        "costs": None if row.costs is None else _plain(asdict(row.costs)),
    }


def _pair_data(pair: Pair) -> dict[str, JsonValue]:
    gap = _plain(asdict(pair.gap))
    return {"first": pair.first, "second": pair.second, **gap, "p_among_all_pairs": pair.adjusted}


def _plain(fields: dict[str, object]) -> dict[str, JsonValue]:
    """Return the same in JSON's types."""
    plain: dict[str, JsonValue] = json.loads(json.dumps(fields))
    return plain
