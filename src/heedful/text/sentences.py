"""Cutting a text that is too long for a model into parts that are not: at sentence ends, else at spaces, else anywhere.

Nothing is lost: the parts joined are the text. What "too long" means is asked of the caller, who knows tokens.
"""

import re
from collections.abc import Callable, Iterator, Sequence

Fits = Callable[[str], bool]

# A sentence ends after . ! ? … (and closing quotes or brackets) before white space, and after the full-width forms of
# Chinese and Japanese, which no space follows. The white space belongs to the sentence before it.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+\s+|[。！？；]+[”’」』）]*\s*|\n+")
_WORD = re.compile(r"\s*\S+\s*|\s+")


def split_sentences(text: str, fits: Fits | None = None) -> list[str]:
    """Cut text into sentences, and join neighbours again as far as `fits` allows; "".join of the parts is the text.

    Without `fits` every sentence is a part. With it each part fits, unless it is a single character: a sentence that
    does not fit is cut at its spaces, and a word that does not fit, anywhere.
    """
    sentences = list(_sentences(text))
    return sentences if fits is None else list(_gather(sentences, fits, [_WORD.findall, list]))


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        yield text[start : match.end()]
        start = match.end()
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
