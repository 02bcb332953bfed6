"""What `heedful evaluate` does with a classifier: which test sets, and how the scores are shown."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.console import flush, warn, write_line
from heedful.cli.scoring_options import ScoringRequest
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from heedful.tasks.classification.evaluate import LabelEvaluation

_MOST_LABELS_SHOWN = 20


def evaluate_labels(request: ScoringRequest) -> None:
    """Score a classifier on its test sets: accuracy, macro-F1, calibration error, confusion matrix."""
    from heedful.files import write_atomic
    from heedful.tasks.classification.classifier import load_classifier
    from heedful.tasks.classification.evaluate import evaluate_classification, find_labelled_sets

    (model,), data, config = request.models, request.data, request.config
    out, against, device = request.out, request.against, request.device
    if data is not None and config is not None:
        raise UserError("`--data` and `--config` must not be given together: both say what to score on.")
    test_sets = find_labelled_sets(model, config=config, files=data, split=request.split)
    if out is not None and len(test_sets) > 1:
        raise UserError("`--out` must be used with one test set, but there are several. Choose one with --split.")
    classifier = load_classifier(model, device=device)
    other = None if against is None else load_classifier(against, device=device)
    for name, documents in test_sets.items():
        evaluation = evaluate_classification(classifier, name, documents, against=other)
        for line in [_as_json(evaluation, against)] if request.as_json else _as_text(evaluation, against):
            write_line(line)
        flush()
        if evaluation.num_shortened:
            warn(f"{name}: {count_of(evaluation.num_shortened, 'document')} not read whole, only head and tail.")
        if out is not None:
            write_atomic(out, "".join(label + "\n" for label in evaluation.decided).encode())


def _as_text(evaluation: "LabelEvaluation", against: Path | None) -> list[str]:
    scores = evaluation.scores
    speed = evaluation.num_documents / max(evaluation.seconds, 1e-9)
    documents = count_of(evaluation.num_documents, "document")
    lines = [f"{evaluation.name}: {documents} in {evaluation.seconds:.1f} s ({speed:,.0f}/s)"]
    for measure in scores.measures:
        interval = f"[{100 * measure.low:.2f}, {100 * measure.high:.2f}]"
        lines.append(f"  {measure.name:<18}{100 * measure.value:6.2f} %  95 % {interval}")
    lines.append(f"  {'loss':<18}{scores.loss:8.4f} nats")
    if (it := evaluation.comparison) is not None:
        interval = f"[{100 * it.low:+.2f}, {100 * it.high:+.2f}]"
        lines.append(f"  against {against}, by McNemar's exact test:")
        lines.append(
            f"  {'accuracy':<18}{100 * it.baseline:6.2f} %  difference {100 * it.difference:+.2f}  95 % {interval}  "
            f"p = {it.p_value:.3f}"
        )
    if len(evaluation.labels) <= _MOST_LABELS_SHOWN:
        lines += _confusion_table(evaluation)
    return lines


def _confusion_table(evaluation: "LabelEvaluation") -> list[str]:
    """Show which label was taken for which, a row for each true one, with its precision, recall and F1."""
    rows = [["true \\ decided", *evaluation.labels, "precision", "recall", "F1"]]
    for label, counts, (precision, recall, f1) in zip(
        evaluation.labels, evaluation.scores.confusion.tolist(), evaluation.scores.per_label, strict=True
    ):
        shares = [f"{100 * share:.1f}" for share in (precision, recall, f1)]
        rows.append([label, *(f"{count:,}" for count in counts), *shares])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def _as_json(evaluation: "LabelEvaluation", against: Path | None) -> str:
    scores = evaluation.scores
    fields: dict[str, object] = {
        "split": evaluation.name,
        "documents": evaluation.num_documents,
        "not_read_whole": evaluation.num_shortened,
        "seconds": round(evaluation.seconds, 3),
        "scores": [asdict(measure) for measure in scores.measures],
        "loss": scores.loss,
        "labels": list(evaluation.labels),
        "confusion": scores.confusion.tolist(),
        "per_label": {
            label: {"precision": precision, "recall": recall, "f1": f1}
            for label, (precision, recall, f1) in zip(evaluation.labels, scores.per_label, strict=True)
        },
    }
    if evaluation.comparison is not None:
        fields |= {"against": str(against), "comparisons": [{"name": "accuracy", **asdict(evaluation.comparison)}]}
    return json.dumps(fields, ensure_ascii=False)
