"""Learning a unigram language model over pieces (Kudo, 2018): a large seed, then expectation-maximisation and pruning.

The library we cut with can learn these models too, but its result changes from run to run (it sums in the order of a
randomised hash table). Here every sum has one order: the same counts give the same pieces and the same scores. All
words are worked on at once, position by position, so that the work is done by NumPy.

This file knows words with their counts; it knows nothing of lines, normalisation or ids.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LONGEST_PIECE = 16
_SEED_FACTOR = 4
"""The seed has so many times the pieces that are wanted."""

_SHRINKING = 0.75
_EM_ROUNDS = 2
_RARE = 0.5
"""A piece expected less often than this is not worth its place."""

_IMPOSSIBLE = -1e30


def learn_unigram(
    counts: dict[str, int], alphabet: Collection[str], size: int, excluded: Collection[str] = ()
) -> list[tuple[str, float]]:
    """Return at most `size` pieces with log-probabilities, the characters of the alphabet among them, best first.

    `counts` says how often each word occurs; words hold characters of the alphabet only.
    """
    words = list(counts)
    frequencies = np.array([counts[word] for word in words], dtype=np.float64)
    pieces, weights = _seed(counts, alphabet, size, frozenset(excluded))
    scores = np.log(weights / weights.sum())
    characters = set(alphabet)
    while words:
        lattice = _Lattice.of(words, pieces)
        for _ in range(_EM_ROUNDS):
            expected = lattice.expected_counts(scores, frequencies)
            scores = _scores_of(np.maximum(expected, _RARE / 2))
        kept = _kept(pieces, scores, expected, size, characters)
        finished = len(kept) == len(pieces) or len(kept) <= size
        pieces = [pieces[index] for index in kept]
        scores = scores[kept]
        if finished:
            break
    ranked = sorted(zip(pieces, scores.tolist(), strict=True), key=lambda item: (-item[1], item[0]))
    # Seven digits are more than the model is sure of.
    return [(piece, round(score, 7)) for piece, score in ranked]


def _seed(
    counts: dict[str, int], alphabet: Collection[str], size: int, excluded: frozenset[str]
) -> tuple[list[str], Floats]:
    """Return all characters, and the substrings that cover most of the text."""
    substrings: Counter[str] = Counter()
    singles: Counter[str] = Counter()
    for word, count in counts.items():
        for start, character in enumerate(word):
            singles[character] += count
            for end in range(start + 2, min(start + _LONGEST_PIECE, len(word)) + 1):
                substrings[word[start:end]] += count
    coverage = {text: n * len(text) for text, n in substrings.items() if n > 1 and text not in excluded}
    ranked = sorted(coverage.items(), key=lambda item: (-item[1], item[0]))[: _SEED_FACTOR * size]
    characters = sorted(alphabet)
    weights = [*(max(singles[character], 1) for character in characters), *(weight for _, weight in ranked)]
    return [*characters, *(piece for piece, _ in ranked)], np.array(weights, dtype=np.float64)


@dataclass(frozen=True)
class _Layer:
    """The edges of all lattices that lead to nodes at one position, grouped by that node, their head."""

    tails: Ints
    pieces: Ints
    groups: Ints
    """Where each group of edges with the same head begins."""

    heads: Ints
    """The head of each group."""


@dataclass(frozen=True)
class _Lattice:
    """All ways to cut all words. Word w has the nodes first[w] .. last[w]; a piece is an edge between two nodes."""

    num_nodes: int
    first: Ints
    last: Ints
    starts: Ints
    ends: Ints
    pieces: Ints
    forward: list[_Layer]
    backward: list[_Layer]

    @staticmethod
    def of(words: Sequence[str], pieces: Sequence[str], *, without_whole: bool = False) -> "_Lattice":
        """Find the pieces in the words; `without_whole` leaves out the piece that is the whole word."""
        indices = {piece: index for index, piece in enumerate(pieces)}
        longest = max(map(len, pieces))
        edges = np.array(list(_edges(words, indices, longest, without_whole)), dtype=np.int64).reshape(-1, 4)
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        last = np.cumsum(lengths + 1) - 1
        first = last - lengths
        word, start, end, piece = edges.T
        starts, ends = first[word] + start, first[word] + end
        return _Lattice(
            num_nodes=int(last[-1]) + 1,
            first=first,
            last=last,
            starts=starts,
            ends=ends,
            pieces=piece,
            forward=_layers(starts, ends, piece, end),
            backward=_layers(ends, starts, piece, start)[::-1],
        )

    def expected_counts(self, scores: Floats, frequencies: Floats) -> Floats:
        """Return how often each piece is expected, over all cuts of all words (the E step)."""
        alpha = self._sweep(self.forward, self.first, scores, best=False)
        beta = self._sweep(self.backward, self.last, scores, best=False)
        num_nodes = self.last - self.first + 1
        totals = np.repeat(alpha[self.last], num_nodes)[self.starts]
        weights = np.repeat(frequencies, num_nodes)[self.starts]
        posterior = np.exp(alpha[self.starts] + scores[self.pieces] + beta[self.ends] - totals)
        expected = np.bincount(self.pieces, weights=posterior * weights, minlength=len(scores))
        # The last bits of exp depend on how memory is aligned; rounded, equal pieces stay equal and ties stay ties.
        return np.round(expected, 6)

    def best_scores(self, scores: Floats) -> Floats:
        """Return the log-probability of the best cut of each word."""
        return self._sweep(self.forward, self.first, scores, best=True)[self.last]

    def _sweep(self, layers: list[_Layer], origins: Ints, scores: Floats, *, best: bool) -> Floats:
        """Carry log-probabilities from the origins to every node: of the best way there, or of all ways together."""
        values = np.full(self.num_nodes, _IMPOSSIBLE)
        values[origins] = 0.0
        for layer in layers:
            candidates = values[layer.tails] + scores[layer.pieces]
            reached = np.maximum.reduceat(candidates, layer.groups)
            if not best:
                sizes = np.diff(np.append(layer.groups, len(candidates)))
                mass = np.add.reduceat(np.exp(candidates - np.repeat(reached, sizes)), layer.groups)
                reached = reached + np.log(mass)
            values[layer.heads] = reached
        return values


def _edges(
    words: Sequence[str], indices: dict[str, int], longest: int, without_whole: bool
) -> Iterator[tuple[int, int, int, int]]:
    for number, word in enumerate(words):
        length = len(word)
        for start in range(length):
            for end in range(start + 1, min(start + longest, length) + 1):
                index = indices.get(word[start:end])
                if index is not None and not (without_whole and end - start == length > 1):
                    yield number, start, end, index


def _layers(tails: Ints, heads: Ints, pieces: Ints, positions: Ints) -> list[_Layer]:
    """Group edges by the position of their head, and within it by the head itself."""
    order = np.lexsort((heads, positions))
    tails, heads, pieces, positions = tails[order], heads[order], pieces[order], positions[order]
    layers = []
    for part in np.split(np.arange(len(positions)), np.flatnonzero(np.diff(positions)) + 1):
        if len(part):
            groups = np.concatenate([[0], np.flatnonzero(np.diff(heads[part])) + 1])
            layers.append(_Layer(tails[part], pieces[part], groups, heads[part][groups]))
    return layers


def _scores_of(expected: Floats) -> Floats:
    """Turn expected counts into log-probabilities (the M step), with the Bayesian discount of rare pieces."""
    return np.round(_digamma(expected) - _digamma(np.array([expected.sum()])), 9)


def _digamma(values: Floats) -> Floats:
    """Return the derivative of log Γ for positive values: recurrence up to 6, then the asymptotic series."""
    result = np.zeros_like(values)
    x = values.copy()
    while (small := x < 6).any():
        result[small] -= 1 / x[small]
        x[small] += 1
    inverse = 1 / (x * x)
    series: Floats = result + np.log(x) - 0.5 / x - inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252))
    return series


def _kept(pieces: list[str], scores: Floats, expected: Floats, size: int, characters: set[str]) -> list[int]:
    """Choose the pieces of the next round: those whose loss would cost the text's likelihood most."""
    single = np.array([piece in characters for piece in pieces])
    alternatives = _Lattice.of(pieces, pieces, without_whole=True).best_scores(scores)
    cost = np.where(expected >= _RARE, np.round(expected * (scores - alternatives), 6), -np.inf)
    room = max(size, int(len(pieces) * _SHRINKING)) - int(single.sum())
    ranked = np.argsort(-cost, kind="stable")
    candidates = ranked[~single[ranked] & (cost[ranked] > -np.inf)]
    return sorted([*np.flatnonzero(single).tolist(), *candidates[: max(room, 0)].tolist()])
