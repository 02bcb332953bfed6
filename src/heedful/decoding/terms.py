"""Terms an output must contain, and how far an unfinished output has come with them. Token ids only.

An output may be in the middle of several forms at once ("New York" and "New Jersey" after "New"), so its progress is
the set of all forms that what was written last may be the beginning of. A form counts as written when it is whole and
what follows does not go on with its last word.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """Something an output must contain, in any one of several forms."""

    forms: tuple[tuple[int, ...], ...]
    """Token ids of each form; at least one form, and none is empty."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an output has come. Bit t of a set stands for term t."""

    met: int = 0
    """The terms that are written."""

    newest: int = 0
    """Those of them that ended with the last token: what follows may still make another word of them."""

    begun: tuple[tuple[int, int, int], ...] = ()
    """(term, form, tokens written of it) for all that the last tokens may be the beginning of."""


NOTHING_YET = Progress()


class Demands:
    """The terms of one sentence."""

    def __init__(self, terms: Sequence[Term], continuation_ids: Collection[int]) -> None:
        self._terms = terms
        self._continuation_ids = continuation_ids
        self._weights = [max(map(len, term.forms)) for term in terms]
        self.starts: dict[int, list[tuple[int, int]]] = {}
        for number, term in enumerate(terms):
            for form, ids in enumerate(term.forms):
                self.starts.setdefault(ids[0], []).append((number, form))
        self.total = sum(self._weights)
        self._all = (1 << len(terms)) - 1
        self._firsts = frozenset(self.starts)

    def is_met(self, progress: Progress) -> bool:
        """Say whether all terms are written."""
        return progress.met == self._all

    def missing(self, progress: Progress) -> list[Term]:
        """Return the terms that are not written."""
        return [term for number, term in enumerate(self._terms) if not progress.met >> number & 1]

    def covered(self, progress: Progress) -> int:
        """Return how much is done, from 0 to `total`: a term counts as its longest form, one that is begun for less."""
        if not progress.met and not progress.begun:
            return 0
        done = sum(weight for number, weight in enumerate(self._weights) if progress.met >> number & 1)
        if not progress.begun:
            return done
        left = [min(written, self._weights[number] - 1) for number, _, written in progress.begun]
        return done + max(left, default=0)

    def wanted(self, progress: Progress) -> Collection[int]:
        """Return the tokens that would begin a term, or go on with one."""
        if progress.met == self._all:
            return ()
        if not progress.met and not progress.begun:
            return self._firsts
        firsts = {
            token for token, starts in self.starts.items() if any(not progress.met >> term & 1 for term, _ in starts)
        }
        return firsts | {self._terms[term].forms[form][written] for term, form, written in progress.begun}

    def advance(self, progress: Progress, token: int) -> Progress:
        """Return the progress after one more token."""
        if not progress.begun and not progress.newest and token not in self.starts:
            return progress
        met, newest = progress.met, 0
        if progress.newest and token in self._continuation_ids:
            met &= ~progress.newest
        begun = []
        starts = ((term, form, 0) for term, form in self.starts.get(token, ()))
        for term, form, written in (*progress.begun, *starts):
            ids = self._terms[term].forms[form]
            if met >> term & 1 or ids[written] != token:
                continue
            if written + 1 == len(ids):
                newest |= 1 << term
            else:
                begun.append((term, form, written + 1))
        met |= newest
        return Progress(met, newest, tuple(it for it in begun if not met >> it[0] & 1))
