"""Finding a model's calibration on its validation pairs: what `heedful tune` does beside choosing a search.

Good pairs are the references, and those of the model's own translations that are like them. Something is left out of
them on purpose (omissions.py), and detectors are fitted to tell the two apart, with thresholds that flag few of the
good ones. A word is right when a reference of its source has it, as often as it was written. Half of the translations
make the calibration of words, the other half the reliability diagram. Pairs of several kinds of text, given together,
make a calibration that holds for all of them: no kind has more of its good pairs flagged than another may have.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from heedful.evaluation.fitting import Floats, fit_isotonic, fit_logistic
from heedful.evaluation.likeness import pairwise_chrf
from heedful.tasks.translation.calibration import DirectionCalibration, ReliabilityBin, WordCalibration
from heedful.tasks.translation.coverage import Detector, Side, compared_signals, forced_signals, shape_signals
from heedful.tasks.translation.doubts import letters_of_words, mean_log_prob, num_pieces_of_words
from heedful.tasks.translation.omissions import Examples, TextPair, lacking_clauses, lacking_sentences
from heedful.tasks.translation.review import PairScorer
from heedful.tasks.translation.translated import Translation
from heedful.tasks.translation.word_confidence import WordConfidence, word_confidences
from heedful.text.words import is_unspaced

SHAPE_ALARMS, FORCED_ALARMS = 0.01, 0.02
"""The share of good pairs of each kind of text, and of texts made of them, that a detector flags at most."""

_DOUBTED_GOOD = 0.02
"""The share of good translations that low confidence flags."""

_SPELLED = 0.4
"""The share of the usual letters in a piece under which words are none."""

_MOST_PAIRS, _MOST_CLAUSES, _MOST_TEXTS = 1_000, 300, 60
_LEAST_EXAMPLES, _LEAST_WORDS = 40, 400
_SIZES = (2, 3, 5)
_GOOD_CHRF, _GOOD_CHRF_UNSPACED = 60.0, 40.0
_NUM_BINS = 10

Sides = tuple[Side, Side]
Signals = Callable[[Side, Side], list[float]]
Translate = Callable[[Sequence[str]], list[str]]
"""Texts into the model's own translations of them, found without a beam."""


@dataclass(frozen=True)
class Asked:
    """A model that is asked about pairs of one direction."""

    scorer: PairScorer
    languages: tuple[str, str]
    translate: Translate

    def own_sides(self, pairs: Sequence[Sides]) -> list[Sides]:
        """Ask about the model's own translations of the sources, each source once."""
        sources = list(dict.fromkeys(source.text for source, _ in pairs))
        owns = self.scorer.scored(list(zip(sources, self.translate(sources), strict=True)), *self.languages)
        found = dict(zip(sources, owns, strict=True))
        return [found[source.text] for source, _ in pairs]


def calibrate_direction(
    asked: Asked, pairs: Sequence[TextPair], translations: Sequence[Translation], kinds: Sequence[int] = ()
) -> DirectionCalibration:
    """Find out what can be found out from the pairs of one direction and a translation of each source.

    `kinds` says of each pair by a number what kind of text it is; left out, all are of one.
    """
    good = [one for (_, reference), one in zip(pairs, translations, strict=True) if is_good(one.text, reference)]
    references = set(pairs)
    own = [(one.source, one.text) for one in good if (one.source, one.text) not in references]
    good_pairs = [*pairs, *own]
    omissions = make_examples(good_pairs)
    exchanged = make_examples([(target, source) for source, target in good_pairs])
    additions = Examples(*([(second, first) for first, second in some] for some in exchanged.both))
    words, reliability = _calibrated_words(_words_of(pairs, translations))
    kind_of: dict[str, int] = {}
    for pair, one, kind in zip(pairs, translations, kinds or [0] * len(pairs), strict=True):
        kind_of |= dict.fromkeys((*pair, one.text), kind)
    return replace(
        _detectors(asked, omissions, additions, kind_of),
        words=words,
        reliability=reliability,
        low_confidence=_low_confidence(good),
        letters_per_piece=_letters_per_piece(asked.scorer.counted(pairs)),
    )


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
    asked: Asked, omissions: Examples, additions: Examples, kind_of: Mapping[str, int]
) -> DirectionCalibration:
    """Fit every detector; those that ask the model only where it knows the way back."""
    scorer = asked.scorer
    can_ask = scorer.can_ask(*asked.languages)
    good, left_out, added = (
        scorer.scored(some, *asked.languages) if can_ask else scorer.counted(some)
        for some in (omissions.good, omissions.lacking, additions.lacking)
    )
    same, more = ([(target, source) for source, target in some] for some in (good, added))

    def fit(signals: Signals, good: Sequence[Sides], lacking: Sequence[Sides], alarms: float) -> Detector | None:
        found = [(pair[0].text, signals(*pair)) for pair in good]
        return _fit(found, [signals(*pair) for pair in lacking], alarms, kind_of)

    omission, addition = (fit(shape_signals, *some, SHAPE_ALARMS) for some in ((good, left_out), (same, more)))
    found = DirectionCalibration(omission=omission, addition=addition)
    if not can_ask:
        return found
    good, left_out, same, more = ([pair for pair in some if pair[0].log_probs] for some in (good, left_out, same, more))
    compared = [
        [
            (pair[0].text, compared_signals(pair, own))
            for pair, own in zip(some, asked.own_sides(some), strict=True)
            if own[0].log_probs
        ]
        for some in (good, left_out)
    ]
    return replace(
        found,
        omission_forced=fit(forced_signals, good, left_out, FORCED_ALARMS),
        addition_forced=fit(forced_signals, same, more, FORCED_ALARMS),
        omission_compared=_fit(compared[0], [signals for _, signals in compared[1]], FORCED_ALARMS, kind_of),
    )


def _fit(
    good: Sequence[tuple[str, list[float]]],
    lacking: Sequence[list[float]],
    alarms: float,
    kind_of: Mapping[str, int],
) -> Detector | None:
    """Fit a detector whose threshold few of the good pairs of each kind pass; None from too few examples.

    Good pairs are given with a text each, of which `kind_of` knows the kind; the others are made of several.
    """
    if min(len(good), len(lacking)) < _LEAST_EXAMPLES:
        return None
    inputs = np.array([signals for _, signals in good]), np.array(lacking)
    is_lacking = np.repeat([False, True], [len(good), len(lacking)])
    weights = fit_logistic(np.concatenate(inputs), is_lacking)
    scores, kinds = inputs[0] @ weights[1:] + weights[0], np.array([kind_of.get(text, -1) for text, _ in good])
    some = [scores[kinds == kind] for kind in np.unique(kinds)]
    enough = [values for values in some if len(values) >= _LEAST_EXAMPLES] or [scores]
    threshold = max(np.quantile(values, 1 - alarms) for values in enough)
    return Detector((float(weights[0] - threshold), *map(float, weights[1:])))


def _low_confidence(good: Sequence[Translation]) -> float | None:
    """Return the mean log-probability of a token that few good translations fall below; None from too few."""
    means = [mean_log_prob(one.alternatives[0].token_log_probs) for one in good]
    return float(np.quantile(means, _DOUBTED_GOOD)) if len(means) >= _LEAST_EXAMPLES else None


def _letters_per_piece(sides: Sequence[Sides]) -> float | None:
    """Return how few letters a piece of a source has only where its words are none; None from too few sources."""
    found = [
        letters / num_pieces_of_words(source.text, letters, source.num_tokens)
        for source, _ in sides
        if (letters := letters_of_words(source.text))
    ]
    return _SPELLED * float(np.median(found)) if len(found) >= _LEAST_EXAMPLES else None


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
