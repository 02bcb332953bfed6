"""Which words of a text became which words of its translation: links between words, as Pharaoh's format writes them.

A word is what stands between white space, as everybody counts who splits a line at its spaces; of a script without
spaces every character is one. Two words are linked by where the model looks: the mean of the heads of the last layer
that looks from target to source, summed over the tokens of the source word, averaged over those of the target word.
Where the model translates the other way as well, it looks back too: the geometric mean of both matrices counts, and a
word is linked with what it has most weight with, seen from either side. What was carried over unchanged is linked with
itself. benchmarks/alignment.py measures it. Knows models and tokenizers; knows no search.
"""

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.models.interfaces import EncoderDecoder
from heedful.tasks.translation.alignment import Looks, attention_between
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.translated import TranslatedUnit, Translation, WordLink
from heedful.text.fixed_parts import mask_fixed_parts
from heedful.text.tokenizer import Tokenizer
from heedful.text.tokens import Token
from heedful.text.words import UNSPACED

_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
MARKS = string.punctuation + "…“”„‚‘’«»‹› \u00a0\u202f"
_LEAST_WEIGHT = 0.1
"""Of a link that both directions speak for; below it, a word is left without one."""

Span = tuple[int, int]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Alignment:
    """Words of a text and of its translation, by their characters, and which of them belong together."""

    source: str
    target: str
    links: tuple[WordLink, ...]

    @property
    def source_words(self) -> list[Span]:
        """First and last character (without it) of each word of the text."""
        return word_spans(self.source)

    @property
    def target_words(self) -> list[Span]:
        """The same of the translation."""
        return word_spans(self.target)

    def pairs(self) -> list[tuple[int, int, float]]:
        """Return the links by the numbers of the words, from 0: in the text, in the translation, and the weight."""
        words = self.source_words, self.target_words
        source, target = ({span: number for number, span in enumerate(it)} for it in words)
        return sorted((source[link.source], target[link.target], link.weight) for link in self.links)

    def pharaoh(self) -> str:
        """Write the links as Pharaoh does: "0-0 1-2", a word of the text and one of the translation."""
        return " ".join(f"{source}-{target}" for source, target, _ in self.pairs())

    def as_dict(self) -> dict[str, Any]:
        """Return the words by their characters, and the links by the numbers of the words, with their weights."""
        return {"source_words": self.source_words, "target_words": self.target_words, "links": self.pairs()}

    def lines(self) -> list["Alignment"]:
        """Return an alignment for each line; a text and its translation have as many."""
        found = []
        start = begin = 0
        for source, target in zip(self.source.split("\n"), self.target.split("\n"), strict=False):
            stop, end = start + len(source), begin + len(target)
            inside = tuple(
                link.moved(-start, -begin)
                for link in self.links
                if start <= link.source[0]
                and link.source[1] <= stop
                and begin <= link.target[0] <= link.target[1] <= end
            )
            found.append(Alignment(source, target, inside))
            start, begin = stop + 1, end + 1
        return found


def word_spans(text: str) -> list[Span]:
    """Return the words of a text by their characters: between white space, or single where a script has none."""
    return [match.span() for match in _WORD.finditer(text)]


def alignment_of(translation: Translation) -> Alignment:
    """Put the links of a text's units together."""
    source, target = translation.source, translation.text
    if not translation.units:
        return Alignment(source, target, tuple(_diagonal(source, target)))
    links: list[WordLink] = []
    start = begin = 0
    for unit in translation.units:
        place, goal = _find(source, unit.source, start), _find(target, unit.text, begin)
        if place is not None and goal is not None:
            links += [link.moved(place[0], goal[0]) for link in unit.links]
            start, begin = place[1], goal[1]
    return Alignment(source, target, _to_words(links, word_spans(source), word_spans(target)))


def composed(first: TranslatedUnit, later: Sequence[TranslatedUnit]) -> list[WordLink]:
    """Link the words of a text with those of a translation through a third language, whose parts went on as `later`."""
    onward: dict[Span, list[WordLink]] = {}
    start = begin = 0
    whole = join_parts([unit.text for unit in later])
    for unit in later:
        place, goal = _find(first.text, unit.source, start), _find(whole, unit.text, begin)
        if place is not None and goal is not None:
            for link in unit.links:
                onward.setdefault(link.moved(place[0], 0).source, []).append(link.moved(0, goal[0]))
            start, begin = place[1], goal[1]
    best: dict[tuple[Span, Span], float] = {}
    for link in first.links:
        for further in onward.get(link.target, ()):
            pair = link.source, further.target
            best[pair] = max(best.get(pair, 0.0), round(link.weight * further.weight, 4))
    return [WordLink(source, target, weight) for (source, target), weight in best.items()]


def link_words(
    model: EncoderDecoder, tokenizer: Tokenizer, source: str, target: str, languages: tuple[str, str | None]
) -> list[WordLink]:
    """Link the words of a text with those of its translation.

    `languages` are the one translated into, and, where the model translates from there back, that of the text.
    """
    if source == target:
        return _diagonal(source, target)
    words = word_spans(source), word_spans(target)
    into, back = languages
    forth = attention_between(model, tokenizer, source, target, into)
    if forth is None or not words[0] or not words[1]:
        return []
    weights = _between_words(forth, source, target)
    reverse = attention_between(model, tokenizer, target, source, back) if back is not None else None
    if reverse is None:
        is_linked = weights == weights.max(axis=0, keepdims=True)
    else:
        weights = np.sqrt(weights * _between_words(reverse, target, source).T)
        is_best = (weights == weights.max(axis=0, keepdims=True)) | (weights == weights.max(axis=1, keepdims=True))
        is_linked = is_best & (weights > _LEAST_WEIGHT)
    is_linked &= weights > 0
    for row, column in _carried_over(source, target, words):
        is_linked[row, :] = is_linked[:, column] = False
        is_linked[row, column], weights[row, column] = True, 1.0
    return [
        WordLink(words[0][row], words[1][column], round(float(weights[row, column]), 4))
        for row, column in np.argwhere(is_linked).tolist()
    ]


def words_looked_at(looks: Looks, source: str, target: str) -> list[WordLink]:
    """Link each word of a translation with the word of the text that it looks at most."""
    words, weights = (word_spans(source), word_spans(target)), _between_words(looks, source, target)
    if not weights.size:
        return []
    best = weights.argmax(axis=0).tolist()
    return [
        WordLink(words[0][row], words[1][column], round(float(weights[row, column]), 4))
        for column, row in enumerate(best)
    ]


def _between_words(looks: Looks, source: str, target: str) -> Floats:
    """Return how much each written word looks at each that was read, [words read, words written]."""
    weights = looks.weights.double().cpu().numpy()
    rows, columns = _tokens_of_words(looks.written, target), _tokens_of_words(looks.read, source)
    means = _membership(rows, len(weights)) / np.maximum([[len(row)] for row in rows], 1)  # [words written, target_len]
    return _membership(columns, weights.shape[1]) @ weights.T @ means.T if rows and columns else np.zeros((0, 0))


def _membership(words: Sequence[Sequence[int]], num_tokens: int) -> Floats:
    """Return 1 where a token is in a word, [words, tokens]."""
    found = np.zeros((len(words), num_tokens))
    for word, tokens in enumerate(words):
        found[word, tokens] = 1.0
    return found


def _tokens_of_words(tokens: Sequence[Token], text: str) -> list[list[int]]:
    """Return the tokens each word has a part in; of a word with letters, without those that are punctuation alone."""
    spans = word_spans(text)
    starts = [start for start, _ in spans]
    found: list[list[int]] = [[] for _ in spans]
    for number, token in enumerate(tokens):
        if not token.is_special:
            # A piece of several characters that are words of their own belongs to each of them.
            for word in range(max(bisect_right(starts, token.start) - 1, 0), bisect_left(starts, token.end)):
                if token.start < spans[word][1]:
                    found[word].append(number)
    lettered = [[it for it in some if _has_letters(text[tokens[it].start : tokens[it].end])] for some in found]
    return [with_letters or some for with_letters, some in zip(lettered, found, strict=True)]


def _has_letters(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _carried_over(source: str, target: str, words: tuple[list[Span], list[Span]]) -> Iterator[tuple[int, int]]:
    """Yield the words, by their numbers, that are parts which must not change and stand on both sides."""
    parts = {part.strip(MARKS) for part in mask_fixed_parts(source, plain_numbers=True).parts} - {""}
    if not parts:
        return
    source_words, target_words = (
        {text[slice(*span)].strip(MARKS): number for number, span in reversed(list(enumerate(spans)))}
        for text, spans in zip((source, target), words, strict=True)
    )
    yield from ((source_words[part], target_words[part]) for part in parts & source_words.keys() & target_words.keys())


def _diagonal(source: str, target: str) -> list[WordLink]:
    """Link the words of a text that was left as it is, or is one line otherwise, with themselves."""
    pairs = zip(word_spans(source), word_spans(target), strict=False)
    return [WordLink(one, other, 1.0) for one, other in pairs if source[slice(*one)] == target[slice(*other)]]


def _find(text: str, part: str, start: int) -> Span | None:
    """Find a part of a text from a place on, whatever white space stands between its words."""
    place = text.find(part, start)
    if place >= 0:
        return place, place + len(part)
    found = re.compile(r"\s*".join(map(re.escape, part.split()))).search(text, start)
    return found.span() if found else None


def _to_words(links: Sequence[WordLink], source: Sequence[Span], target: Sequence[Span]) -> tuple[WordLink, ...]:
    """Give links the words of the whole text they are in: a unit may end within one."""
    best: dict[tuple[Span, Span], float] = {}
    for link in links:
        pair = _containing(link.source, source), _containing(link.target, target)
        best[pair] = max(best.get(pair, 0.0), link.weight)
    return tuple(WordLink(one, other, weight) for (one, other), weight in sorted(best.items()))


def _containing(span: Span, words: Sequence[Span]) -> Span:
    return words[bisect_right(words, (span[0], span[0] + 1_000_000)) - 1]
