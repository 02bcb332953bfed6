"""Searching for translations with terms: where they are probable, where they belong, or wherever they can be.

What is searched for is a `Piece`. Pieces with terms are searched in batches, each read once: first among the likeliest
tokens, then by putting what is missing in its place (term_placing.py), and at last among all tokens. The article before
an unlikely one is then chosen again (term_articles.py). Knows units and rules; what generates is handed in.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from heedful.decoding import Beginning, Hypothesis, KeptReading, SearchRequest, Term
from heedful.tasks.translation.aligner import Aligner
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.term_articles import ArticleChooser
from heedful.tasks.translation.term_placing import Start, TermPlacer
from heedful.tasks.translation.wishes import NO_WISHES
from heedful.text.tokenizer import Tokenizer


class Piece(NamedTuple):
    """What is searched for: the tokens that are read, those an output must begin with, and what it must contain."""

    source_ids: Sequence[int]
    prefix_ids: Sequence[int] = ()
    terms: Sequence[Term] = ()
    beginning: Beginning = Beginning()
    """What was written before; prefixes follow it."""


def piece_of(unit: Unit, tokenizer: Tokenizer) -> Piece:
    """Return what is searched for in the first step of a unit."""
    if len(unit.steps) > 1 or unit.wishes is NO_WISHES:
        return Piece(unit.read_ids)
    return Piece(unit.read_ids, unit.wishes.prefix_ids(tokenizer), unit.wishes.term_ids(tokenizer))


@dataclass(frozen=True)
class TermSearch:
    """Searches for translations of units, some of which have terms."""

    tokenizer: Tokenizer
    aligner: Aligner
    generate: Callable[[Sequence[Piece], SearchRequest], list[list[Hypothesis]]]
    batches: Callable[[Sequence[int], Sequence[Sequence[int]]], Iterable[list[int]]]
    """Says which of the pieces with these numbers, by their tokens, are searched together."""

    max_length: Callable[[Sequence[int]], int]

    def search(self, units: Sequence[Unit], rules: SearchRequest) -> list[list[Hypothesis]]:
        """Search for the translations of units by their first steps."""
        pieces = [piece_of(unit, self.tokenizer) for unit in units]
        if not self.aligner.is_able:
            return self.generate(pieces, rules)
        bound = [number for number, piece in enumerate(pieces) if piece.terms]
        free = [number for number, piece in enumerate(pieces) if not piece.terms]
        found = dict(zip(free, self.generate([pieces[it] for it in free], rules), strict=True))
        for numbers in self.batches(bound, [piece.source_ids for piece in pieces]):
            some = [units[it] for it in numbers], [pieces[it] for it in numbers]
            found |= zip(numbers, self._search_batch(*some, replace(rules, kept_reading=KeptReading())), strict=True)
        return [found[number] for number in range(len(units))]

    def _search_batch(
        self, units: Sequence[Unit], pieces: Sequence[Piece], rules: SearchRequest
    ) -> list[list[Hypothesis]]:
        """Search for translations of units with terms, which are read together, and mostly once."""

        def search(some: Sequence[Unit], starts: Sequence[Start]) -> list[Hypothesis]:
            begun = [
                Piece(unit.read_ids, ids, beginning=before) for unit, (before, ids) in zip(some, starts, strict=True)
            ]
            return [one[0] for one in self.generate(begun, rules)]

        found = self.generate(pieces, replace(rules, may_lack_terms=True))
        align = partial(self.aligner.links_of_all, reading=rules.kept_reading)
        placer = TermPlacer(self.tokenizer, search, align, self.max_length)
        placer.improve(units, found)
        lacking = [number for number, unit in enumerate(units) if placer.missing(unit, found[number][0])]
        further = self.generate([pieces[it] for it in lacking], replace(rules, are_terms_unlikely=True))
        for number, one in zip(lacking, further, strict=True):
            found[number] = one
        ArticleChooser(self.tokenizer, search).choose(units, found)
        return found
