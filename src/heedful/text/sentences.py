"""Sentence boundaries, and cutting what is too long for a model into parts that are not.

Nothing is lost: the parts joined are the text. Where a sentence ends say the rules of sentence_ends.py. What "too long"
means is asked of the caller, who knows tokens.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from heedful.text.sentence_ends import sentence_ends

Fits = Callable[[str], bool]

_CLAUSE_END = re.compile(r"(?:[,;:–—]++(?=\s)|[，；：、])[”’\"]*+\s*+")
_WORD = re.compile(r"\s*\S+\s*|\s+")


def split_sentences(text: str) -> list[str]:
    """Cut text into sentences; "".join of them is the text."""
    return list(_cut(text, sentence_ends(text)))


def split_to_fit(text: str, fits: Fits) -> list[str]:
    """Cut text into parts that fit: at sentence ends, else after clauses, else at spaces, else anywhere.

    Neighbours stay together as far as `fits` allows; "".join of the parts is the text. Each part fits, unless it is a
    single character.
    """
    return list(_gather(split_sentences(text), fits, [_clauses, _WORD.findall, list]))


def _clauses(sentence: str) -> list[str]:
    return list(_cut(sentence, (match.end() for match in _CLAUSE_END.finditer(sentence))))


def _cut(text: str, ends: Iterator[int]) -> Iterator[str]:
    start = 0
    for end in ends:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _gather(units: Sequence[str], fits: Fits, finer: list[Callable[[str], list[str]]]) -> Iterator[str]:
    """Join neighbouring units while they fit; cut a unit that does not fit by itself by the next finer rule."""
    start, count = 0, 1
    while start < len(units):
        count = _longest_run(units, start, fits, likely=max(count, 1))
        if count:
            yield "".join(units[start : start + count])
        elif finer:
            yield from _gather(finer[0](units[start]), fits, finer[1:])
        else:
            yield units[start]
        start += max(count, 1)


def _longest_run(units: Sequence[str], start: int, fits: Fits, *, likely: int) -> int:
    """Return how many units from `start` on fit together.

    Asks about the `likely` number first, then further and further from it, then between what fits and what does not:
    two questions where one part is like the one before, as in a megabyte without a space.
    """
    enough, too_many = 0, len(units) - start + 1
    count, stride = min(likely, too_many - 1), 1
    while too_many - enough > 1:
        if fits("".join(units[start : start + count])):
            enough, count = count, count + stride
        else:
            too_many, count = count, count - stride
        stride *= 2
        if not enough < count < too_many:
            count = (enough + too_many) // 2
    return enough
