"""What is wrong with a whole corpus: the faults of its lines counted, with the first that show them, and its shifts.

What is quick is done for every line. Languages and near duplicates cost more: of a large corpus fewer and fewer lines
are looked at, spread over the whole of it, and how many is said. Memory does not grow with the corpus. This file
counts; what a fault is stands in line_faults.py, what is bad about it is the doctors' affair.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from zlib import crc32

from heedful.data.line_faults import (
    Found,
    Languages,
    LineFault,
    foreign_language,
    pair_faults,
    prevailing_language,
    recognisable,
    text_faults,
)
from heedful.data.near_duplicates import NearDuplicates
from heedful.data.readers import Pair
from heedful.data.shifted_lines import Shift, find_shifts

_MOST_PLACES = 3
_GOLDEN, _RANGE = 0x9E3779B1, 1 << 32
_LOOKED_AT = 10_000
_LOOKED_AT_FOR_SHIFTS = 50_000
_NUM_TO_GUESS_FROM = 500
_UNDECLARED = ("source", "target")
"""What languages are called in a configuration that does not name them."""


@dataclass
class FaultLines:
    """The lines that share a fault: how many, where the first stand ("train.de:17"), in which languages they are."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    details: dict[str, int] = field(default_factory=dict)

    def add(self, place: str, detail: str = "") -> None:
        """Count a line."""
        self.count += 1
        if len(self.first) < _MOST_PLACES:
            self.first.append(place)
        if detail:
            self.details[detail] = self.details.get(detail, 0) + 1


@dataclass
class CorpusFaults:
    """What was found in one corpus."""

    num_lines: int = 0
    num_looked_at: int = 0
    """Lines whose language was looked at, and whether they are held out as well."""

    by_fault: dict[LineFault, FaultLines] = field(default_factory=dict)
    shifts: list[Shift] = field(default_factory=list)
    near_training: FaultLines = field(default_factory=FaultLines)
    """Of what is held out: lines that a training corpus has, too, or nearly."""

    def add(self, found: Iterable[Found], places: Sequence[str]) -> None:
        """Count the faults of a line; its place is the one of the side that has them."""
        for one in found:
            self.by_fault.setdefault(one.fault, FaultLines()).add(places[one.side], one.detail)


class Thinning:
    """Which lines are looked at: all at first, then half of them, a quarter, ... however many there are.

    They are spread by the golden ratio: evenly, and with no period that lines of a corpus could have as well.
    """

    def __init__(self, most: int = _LOOKED_AT) -> None:
        self._most, self._every, self._number, self._looked_at = most, 1, -1, 0

    def takes_next(self) -> bool:
        """Say whether the next line is one of them."""
        self._number += 1
        if self._number * _GOLDEN % _RANGE >= _RANGE // self._every:
            return False
        self._looked_at += 1
        if self._looked_at % self._most == 0:
            self._every *= 2
        return True


class HeldOut:
    """The texts that are held out, to find those of training that are the same or nearly so.

    `counts_same` is False where somebody else counts those that are exactly the same.
    """

    def __init__(self, *, counts_same: bool = False) -> None:
        self._counts_same = counts_same
        self._index = NearDuplicates()
        self._entries: list[tuple[CorpusFaults, str, int]] = []
        self._found: set[int] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def note(self, text: str, faults: CorpusFaults, place: str) -> None:
        """Remember a text and whose it is."""
        self._index.note(text, len(self._entries))
        self._entries.append((faults, place, crc32(text.strip().encode("utf-8", "replace"))))

    def find(self, text: str) -> str | None:
        """Return where the text that is held out stands which this one is near to."""
        number = self._index.find(text)
        return None if number is None else self._entries[number][1]

    def meet(self, text: str, place: str) -> None:
        """Count what is held out when a text of training is near to it, once each."""
        number = self._index.find(text)
        if number is not None and number not in self._found:
            self._found.add(number)
            faults, held_out_place, checksum = self._entries[number]
            if self._counts_same or checksum != crc32(text.strip().encode("utf-8", "replace")):
                faults.near_training.add(f"{held_out_place} as {place}")


def whole_pair(source: str, target: str) -> str:
    """Return a pair as one text: near pairs are near on both sides."""
    return f"{source} {target}"


def languages_of(source: str, target: str, read: Callable[[], Iterable[Pair]]) -> Languages:
    """Return the languages of a corpus's sides: as they are declared, else those that prevail in its first lines."""
    declared = recognisable(source), recognisable(target)
    are_different = source != target and (source, target) != _UNDECLARED
    if None not in declared:
        return Languages(*declared, are_different)
    first = list(islice(read(), _NUM_TO_GUESS_FROM))
    guessed = (
        prevailing_language(pair.source for pair in first),
        prevailing_language(pair.target for pair in first),
    )
    return Languages(declared[0] or guessed[0], declared[1] or guessed[1], are_different)


def examine_pairs(
    read: Callable[[], Iterable[Pair]],
    languages: Languages,
    files: Sequence[str],
    *,
    held_out: HeldOut | None = None,
) -> CorpusFaults:
    """Look at the pairs of a corpus in one or two files; `held_out` is given for what is learned from."""
    faults, thinning = CorpusFaults(), Thinning()
    for pair in read():
        faults.num_lines += 1
        places = (f"{files[0]}:{pair.line}", f"{files[-1]}:{pair.line}")
        faults.add(text_faults(pair.source, 0), places)
        faults.add(text_faults(pair.target, 1), places)
        if thinning.takes_next():
            faults.num_looked_at += 1
            faults.add(pair_faults(pair.source, pair.target, languages), places)
            if held_out is not None:
                held_out.meet(whole_pair(pair.source, pair.target), places[0])
    faults.shifts = find_shifts(read, every=-(-faults.num_lines // _LOOKED_AT_FOR_SHIFTS) or 1)
    return faults


def examine_single_texts(
    texts: Iterable[tuple[str, str]], *, language: str | None = None, held_out: HeldOut | None = None
) -> CorpusFaults:
    """Look at texts, each with its place; `language` is the one they should be in."""
    faults, thinning = CorpusFaults(), Thinning()
    for text, place in texts:
        faults.num_lines += 1
        faults.add(text_faults(text), (place,))
        if thinning.takes_next():
            faults.num_looked_at += 1
            if language is not None and (other := foreign_language(text, language)) is not None:
                faults.add([Found("other_language", 0, other)], (place,))
            if held_out is not None:
                held_out.meet(text, place)
    return faults
