"""`heedful evaluate`: translate a test set and score it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import flush, warn, write_line
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from heedful.tasks.evaluate_translation import Evaluation


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    data: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--data", metavar="SOURCE REFERENCE", help="Two line-aligned files to score on."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="NAME", help="A test set of the run's `data.test`; by default all of them."),
    ] = None,
    beam: options.Beam = None,
    tokenize: Annotated[
        str | None,
        typer.Option("--tokenize", metavar="T", help="sacreBLEU's tokenizer: 13a, none, zh, char or intl."),
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Also write the translations there, one a line.")
    ] = None,
    as_json: options.Json = False,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
) -> None:
    """Score a model: BLEU, chrF and TER with signatures and 95 % intervals.

    The test sets are those the run names in `data.test`, or the files of --data.
    """
    if data is not None and split is not None:
        raise UserError("`--data` and `--split` must not be given together: both say what to score on.")
    from heedful.files import write_atomic
    from heedful.tasks.evaluate_translation import evaluate_translation, find_test_sets
    from heedful.tasks.loading import load_translator

    test_sets = find_test_sets(model, files=data, split=split, tokenize=tokenize)
    if out is not None and len(test_sets) > 1:
        raise UserError("`--out` must be used with one test set, but there are several. Choose one with --split.")
    translator = load_translator(model, device=device, quantize=quantize)
    for test_set in test_sets:
        evaluation = evaluate_translation(translator, test_set, beam_size=beam, lowercase=lowercase)
        for line in [_as_json(evaluation)] if as_json else _as_text(evaluation):
            write_line(line)
        flush()
        if evaluation.num_warned:
            warn(f"{evaluation.name}: {count_of(evaluation.num_warned, 'line')} split, cut or failed; see translate.")
        if out is not None:
            write_atomic(out, "".join(text + "\n" for text in evaluation.translations).encode())


def _as_text(evaluation: "Evaluation") -> list[str]:
    speed = evaluation.num_lines / max(evaluation.seconds, 1e-9)
    lines = [
        f"{evaluation.name}: {count_of(evaluation.num_lines, 'line')} in {evaluation.seconds:.1f} s ({speed:,.0f}/s)"
    ]
    for score in evaluation.scores:
        interval = f"[{score.low:.2f}, {score.high:.2f}]"
        lines.append(f"  {score.name:<6} {score.value:6.2f}  95 % {interval:<16}  {score.signature}")
    return lines


def _as_json(evaluation: "Evaluation") -> str:
    fields = {
        "split": evaluation.name,
        "lines": evaluation.num_lines,
        "seconds": round(evaluation.seconds, 3),
        "scores": [asdict(score) for score in evaluation.scores],
    }
    return json.dumps(fields)
