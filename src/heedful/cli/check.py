"""`heedful check`: look at data and settings before a long run, as a doctor would."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import write_line

if TYPE_CHECKING:
    from heedful.data.doctor import CorpusReport, Examination
    from heedful.data.run_estimate import RunEstimate


def check(
    config: options.Config,
    overrides: options.Overrides = None,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(metavar="N", min=1, help="Target tokens a second, as a run prints them, to estimate the time."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Look at the corpora and settings of CONFIG before training.

    Says what would go wrong, what looks odd, and what the run will cost.
    Exits with 2 when training would be refused.
    """
    from heedful.config.load import load_config

    run = load_config(config, overrides or [])
    from heedful.data.doctor import examine

    examination = examine(run, tokens_per_second=tokens_per_second)
    for line in [json.dumps(asdict(examination))] if as_json else _as_text(examination):
        write_line(line)
    if examination.has_errors:
        raise typer.Exit(2)


def _as_text(examination: "Examination") -> list[str]:
    lines = [line for corpus in examination.corpora for line in _about_corpus(corpus)]
    if examination.source_vocab_size:
        lines += ["", f"vocabulary  {examination.source_vocab_size:,} source, {examination.target_vocab_size:,} target"]
    if examination.estimate:
        lines += _about_cost(examination.estimate)
    lines.append("")
    order = ("error", "warning", "note")
    findings = sorted(examination.findings, key=lambda finding: order.index(finding.severity))
    lines += [f"{finding.severity}: {finding.sentence}" for finding in findings]
    return [*lines, "Nothing stands in the way." if not examination.has_errors else "Training would be refused."]


def _about_corpus(corpus: "CorpusReport") -> list[str]:
    lines = [f"{corpus.setting}  {corpus.num_pairs:,} pairs  {' + '.join(corpus.files)}"]
    for side, lengths in (("source", corpus.source_lengths), ("target", corpus.target_lengths)):
        if lengths:
            lines.append(
                f"  {side} tokens  mean {lengths.mean:.1f}, median {lengths.median}, "
                f"99 % below {lengths.percentile_99 + 1}, longest {lengths.longest}"
            )
    return lines


def _about_cost(cost: "RunEstimate") -> list[str]:
    rows, source_len, target_len = cost.largest_batch
    lines = [
        f"parameters  {cost.num_parameters:,}",
        f"epoch       {cost.num_batches:,} batches, {cost.num_target_tokens:,} target tokens, "
        f"{1 - cost.real_share:.0%} padding",
        f"run         {cost.num_epochs:,.1f} epochs",
        f"memory      about {cost.memory_bytes / 2**20:,.0f} MiB "
        f"for the largest batch ({rows} rows, {source_len} + {target_len} tokens)",
    ]
    if cost.seconds is not None:
        lines.append(f"time        about {_duration(cost.seconds)}")
    return lines


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.1f} h"
