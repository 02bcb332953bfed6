"""A corpus without what spoils it: lines repaired where nothing is lost by it, left out otherwise, counted by rule.

Put together again are sides that are shifted, put back those that are exchanged, taken back mojibake, taken out
markup. Left out are empty lines, copies, lines in another language, and near duplicates of what is held out. Lines
come and go one by one, in order; the same corpus gives the same result. This file writes no files and knows no
configuration.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from heedful.data.corpus_faults import HeldOut, Thinning, whole_pair
from heedful.data.line_faults import Languages, foreign_language, pair_faults, says_enough
from heedful.data.readers import Pair
from heedful.data.shifted_lines import FARTHEST, Shift, find_shifts
from heedful.text.markup import has_markup, without_markup
from heedful.text.mojibake import without_mojibake

_UNSURE = 5
"""Lines on either side of where a shift begins or ends that are left out: it is not known to the line."""

_RUN = 3
"""Exchanged lines in a row after which one too short to tell is taken for exchanged as well."""


@dataclass
class CleaningReport:
    """How many lines were read and kept, and which were repaired and left out by which rule."""

    num_read: int = 0
    num_kept: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def clean_pairs(
    read: Callable[[], Iterable[Pair]], languages: Languages, held_out: HeldOut | None, report: CleaningReport
) -> Iterator[Pair]:
    """Yield the pairs of a corpus that can be learned from; `read` gives all of them from the beginning."""
    shifts = find_shifts(read)
    orientation = _Orientation(languages, is_exchanged=_is_mainly_exchanged(read(), languages))
    for pair in _put_together(read(), shifts, report):
        source, target = clean_text(pair.source, report), clean_text(pair.target, report)
        if orientation.is_exchanged(source, target):
            source, target = target, source
            report.repaired["exchanged"] += 1
        rule = _rule_against(source, target, languages, held_out)
        if rule is None:
            report.num_kept += 1
            yield Pair(source, target, pair.line)
        else:
            report.left_out[rule] += 1


def clean_text(text: str, report: CleaningReport, *, is_markup_meant: bool = False) -> str:
    """Return a text without mojibake and markup."""
    if (restored := without_mojibake(text)) != text:
        report.repaired["mojibake"] += 1
        text = restored
    if not is_markup_meant and has_markup(text):
        report.repaired["markup"] += 1
        text = without_markup(text)
    return text


def rule_against_text(text: str, language: str | None, held_out: HeldOut | None) -> str | None:
    """Return why a text by itself is left out, None when it stays."""
    if not text.strip():
        return "empty"
    if language is not None and foreign_language(text, language) is not None:
        return "other_language"
    return "held_out" if held_out is not None and held_out.find(text) is not None else None


def _rule_against(source: str, target: str, languages: Languages, held_out: HeldOut | None) -> str | None:
    if not source.strip() or not target.strip():
        return "empty"
    for found in pair_faults(source, target, languages):
        return found.fault
    return "held_out" if held_out is not None and held_out.find(whole_pair(source, target)) is not None else None


def _is_mainly_exchanged(pairs: Iterable[Pair], languages: Languages) -> bool:
    thinning, num_exchanged, num_straight = Thinning(1000), 0, 0
    for pair in pairs:
        if thinning.takes_next() and says_enough(pair.source) and says_enough(pair.target):
            found = [one.fault for one in pair_faults(pair.source, pair.target, languages)]
            num_exchanged += found == ["exchanged"]
            num_straight += not found
    return num_exchanged > num_straight


class _Orientation:
    """Which way round pairs are, one after the other: those too short to tell go with those before them."""

    def __init__(self, languages: Languages, *, is_exchanged: bool) -> None:
        self._languages, self._is_usual = languages, is_exchanged
        self._run = 0
        """Pairs in a row that were not as is usual in this corpus."""

    def is_exchanged(self, source: str, target: str) -> bool:
        """Say whether the next pair has its sides exchanged."""
        if self._is_usual:
            source, target = target, source
        if says_enough(source) and says_enough(target):
            found = [one.fault for one in pair_faults(source, target, self._languages)]
            is_odd = found == ["exchanged"]
            self._run = self._run + 1 if is_odd else self._run if found else 0
        else:
            is_odd = self._run >= _RUN
        return is_odd != self._is_usual


def _put_together(pairs: Iterable[Pair], shifts: Sequence[Shift], report: CleaningReport) -> Iterator[Pair]:
    """Yield every source with its target, wherever that stands, and leave out what has none."""
    window: deque[Pair] = deque()
    for pair in pairs:
        window.append(pair)
        report.num_read += 1
        if len(window) > 2 * FARTHEST + 1:
            window.popleft()
        if report.num_read > FARTHEST:
            yield from _with_target(window, report.num_read - FARTHEST, shifts, report)
    for number in range(max(1, report.num_read - FARTHEST + 1), report.num_read + 1):
        yield from _with_target(window, number, shifts, report)


def _with_target(
    window: Sequence[Pair], number: int, shifts: Sequence[Shift], report: CleaningReport
) -> Iterator[Pair]:
    """Yield the pair of the source that is so many lines into the corpus; the window ends with what was read last."""
    by_number = {report.num_read - place: pair for place, pair in enumerate(reversed(window))}
    shift = next((one for one in shifts if one.covers(number)), None)
    changes = {one.first for one in shifts if one.first > 1} | {one.last + 1 for one in shifts if one.last is not None}
    target = by_number.get(number + (shift.offset if shift else 0))
    if target is None or any(change - _UNSURE <= number < change + _UNSURE for change in changes):
        report.left_out["shifted"] += 1
        return
    if shift is not None:
        report.repaired["shifted"] += 1
    yield Pair(by_number[number].source, target.target, by_number[number].line)
