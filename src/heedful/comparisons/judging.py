"""What a trained model is judged on, whatever its task, and what every case of it adds to the scores.

Test sets are those a run names in `data.test`; where it names none, the validation set, which is then called so. Models
are judged in floats: 8-bit weights are a matter of speed.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heedful.config.classification import ClassificationRun
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.load import AnyRun
from heedful.config.translation import TranslationRun
from heedful.data.labelled import Document, read_documents, read_split
from heedful.data.text_stream import held_out_names, read_test
from heedful.evaluation.case_statistics import (
    CaseStatistics,
    decision_statistics,
    rate_statistics,
    translation_statistics,
)
from heedful.files import JsonValue
from heedful.tasks.classification.classifier import load_classifier
from heedful.tasks.language_modeling.evaluate import stretches_of
from heedful.tasks.language_modeling.model import load_text_model
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.test_sets import TestSentences, find_test_sets, find_validation_sets, read_sentences

VALIDATION = "validation"


@dataclass(frozen=True)
class SetScores:
    """How a model did on one test set, case by case."""

    name: str
    """What the run calls the set, and of translations the direction."""

    digest: str
    """sha256 over all that is judged: equal for the same cases, wherever they are read from."""

    metrics: tuple[CaseStatistics, ...]
    """The first is the one that counts: BLEU, accuracy, bits per byte."""

    lengths: tuple[int, ...]
    """Source tokens of each case; empty for a language model, whose cases are stretches of equal length."""

    outputs: tuple[str, ...]
    """What the model made of each case: translations, labels; nothing of a language model."""

    def to_json(self) -> dict[str, JsonValue]:
        """Return the same in JSON's types."""
        metrics: list[JsonValue] = [{"name": it.name, "kind": it.kind, "rows": it.rows.tolist()} for it in self.metrics]
        return {
            "name": self.name,
            "digest": self.digest,
            "metrics": metrics,
            "lengths": list(self.lengths),
            "outputs": list(self.outputs),
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "SetScores":
        """Read what `to_json` wrote."""
        metrics = [CaseStatistics(it["name"], it["kind"], np.array(it["rows"])) for it in fields["metrics"]]
        return cls(fields["name"], fields["digest"], tuple(metrics), tuple(fields["lengths"]), tuple(fields["outputs"]))


@dataclass(frozen=True)
class TestCases:
    """What is judged on, as text: for a reader to see, and to know that two runs have the same."""

    __test__ = False  # the name is the domain's, not pytest's

    name: str
    sources: Sequence[str]
    references: Sequence[Sequence[str]]
    """What each should become; nothing for a language model."""

    @property
    def digest(self) -> str:
        """sha256 over all of it."""
        told = json.dumps([list(self.sources), [list(texts) for texts in self.references]])
        return hashlib.sha256(told.encode()).hexdigest()


def find_cases(run: AnyRun) -> list[TestCases]:
    """Read what a run is judged on."""
    match run:
        case TranslationRun():
            return [_sentence_cases(sentences) for sentences in _sentences_of(run)]
        case ClassificationRun():
            return [_document_cases(name, documents) for name, documents in _documents_of(run).items()]
        case LanguageModelRun():
            return [_text_cases(name, text) for name, text in _texts_of(run).items()]


def judge(run: AnyRun, model: Path, *, device: str | None) -> list[SetScores]:
    """Score the model of a run, which `model` is the folder of, on every test set of the run."""
    match run:
        case TranslationRun():
            return _judge_translator(run, model, device)
        case ClassificationRun():
            return _judge_classifier(run, model, device)
        case LanguageModelRun():
            return _judge_language_model(run, model, device)


def _judge_translator(run: TranslationRun, model: Path, device: str | None) -> list[SetScores]:
    translator = load_translator(model, device=device, quantize="none")
    found = []
    for sentences in _sentences_of(run):
        test_set, sources = sentences.test_set, sentences.sources
        outputs = [
            translation.text
            for translation in translator.translate_detailed(
                sources, from_=test_set.source_language, to=test_set.target_language
            )
        ]
        lengths = [len(ids) for ids in translator.tokenizer.encode_source_batch(sources)]
        metrics = translation_statistics(outputs, sentences.references, tokenize=test_set.tokenize or "13a")
        cases = _sentence_cases(sentences)
        found.append(SetScores(cases.name, cases.digest, tuple(metrics), tuple(lengths), tuple(outputs)))
    return found


def _judge_classifier(run: ClassificationRun, model: Path, device: str | None) -> list[SetScores]:
    classifier = load_classifier(model, device=device)
    found = []
    for name, documents in _documents_of(run).items():
        encoded = classifier.encode([document.text for document in documents])
        decided = [classifier.labels[number] for number in classifier.probabilities(encoded).argmax(axis=1).tolist()]
        right = np.array([label == document.label for label, document in zip(decided, documents, strict=True)])
        digest = _document_cases(name, documents).digest
        metrics = (decision_statistics(right),)
        found.append(SetScores(name, digest, metrics, tuple(encoded.num_tokens), tuple(decided)))
    return found


def _judge_language_model(run: LanguageModelRun, model: Path, device: str | None) -> list[SetScores]:
    loaded = load_text_model(model, device=device)
    found = []
    for name, text in _texts_of(run).items():
        bounds = stretches_of(len(text))
        _, nats = loaded.score_stretches(text, bounds)
        metric = rate_statistics("bits per byte", nats / math.log(2), np.diff(bounds, prepend=0))
        found.append(SetScores(name, _text_cases(name, text).digest, (metric,), (), ()))
    return found


def _sentences_of(run: TranslationRun) -> list[TestSentences]:
    return [read_sentences(it) for it in (find_test_sets(run) if run.data.test else find_validation_sets(run))]


def _documents_of(run: ClassificationRun) -> dict[str, list[Document]]:
    if not run.data.test:
        return {VALIDATION: read_split(run.data).validation}
    return {name: list(read_documents(corpus)) for name, corpus in run.data.test.items()}


def _texts_of(run: LanguageModelRun) -> dict[str, bytes]:
    return {name: read_test(run.data, name) for name in held_out_names(run.data) or [VALIDATION]}


def _sentence_cases(sentences: TestSentences) -> TestCases:
    return TestCases(sentences.test_set.title, sentences.sources, sentences.references)


def _document_cases(name: str, documents: Sequence[Document]) -> TestCases:
    return TestCases(name, [document.text for document in documents], [[document.label] for document in documents])


def _text_cases(name: str, text: bytes) -> TestCases:
    return TestCases(name, [hashlib.sha256(text).hexdigest()], [])
