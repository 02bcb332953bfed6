"""Putting parts that were left out of a text into its translation: tags around the words they were around.

A part belongs to a place between two characters of the source. A pair of tags goes around what stands for the words
between them, anything else before what stands for the word after it; alignment.py says what stands for what, and
where it says nothing the place is found by proportion. Tags stay nested as they were. Knows characters only.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from heedful.tasks.translation.alignment import Link
from heedful.text.fixed_parts import MASK, Masked, is_tag
from heedful.text.words import is_unspaced

_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*)[^<>]*?(/?)>")
_VOID = frozenset(
    ("br", "hr", "img", "wbr", "input", "link", "meta", "area", "base", "col", "embed", "source", "track")
)
_CLOSING_MARKS = ".,;:!?…)]}»”’。，；：！？、）」』】"


@dataclass(frozen=True)
class LeftOut:
    """A part, and the place in the text without it."""

    part: str
    place: int


@dataclass(frozen=True)
class _Insertion:
    """What is put into a translation, and where. Of several at one place the one of lower rank comes first."""

    place: int
    rank: int
    text: str


def without_parts(masked: Masked, wanted: Sequence[bool]) -> tuple[Masked, list[LeftOut]]:
    """Leave some parts of a text out; what remains has single spaces where a part stood between two."""
    text = ""
    kept: list[str] = []
    left: list[LeftOut] = []
    pieces = masked.text.split(MASK)
    for number, piece in enumerate(pieces):
        if text.endswith(" ") and piece.startswith(" ") and left and left[-1].place == len(text):
            piece = piece[1:]
        text += piece
        if number < len(masked.parts):
            if wanted[number]:
                left.append(LeftOut(masked.parts[number], len(text)))
            else:
                text += MASK
                kept.append(masked.parts[number])
    return Masked(text, tuple(kept)), left


def place_parts(
    parts: Sequence[LeftOut], source: str, target: str, links: Sequence[Link], fixed: Sequence[str] = ()
) -> str:
    """Put parts, whose places are in `source`, into `target`, but into none of its `fixed` parts."""
    closed = [(start, start + len(part)) for part in fixed if (start := target.find(part)) >= 0]
    insertions = [_outside(one, closed) for one in _insertions(parts, source, target, links)]
    for one in sorted(insertions, key=lambda it: (it.place, it.rank), reverse=True):
        target = target[: one.place] + one.text + target[one.place :]
    return target


def _insertions(parts: Sequence[LeftOut], source: str, target: str, links: Sequence[Link]) -> Iterator[_Insertion]:
    closed_by = _pairs(parts)
    limits: list[tuple[int, int, int]] = [(0, len(target), len(parts))]  # of the tags that are open: span, last part
    spans: dict[int, tuple[int, int]] = {}
    for number, one in enumerate(parts):
        while limits[-1][2] < number:
            limits.pop()
        low, high, _ = limits[-1]
        if number in closed_by:
            end = closed_by[number]
            start, stop = _span(one.place, parts[end].place, source, target, links)
            start = min(max(start, low), high)
            span = start, min(max(stop, start), high)
            spans[end] = span
            limits.append((*span, end))
            yield _Insertion(span[0], number, one.part)
        elif number in spans:
            yield _Insertion(spans[number][1], number, one.part)
            below = limits[-1]
            if below[2] == number:
                limits.pop()
                low, high, last = limits[-1]
                limits[-1] = (max(low, spans[number][1]), high, last)  # what follows stands behind it
        else:
            place = min(max(_place(one.place, source, target, links), low), high)
            is_close = is_tag(one.part) and not _stands_apart(one.place, source)
            yield _Insertion(place, number, one.part if is_close else _spaced(one.part, target, place))


def _stands_apart(place: int, source: str) -> bool:
    """Say whether white space stands beside a place: a tag there may stand for something that is read as a word."""
    return source[max(place - 1, 0) : place].isspace() or source[place : place + 1].isspace()


def _outside(one: _Insertion, closed: Sequence[tuple[int, int]]) -> _Insertion:
    """Move what would fall into a fixed part to the nearer end of it."""
    for start, end in closed:
        if start < one.place < end:
            return replace(one, place=start if one.place - start <= end - one.place else end)
    return one


def _pairs(parts: Sequence[LeftOut]) -> dict[int, int]:
    """Return which tag is closed by which, by their numbers; those that do not fit together are in no pair."""
    opened: list[tuple[str, int]] = []
    found: dict[int, int] = {}
    for number, one in enumerate(parts):
        match = _TAG.fullmatch(one.part)
        if match is None or match[3] or match[2].lower() in _VOID:
            continue
        if not match[1]:
            opened.append((match[2], number))
        elif opened and opened[-1][0] == match[2]:
            found[opened.pop()[1]] = number
    return found


def _span(start: int, end: int, source: str, target: str, links: Sequence[Link]) -> tuple[int, int]:
    """Return what of the target stands for the characters from `start` to `end` of the source."""
    inside = [link for link in links if start <= link.source_start and link.source_end <= max(end, start + 1)]
    if inside and end > start:
        return min(link.target_start for link in inside), max(link.target_end for link in inside)
    first, last = (_proportional(place, source, target) for place in (start, end))
    return first, max(first, last)


def _place(place: int, source: str, target: str, links: Sequence[Link]) -> int:
    """Return where in the target something belongs that stands at a place of the source."""
    if not source[place:].strip():
        return len(target)
    if not source[:place].strip():
        return 0
    after = [link for link in links if link.source_start >= place]
    if after:
        nearest = min(link.source_start for link in after)
        return min(link.target_start for link in after if link.source_start == nearest)
    before = [link for link in links if link.source_end <= place]
    if before:
        nearest = max(link.source_end for link in before)
        return max(link.target_end for link in before if link.source_end == nearest)
    return _proportional(place, source, target)


def _proportional(place: int, source: str, target: str) -> int:
    """Return the end of a word of the target that is as far from its beginning as the place is in the source."""
    wanted = round(place / max(len(source), 1) * len(target))
    ends = [0, *(match.end() for match in re.finditer(r"\S+", target)), len(target)]
    return min(ends, key=lambda end: abs(end - wanted))


def _spaced(part: str, target: str, place: int) -> str:
    """Give a part the spaces that a word there would have."""
    before, after = target[place - 1 : place], target[place : place + 1]
    left = "" if not before or before.isspace() or is_unspaced(before) else " "
    right = "" if not after or after.isspace() or is_unspaced(after) or after in _CLOSING_MARKS else " "
    return left + part + right
