"""Finding a model's calibration on its validation pairs: what `heedful tune` does beside choosing a search.

Good pairs are the references, and those of the model's own translations that are like them. Something is left out of
them on purpose (omissions.py), and detectors are fitted to tell the two apart, with thresholds that flag few of the
good ones. A word is right when a reference of its source has it, as often as it was written. Half of the translations
make the calibration of words, the other half the reliability diagram.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from heedful.evaluation.fitting import Floats, fit_isotonic, fit_logistic
from heedful.evaluation.likeness import pairwise_chrf
from heedful.tasks.translation.calibration import DirectionCalibration, ReliabilityBin, WordCalibration
from heedful.tasks.translation.coverage import Detector, Side, forced_signals, shape_signals
from heedful.tasks.translation.omissions import Examples, TextPair, lacking_clauses, lacking_sentences
from heedful.tasks.translation.review import PairScorer
from heedful.tasks.translation.translated import Translation
from heedful.tasks.translation.word_confidence import WordConfidence, word_confidences
from heedful.text.sentences import split_sentences
from heedful.text.words import is_unspaced

SHAPE_ALARMS, FORCED_ALARMS = 0.01, 0.02
"""The share of good pairs, and likewise of good texts, that a detector of each kind flags at most."""

_MOST_PAIRS, _MOST_CLAUSES, _MOST_TEXTS = 1_000, 500, 120
_LEAST_EXAMPLES, _LEAST_WORDS = 40, 400
_SIZES = (2, 3, 5)
_GOOD_CHRF, _GOOD_CHRF_UNSPACED = 60.0, 40.0
_NUM_BINS = 10

Sides = tuple[Side, Side]
Signals = Callable[[Side, Side], list[float]]


def calibrate_direction(
    scorer: PairScorer, languages: tuple[str, str], pairs: Sequence[TextPair], translations: Sequence[Translation]
) -> DirectionCalibration:
    """Find out what can be found out from the pairs of one direction and a translation of each source."""
    own = [
        (one.source, one.text)
        for (_, reference), one in zip(pairs, translations, strict=True)
        if one.text != reference and is_good(one.text, reference)
    ]
    good_pairs = [*pairs, *own]
    omissions = make_examples(good_pairs)
    exchanged = make_examples([(target, source) for source, target in good_pairs])
    additions = Examples(*([(second, first) for first, second in some] for some in exchanged.both))
    words = _words_of(pairs, translations)
    return DirectionCalibration(*_detectors(scorer, languages, omissions, additions), *_calibrated_words(words))


def is_good(text: str, reference: str) -> bool:
    """Say whether a translation is so much like a reference that it is hardly wrong."""
    least = _GOOD_CHRF_UNSPACED if is_unspaced(reference[:1]) else _GOOD_CHRF
    return float(pairwise_chrf([text, reference])[0, 1]) >= least


def make_examples(pairs: Sequence[TextPair], *, seed: int = 1, most_texts: int = _MOST_TEXTS) -> Examples:
    """Take pairs, and texts made of several, as good, and leave something out of their translations."""
    generator = random.Random(seed)  # noqa: S311 - a choice of examples, nothing secret
    clauses = lacking_clauses(pairs, generator)
    examples = [
        Examples(_some(pairs, _MOST_PAIRS), []),
        Examples(_some(clauses.good, _MOST_CLAUSES), _some(clauses.lacking, _MOST_CLAUSES)),
        *(lacking_sentences(pairs, size, generator, most=most_texts) for size in _SIZES),
    ]
    return Examples([*chain(*(one.good for one in examples))], [*chain(*(one.lacking for one in examples))])


def _detectors(
    scorer: PairScorer, languages: tuple[str, str], omissions: Examples, additions: Examples
) -> tuple[Detector | None, Detector | None, Detector | None, Detector | None]:
    """Fit a detector of each kind; those that ask the model only where it knows the way back."""
    can_ask = scorer.can_ask(*languages)
    good, left_out, added = (
        scorer.scored(some, *languages) if can_ask else scorer.counted(some)
        for some in (omissions.good, omissions.lacking, additions.lacking)
    )
    same, more = ([(target, source) for source, target in some] for some in (good, added))
    return (
        _fit(shape_signals, good, left_out, SHAPE_ALARMS),
        _fit(shape_signals, same, more, SHAPE_ALARMS),
        _fit(forced_signals, good, left_out, FORCED_ALARMS) if can_ask else None,
        _fit(forced_signals, same, more, FORCED_ALARMS) if can_ask else None,
    )


def _fit(signals: Signals, good: Sequence[Sides], lacking: Sequence[Sides], alarms: float) -> Detector | None:
    """Fit a detector whose threshold few of the good pairs pass; None from too few examples."""
    if signals is forced_signals:
        good, lacking = ([pair for pair in some if pair[0].log_probs] for some in (good, lacking))
    if min(len(good), len(lacking)) < _LEAST_EXAMPLES:
        return None
    inputs = [np.array([signals(*pair) for pair in some]) for some in (good, lacking)]
    is_lacking = np.repeat([False, True], [len(good), len(lacking)])
    weights = fit_logistic(np.concatenate(inputs), is_lacking)
    scores, is_text = inputs[0] @ weights[1:] + weights[0], np.array([_is_text(pair[0].text) for pair in good])
    some = [scores[chosen] for chosen in (is_text, ~is_text) if chosen.any()]
    threshold = max(np.quantile(values, 1 - alarms) for values in some)
    return Detector((float(weights[0] - threshold), *map(float, weights[1:])))


def _is_text(text: str) -> bool:
    return sum(bool(sentence.strip()) for sentence in split_sentences(text)) > 1


def _some(pairs: Sequence[TextPair], most: int) -> list[TextPair]:
    """Take every n-th pair, so that there are not too many."""
    return list(pairs[:: max(1, -(-len(pairs) // most))])


def _words_of(pairs: Sequence[TextPair], translations: Sequence[Translation]) -> list[tuple[WordConfidence, bool]]:
    """Return the words of the translations of distinct sources, and whether each is right."""
    references: dict[str, list[str]] = defaultdict(list)
    for source, reference in pairs:
        references[source].append(reference)
    found = []
    for one in {translation.source: translation for translation in translations}.values():
        if len(one.units) == 1:  # of several sentences, pieces and references are harder to bring together
            best = one.alternatives[0]
            words = list(word_confidences(best.tokens, best.token_log_probs, None))
            found += judge_words(words, references[one.source])
    return found


def judge_words(words: Sequence[WordConfidence], references: Sequence[str]) -> list[tuple[WordConfidence, bool]]:
    """Say of each word whether it is right: the reference that has most of the words has it, as often as it is there.

    Case does not count, marks do not take part.
    """
    spoken = [word for word in words if any(character.isalnum() for character in word.text)]
    judged = [_judged(spoken, reference) for reference in references]
    return max(judged, key=lambda some: sum(is_right for _, is_right in some), default=[])


def _judged(words: Sequence[WordConfidence], reference: str) -> list[tuple[WordConfidence, bool]]:
    """Look for words in one reference, each place of which is taken once."""
    rest = Counter(_parts(reference))
    found = []
    for word in words:
        parts = _parts(word.text)
        is_right = bool(parts) and all(rest[part] > 0 for part in parts)
        rest.subtract(parts if is_right else ())
        found.append((word, is_right))
    return found


def _parts(text: str) -> list[str]:
    """Cut a text into words, and what is written without spaces into characters."""
    spaced = "".join(f" {one} " if is_unspaced(one) else one if one.isalnum() else " " for one in text.lower())
    return spaced.split()


def _calibrated_words(
    words: Sequence[tuple[WordConfidence, bool]],
) -> tuple[WordCalibration | None, tuple[ReliabilityBin, ...]]:
    """Fit one half of the words, and say of the other how reliable they are before and after."""
    if len(words) < _LEAST_WORDS:
        return None, ()
    probabilities = np.array([word.probability for word, _ in words])
    is_right = np.array([right for _, right in words])
    is_fitted = np.arange(len(words)) % 2 == 0
    places, shares = fit_isotonic(probabilities[is_fitted], is_right[is_fitted])
    calibration = WordCalibration(tuple(map(float, places)), tuple(map(float, shares)))
    return calibration, reliability_bins(probabilities[~is_fitted], is_right[~is_fitted], calibration)


def reliability_bins(
    probabilities: Floats, is_right: np.ndarray, calibration: WordCalibration
) -> tuple[ReliabilityBin, ...]:
    """Put words into bins of equal width by their confidence."""
    confidences = np.array([calibration(value) for value in probabilities])
    numbers = np.minimum((confidences * _NUM_BINS).astype(np.int64), _NUM_BINS - 1)
    return tuple(
        ReliabilityBin(
            int(chosen.sum()),
            float(probabilities[chosen].mean()),
            float(confidences[chosen].mean()),
            float(is_right[chosen].mean()),
        )
        for number in range(_NUM_BINS)
        if (chosen := numbers == number).any()
    )
