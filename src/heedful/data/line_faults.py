"""What can be wrong with one line of a corpus: pure decisions on a text, or on a source and its target.

What spoils more than a line, sides that have come apart, is found by shifted_lines.py; what stands in training and
test alike by near_duplicates.py. This file reads nothing and counts nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from heedful.text.language_detection import detect, known_languages
from heedful.text.markup import has_markup
from heedful.text.mojibake import has_mojibake
from heedful.text.words import UNIT

LineFault = Literal["mojibake", "markup", "copy", "exchanged", "other_language"]

_ENOUGH_WORDS = 5
"""Different words a text must have for its language to be told against expectation; names and titles are short."""

_COPY_WORDS = 4
_SURELY_NOT, _SURELY = 0.02, 0.95
_ALIKE = (
    {"da", "nb", "nn", "no", "sv"}, {"hr", "bs", "sr", "sl"}, {"cs", "sk"}, {"id", "ms"}, {"pt", "gl", "es"},
    {"ru", "uk", "be", "bg", "mk", "sr"}, {"hi", "mr"}, {"bn", "as"}, {"ar", "fa", "ur", "ps", "ckb", "ug"},
)  # fmt: skip
"""Languages that a line is too short to tell apart for sure."""


@dataclass(frozen=True)
class Languages:
    """The languages of a corpus's sides; None where nobody knows."""

    source: str | None
    target: str | None
    are_declared_different: bool = False
    """Whether somebody says that they differ, though they may be none that can be recognised."""

    @property
    def differ(self) -> bool:
        """Whether a translation cannot be the same as its source."""
        return self.are_declared_different or (None not in (self.source, self.target) and self.source != self.target)


@dataclass(frozen=True)
class Found:
    """A fault, the side that has it (0 the source, 1 the target), and what else there is to say: the language."""

    fault: LineFault
    side: int = 0
    detail: str = ""


def recognisable(code: str) -> str | None:
    """Return the language of a code that a configuration gives ("zh-Hans", "en_GB"), None where it cannot be told."""
    base = code.replace("_", "-").split("-")[0].lower()
    return base if base in known_languages() else None


def prevailing_language(texts: Iterable[str]) -> str | None:
    """Return the language most of the texts are in, None where there is none."""
    counts: dict[str, int] = {}
    for text in texts:
        if says_enough(text):
            best = detect(text)[0]
            counts[best.language] = counts.get(best.language, 0) + (best.confidence > _SURELY)
    most = max(counts, key=counts.__getitem__, default=None)
    return None if most in (None, "und") or 2 * counts[most] <= sum(counts.values()) else most


def foreign_language(text: str, expected: str) -> str | None:
    """Return the language a text is in when that is surely not the expected one."""
    if not says_enough(text):
        return None
    found = detect(text, [expected])
    best = found[0]
    if best.language in (expected, "und") or best.confidence < _SURELY:
        return None
    confidence = next(one.confidence for one in found if one.language == expected)
    is_alike = any(expected in group and best.language in group for group in _ALIKE)
    return None if is_alike or confidence > _SURELY_NOT else best.language


def says_enough(text: str) -> bool:
    """Say whether a text has words enough to tell its language."""
    return len(set(UNIT.findall(text))) >= _ENOUGH_WORDS


def _are_exchanged(source: str, target: str, languages: Languages, others: tuple[str | None, str | None]) -> bool:
    """Say whether each side is in the other's language, one for sure and the other at least as likely as not."""
    if languages.source is None or languages.target is None or languages.source == languages.target:
        return False
    if others[0] != languages.target and others[1] != languages.source:
        return False
    both = [languages.source, languages.target]
    as_source, as_target = ({one.language: one.confidence for one in detect(text, both)} for text in (source, target))
    return as_source[both[1]] >= as_source[both[0]] and as_target[both[0]] >= as_target[both[1]]


def is_copy(source: str, target: str) -> bool:
    """Say whether a target is its source once more, and long enough that no two languages agree on it."""
    if source.strip() != target.strip():
        plain = [unit.lower() for unit in UNIT.findall(source)]
        if plain != [unit.lower() for unit in UNIT.findall(target)]:
            return False
    return sum(not unit.isdecimal() for unit in UNIT.findall(source)) >= _COPY_WORDS


def text_faults(text: str, side: int = 0) -> Iterator[Found]:
    """Yield what is wrong with a text whatever its language."""
    if has_mojibake(text):
        yield Found("mojibake", side)
    if has_markup(text):
        yield Found("markup", side)


def pair_faults(source: str, target: str, languages: Languages) -> Iterator[Found]:
    """Yield what the languages of a source and a target tell: a copy, exchanged sides, a side in another language."""
    if languages.differ and is_copy(source, target):
        yield Found("copy", 1)
        return
    others = (
        None if languages.source is None else foreign_language(source, languages.source),
        None if languages.target is None else foreign_language(target, languages.target),
    )
    if _are_exchanged(source, target, languages, others):
        yield Found("exchanged")
        return
    for side, other in enumerate(others):
        if other is not None:
            yield Found("other_language", side, other)
