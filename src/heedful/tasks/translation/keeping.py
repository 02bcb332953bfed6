"""Translating so that fixed parts stay: try, look whether they are there, try otherwise, and at last put them in.

The order of the attempts is that of `stand_ins.readings_of`. Almost all units have nothing fixed in them, or keep it
at the first attempt, and cost nothing more. Emoji and tags, which nothing can stand for, and what no attempt keeps are
left out, and put where the words around them went (placing.py). Knows units and readings; what searches, spells and
aligns is handed in.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from heedful.decoding import Hypothesis
from heedful.tasks.translation.alignment import Link
from heedful.tasks.translation.doubts import OutputWarning, numbers_warning
from heedful.tasks.translation.placing import LeftOut, place_parts, without_parts
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.stand_ins import Reading
from heedful.tasks.translation.translated import Alternative, TranslatedUnit
from heedful.text.fixed_parts import Masked, is_loose
from heedful.text.lines import one_line
from heedful.text.quantities import lost_numbers
from heedful.text.words import SPACE_MARK

_PLACED = OutputWarning(
    "placed", "parts that must not change were not read by the model, and stand where its attention suggests."
)


class Attempt(NamedTuple):
    """A unit, and one way to let the model read it."""

    number: int
    unit: Unit
    reading: Reading
    read: Unit
    """The unit as the model reads it in this attempt: itself, where nothing stands in for anything."""


def _attempt(number: int, unit: Unit, reading: Reading, source_ids: Sequence[int]) -> Attempt:
    if reading.text == unit.text:
        return Attempt(number, unit, reading, unit)
    read = replace(unit, text=reading.text, source_ids=tuple(source_ids))
    if unit.wishes.terms:
        read = replace(read, wishes=unit.wishes.reading(reading.stand_ins, reading.parts))
    return Attempt(number, unit, reading, read)


def translate_keeping(
    units: Sequence[Unit],
    encode: Callable[[Sequence[Reading], Sequence[str]], list[list[int]]],
    search: Callable[[Sequence[Unit]], list[list[Hypothesis]]],
    spell: Callable[[Unit, Sequence[Hypothesis]], TranslatedUnit],
    translate_masked: Callable[[Masked, Unit], TranslatedUnit],
    align: Callable[[str, str, Unit], Sequence[Link]],
) -> list[TranslatedUnit]:
    """Translate units, each by the first reading that keeps its fixed parts."""
    done: dict[int, TranslatedUnit] = {
        number: _as_it_is(unit) for number, unit in enumerate(units) if not unit.has_words
    }
    doubtful: dict[int, TranslatedUnit] = {}
    attempts = [
        _attempt(number, unit, unit.first_reading, unit.source_ids)
        for number, unit in enumerate(units)
        if number not in done and unit.source_ids
    ]
    turn = 0
    while attempts:
        failed = []
        for attempt, hypotheses in zip(attempts, search([one.read for one in attempts]), strict=True):
            found = _kept(attempt, spell(attempt.read, hypotheses))
            lost = [] if found is None else lost_numbers(attempt.unit.text, found.text)
            if found is not None and not lost:
                done[attempt.number] = found
                continue
            if found is not None:
                warnings = (*found.warnings, numbers_warning(lost))
                doubtful.setdefault(attempt.number, replace(found, warnings=warnings))
            failed.append(attempt)
        turn += 1
        again = [one for one in failed if turn < len(one.unit.readings)]
        if not again:  # almost always
            break
        ids = encode([one.unit.readings[turn] for one in again], [one.unit.steps[0] for one in again])
        attempts = [
            _attempt(one.number, one.unit, one.unit.readings[turn], new) for one, new in zip(again, ids, strict=True)
        ]
    done = {**doubtful, **done}
    return [
        done[number] if number in done else _placed(unit, translate_masked, align) for number, unit in enumerate(units)
    ]


def _kept(attempt: Attempt, found: TranslatedUnit) -> TranslatedUnit | None:
    """Put the fixed parts back into what was found; None when the translation lacks one."""
    unit, reading = attempt.unit, attempt.reading
    if attempt.read is unit and not reading.stand_ins:
        return found
    alternatives = []
    for one in found.alternatives:
        text = reading.restored(one.text)
        if text is not None:
            text = one_line(unit.before + text + unit.after)
            alternatives.append(replace(one, text=text, tokens=_restored_tokens(one.tokens, reading)))
        elif not alternatives:
            return None
    return replace(found, source=unit.text, alternatives=tuple(alternatives))


def _restored_tokens(tokens: tuple[str, ...], reading: Reading) -> tuple[str, ...]:
    """Give the first piece of a stand-in what it stands for, and the others of it nothing."""
    if not reading.stand_ins:
        return tokens
    pieces = list(tokens)
    for stand_in, part in zip(reading.stand_ins, reading.parts, strict=True):
        written = "".join(pieces)
        start = written.find(stand_in)
        end, place, is_put = start + len(stand_in), 0, False
        for number, piece in enumerate(pieces if start >= 0 else ()):
            first, last = max(start - place, 0), min(end - place, len(piece))
            if first < last:
                pieces[number] = piece[:first] + ("" if is_put else part.replace(" ", SPACE_MARK)) + piece[last:]
                is_put = True
            place += len(piece)
    return tuple(pieces)


def _as_it_is(unit: Unit) -> TranslatedUnit:
    return TranslatedUnit(unit.text, (Alternative(one_line(unit.text), 0.0, 0.0, "eos", ()),), unit.remarks)


def _placed(
    unit: Unit,
    translate_masked: Callable[[Masked, Unit], TranslatedUnit],
    align: Callable[[str, str, Unit], Sequence[Link]],
) -> TranslatedUnit:
    """Translate a unit without its loose parts, or without any, and put them where the words around them went."""
    is_loose_part = [is_loose(part) for part in unit.masked.parts]
    has_loose = any(is_loose_part)
    rest, left_out = without_parts(unit.masked, is_loose_part if has_loose else [True] * len(is_loose_part))
    found = translate_masked(rest, unit)
    source = rest.whole
    parts = [LeftOut(one.part, rest.place_in_whole(one.place)) for one in left_out]
    text = place_parts(parts, source, found.text, align(source, found.text, unit), rest.parts)
    whole = replace(found.alternatives[0], text=one_line(unit.before + text + unit.after))
    warnings = found.warnings if has_loose else (_PLACED, *found.warnings)
    return replace(found, source=unit.text, alternatives=(whole,), warnings=warnings)
