"""`heedful check`: look at data and settings before a long run, as a doctor would."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.check_labels import check_labels
from heedful.cli.check_lines import finding_lines, length_line, time_line
from heedful.cli.check_text import check_text
from heedful.cli.console import write_line
from heedful.errors import UserError

if TYPE_CHECKING:
    from heedful.config.load import AnyRun
    from heedful.config.translation import TranslationRun
    from heedful.tasks.translation.doctor import CorpusReport, Examination
    from heedful.tasks.translation.estimate import RunEstimate


def check(
    config: options.Config,
    overrides: options.Overrides = None,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(metavar="N", min=1, help="Speed as a run prints it as tokens/s; measured if not given."),
    ] = None,
    device: options.Device = None,
    gpus: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1 << 20, help="Predict the run on so many GPUs, on paper.")
    ] = None,
    gpu: Annotated[str, typer.Option(metavar="NAME", help="With --gpus: h200, h100 or a100.")] = "h200",
    price: Annotated[
        float | None, typer.Option(metavar="P", min=0, help="With --gpus: what an hour of one GPU costs.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Look at the data and settings of CONFIG before training, whatever the task.

    Says what would go wrong, what looks odd, and what the run will cost.
    Exits with 2 when training would be refused.
    """
    if device is not None and tokens_per_second is not None:
        raise UserError("`--device` must be left out with --tokens-per-second: it says where the speed is measured.")
    from heedful.config.load import load_any

    run = load_any(config, overrides or [])
    if gpus is not None:
        for line in _on_paper(run, gpu, gpus, price, as_json=as_json):
            write_line(line)
        return
    lines, is_refused = DOCTORS[run.task](run, per_second=tokens_per_second, device=device, as_json=as_json)
    for line in lines:
        write_line(line)
    if is_refused:
        raise typer.Exit(2)


def _on_paper(run: "AnyRun", gpu: str, num_gpus: int, price: float | None, *, as_json: bool) -> list[str]:
    """Predict a run on GPUs that are not here: nothing is measured, and the data is only counted."""
    from heedful.config.translation import TranslationRun
    from heedful.tasks.translation.doctor import examine
    from heedful.tasks.translation.estimate import on_paper

    if not isinstance(run, TranslationRun):
        raise UserError("`--gpus` must be left out here: only runs of translation are predicted on paper so far.")
    examination = examine(run, tokens_per_second=None)
    sizes = (examination.source_vocab_size, examination.target_vocab_size)
    if examination.estimate is None or sizes[0] is None or sizes[1] is None:
        raise UserError("The run must have data that can be read to be predicted. `heedful check` says what is wrong.")
    found = on_paper(run, examination.estimate, (sizes[0], sizes[1]), gpu, num_gpus)
    money = None if price is None else price * num_gpus * found.seconds / 3600
    if as_json:
        return [json.dumps({**asdict(found), "price": money})]
    step = found.step
    return [
        f"on paper    {num_gpus:,} x {found.gpu}, {run.training.distribution.kind}",
        time_line(found.seconds),
        f"step        {step.total * 1e3:,.2f} ms: products {step.products * 1e3:,.2f}, "
        f"memory {step.moving * 1e3:,.2f}, waiting for others {step.waiting * 1e3:,.2f}",
        f"memory      about {found.memory_bytes / 2**30:,.1f} GiB of {found.memory_there / 2**30:,.0f} each",
        *([] if money is None else [f"price       about {money:,.2f}"]),
    ]


def _check_translation(
    run: "TranslationRun", *, per_second: float | None, device: str | None, as_json: bool
) -> tuple[list[str], bool]:
    from heedful.corpora.fetch import in_words
    from heedful.tasks.translation.doctor import examine

    examination = examine(run, tokens_per_second=per_second, in_words=in_words)
    if per_second is None:
        examination = _with_measured_time(examination, run, device)
    lines = [json.dumps(asdict(examination))] if as_json else _as_text(examination)
    return lines, examination.has_errors


DOCTORS: dict[str, Callable[..., tuple[Sequence[str], bool]]] = {
    options.TRANSLATION: _check_translation,
    options.CLASSIFICATION: check_labels,
    options.LANGUAGE_MODELING: check_text,
}
"""What looks at the runs of each task; returns lines, and whether training would be refused."""


def _with_measured_time(examination: "Examination", run: "TranslationRun", device: str | None) -> "Examination":
    """Add how long the run would take here, from a few real steps."""
    cost, sizes = examination.estimate, (examination.source_vocab_size, examination.target_vocab_size)
    if cost is None or sizes[0] is None or sizes[1] is None or examination.has_errors:
        return examination
    from heedful.tasks.translation.speed import measure_training_speed

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
    return [*lines, *finding_lines(examination.findings)]


def _about_corpus(corpus: "CorpusReport") -> list[str]:
    lines = [f"{corpus.setting}  {corpus.num_pairs:,} pairs  {' + '.join(corpus.files)}"]
    for side, lengths in (("source", corpus.source_lengths), ("target", corpus.target_lengths)):
        if lengths:
            lines.append(length_line(f"{side} tokens", lengths))
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
        lines.append(time_line(cost.seconds))
    return lines
