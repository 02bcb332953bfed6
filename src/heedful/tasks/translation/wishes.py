"""What a translation must contain: a beginning, and terms. It belongs to a unit of a text and is settled in its plan.

Here the texts become tokens. A term may begin a sentence, so its first letter may be a capital as well; in a script
without spaces it may stand in the middle of a row of characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from heedful.decoding.terms import Term
from heedful.errors import UserError
from heedful.text.tokenizer import Tokenizer
from heedful.text.words import SPACE_MARK, is_unspaced


@dataclass(frozen=True)
class Wishes:
    """What the translation of a unit into its last language must contain."""

    prefix: str = ""
    """What it begins with."""

    terms: tuple[tuple[str, ...], ...] = ()
    """Of each term one of these forms."""

    sources: tuple[str, ...] = ()
    """What each term stands for in the text; none where that is not known."""

    def prefix_ids(self, tokenizer: Tokenizer) -> list[int]:
        """Return the beginning as tokens."""
        return tokenizer.encode_target(self.prefix)[:-1] if self.prefix else []

    def term_ids(self, tokenizer: Tokenizer) -> list[Term]:
        """Return the terms as tokens."""
        found = [Term(tuple(ids for form in forms for ids in _ids_of(form, tokenizer))) for forms in self.terms]
        return [term for term in found if term.forms]

    def missing_in(self, text: str) -> list[str]:
        """Return the first form of each term that a text does not have."""
        lower = text.lower()
        return [forms[0] for forms in self.terms if not any(form.lower() in lower for form in forms)]

    def among(self, count: int) -> list["Wishes"]:
        """Divide it among so many parts of a text: the beginning belongs to the first, and terms follow in order."""
        ends = [-(-len(self.terms) * number // count) for number in range(count + 1)]
        spans = [slice(start, end) for start, end in pairwise(ends)]
        return [
            Wishes("" if number else self.prefix, self.terms[span], self.sources[span])
            for number, span in enumerate(spans)
        ]

    def reading(self, stand_ins: Sequence[str], parts: Sequence[str]) -> "Wishes":
        """Return what it is where the model reads stand-ins for fixed parts, which terms may have as well."""
        terms = self.terms
        for stand_in, part in zip(stand_ins, parts, strict=True):
            terms = tuple(tuple(form.replace(part, stand_in) for form in forms) for forms in terms)
        return Wishes(self.prefix, terms, self.sources)


NO_WISHES = Wishes()


@lru_cache(maxsize=4096)
def _ids_of(form: str, tokenizer: Tokenizer) -> tuple[tuple[int, ...], ...]:
    """Return the ways to write a form, as token ids."""
    spellings = dict.fromkeys((form, form[:1].upper() + form[1:]))
    ways = [tuple(tokenizer.encode_target(spelling)[:-1]) for spelling in spellings]
    if is_unspaced(form[0]):
        within, alone = tokenizer.encode_target("，" + form)[:-1], tokenizer.encode_target("，")[:-1]
        if within[: len(alone)] == alone:
            ways.append(tuple(within[len(alone) :]))
    return tuple(ids for ids in dict.fromkeys(ways) if ids and tokenizer.unk_id not in ids)


@lru_cache(maxsize=8)
def continuation_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the tokens that go on with a word instead of beginning one."""
    return frozenset(
        id_
        for id_, piece in enumerate(tokenizer.target.vocabulary)
        if not piece.startswith(SPACE_MARK) and piece[:1].isalnum() and not is_unspaced(piece[0])
    )


def check_prefix(prefix: str, tokenizer: Tokenizer, max_tokens: int) -> None:
    """Refuse a beginning that leaves no room for what follows."""
    num_tokens = len(Wishes(prefix).prefix_ids(tokenizer))
    if num_tokens > max_tokens // 2:
        raise UserError(f"A prefix must have at most {max_tokens // 2:,} tokens, but has {num_tokens:,}. Shorten it.")
