"""The alignment model: IBM Model 2 with a diagonal prior, learned in both directions at once (Dyer et al., 2013).

Every target word was written for one source word, or for none; how probable which is, is the product of a translation
table and of how near the two stand to the diagonal. The table is learned by expectation maximisation with a sparse
Dirichlet prior, so that rare words do not gather what nobody else explains; how strongly the diagonal draws is learned,
too. The other direction is the same with the sides exchanged; both read the table in one pass.

Sentences of one shape are computed together, so there is no padding and no loop over sentences. Pairs of words that
occur together only once have no entry of their own: those of one word share what it gives to all of them. Words are
numbers here; what they are is not known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.data.alignment.pair_table import PairTable, count_pairs
from heedful.text.ragged import Ragged

MAX_WORDS = 512
"""A sentence with more words on either side is not aligned."""

NUM_ROUNDS = 5
_NULL_RATE = 0.08
_CONCENTRATION = 0.01
_FIRST_TENSION, _TENSION_BOUNDS = 4.0, (0.1, 14.0)
_TENSION_STEPS, _TENSION_RATE = 8, 20.0
_SENTENCES_AT_ONCE = 1 << 18
_CELLS_AT_ONCE = 1 << 19
_PLACES_AT_ONCE = 1 << 22
_FORTH, _BACK = 0, 1

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Sentences of one shape: their numbers in the corpus, and the words of both sides, a row for each sentence."""

    numbers: Ints
    source: Ints
    target: Ints

    @property
    def shape(self) -> tuple[int, int]:
        """Words of a target, words of a source."""
        return self.target.shape[1], self.source.shape[1]


@dataclass(frozen=True)
class Corpus:
    """Sentences and their translations as numbers of words, from 0."""

    source: Ragged
    target: Ragged
    source_vocab: int
    target_vocab: int

    def __len__(self) -> int:
        return len(self.source)

    def groups(self, start: int = 0, stop: int | None = None) -> Iterator[Group]:
        """Yield all sentences that can be aligned, those of a shape together, a stretch of the corpus at a time."""
        stop = len(self) if stop is None else stop
        for first in range(start, stop, _SENTENCES_AT_ONCE):
            yield from self._groups_between(first, min(first + _SENTENCES_AT_ONCE, stop))

    def _groups_between(self, first: int, last: int) -> Iterator[Group]:
        rows, columns = (side.lengths[first:last].astype(np.int64) for side in (self.target, self.source))
        shapes = rows * (MAX_WORDS + 1) + columns
        order = np.argsort(shapes, kind="stable")
        can_be = (rows[order] > 0) & (columns[order] > 0) & (np.maximum(rows, columns)[order] <= MAX_WORDS)
        order = order[can_be]
        borders = np.flatnonzero(np.diff(shapes[order])) + 1
        for same in np.split(order, borders):
            if len(same):
                height, width = int(rows[same[0]]), int(columns[same[0]])
                count = max(1, _CELLS_AT_ONCE // (height * width))
                for begin in range(0, len(same), count):
                    yield self._group(same[begin : begin + count] + first)

    def _group(self, numbers: Ints) -> Group:
        sides = (
            side.gather(numbers)[0].astype(np.int64).reshape(len(numbers), -1) for side in (self.source, self.target)
        )
        return Group(numbers, *sides)


@dataclass
class _Side:
    """What is known of one side's words when they are what another word is written for."""

    shared: Floats
    """Of each word: the probability it gives to a word it has no entry with."""

    null: Floats
    """Of each word of the other side: how probable it is when it is written for none."""

    tension: float = _FIRST_TENSION
    """How strongly words are drawn to the diagonal."""


@dataclass
class _Sums:
    """What a pass over the corpus expects of one direction, to make the next table from."""

    given: NDArray[np.float64]
    """Of each word: how many words were written for it."""

    elsewhere: NDArray[np.float64]
    """Of each word: how many of them without an entry."""

    chances: NDArray[np.float64]
    """Of each word: how many cells it has without an entry."""

    null: NDArray[np.float64]
    """Of each word of the other side: how often it was written for none."""

    nearness: float = 0.0
    num_words: float = 0.0
    shapes: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Links:
    """Of each sentence of a group, where the words went: [batch, target_len, source_len], True for a link."""

    forth: NDArray[np.bool_]
    """For every target word at most one source word."""

    back: NDArray[np.bool_]
    """For every source word at most one target word."""


class AlignmentModel:
    """A translation table in both directions, and how strongly the diagonal draws."""

    def __init__(self, corpus: Corpus) -> None:
        """Begin with a table that knows which words occur together and nothing else."""
        self.corpus = corpus
        self.table: PairTable = count_pairs(self._pairs_of(group).ravel() for group in corpus.groups())
        sizes = corpus.source_vocab, corpus.target_vocab
        self.probs = np.full((self.table.size + 1, 2), 1.0, dtype=np.float32) / np.float32(max(sizes))
        self.sides = [
            _Side(np.full(own, 1 / max(sizes), np.float32), np.full(other, 1 / max(sizes), np.float32))
            for own, other in (sizes, sizes[::-1])
        ]

    def learn(self, num_rounds: int = NUM_ROUNDS) -> None:
        """Go over the corpus so many times."""
        for _ in range(num_rounds):
            self.learn_once()

    def learn_once(self) -> float:
        """Go over the corpus once; return the mean log-probability of a target word under what was known before."""
        counts = np.zeros_like(self.probs)
        sums = [_empty_sums(side) for side in self.sides]
        likelihood = 0.0
        for group in self.corpus.groups():
            likelihood += self._expect(group, counts, sums)
        self._maximise(counts, sums)
        return likelihood / max(sums[_FORTH].num_words, 1.0)

    def align(self, group: Group) -> Links:
        """Find the most probable alignment of each sentence, in both directions."""
        forth, back = self._joint(group)[0]
        return Links(_most_probable(forth, axis=2), _most_probable(back, axis=1))

    def owners(self, group: Group) -> NDArray[np.intp]:
        """Say of each target word which source word it is most probably written for, none left out.

        Returns [batch, target_len].
        """
        (forth, _), _ = self._joint(group)
        best: NDArray[np.intp] = forth[:, :, :-1].argmax(axis=2)
        return best

    def state(self) -> dict[str, NDArray[np.floating]]:
        """Return what was learned, by name; which pairs there are follows from the corpus."""
        found: dict[str, NDArray[np.floating]] = {"probs": self.probs}
        for name, side in zip(("forth", "back"), self.sides, strict=True):
            found |= {f"{name}_shared": side.shared, f"{name}_null": side.null}
            found[f"{name}_tension"] = np.array([side.tension])
        return found

    def restore(self, state: Mapping[str, NDArray[np.floating]]) -> None:
        """Take over what a model of the same corpus had learned."""
        self.probs = state["probs"].astype(np.float32)  # copies: learning writes into them
        for name, side in zip(("forth", "back"), self.sides, strict=True):
            side.shared, side.null = (state[f"{name}_{part}"].astype(np.float32) for part in ("shared", "null"))
            side.tension = float(state[f"{name}_tension"][0])

    def _pairs_of(self, group: Group) -> Ints:
        return group.source[:, None, :] * self.corpus.target_vocab + group.target[:, :, None]

    def _joint(self, group: Group) -> tuple[tuple[Floats, Floats], NDArray[np.intp]]:
        """Return how probable each word is together with what it was written for, a place more for none.

        Forth [batch, target_len, source_len + 1], back [batch, target_len + 1, source_len].
        """
        places = self.table.places(self._pairs_of(group))
        known = places < self.table.size
        entries = self.probs.take(places, axis=0)  # many times faster than by brackets
        sentences, height, width = places.shape
        forth = np.empty((sentences, height, width + 1), dtype=np.float32)
        back = np.empty((sentences, height + 1, width), dtype=np.float32)
        ahead, behind = self.sides
        shared = ahead.shared.take(group.source)[:, None, :], behind.shared.take(group.target)[:, :, None]
        forth[:, :, :-1] = np.where(known, entries[..., _FORTH], shared[0]) * _diagonal(height, width, ahead.tension)
        back[:, :-1, :] = np.where(known, entries[..., _BACK], shared[1]) * _diagonal(width, height, behind.tension).T
        forth[:, :, -1] = ahead.null[group.target] * np.float32(_NULL_RATE)
        back[:, -1, :] = behind.null[group.source] * np.float32(_NULL_RATE)
        return (forth, back), places

    def _expect(self, group: Group, counts: Floats, sums: list[_Sums]) -> float:
        """Add what is expected of a group, and return the log-probability of its targets."""
        (forth, back), places = self._joint(group)
        totals = forth.sum(axis=2, keepdims=True)
        likelihood = float(np.log(totals).sum(dtype=np.float64))
        forth /= totals
        back /= back.sum(axis=1, keepdims=True)
        unknown = places == self.table.size
        flat = places.ravel()
        np.add.at(counts[:, _FORTH], flat, forth[:, :, :-1].ravel())
        np.add.at(counts[:, _BACK], flat, back[:, :-1, :].ravel())
        _add(sums[_FORTH], group.source, group.target, forth[:, :, :-1], forth[:, :, -1], unknown)
        turned = back[:, :-1, :].transpose(0, 2, 1)
        _add(sums[_BACK], group.target, group.source, turned, back[:, -1, :], unknown.transpose(0, 2, 1))
        return likelihood

    def _maximise(self, counts: Floats, sums: list[_Sums]) -> None:
        """Make the next table of what was expected."""
        target_vocab = self.corpus.target_vocab
        num_entries = [np.zeros(len(side.shared)) for side in self.sides]
        for start, stop in self._stretches():
            for direction, owners in enumerate(_owners(self.table.pairs_at(start, stop), target_vocab)):
                num_entries[direction] += np.bincount(owners, minlength=len(num_entries[direction]))
        norms = [_psi(it.given + _CONCENTRATION * (entries + 1)) for it, entries in zip(sums, num_entries, strict=True)]
        for start, stop in self._stretches():
            pairs = self.table.pairs_at(start, stop)
            held = pairs >= 0
            for direction, owners in enumerate(_owners(pairs, target_vocab)):
                expected = counts[start:stop][held, direction]
                part = self.probs[start:stop, direction]
                part[held] = np.exp(_psi(expected + _CONCENTRATION) - norms[direction][owners])
        for side, found, norm in zip(self.sides, sums, norms, strict=True):
            each = found.elsewhere / np.maximum(found.chances, 1.0)
            side.shared = np.maximum(np.exp(_psi(each + _CONCENTRATION) - norm), 1e-30).astype(np.float32)
            side.null = ((found.null + _CONCENTRATION) / (found.null + _CONCENTRATION).sum()).astype(np.float32)
            side.tension = _next_tension(side.tension, found)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.table.size, _PLACES_AT_ONCE):
            yield start, min(start + _PLACES_AT_ONCE, self.table.size)


def _owners(pairs: Ints, target_vocab: int) -> tuple[Ints, Ints]:
    """Return the source and the target words of pairs that are there."""
    held = pairs[pairs >= 0]
    source, target = np.divmod(held, target_vocab)
    return source, target


def _empty_sums(side: _Side) -> _Sums:
    own, other = len(side.shared), len(side.null)
    return _Sums(np.zeros(own), np.zeros(own), np.zeros(own), np.zeros(other))


def _add(sums: _Sums, givers: Ints, written: Ints, posterior: Floats, none: Floats, unknown: NDArray[np.bool_]) -> None:
    """Add what is expected of sentences: posterior and unknown [batch, target_len, source_len]."""
    words = givers.ravel()
    height, width = posterior.shape[1:]
    for total, values in (
        (sums.given, posterior.sum(axis=1)),
        (sums.elsewhere, np.where(unknown, posterior, 0).sum(axis=1)),
        (sums.chances, unknown.sum(axis=1)),
    ):
        np.add.at(total, words, values.ravel().astype(np.float64))  # of one type: many times faster
    np.add.at(sums.null, written.ravel(), none.ravel().astype(np.float64))
    sums.nearness += float((posterior.sum(axis=0) * _distances(height, width)).sum(dtype=np.float64))
    sums.num_words += float(posterior.sum(dtype=np.float64))
    sums.shapes[height, width] = sums.shapes.get((height, width), 0) + len(givers)


def _distances(height: int, width: int) -> Floats:
    """Return how far each cell is from the diagonal: [target_len, source_len], from 0 to 1."""
    rows, columns = (np.arange(1, size + 1, dtype=np.float32) / size for size in (height, width))
    return np.abs(rows[:, None] - columns)


def _diagonal(height: int, width: int, tension: float) -> Floats:
    """Return how probable it is beforehand that a word is for each of the others; rows sum to 1 less that of none."""
    nearness: Floats = np.exp(-np.float32(tension) * _distances(height, width))
    nearness *= np.float32(1 - _NULL_RATE) / nearness.sum(axis=1, keepdims=True)
    return nearness


def _next_tension(tension: float, found: _Sums) -> float:
    """Move the tension so that words are expected as near to the diagonal as they were found."""
    num_words = sum(count * height for (height, _), count in found.shapes.items())
    for _ in range(_TENSION_STEPS if num_words else 0):
        expected = 0.0
        for (height, width), count in found.shapes.items():
            prior = _diagonal(height, width, tension) / (1 - _NULL_RATE)
            expected += count * float((prior * _distances(height, width)).sum())
        slope = expected / num_words - found.nearness / max(found.num_words, 1.0)
        tension = float(np.clip(tension + _TENSION_RATE * slope, *_TENSION_BOUNDS))
    return tension


def _most_probable(joint: Floats, *, axis: int) -> NDArray[np.bool_]:
    """Return the best place along an axis, whose last place is none, as links."""
    size = joint.shape[axis] - 1
    best = np.expand_dims(joint.argmax(axis=axis), axis)
    places = np.arange(size).reshape([-1 if number == axis else 1 for number in range(3)])
    links: NDArray[np.bool_] = best == places
    return links


def _psi(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the digamma function, the expectation of the logarithm under a Dirichlet prior."""
    found: NDArray[np.floating] = torch.special.digamma(torch.from_numpy(np.ascontiguousarray(values))).numpy()
    return found
