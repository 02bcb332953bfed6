"""Scoring a model: translate test sentences, compare with the references, and with another model's translations.

What the sentences are says test_sets.py; the scores themselves are those of evaluation/scores.py.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from heedful.evaluation.scores import Comparison, Score, compare_systems, score_corpus, tokenizer_of
from heedful.tasks.translation.test_sets import TestSentences
from heedful.tasks.translation.translated import Translation
from heedful.tasks.translation.translator import Translator


@dataclass(frozen=True)
class Evaluation:
    """How good a model is on one test set."""

    sentences: TestSentences
    seconds: float
    scores: Sequence[Score]
    translations: Sequence[str]
    num_warned: int
    """Lines about whose translation there is a warning."""

    warnings: dict[str, int]
    """How many lines there are with each code of a warning."""

    comparisons: Sequence[Comparison] = ()
    """Each of the scores beside the other model's; empty when there is none."""

    @property
    def num_lines(self) -> int:
        """Sentences that were translated."""
        return len(self.sentences.sources)


def evaluate_translation(
    translator: Translator,
    sentences: TestSentences,
    *,
    against: Translator | None = None,
    beam_size: int | None = None,
    lowercase: bool = False,
) -> Evaluation:
    """Translate a test set and score the result by BLEU, chrF and TER with their intervals.

    `against` is a second model that translates the same; the comparisons then say how certain a difference is.
    """
    test_set, references = sentences.test_set, sentences.references
    tokenize = test_set.tokenize or tokenizer_of(test_set.target_language or translator.target_language)
    started = time.perf_counter()
    translations = _translate(translator, sentences, beam_size)
    seconds = time.perf_counter() - started
    texts = [translation.text for translation in translations]
    if against is None:
        scores, comparisons = score_corpus(texts, references, tokenize=tokenize, lowercase=lowercase), []
    else:
        others = [translation.text for translation in _translate(against, sentences, beam_size)]
        comparisons = compare_systems(others, texts, references, tokenize=tokenize, lowercase=lowercase)
        scores = [comparison.system for comparison in comparisons]
    return Evaluation(
        sentences,
        seconds,
        scores,
        texts,
        num_warned=sum(bool(translation.warnings) for translation in translations),
        warnings=Counter(code for it in translations for code in {warning.code for warning in it.warnings}),
        comparisons=comparisons,
    )


def mean_scores(evaluations: Sequence[Evaluation]) -> dict[str, float]:
    """Return the mean of each metric over test sets, every one of them counting the same."""
    values: dict[str, list[float]] = {}
    for evaluation in evaluations:
        for score in evaluation.scores:
            values.setdefault(score.name, []).append(score.value)
    return {name: sum(found) / len(found) for name, found in values.items()}


def _translate(translator: Translator, sentences: TestSentences, beam_size: int | None) -> list[Translation]:
    test_set = sentences.test_set
    return translator.translate_detailed(
        sentences.sources, from_=test_set.source_language, to=test_set.target_language, beam_size=beam_size
    )
