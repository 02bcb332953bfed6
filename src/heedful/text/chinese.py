"""Traditional Chinese characters into simplified ones: exactly, with OpenCC, and character by character, without it.

Training text goes through OpenCC (`simplify`), which knows the words in which a character is another one. What users
type goes through a table of single characters (`CharacterTable`) that a tokenizer carries, so that translating needs no
OpenCC. Two characters that OpenCC leaves are Taiwan's spelling, not the mainland's: 著 for the particle 着, and 妳 for
你. Nothing here changes the number of characters of a text by the table. This file knows nothing of tokens.
"""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol, cast

from heedful.errors import UserError
from heedful.text.words import HAN

_IDEOGRAPHS = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0x20000, 0x32400))
"""Where Unicode keeps its unified ideographs, extensions included."""

_ANY_IDEOGRAPH = re.compile(f"[{HAN}]")

PARTICLE = re.compile("(?<![名显卓昭原专巨土编论遗译])著(?![名作者称述书录])")
"""著 where it is no word about writing or fame, such as 著名 or 显著: there it stays in simplified text as well."""


class _Converter(Protocol):
    def convert(self, text: str) -> str: ...


@dataclass(frozen=True)
class CharacterTable:
    """Characters, and the one that each becomes; whatever comes out stays as it is when it comes in again."""

    traditional: str
    simplified: str

    def __post_init__(self) -> None:
        if len(self.traditional) != len(self.simplified):
            raise UserError(
                "A character table must have as many simplified characters as traditional ones, "
                f"but has {len(self.simplified):,} and {len(self.traditional):,}."
            )

    @cached_property
    def _mapping(self) -> dict[int, str]:
        return {ord(before): after for before, after in zip(self.traditional, self.simplified, strict=True)}

    def replace(self, text: str) -> str:
        """Write a text in simplified characters, each in the place of the one it was."""
        if _ANY_IDEOGRAPH.search(text) is None:
            return text
        return _mainland_spelling(text.translate(self._mapping))


def simplify(text: str) -> str:
    """Write a text in simplified characters; text without ideographs is returned as it is. Needs OpenCC."""
    if _ANY_IDEOGRAPH.search(text) is None:
        return text
    return _mainland_spelling(_converter().convert(text))


def learn_character_table() -> CharacterTable:
    """Ask OpenCC for every ideograph there is."""
    ideographs = [chr(code) for first, end in _IDEOGRAPHS for code in range(first, end)]
    known = dict(zip(ideographs, _converter().convert("\n".join(ideographs)).split("\n"), strict=True))
    changed = {}
    for ideograph, after in known.items():
        settled = known.get(after, after)  # a few become what is a traditional character itself
        if settled != ideograph and len(settled) == 1:
            changed[ideograph] = settled
    return CharacterTable("".join(changed), "".join(changed.values()))


def _mainland_spelling(text: str) -> str:
    return PARTICLE.sub("着", text.replace("妳", "你"))


@cache
def _converter() -> _Converter:
    try:
        from opencc import OpenCC
    except ImportError:
        raise UserError(
            "Simplifying Chinese characters needs the package opencc, but it is not installed. "
            "Install it with: pip install 'heedful[chinese]'"
        ) from None
    return cast(_Converter, OpenCC("t2s"))
