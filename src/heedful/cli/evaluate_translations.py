"""What `heedful evaluate` does with a translator: which test sets, and how the scores are shown."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.console import flush, note, warn, write_line
from heedful.cli.scoring_options import Compared, ScoringRequest
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from heedful.tasks.translation.evaluate import Evaluation


def evaluate_translations(request: ScoringRequest) -> None:
    """Translate test sets and score them: BLEU, chrF and TER with signatures and intervals."""
    from heedful.tasks.translation.evaluate import evaluate_translation
    from heedful.tasks.translation.load import load_translator
    from heedful.tasks.translation.test_sets import find_test_sets, read_sentences, read_unseen, run_of

    models, out, against = request.models, request.out, request.against
    run = run_of(models[0] if models else None, request.config)
    test_sets = find_test_sets(
        run,
        files=request.data,
        split=request.split,
        tokenize=request.tokenize,
        source_language=request.source_language,
        target_language=request.target_language,
    )
    if out is not None and len(test_sets) > 1:
        raise UserError("`--out` must be used with one test set, but there are several. Choose one with --split.")
    all_references = request.references is Compared.ALL
    if request.without_seen:
        texts = read_unseen(test_sets, run, all_references=all_references)
    else:
        texts = [read_sentences(test_set, all_references=all_references) for test_set in test_sets]
    load = partial(load_translator, device=request.device, quantize=request.quantize, say=note)
    translator = load(list(models) or None)
    other = None if against is None else load(against)
    evaluations = []
    for sentences in texts:
        evaluation = evaluate_translation(
            translator, sentences, against=other, beam_size=request.beam, lowercase=request.lowercase
        )
        evaluations.append(evaluation)
        _show([_as_json(evaluation, against)] if request.as_json else _as_text(evaluation, against))
        _after(evaluation, out)
    if len(evaluations) > 1:
        _show([_summary_as_json(evaluations)] if request.as_json else _table(evaluations))


def _show(lines: Sequence[str]) -> None:
    for line in lines:
        write_line(line)
    flush()


def _after(evaluation: "Evaluation", out: Path | None) -> None:
    """Say what the user should know about the translations, and write them where they are wanted."""
    from heedful.files import write_atomic

    if evaluation.num_warned:
        title = evaluation.sentences.test_set.title
        codes = ", ".join(f"{number:,} {code}" for code, number in sorted(evaluation.warnings.items()))
        warn(f"{title}: {count_of(evaluation.num_warned, 'line')} with warnings ({codes}); see translate --json.")
    if out is not None:
        write_atomic(out, "".join(text + "\n" for text in evaluation.translations).encode())


def _as_text(evaluation: "Evaluation", against: Path | None) -> list[str]:
    lines = [_heading(evaluation)]
    for score in evaluation.scores:
        interval = f"[{score.low:.2f}, {score.high:.2f}]"
        lines.append(f"  {score.name:<6} {score.value:6.2f}  95 % {interval:<16}  {score.signature}")
    if evaluation.comparisons:
        lines.append(f"  against {against}, by paired bootstrap:")
    for it in evaluation.comparisons:
        interval = f"[{it.low:+.2f}, {it.high:+.2f}]"
        lines.append(
            f"  {it.baseline.name:<6} {it.baseline.value:6.2f}  difference {it.difference:+.2f}  "
            f"95 % {interval:<16}  p = {it.p_value:.3f}"
        )
    return lines


def _heading(evaluation: "Evaluation") -> str:
    sentences = evaluation.sentences
    num_lines, num_references = evaluation.num_lines, sentences.num_references
    speed = num_lines / max(evaluation.seconds, 1e-9)
    if num_references == num_lines:
        compared = "a single reference each"
    else:
        most = max(len(texts) for texts in sentences.references)
        compared = f"{count_of(num_references, 'reference')}, up to {most} each"
    num_left_out = sentences.num_left_out
    left_out = "" if num_left_out is None else f"; {count_of(num_left_out, 'pair')} seen in training left out"
    return (
        f"{sentences.test_set.title}: {count_of(num_lines, 'line')} in {evaluation.seconds:.1f} s ({speed:,.0f}/s), "
        f"{compared}{left_out}"
    )


def _table(evaluations: Sequence["Evaluation"]) -> list[str]:
    """Show all test sets, one a row, and the mean; beside another model, also the difference in BLEU."""
    from heedful.tasks.translation.evaluate import mean_scores

    means = mean_scores(evaluations)
    differences = [evaluation.comparisons[0].difference for evaluation in evaluations if evaluation.comparisons]
    rows = [["", "lines", *means]]
    for evaluation in evaluations:
        values = [f"{score.value:.2f}" for score in evaluation.scores]
        rows.append([evaluation.sentences.test_set.title, f"{evaluation.num_lines:,}", *values])
    rows.append(["mean", "", *(f"{mean:.2f}" for mean in means.values())])
    if differences:
        mean = sum(differences) / len(differences)
        column = ["BLEU difference", *(f"{difference:+.2f}" for difference in [*differences, mean])]
        rows = [[*row, cell] for row, cell in zip(rows, column, strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return ["", *lines]


def _as_json(evaluation: "Evaluation", against: Path | None) -> str:
    sentences = evaluation.sentences
    fields = {
        "split": sentences.test_set.name,
        "from": sentences.test_set.source_language,
        "to": sentences.test_set.target_language,
        "lines": evaluation.num_lines,
        "references": sentences.num_references,
        "left_out": sentences.num_left_out,
        "seconds": round(evaluation.seconds, 3),
        "scores": [asdict(score) for score in evaluation.scores],
    }
    if against is not None:
        fields["against"] = str(against)
        fields["comparisons"] = [
            {
                "name": it.baseline.name,
                "baseline": asdict(it.baseline),
                "difference": it.difference,
                "low": it.low,
                "high": it.high,
                "p_value": it.p_value,
            }
            for it in evaluation.comparisons
        ]
    return json.dumps(fields, ensure_ascii=False)


def _summary_as_json(evaluations: Sequence["Evaluation"]) -> str:
    from heedful.tasks.translation.evaluate import mean_scores

    return json.dumps({"mean": mean_scores(evaluations), "test_sets": len(evaluations)})
