"""Learning to tell languages apart: logistic regression over the n-grams that say most about them.

    python benchmarks/language_learning.py --texts FOLDER

fetches what benchmarks/language_texts.py names into the folder (385 MB, kept for the next time), reads data/ (or the
folder named in HEEDFUL_DATA), and writes the table that ships with the package. It takes about ten minutes on one core;
the same texts give the same table. The model sees pieces of up to six words, of one to three, and the words of a
dictionary, so that its probabilities hold for short inputs too. Using it is the business of
heedful/text/language_detection.py.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.text.language_detection import words_of
from heedful.text.ngram_table import NgramTable, ngrams_of, whole_of, write_table

NUM_NGRAMS = 40_000

_NUM_WORDS, _RAREST = 1e6, 8.0
"""Times an n-gram must occur to be considered, when every language has a million words."""

_SENTENCE_WORDS, _PIECE_WORDS = 6, 3
"""Words of an example at most: a longer text is easily told, and teaches little."""

_EXPECTED = ("en", "de", "fr")
_EXPECTED_SHARE = 4.0
"""How many times more words of these are expected, when n-grams are chosen: they must be told apart best."""

_WORD_SHARE = 0.4
"""Share of the table that whole words get."""

_BATCH_TEXTS = 1024
_LEARNING_RATE = 0.03


@dataclass(frozen=True)
class Texts:
    """Texts as n-grams: the ids of all one after another, the bounds of each, and its language."""

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    labels: NDArray[np.int64]


def main() -> None:
    """Gather the texts, learn the table and write it into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="folder that keeps the packages")
    from language_texts import gather  # type: ignore[import-not-found]  # a neighbour only for a script: whoever imports the learning has texts

    table = learn_ngram_table(gather(parser.parse_args().texts), num_ngrams=NUM_NGRAMS)
    path = Path(str(resources.files("heedful"))) / "assets" / "language_detection" / "ngrams.npz"
    write_table(path, table)
    print(f"Wrote {path}: {len(table.rows):,} n-grams, {path.stat().st_size:,} bytes.")


def learn_ngram_table(
    texts: Mapping[str, Sequence[str]], *, num_ngrams: int, num_epochs: int = 8, decay: float = 1e-6, seed: int = 0
) -> NgramTable:
    """Learn from texts by language; a language with more of them is favoured in advance."""
    generator = np.random.default_rng(seed)
    languages = tuple(texts)
    sentences = [[words_of(text) for text in texts[language]] for language in languages]
    examples = [
        (label, words) for label, side in enumerate(sentences) for text in side for words in _pieces(text, generator)
    ]
    examples += [(label, [word]) for label, words in enumerate(_dictionaries(sentences)) for word in words]
    shares = [_EXPECTED_SHARE if language in _EXPECTED else 1.0 for language in languages]
    ngrams = _choose_ngrams(sentences, shares, num_ngrams)
    encoded = _encode(examples, {ngram: index for index, ngram in enumerate(ngrams)})
    weights = _fit(encoded, len(ngrams), len(languages), num_epochs, decay, generator)
    # The same for all languages says nothing: centred rows are the smallest.
    weights -= weights.mean(axis=1, keepdims=True)
    return NgramTable.of(languages, ngrams, weights)


def _pieces(words: list[str], generator: np.random.Generator) -> Iterator[list[str]]:
    """Yield two pieces of a sentence: some words, as many as a short sentence has, and one to three neighbours."""
    for longest in (_SENTENCE_WORDS, _PIECE_WORDS):
        length = min(len(words), longest if longest == _SENTENCE_WORDS else int(generator.integers(1, longest + 1)))
        if length:
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


def _choose_ngrams(sentences: list[list[list[str]]], shares: list[float], num_ngrams: int) -> list[str]:
    """Choose frequent words of every language, and the n-grams that tell most about it; in order."""
    counts = [Counter(word for text in side for word in text) for side in sentences]
    chosen = set(_frequent_words(counts, shares, round(_WORD_SHARE * num_ngrams)))
    for ngram in _most_telling(counts, shares):
        if len(chosen) == num_ngrams:
            break
        chosen.add(ngram)
    return sorted(chosen)


def _frequent_words(counts: list[Counter[str]], shares: list[float], num_words: int) -> Iterator[str]:
    """Yield the most frequent words: in few words of text, "grazie" as a whole tells more than its parts."""
    for words, share in zip(counts, shares, strict=True):
        ranked = sorted(words.items(), key=lambda item: (-item[1], item[0]))
        for word, _ in ranked[: int(num_words * share / sum(shares))]:
            yield whole_of(word)


def _most_telling(counts: list[Counter[str]], shares: list[float]) -> list[str]:
    """Return n-grams, first those whose presence in a word tells most about its language (mutual information)."""
    by_language: list[dict[str, float]] = []
    for words, expected in zip(counts, shares, strict=True):
        # Every language is a distribution over words: how much text there is of it must not matter.
        share = expected * _NUM_WORDS / max(1, words.total())
        own: dict[str, float] = {}
        for word, count in words.items():
            for ngram in set(ngrams_of(word)):
                own[ngram] = own.get(ngram, 0.0) + count * share
        by_language.append(own)
    totals: Counter[str] = Counter()
    for own in by_language:
        totals.update(own)
    frequent = sorted(ngram for ngram, total in totals.items() if total >= _RAREST)
    present = np.array([[own.get(ngram, 0.0) for own in by_language] for ngram in frequent])
    num_words = _NUM_WORDS * np.array(shares)
    information = _information(present, num_words) + _information(num_words - present, num_words)
    return [frequent[index] for index in np.argsort(-information, kind="stable")]


def _information(counts: NDArray[np.float64], num_words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each row of counts [ngrams, languages] adds to the mutual information, up to a constant factor."""
    expected = counts.sum(axis=1, keepdims=True) * num_words / num_words.sum()
    terms = counts * np.log(np.maximum(counts, 1e-300) / np.maximum(expected, 1e-300))
    added: NDArray[np.float64] = terms.sum(axis=1)
    return added


def _encode(examples: list[tuple[int, list[str]]], ids_of: dict[str, int]) -> Texts:
    """Write texts as ids; the last id of each stands for the bias."""
    known: dict[str, list[int]] = {}
    ids: list[NDArray[np.int32]] = []
    bounds = [0]
    for _, words in examples:
        some = [len(ids_of)]
        for word in words:
            if word not in known:
                known[word] = [ids_of[ngram] for ngram in ngrams_of(word) if ngram in ids_of]
            some += known[word]
        ids.append(np.array(some, dtype=np.int32))
        bounds.append(bounds[-1] + len(some))
    return Texts(np.concatenate(ids), np.array(bounds), np.array([label for label, _ in examples]))


def _fit(
    texts: Texts, num_ngrams: int, num_languages: int, num_epochs: int, decay: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return weights [ngrams + 1, languages] that make the texts' languages most probable (Adam; decay on squares)."""
    torch.set_num_threads(1)  # so that sums have one order; more threads would wait for each other at every step
    weights = torch.zeros(num_ngrams + 1, num_languages, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=_LEARNING_RATE, weight_decay=decay)
    num_batches = -(-len(texts.labels) // _BATCH_TEXTS)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, num_epochs * num_batches)
    for epoch in range(num_epochs):
        total = 0.0
        for batch in np.array_split(generator.permutation(len(texts.labels)), num_batches):
            starts, ends = texts.bounds[batch], texts.bounds[batch + 1]
            offsets = np.concatenate(([0], np.cumsum(ends - starts)))
            ids = texts.ids[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts)]
            scores = torch.nn.functional.embedding_bag(
                torch.from_numpy(ids), weights, torch.from_numpy(offsets[:-1].astype(np.int32)), mode="sum"
            )
            loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(texts.labels[batch]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() / num_batches
        print(f"epoch {epoch + 1} of {num_epochs}: loss {total:.4f}", flush=True)
    return weights.detach().numpy().astype(np.float64)


if __name__ == "__main__":
    main()
