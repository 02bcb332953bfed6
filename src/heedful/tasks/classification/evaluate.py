"""Scoring a classifier: classify test documents and compare (evaluation/classification.py has the formulas)."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.config.classification import ClassificationRun
from heedful.config.load import load_any
from heedful.data.labelled import Document, number_labels, read_documents
from heedful.data.opening import open_bytes
from heedful.errors import DataError, UserError, nearest
from heedful.evaluation.classification import ClassificationScores, score_labels
from heedful.evaluation.paired import Difference, compare_decisions
from heedful.tasks.classification.classifier import Classifier
from heedful.tasks.run_folder import CONFIG
from heedful.text.lines import read_lines


@dataclass(frozen=True)
class LabelEvaluation:
    """How good a classifier is on one test set."""

    name: str
    labels: tuple[str, ...]
    num_documents: int
    num_shortened: int
    """Documents of which the model did not read everything."""

    seconds: float
    scores: ClassificationScores
    decided: list[str]
    """The label of each document, in order."""

    comparison: Difference | None = None
    """The accuracy beside another classifier's; None when there is none."""


def find_labelled_sets(
    model: Path, *, config: Path | None = None, files: tuple[Path, Path] | None = None, split: str | None = None
) -> dict[str, list[Document]]:
    """Return the test sets that are meant, by name: two files (texts, labels), one split, or all of the model's run."""
    if files is not None:
        return {files[0].name: read_aligned(*files)}
    run = _run_of(model, config)
    if not run.data.test:
        raise UserError(f"The run {run.name} names no sets in `data.test`. Give files: --data TEXTS LABELS.")
    if split is not None and split not in run.data.test:
        known = ", ".join(f'"{name}"' for name in run.data.test)
        hint = nearest(split, run.data.test)
        remedy = f' Did you mean "{hint}"?' if hint else ""
        raise UserError(f'The split must be one of {known}, but is "{split}".{remedy}')
    chosen = run.data.test if split is None else {split: run.data.test[split]}
    return {name: list(read_documents(corpus)) for name, corpus in chosen.items()}


def read_aligned(texts: Path, labels: Path) -> list[Document]:
    """Read two files whose lines belong together: a text, its label."""
    with open_bytes(texts) as text_stream, open_bytes(labels) as label_stream:
        text_lines, label_lines = list(read_lines(text_stream, str(texts))), list(read_lines(label_stream, str(labels)))
    if len(text_lines) != len(label_lines):
        raise DataError(
            f"The files {texts} and {labels} must have equally many lines, but have {len(text_lines):,} and "
            f"{len(label_lines):,}."
        )
    if not text_lines:
        raise DataError(f"The file {texts} must have at least one line, but has none.")
    return [
        Document(text, label.strip(), f"{labels}:{number}")
        for number, (text, label) in enumerate(zip(text_lines, label_lines, strict=True), start=1)
    ]


def evaluate_classification(
    classifier: Classifier, name: str, documents: list[Document], *, against: Classifier | None = None
) -> LabelEvaluation:
    """Classify documents and score them. A label the model has not learned is refused.

    `against` is a second classifier for the same documents; the comparison then says how certain a difference is.
    """
    truths = number_labels(documents, classifier.labels)
    if against is not None:
        number_labels(documents, against.labels)  # before the work: the other must know all labels, too
    started = time.perf_counter()
    encoded = classifier.encode([document.text for document in documents])
    probabilities = classifier.probabilities(encoded)
    seconds = time.perf_counter() - started
    decided = _decisions(classifier, probabilities)
    comparison = None
    if against is not None:
        others = _decisions(against, against.probabilities(against.encode([document.text for document in documents])))
        comparison = compare_decisions(_are_right(others, documents), _are_right(decided, documents))
    return LabelEvaluation(
        name=name,
        labels=classifier.labels,
        num_documents=len(documents),
        num_shortened=encoded.num_shortened,
        seconds=seconds,
        scores=score_labels(probabilities, truths),
        decided=decided,
        comparison=comparison,
    )


def _decisions(classifier: Classifier, probabilities: NDArray[np.float64]) -> list[str]:
    """Return the label of each row of probabilities [batch, classes]."""
    return [classifier.labels[number] for number in probabilities.argmax(axis=1).tolist()]


def _are_right(decided: list[str], documents: list[Document]) -> NDArray[np.bool_]:
    return np.array([label == document.label for label, document in zip(decided, documents, strict=True)])


def _run_of(model: Path, config: Path | None) -> ClassificationRun:
    """Return the run whose data count: that of `config`, a file or a run folder, or the one the model comes from."""
    if config is not None and not config.is_dir():
        places = [config]
    else:
        folders = [model, model.parent] if config is None else [config]
        places = [folder / CONFIG for folder in folders if (folder / CONFIG).is_file()]
    if not places:
        raise UserError(
            f"{config or model} does not say which test sets there are. Give them: --data TEXTS LABELS, or --config."
        )
    run = load_any(places[0])
    if not isinstance(run, ClassificationRun):
        raise UserError(f"{places[0]} must describe a classification run, but is one of {run.task}.")
    return run
