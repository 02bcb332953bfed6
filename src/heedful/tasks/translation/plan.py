"""What is settled before anything is translated: the languages of a text, and the units the model reads.

Models learn from sentences, and of a paragraph given whole they lose clauses without a sign of doubt. So every line is
cut at its sentence ends; a model that has learned longer text (`ModelFolder.facts`) gets neighbouring sentences
together. What is longer than the model reads at once is cut finer. Lines and their indentation stay what they are.
One plan serves the command, Python and the server, so that all of them say the same. Knows tokens only by their number.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from heedful.tasks.translation.context import Context, ContextReader
from heedful.tasks.translation.directions import Directions, Route
from heedful.tasks.translation.doubts import OutputWarning
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.stand_ins import Frame, Reading, framed, readings_of
from heedful.tasks.translation.wishes import NO_WISHES, Wishes, check_prefix
from heedful.text.fixed_parts import Masked, mask_fixed_parts
from heedful.text.sentences import split_sentences, split_to_fit
from heedful.text.tokenizer import Tokenizer
from heedful.text.words import is_unspaced

_INDENT = re.compile(r"\s*(?:[-*•·–—]\s+)?")


_NOTHING = Masked("")
_LONGEST_SHOWN = 60
"""Characters of a sentence that a message repeats."""


@dataclass(frozen=True)
class Unit:
    """What the model reads at once: a sentence, several where it has learned longer text, or a part of a long one."""

    text: str
    source_ids: tuple[int, ...]
    steps: tuple[str, ...]
    """The languages it is translated into, one after the other; none for a sentence that is left as it is."""

    is_fragment: bool = False
    """True for a part of a sentence that is longer than the model reads at once."""

    masked: Masked = _NOTHING
    """The text between `before` and `after`, with a private character for each part that must not change."""

    before: str = ""
    """What stands before the words and is none of them, such as an emoji or a tag."""

    after: str = ""

    wishes: Wishes = NO_WISHES
    """What its translation must contain."""

    language: str | None = None
    """What it is written in, where that is known."""

    remarks: tuple[OutputWarning, ...] = ()
    """Why it is left as it is."""

    context: Context | None = None
    """What the model reads before it, and does not translate with it."""

    @property
    def read_ids(self) -> tuple[int, ...]:
        """The ids of all that the model reads."""
        return self.source_ids if self.context is None else self.context.before(self.source_ids)

    @property
    def direction(self) -> str | None:
        """From which language into which it is translated first, as in "en-de", where both are known."""
        return None if self.language is None or not self.steps else f"{self.language}-{self.steps[0]}"

    @cached_property
    def readings(self) -> list[Reading]:
        """The ways to let the model read it, best first; `source_ids` are those of the first, if there is one."""
        return readings_of(self.masked)

    @property
    def first_reading(self) -> Reading:
        """The first of `readings`, if there is one; where nothing is fixed, the others need not be made for it."""
        return self.readings[0] if self.masked.parts else Reading(self.masked.text)

    @property
    def has_words(self) -> bool:
        """Say whether there is anything to be translated."""
        return self.masked.has_words


@dataclass(frozen=True)
class Line:
    """One line of a text: white space and list marker before its first word, and its units; a blank line has none."""

    indent: str
    units: tuple[Unit, ...]


@dataclass(frozen=True)
class TextPlan:
    """What has to be done for one text."""

    text: str
    route: Route
    lines: tuple[Line, ...]
    """None for a text that is left as it is."""

    @property
    def units(self) -> list[Unit]:
        """All units of the text, in order."""
        return [unit for line in self.lines for unit in line.units]

    def in_context(self, reader: ContextReader) -> "TextPlan":
        """Put before each unit what stands before it; a blank line and another language end what belongs together."""
        before: list[Unit] = []
        lines = []
        for line in self.lines:
            units = []
            for unit in line.units:
                if before and before[-1].language != unit.language:
                    before = []
                context = reader.context_of([one.text for one in before], len(unit.source_ids))
                units.append(replace(unit, context=context if unit.source_ids else None))
                before = [*before, unit][-reader.num_sentences :]
            before = before if units else []
            lines.append(replace(line, units=tuple(units)))
        return replace(self, lines=tuple(lines))

    def wishing(self, request: TranslationRequest) -> "TextPlan":
        """Say what the translation of each unit must contain: terms, and of the first one the prefix."""
        prefix, lines = request.prefix, []
        for line in self.lines:
            units = []
            for unit in line.units:
                terms = request.glossary.terms_of(unit.text)
                units.append(replace(unit, wishes=Wishes(prefix, tuple(terms.values()), tuple(terms))))
                prefix = ""
            lines.append(replace(line, units=tuple(units)))
        return replace(self, lines=tuple(lines))


@dataclass(frozen=True)
class Planner:
    """Makes plans for one model."""

    tokenizer: Tokenizer
    directions: Directions
    max_tokens: int
    """What the model reads at once."""

    joined_tokens: int = 0
    """Up to so many tokens neighbouring sentences stay together; 0 for a model that has learned single sentences."""

    context_sentences: int = 0
    """So many sentences before a unit are read with it; 0 for a model that has not learned that."""

    def plan(self, texts: Sequence[str], request: TranslationRequest) -> list[TextPlan]:
        """Settle languages, which the model must have (`Directions.check`), and units."""
        if request.register is not None:
            tokenizer = self.tokenizer.in_register(request.register, request.target)
            return replace(self, tokenizer=tokenizer).plan(texts, replace(request, register=None))
        texts = [without_surrogates(text) for text in texts]
        routes = [self.directions.route(text if text.strip() else "", request.source, request.target) for text in texts]
        drafts = [self._drafts(text, route) for text, route in zip(texts, routes, strict=True)]
        stretches = [one for lines in drafts for line in lines for one in line.stretches if one.route.steps]
        ways = [one.route for one in stretches]
        units = iter(
            self.units([one.text for one in stretches], [way.steps for way in ways], [way.source for way in ways])
        )
        plans = [
            TextPlan(text, route, tuple(line.filled(units) for line in lines))
            for text, route, lines in zip(texts, routes, drafts, strict=True)
        ]
        if self.context_sentences:
            plans = [plan.in_context(self._context_reader) for plan in plans]
        if request.prefix:
            check_prefix(request.prefix, self.tokenizer, self.max_tokens)
        if request.prefix or request.glossary.entries:
            return [plan.wishing(request) for plan in plans]
        return plans

    def _drafts(self, text: str, route: Route) -> list["_Draft"]:
        """Cut a text into lines, and those where languages alternate into stretches of one; none if all is left."""
        lines = [_cut_indent(line) for line in text.split("\n")]
        if route.confidence is None:  # the language was said, or is the only one
            return [_Draft(indent, [_Stretch(line, route)]) for indent, line in lines] if route.steps else []
        sentences_of = [_whole_sentences(line) for _, line in lines]
        ways = iter(self.directions.within(route, [one for sentences in sentences_of for one in sentences]))
        drafts = [
            _Draft(indent, _gathered([_Stretch(one, next(ways)) for one in sentences]))
            for (indent, _), sentences in zip(lines, sentences_of, strict=True)
        ]
        return drafts if any(one.route.steps for draft in drafts for one in draft.stretches) else []

    def units(
        self, lines: Sequence[str], steps: Sequence[tuple[str, ...]], sources: Sequence[str | None]
    ) -> list[list[Unit]]:
        """Cut lines into units, each line to be translated by its own steps; `sources` are their languages."""
        parts_of = [_sentences(mask_fixed_parts(line)) for line in lines]
        if self.joined_tokens:
            ids_of = self._encode(parts_of, steps)
            pairs = zip(parts_of, ids_of, strict=True)
            parts_of = [list(self._joined(parts, [len(ids) for ids in part_ids])) for parts, part_ids in pairs]
        frames_of = [[framed(part) for part in parts] for parts in parts_of]
        ids_of = self._encode([[frame.inner for frame in frames] for frames in frames_of], steps)
        return [
            [unit for frame, ids in zip(frames, part_ids, strict=True) for unit in self._fitting(frame, ids, into, own)]
            for frames, part_ids, into, own in zip(frames_of, ids_of, steps, sources, strict=True)
        ]

    @property
    def _context_reader(self) -> ContextReader:
        num_tags = int(bool(self.tokenizer.languages))
        return ContextReader(
            self.context_sentences, self.max_tokens, lambda t: self.tokenizer.trace_source(t).ids, num_tags
        )

    def units_of(self, masked: Masked, steps: tuple[str, ...], source: str | None) -> list[Unit]:
        """Make units of a part of a sentence, without cutting it further than it must be."""
        frame = framed(masked.stripped())
        ids = self.encode([reading], steps[:1])[0] if (reading := _first_reading(frame.inner)) is not None else []
        return self._fitting(frame, ids, steps, source)

    def _joined(self, sentences: Sequence[Masked], lengths: Sequence[int]) -> Iterator[Masked]:
        """Join neighbours as long as their tokens are not too many."""
        together: list[Masked] = []
        total = 0
        for sentence, length in zip(sentences, lengths, strict=True):
            if together and total + length > self.joined_tokens:
                yield _join_masked(together)
                together, total = [], 0
            together.append(sentence)
            total += length
        if together:
            yield _join_masked(together)

    def _fitting(self, frame: Frame, ids: list[int], steps: tuple[str, ...], source: str | None) -> list[Unit]:
        """Make a unit of a sentence, or several of one that is too long."""
        inner = frame.inner
        if len(ids) <= self.max_tokens:
            text = frame.before + inner.whole + frame.after
            whole = Unit(text, tuple(ids), steps, masked=inner, before=frame.before, after=frame.after, language=source)
            return [whole]

        def fits(piece: str) -> bool:
            return len(self._encode([[Masked(piece)]], [steps])[0][0]) <= self.max_tokens

        pieces = [piece.stripped() for piece in inner.cut(split_to_fit(inner.text, fits)) if piece.text.strip()]
        (encoded,) = self._encode([pieces], [steps])
        units = [
            Unit(piece.whole, tuple(ids), steps, True, masked=piece, language=source)
            for piece, ids in zip(pieces, encoded, strict=True)
        ]
        units[0] = replace(units[0], text=frame.before + units[0].text, before=frame.before)
        units[-1] = replace(units[-1], text=units[-1].text + frame.after, after=frame.after)
        return units

    def _encode(self, parts_of: Sequence[Sequence[Masked]], steps: Sequence[tuple[str, ...]]) -> list[list[list[int]]]:
        """Return the token ids of all parts as they are first read, each with the tag of its first language."""
        readings_of_part = [[_first_reading(part) for part in parts] for parts in parts_of]
        flat = [reading for readings in readings_of_part for reading in readings if reading is not None]
        tags = [
            into[0]
            for readings, into in zip(readings_of_part, steps, strict=True)
            for reading in readings
            if reading is not None
        ]
        encoded = iter(self.encode(flat, tags))
        return [[[] if reading is None else next(encoded) for reading in readings] for readings in readings_of_part]

    def encode(self, texts: Sequence[str], languages: Sequence[str]) -> list[list[int]]:
        """Return the token ids of texts, each with the tag of the language it is translated into."""
        return self.tokenizer.encode_source_batch(texts, languages if self.tokenizer.languages else None)


@dataclass(frozen=True)
class _Stretch:
    """Neighbouring sentences of a line that are translated the same way."""

    text: str
    route: Route

    def left(self) -> list[Unit]:
        """Make units of sentences that are left as they are."""
        return [
            Unit(text, (), (), language=self.route.source, remarks=(_left_as_it_is(text, self.route),))
            for sentence in _whole_sentences(self.text)
            if (text := sentence.strip())
        ]


@dataclass(frozen=True)
class _Draft:
    """A line before its units are made."""

    indent: str
    stretches: Sequence[_Stretch]

    def filled(self, units: Iterator[list[Unit]]) -> Line:
        """Take the next units for each stretch that is translated."""
        return Line(
            self.indent,
            tuple(unit for one in self.stretches for unit in (next(units) if one.route.steps else one.left())),
        )


def _whole_sentences(line: str) -> list[str]:
    """Cut a line into sentences, none of them inside a fixed part; joined they are the line."""
    masked = mask_fixed_parts(line)
    return [part.whole for part in masked.cut(split_sentences(masked.text))]


def _gathered(stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """Join neighbours that are in one language."""
    return [
        _Stretch("".join(one.text for one in some), some[0].route)
        for _, group in groupby(stretches, key=lambda one: one.route.source)
        if (some := list(group))
    ]


def _left_as_it_is(sentence: str, route: Route) -> OutputWarning:
    shown = sentence if len(sentence) <= _LONGEST_SHOWN else sentence[: _LONGEST_SHOWN - 1].rstrip() + "…"
    if route.is_unknown:
        return OutputWarning("unknown_sentence", f'the sentence "{shown}" {route.found}, and was left as it is.')
    message = f'the sentence "{shown}" is in "{route.target}" already and was left as it is.'
    return OutputWarning("unchanged_sentence", message)


def _sentences(line: Masked) -> list[Masked]:
    return [part.stripped() for part in line.cut(split_sentences(line.text)) if part.text.strip()]


def _join_masked(parts: Sequence[Masked]) -> Masked:
    return Masked(join_parts([part.text for part in parts]), tuple(one for part in parts for one in part.parts))


def _first_reading(part: Masked) -> str | None:
    """Return what is read of a part first; None where nothing can be read, as no word is in it or no stand-in fits."""
    if not part.has_words:
        return None
    if not part.parts:
        return part.text
    readings = readings_of(part)
    return readings[0].text if readings else None


def join_parts(parts: Sequence[str]) -> str:
    """Join sentences to a line: with a space between them, except where the script writes none."""
    joined = ""
    for part in parts:
        joined += gap_between(joined, part) + part
    return joined


def gap_between(before: str, after: str) -> str:
    """Return what stands between two sentences of a line: a space, unless one of them is written without."""
    return "" if not before or not after or is_unspaced(before[-1]) or is_unspaced(after[0]) else " "


def without_surrogates(text: str) -> str:
    """Take away what cannot be encoded as UTF-8."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _cut_indent(line: str) -> tuple[str, str]:
    """Cut a line before its first word; one that has none is blank, or is taken as it is."""
    found = _INDENT.match(line)
    end = found.end() if found else 0
    if end == len(line):
        return "", line
    return line[:end], line[end:]
