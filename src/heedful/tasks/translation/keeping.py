"""Translating so that fixed parts stay: try, look whether they are there, try otherwise, and at last cut around them.

The order of the attempts is that of `stand_ins.readings_of`. Almost all units have nothing fixed in them, or keep it
at the first attempt, and cost nothing more. What no attempt keeps is cut at its fixed parts, which then stand where
they stood, and says so. Knows units and readings; what searches and spells is handed in.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from heedful.decoding import Hypothesis
from heedful.tasks.translation.doubts import OutputWarning
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.stand_ins import Reading, pieces_around
from heedful.tasks.translation.translated import Alternative, TranslatedUnit, joined_alternative
from heedful.text.fixed_parts import lost_numbers
from heedful.text.words import SPACE_MARK

_CUT = OutputWarning(
    "cut_around",
    "parts that must not change were kept where they stood, and the text around them was translated alone.",
)


class Attempt(NamedTuple):
    """A unit, and one way to let the model read it."""

    number: int
    unit: Unit
    reading: Reading
    source_ids: Sequence[int]


def translate_keeping(
    units: Sequence[Unit],
    encode: Callable[[Sequence[Reading], Sequence[str]], list[list[int]]],
    search: Callable[[Sequence[Sequence[int]]], list[list[Hypothesis]]],
    spell: Callable[[Unit, Sequence[Hypothesis]], TranslatedUnit],
    translate_pieces: Callable[[Sequence[str], Unit], list[TranslatedUnit]],
) -> list[TranslatedUnit]:
    """Translate units, each by the first reading that keeps its fixed parts."""
    done: dict[int, TranslatedUnit] = {
        number: _as_it_is(unit) for number, unit in enumerate(units) if not unit.has_words
    }
    doubtful: dict[int, TranslatedUnit] = {}
    attempts = [
        Attempt(number, unit, unit.readings[0], unit.source_ids)
        for number, unit in enumerate(units)
        if number not in done and unit.source_ids
    ]
    turn = 0
    while attempts:
        failed = []
        for attempt, hypotheses in zip(attempts, search([one.source_ids for one in attempts]), strict=True):
            found = _kept(attempt, spell(replace(attempt.unit, text=attempt.reading.text), hypotheses))
            lost = [] if found is None else lost_numbers(attempt.unit.text, found.text)
            if found is not None and not lost:
                done[attempt.number] = found
                continue
            if found is not None:
                message = f"numbers of the input are missing: {', '.join(lost[:5])}."
                warnings = (*found.warnings, OutputWarning("numbers", message))
                doubtful.setdefault(attempt.number, replace(found, warnings=warnings))
            failed.append(attempt)
        turn += 1
        again = [one for one in failed if turn < len(one.unit.readings)]
        ids = encode([one.unit.readings[turn] for one in again], [one.unit.steps[0] for one in again])
        attempts = [
            one._replace(reading=one.unit.readings[turn], source_ids=new) for one, new in zip(again, ids, strict=True)
        ]
    done = {**doubtful, **done}
    return [done[number] if number in done else _around(unit, translate_pieces) for number, unit in enumerate(units)]


def _kept(attempt: Attempt, found: TranslatedUnit) -> TranslatedUnit | None:
    """Put the fixed parts back into what was found; None when the translation lacks one."""
    unit, reading = attempt.unit, attempt.reading
    alternatives = []
    for one in found.alternatives:
        text = reading.restored(one.text)
        if text is not None:
            text = unit.before + text + unit.after
            alternatives.append(replace(one, text=text, tokens=_restored_tokens(one.tokens, reading)))
        elif not alternatives:
            return None
    return TranslatedUnit(unit.text, tuple(alternatives), found.warnings)


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
    return TranslatedUnit(unit.text, (Alternative(unit.text, 0.0, 0.0, "eos", ()),))


def _around(unit: Unit, translate_pieces: Callable[[Sequence[str], Unit], list[TranslatedUnit]]) -> TranslatedUnit:
    """Translate what is between the fixed parts, which stay where they are."""
    between, parts = pieces_around(unit.masked)
    asked = [piece.strip() for piece in between if any(map(str.isalpha, piece))]
    found = translate_pieces(asked, unit)
    rest = iter(found)
    text = unit.before
    for number, piece in enumerate(between):
        if any(map(str.isalpha, piece)):
            bare = piece.strip()
            start = piece.index(bare)
            piece = piece[:start] + next(rest).text + piece[start + len(bare) :]
        text += piece + (parts[number] if number < len(parts) else "")
    whole = joined_alternative([one.alternatives[0] for one in found], text + unit.after)
    warnings = [warning for one in found for warning in one.warnings if warning.code != "length"]
    return TranslatedUnit(unit.text, (whole,), (_CUT, *warnings))
