"""Terms in the place of the words a model would write itself: it writes freely, and what a term became is exchanged.

The search for terms (decoding/constrained.py) writes a term where it is least improbable, and leaves out one that is
improbable everywhere: it would stand beside the word it should replace. Such a unit is translated freely, and the links
between words (word_alignment.py) say where the term belongs. What stands before that word stays, the term follows, and
the search goes on freely behind it; where that makes another word of the term, comes back to the model's own or loses
others, that word alone is exchanged. What cannot be had so, as nothing is linked with the term's source, is left to a
search for terms that looks further. Knows units and texts; what searches and aligns is handed in.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from heedful.decoding import Beginning, Hypothesis
from heedful.tasks.translation.aligner import Aligner
from heedful.tasks.translation.glossary import find_sources, occurrences
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.translated import TranslatedUnit, WordLink
from heedful.tasks.translation.wishes import NO_WISHES, Wishes
from heedful.text.tokenizer import Tokenizer
from heedful.text.words import UNIT, is_unspaced

Span = tuple[int, int]
Start = tuple[Beginning, Sequence[int]]
"""What was written before, and the tokens that must follow it."""

_IMPROBABLE = -9.0
"""The log-probability of a token of a term below which it is doubtful that the term stands where it belongs. Of -6, -9,
-12 and -100 the nearest to zero that costs no BLEU on 497 validation sentences with words of their references, whether
the beam is one (50.47, 50.62, 50.62, 50.62) or four (51.28, then 51.16)."""

_MOST_GROWTH = 1.3
"""So many times the words may stand beside a term that stood there before."""

_LEAST_SHARE = 0.5
"""Of the weight of the word that is linked most; words beside it with less are not exchanged with it."""


@dataclass(frozen=True)
class TermPlacer:
    """Puts terms into translations that were written without them."""

    tokenizer: Tokenizer
    search: Callable[[Sequence[Unit], Sequence[Start]], list[Hypothesis]]
    """Translates units freely, each from its start on."""

    align: Callable[[Sequence[Unit], Sequence[str]], Sequence[Sequence[WordLink]]]
    """Links the words of units with those of their translations."""

    max_length: Callable[[Sequence[int]], int]
    """How many tokens the translation of so many may have."""

    def improve(self, units: Sequence[Unit], found: list[list[Hypothesis]]) -> None:
        """Replace what was found for units where a term is doubtful by what has it where it belongs."""
        doubtful = [
            number
            for number, unit in enumerate(units)
            if _is_known(unit) and (self.is_doubtful(unit, found[number][0]) or self._is_short(unit, found[number][0]))
        ]
        drafts = self._drafts([units[number] for number in doubtful], [found[number][0] for number in doubtful])
        better = self.translate([units[number] for number in doubtful], drafts)
        for number, one in zip(doubtful, better, strict=True):
            unit, before = units[number], found[number][0]
            if one is not None and (
                self.is_doubtful(unit, before) or self._count(unit, one) > self._count(unit, before)
            ):
                found[number] = [one]

    def is_doubtful(self, unit: Unit, found: Hypothesis) -> bool:
        """Say whether what was found lacks a term, or has one only because it must."""
        likeliest = [
            max((_least_log_prob(form, found) for form in term.forms), default=0.0)
            for term in unit.wishes.term_ids(self.tokenizer)
        ]
        return min(likeliest, default=0.0) < _IMPROBABLE

    def _drafts(self, units: Sequence[Unit], found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Translate units freely; what lacks terms was found so."""
        drafts = list(found)
        bound = [number for number, unit in enumerate(units) if not self.missing(unit, found[number])]
        for number, draft in zip(
            bound, self.search([units[it] for it in bound], [(Beginning(), ())] * len(bound)), strict=True
        ):
            drafts[number] = draft
        return drafts

    def translate(self, units: Sequence[Unit], drafts: Sequence[Hypothesis]) -> list[Hypothesis | None]:
        """Put terms that have sources into free translations; None where this way does not lead to all of a unit.

        A term whose source stands there several times is put in as often, where it is known what became of it.
        """
        found = list(drafts)
        is_open = [True] * len(units)
        for _ in range(max((sum(map(len, _spans_of(unit))) for unit in units), default=0)):
            lacking = [
                number for number, it in enumerate(found) if is_open[number] and self._is_short(units[number], it)
            ]
            if not lacking:
                break
            better = self._replaced([units[number] for number in lacking], [found[number] for number in lacking])
            for number, it in zip(lacking, better, strict=True):
                found[number], is_open[number] = (it, True) if it is not None else (found[number], False)
        return [None if self.missing(unit, it) else it for unit, it in zip(units, found, strict=True)]

    def _replaced(self, units: Sequence[Unit], drafts: Sequence[Hypothesis]) -> list[Hypothesis | None]:
        """Put the leftmost of the missing terms into each draft; None where no way to do so is found."""
        links_of = self.align(units, [self._text(draft) for draft in drafts])
        changes = [self._changes(*one) for one in zip(units, drafts, links_of, strict=True)]
        found: list[Hypothesis | None] = [None] * len(units)
        for is_whole in (False, True):  # at first what follows the term is written again
            rows = [
                (number, change, start)
                for number, some in enumerate(changes)
                if found[number] is None
                for change in some
                if (start := self._start(change, drafts[number], is_whole)) and self._fits(start, units[number])
            ]
            results = self.search([units[number] for number, _, _ in rows], [start for _, _, start in rows])
            for (number, change, _), result in zip(rows, results, strict=True):
                best = found[number]
                is_better = best is None or result.score > best.score
                if is_better and result.finish_reason == "eos" and change.is_made(self._text(result)):
                    found[number] = result
        return found

    def _changes(self, unit: Unit, draft: Hypothesis, links: Sequence[WordLink]) -> list["_Change"]:
        """Return the ways to put the leftmost of the missing terms into a draft, one for each of its forms."""
        text = self._text(draft)
        places = [
            (place, number)
            for number, (spans, forms) in enumerate(zip(_spans_of(unit), unit.wishes.terms, strict=True))
            if _num_written(forms, text) < len(spans)
            for span in spans
            if (place := place_of(span, text, links)) is not None
            and not any(occurrences(form, text[slice(*place)]) for form in forms)
        ]
        if not places:
            return []
        place, number = min(places)
        return [_Change(text, place, form) for form in unit.wishes.terms[number]]

    def _start(self, change: "_Change", draft: Hypothesis, is_whole: bool) -> Start | None:
        """Return the tokens of a changed draft up to the term, or of all of it; None if they cannot be written."""
        ids = self.tokenizer.encode_target(change.before + change.form + (change.after if is_whole else ""))[:-1]
        if self.tokenizer.unk_id in ids:
            return None
        differing = (place for place, pair in enumerate(zip(ids, draft.token_ids, strict=False)) if pair[0] != pair[1])
        end = next(differing, min(len(ids), len(draft.token_ids)))
        return Beginning(ids[:end], draft.token_log_probs[:end]), ids[end:]

    def _fits(self, start: Start, unit: Unit) -> bool:
        return len(start[0].token_ids) + len(start[1]) < self.max_length(unit.read_ids)

    def missing(self, unit: Unit, found: Hypothesis) -> list[int]:
        """Return the terms, by their numbers, that a translation lacks."""
        text = self._text(found)
        terms = enumerate(unit.wishes.terms)
        return [number for number, forms in terms if not any(occurrences(form, text) for form in forms)]

    def _is_short(self, unit: Unit, found: Hypothesis) -> bool:
        """Say whether a translation has a term less often than the text has its source."""
        text = self._text(found)
        pairs = zip(unit.wishes.terms, _spans_of(unit), strict=True)
        return any(_num_written(forms, text) < len(spans) for forms, spans in pairs)

    def _count(self, unit: Unit, found: Hypothesis) -> int:
        return sum(_num_written(forms, self._text(found)) for forms in unit.wishes.terms)

    def _text(self, found: Hypothesis) -> str:
        return self.tokenizer.decode_target(found.token_ids)


def wishing(units: Sequence[Unit], wishes: Wishes) -> list[Unit]:
    """Divide what is wished among the parts of a text."""
    if wishes is NO_WISHES or not units:
        return list(units)
    return [replace(unit, wishes=own) for unit, own in zip(units, wishes.among(len(units)), strict=True)]


def wishes_after(unit: Unit, found: TranslatedUnit, aligner: Aligner) -> Wishes:
    """Return what is wished of a unit whose first step is done: its terms stand for words of the translation."""
    wishes = unit.wishes
    if not wishes.sources or not aligner.is_able:
        return wishes
    links = aligner.word_links(unit, found.source, found.text)
    spans = find_sources(wishes.sources, found.source)
    places = [place_of(some[0] if some else None, found.text, links) for some in spans]
    sources = tuple(found.text[slice(*place)] for place in places if place is not None)
    return replace(wishes, sources=sources if len(sources) == len(places) else ())


def _is_known(unit: Unit) -> bool:
    """Say whether a unit has terms, and it is known what they stand for in what the model reads."""
    wishes = unit.wishes
    is_last = len(unit.steps) == 1 and not wishes.prefix and bool(wishes.terms)
    is_whole = is_last and len(wishes.sources) == len(wishes.terms)
    return is_whole and all(_spans_of(unit))


def _spans_of(unit: Unit) -> list[list[Span]]:
    """Return where the sources of a unit's terms stand in its text."""
    return find_sources(unit.wishes.sources, unit.text)


def _num_written(forms: Sequence[str], text: str) -> int:
    """Count how often a text has a term, in whatever form."""
    return max((occurrences(form, text) for form in forms), default=0)


def _least_log_prob(form: tuple[int, ...], found: Hypothesis) -> float:
    """Return the log-probability of the least probable token of a form where it stands; -inf where it does not."""
    ids, length = found.token_ids, len(form)
    places = (start for start in range(len(ids) - length + 1) if tuple(ids[start : start + length]) == form)
    return max((min(found.token_log_probs[start : start + length]) for start in places), default=-math.inf)


@dataclass(frozen=True)
class _Change:
    """A translation, a word of it by its characters, and what shall stand there instead."""

    text: str
    place: Span
    wanted: str

    @property
    def before(self) -> str:
        return self.text[: self.place[0]]

    @property
    def own(self) -> str:
        return self.text[slice(*self.place)]

    @property
    def after(self) -> str:
        return self.text[self.place[1] :]

    @property
    def form(self) -> str:
        """What is wanted, with a capital where it begins the sentence."""
        is_first = not any(character.isalnum() for character in self.before)
        return self.wanted[:1].upper() + self.wanted[1:] if is_first and self.own[:1].isupper() else self.wanted

    def is_made(self, text: str) -> bool:
        """Say whether a new text has what is wanted, the own word once less, no fewer others, and not many more."""
        if not text.startswith(self.before + self.form) or not occurrences(self.form, text):
            return False
        rest, others = self.before + " " + text[len(self.before) + len(self.form) :], self.before + " " + self.after
        is_gone = occurrences(self.own, rest) < occurrences(self.own, self.text)  # it may be a part of the term
        return is_gone and 1 <= (_count(rest) + 1) / (_count(others) + 1) <= _MOST_GROWTH


def _count(text: str) -> int:
    return sum(1 for _ in UNIT.finditer(text))


def place_of(term: Span | None, target: str, links: Sequence[WordLink]) -> Span | None:
    """Return the characters of a translation that a term, by its characters, became; None where nothing says so.

    That is the word linked most with the term; in a script without spaces, and where the term has several words, with
    what stands beside it and is linked with the term as well.
    """
    if term is None:
        return None
    weights: dict[Span, float] = {}
    for link in links:
        if link.source[0] < term[1] and link.source[1] > term[0] and _core(link.target, target) is not None:
            weights[link.target] = max(link.weight, weights.get(link.target, 0.0))
    if not weights:
        return None
    start, end = best = max(weights, key=lambda span: (weights[span], -span[0]))
    is_long = len({link.source for link in links if link.source[0] < term[1] and link.source[1] > term[0]}) > 1
    if is_long or is_unspaced(target[start]):
        near = sorted(span for span, weight in weights.items() if weight >= _LEAST_SHARE * weights[best])
        for span in reversed(near):
            if span[1] <= start and not target[span[1] : start].strip():
                start = span[0]
        for span in near:
            if span[0] >= end and not target[end : span[0]].strip():
                end = span[1]
    return _core((start, end), target) or best


def _core(span: Span, text: str) -> Span | None:
    """Take punctuation away from both ends of a word; None if nothing else is in it."""
    start, end = span
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    return (start, end) if start < end else None
