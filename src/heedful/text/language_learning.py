"""Learning to tell languages apart: logistic regression over the n-grams that say most about them.

The model sees whole sentences, pieces of one to three words, and the words of a dictionary, so that its probabilities
hold for short inputs too. The same texts give the same table. Using it is the business of language_detection.py.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.text.language_detection import NgramTable, ngrams_of, words_of

_RAREST = 5
"""Texts an n-gram must occur in to be considered."""

_BATCH_TEXTS = 1024
_LEARNING_RATE = 0.02
_MOMENTUM, _SQUARE_MOMENTUM, _EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Texts:
    """Texts as n-grams: the ids of all one after another, the bounds of each, and its language."""

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    labels: NDArray[np.int64]


def learn_ngram_table(
    texts: Mapping[str, Sequence[str]], *, num_ngrams: int, num_epochs: int = 6, decay: float = 1e-6, seed: int = 0
) -> NgramTable:
    """Learn from texts by language. Every language should have about as many, for none is favoured in advance."""
    generator = np.random.default_rng(seed)
    languages = tuple(texts)
    sentences = [[words_of(text) for text in texts[language]] for language in languages]
    examples = [
        (label, words) for label, side in enumerate(sentences) for text in side for words in _pieces(text, generator)
    ]
    examples += [(label, [word]) for label, words in enumerate(_dictionaries(sentences)) for word in words]
    ngrams = _most_telling(examples, len(languages), num_ngrams)
    encoded = _encode(examples, {ngram: index for index, ngram in enumerate(ngrams)})
    weights = _fit(encoded, len(ngrams), len(languages), num_epochs, decay, generator)
    # The same for all languages says nothing: centred rows are the smallest.
    weights -= weights.mean(axis=1, keepdims=True)
    *rows, bias = [tuple(row) for row in np.rint(100 * weights).astype(int).tolist()]
    return NgramTable(languages, bias, dict(zip(ngrams, rows, strict=True)))


def _pieces(words: list[str], generator: np.random.Generator) -> Iterator[list[str]]:
    """Yield a sentence, and one, two or three neighbouring words of it."""
    if not words:
        return
    yield words
    length = int(generator.integers(1, 4))
    if length < len(words):
        start = int(generator.integers(0, len(words) - length + 1))
        yield words[start : start + length]


def _dictionaries(sentences: list[list[list[str]]]) -> list[list[str]]:
    """Return the most frequent words of each language, as many of each: a lone word is no language's by default."""
    frequent = []
    for side in sentences:
        counts = Counter(word for words in side for word in words)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        frequent.append([word for word, count in ranked if count > 1])
    size = min(len(words) for words in frequent)
    return [words[:size] for words in frequent]


def _most_telling(examples: list[tuple[int, list[str]]], num_languages: int, num_ngrams: int) -> list[str]:
    """Choose the n-grams whose presence in a text tells most about its language (mutual information)."""
    counts: dict[str, Counter[int]] = {}
    for label, words in examples:
        for ngram in {ngram for word in words for ngram in ngrams_of(word)}:
            counts.setdefault(ngram, Counter())[label] += 1
    frequent = sorted(ngram for ngram, by_label in counts.items() if by_label.total() >= _RAREST)
    present = np.array([[counts[ngram][label] for label in range(num_languages)] for ngram in frequent], dtype=float)
    num_texts = np.bincount([label for label, _ in examples], minlength=num_languages).astype(float)
    information = _information(present, num_texts) + _information(num_texts - present, num_texts)
    best = np.argsort(-information, kind="stable")[:num_ngrams]
    return [frequent[index] for index in sorted(best)]


def _information(counts: NDArray[np.float64], num_texts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each row of counts [ngrams, languages] adds to the mutual information, up to a constant factor."""
    expected = counts.sum(axis=1, keepdims=True) * num_texts / num_texts.sum()
    terms = counts * np.log(np.maximum(counts, 1e-300) / np.maximum(expected, 1e-300))
    added: NDArray[np.float64] = terms.sum(axis=1)
    return added


def _encode(examples: list[tuple[int, list[str]]], ids_of: dict[str, int]) -> Texts:
    """Write texts as ids; the last id of each stands for the bias."""
    ids: list[int] = []
    bounds = [0]
    for _, words in examples:
        ids.extend(ids_of[ngram] for word in words for ngram in ngrams_of(word) if ngram in ids_of)
        ids.append(len(ids_of))
        bounds.append(len(ids))
    labels = np.array([label for label, _ in examples])
    return Texts(np.array(ids, dtype=np.int32), np.array(bounds), labels)


def _fit(
    texts: Texts, num_ngrams: int, num_languages: int, num_epochs: int, decay: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return weights [ngrams + 1, languages] that make the texts' languages most probable (Adam; decay on squares)."""
    weights = np.zeros((num_ngrams + 1, num_languages))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    num_batches = -(-len(texts.labels) // _BATCH_TEXTS)
    num_steps = num_epochs * num_batches
    step = 0
    for _ in range(num_epochs):
        for batch in np.array_split(generator.permutation(len(texts.labels)), num_batches):
            step += 1
            gradient = _gradient(texts, batch, weights) + decay * weights
            mean = _MOMENTUM * mean + (1 - _MOMENTUM) * gradient
            square = _SQUARE_MOMENTUM * square + (1 - _SQUARE_MOMENTUM) * gradient**2
            rate = _LEARNING_RATE * (1 - step / num_steps)
            corrected = np.sqrt(square / (1 - _SQUARE_MOMENTUM**step)) + _EPSILON
            weights -= rate * mean / (1 - _MOMENTUM**step) / corrected
    return weights


def _gradient(texts: Texts, batch: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gradient of the mean negative log-likelihood of some texts, [ngrams + 1, languages]."""
    starts, ends = texts.bounds[batch], texts.bounds[batch + 1]
    lengths = ends - starts
    offsets = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    ids = texts.ids[np.arange(lengths.sum()) + np.repeat(starts - offsets, lengths)]
    scores = np.add.reduceat(weights[ids], offsets)
    probs = np.exp(scores - scores.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    probs[np.arange(len(batch)), texts.labels[batch]] -= 1
    errors = np.repeat(probs / len(batch), lengths, axis=0)
    columns = [np.bincount(ids, errors[:, language], len(weights)) for language in range(weights.shape[1])]
    return np.stack(columns, axis=1)
