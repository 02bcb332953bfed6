"""What `heedful check` does with a classification run: what is looked at, and how it is shown."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from heedful.cli.check_lines import cost_lines, finding_lines, length_line

if TYPE_CHECKING:
    from heedful.config.classification import ClassificationRun
    from heedful.tasks.classification.doctor import LabelEstimate, LabelExamination, LabelledReport
    from heedful.tasks.trial_step import Trial

_MOST_LABELS_SHOWN = 10


def check_labels(
    run: "ClassificationRun", *, per_second: float | None, device: str | None, as_json: bool
) -> tuple[Sequence[str], bool]:
    """Return what there is to say, and whether training would be refused."""
    from heedful.corpora.fetch import in_words
    from heedful.tasks.classification.doctor import examine_documents
    from heedful.tasks.classification.train import find_label_tokenizer
    from heedful.tasks.run_folder import run_folder_of
    from heedful.tasks.trial_step import try_labels

    folder = run_folder_of(run)
    found = examine_documents(
        run,
        tokenizer_of=lambda split: find_label_tokenizer(run, folder, split, lambda _: None),
        in_words=in_words,
    )
    trial = None
    if found.estimate is not None and found.vocab_size is not None and not found.has_errors:
        trial = try_labels(
            run,
            found.estimate.largest_batch,
            vocab_size=found.vocab_size,
            num_labels=len(found.labels),
            device=device,
        )
    lines = [_as_json(found, trial, per_second)] if as_json else _as_text(found, trial, per_second)
    return lines, found.has_errors


def _as_text(found: "LabelExamination", trial: "Trial | None", per_second: float | None) -> list[str]:
    lines = [line for corpus in found.corpora for line in _about_corpus(corpus)]
    cost = found.estimate
    if cost is not None and trial is not None:
        rows, length = cost.largest_batch
        lines += [
            "",
            f"vocabulary  {found.vocab_size:,}",
            f"documents   {cost.num_train:,} to learn from, {cost.num_validation:,} to be judged on",
            f"epoch       {cost.num_batches:,} batches, {1 - cost.real_share:.0%} padding",
            f"run         {cost.num_epochs:,.1f} epochs",
            *cost_lines(
                trial,
                f"the largest batch ({rows} rows, {length} tokens)",
                seconds=_seconds(cost, trial, per_second),
            ),
        ]
    return [*lines, *finding_lines(found.findings)]


def _seconds(cost: "LabelEstimate", trial: "Trial", per_second: float | None) -> float:
    """Return how long a run takes; what its journal calls tokens a second are documents."""
    return cost.num_run_tokens / trial.tokens_per_second if per_second is None else cost.num_run_documents / per_second


def _about_corpus(corpus: "LabelledReport") -> list[str]:
    shares = [
        f"{label} {count:,} ({count / corpus.num_documents:.0%})"
        for label, count in list(corpus.labels.items())[:_MOST_LABELS_SHOWN]
    ]
    more = len(corpus.labels) - len(shares)
    labels = ", ".join(shares) + (f" and {more:,} more" if more else "")
    lines = [f"{corpus.setting}  {corpus.num_documents:,} documents  {corpus.path}", f"  labels  {labels}"]
    return [*lines, *([length_line("tokens", corpus.lengths)] if corpus.lengths else [])]


def _as_json(found: "LabelExamination", trial: "Trial | None", per_second: float | None) -> str:
    fields = asdict(found)
    fields["trial"] = None if trial is None else asdict(trial)
    if trial is not None and found.estimate is not None:
        fields["seconds"] = _seconds(found.estimate, trial, per_second)
    return json.dumps(fields, ensure_ascii=False)
