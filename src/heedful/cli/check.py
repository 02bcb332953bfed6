"""`heedful check`: look at data and settings before a long run, as a doctor would."""

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import write_line

if TYPE_CHECKING:
    from heedful.config.run import RunConfig
    from heedful.data.doctor import CorpusReport, Examination
    from heedful.data.run_estimate import RunEstimate


def check(
    config: options.Config,
    overrides: options.Overrides = None,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(metavar="N", min=1, help="Target tokens a second, as a run prints them; measured if not given."),
    ] = None,
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Look at the corpora and settings of CONFIG before training.

    Says what would go wrong, what looks odd, and what the run will cost.
    Exits with 2 when training would be refused.
    """
    from heedful.config.load import load_config

    run = load_config(config, overrides or [])
    from heedful.data.doctor import examine
    from heedful.tasks.public_data import in_words

    examination = examine(run, tokens_per_second=tokens_per_second, in_words=in_words)
    if tokens_per_second is None:
        examination = _with_measured_time(examination, run, device)
    for line in [json.dumps(asdict(examination))] if as_json else _as_text(examination):
        write_line(line)
    if examination.has_errors:
        raise typer.Exit(2)


def _with_measured_time(examination: "Examination", run: "RunConfig", device: str | None) -> "Examination":
    """Add how long the run would take here, from a few real steps."""
    cost, sizes = examination.estimate, (examination.source_vocab_size, examination.target_vocab_size)
    if cost is None or sizes[0] is None or sizes[1] is None or examination.has_errors:
        return examination
    from heedful.tasks.training_speed import measure_training_speed

    speed = measure_training_speed(
        run,
        cost.largest_batch,
        source_vocab_size=sizes[0],
        target_vocab_size=sizes[1],
        device=device,
    )
    # The trial had no padding; a real batch spends its share of the time on it.
    return replace(examination, estimate=replace(cost, seconds=cost.num_run_tokens / (speed * cost.real_share)))


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
