"""What happens to text before it is cut into pieces, and how to find the way back to the original characters.

A `Normalization` is a pure function on strings: Unicode's NFKC, the same without case, its NFC with full-width letters
and digits folded, nothing, the character map that SentencePiece models carry, and any of ours followed by simplified
Chinese characters. This file knows nothing of pieces or vocabularies.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from tokenizers import normalizers

from heedful.errors import UserError
from heedful.text.chinese import CharacterTable

_NO_CHARACTER = re.compile("[\ud800-\udfff\U0010fffe\U0010ffff]")

_FULL_WIDTH = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_FULL_WIDTH_SHIFT = 0xFEE0


def full_width_letters() -> dict[str, str]:
    """Return full-width Latin letters and digits, with the ordinary ones they are."""
    ranges = ((0xFF10, 0xFF1A), (0xFF21, 0xFF3B), (0xFF41, 0xFF5B))
    return {chr(code): chr(code - _FULL_WIDTH_SHIFT) for first, end in ranges for code in range(first, end)}


class Normalization(Protocol):
    """A way to make equal what should be read as equal."""

    @property
    def collapses_spaces(self) -> bool:
        """Whether runs of white space become one space, and none stays at the ends."""

    def replace(self, text: str) -> str:
        """Map characters, white space apart."""

    def to_dict(self) -> dict[str, str]:
        """Describe this normalisation for the tokenizer file."""


@dataclass(frozen=True)
class Nfkc:
    """Unicode's compatibility composition (UAX 15). Stable over Unicode versions for every assigned character."""

    collapses_spaces: ClassVar[bool] = True

    def replace(self, text: str) -> str:
        """Return the NFKC form."""
        return unicodedata.normalize("NFKC", text)

    def to_dict(self) -> dict[str, str]:
        """Describe this normalisation for the tokenizer file."""
        return {"kind": "nfkc"}


@dataclass(frozen=True)
class NfkcCasefold:
    """NFKC without the difference between capital and small letters: for labels, which rarely depend on it."""

    collapses_spaces: ClassVar[bool] = True

    def replace(self, text: str) -> str:
        """Return the NFKC form, its case folded as Unicode says (ß becomes ss)."""
        # Folding can undo a composition (ΐ becomes three characters), so it is composed once more.
        return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())

    def to_dict(self) -> dict[str, str]:
        """Describe this normalisation for the tokenizer file."""
        return {"kind": "nfkc_casefold"}


@dataclass(frozen=True)
class Nfc:
    """Unicode's canonical composition, and full-width Latin letters and digits as ordinary ones.

    Nothing else is folded. Chinese punctuation above all stays as it is: NFKC turns ，？！ into their ASCII likeness.
    """

    collapses_spaces: ClassVar[bool] = True

    def replace(self, text: str) -> str:
        """Return the NFC form, letters and digits in their ordinary width."""
        if text.isascii():
            return text
        # Folded first: an ordinary letter composes with the accent that follows it, a full-width one does not.
        folded = _FULL_WIDTH.sub(lambda found: chr(ord(found.group()) - _FULL_WIDTH_SHIFT), text)
        return unicodedata.normalize("NFC", folded)

    def to_dict(self) -> dict[str, str]:
        """Describe this normalisation for the tokenizer file."""
        return {"kind": "nfc"}


@dataclass(frozen=True)
class Untouched:
    """Every character counts, white space too."""

    collapses_spaces: ClassVar[bool] = False

    def replace(self, text: str) -> str:
        """Return the text as it is."""
        return text

    def to_dict(self) -> dict[str, str]:
        """Describe this normalisation for the tokenizer file."""
        return {"kind": "none"}


@dataclass(frozen=True)
class CharacterMap:
    """The compiled map of a SentencePiece model (its field `precompiled_charsmap`), for imported models."""

    charsmap: bytes
    collapses_spaces: ClassVar[bool] = True

    @cached_property
    def _normalizer(self) -> normalizers.Normalizer:
        return normalizers.Precompiled(self.charsmap)

    def replace(self, text: str) -> str:
        """Apply the map."""
        mapped: str = self._normalizer.normalize_str(text)
        return mapped

    def to_dict(self) -> dict[str, str]:
        """Describe this normalisation for the tokenizer file."""
        return {"kind": "charsmap", "charsmap": base64.b64encode(self.charsmap).decode("ascii")}


@dataclass(frozen=True)
class Simplified:
    """Another normalisation, and after it simplified Chinese characters in the places of traditional ones."""

    before: "Named"
    table: CharacterTable

    @property
    def collapses_spaces(self) -> bool:
        """What the normalisation before it says."""
        return self.before.collapses_spaces

    def replace(self, text: str) -> str:
        """Normalise, then simplify."""
        return self.table.replace(self.before.replace(text))

    def to_dict(self) -> dict[str, str]:
        """Describe this normalisation for the tokenizer file."""
        table = {"traditional": self.table.traditional, "simplified": self.table.simplified}
        return {"kind": "simplified", "before": self.before.to_dict()["kind"], **table}


Named = Nfkc | NfkcCasefold | Nfc | Untouched
"""What a config can ask for."""


def named_normalization(name: Literal["nfkc", "nfkc_casefold", "nfc", "none"]) -> Named:
    """Return the normalisation that a config asks for by name."""
    match name:
        case "nfkc":
            return Nfkc()
        case "nfkc_casefold":
            return NfkcCasefold()
        case "nfc":
            return Nfc()
        case "none":
            return Untouched()


def normalization_from_dict(description: dict[str, str]) -> Normalization:
    """Make the normalisation that `to_dict` described."""
    match description:
        case {"kind": "nfkc" | "nfkc_casefold" | "nfc" | "none" as name, **others} if not others:
            return named_normalization(name)
        case {"kind": "charsmap", "charsmap": str(encoded)}:
            try:
                return CharacterMap(base64.b64decode(encoded, validate=True))
            except binascii.Error as error:
                raise UserError("The character map of the tokenizer must be base64, but is not.") from error
        case {
            "kind": "simplified",
            "before": "nfkc" | "nfkc_casefold" | "nfc" | "none" as name,
            "traditional": str(traditional),
            "simplified": str(simplified),
        }:
            return Simplified(named_normalization(name), CharacterTable(traditional, simplified))
    kinds = '"nfkc", "nfkc_casefold", "nfc", "none", "charsmap" or "simplified"'
    raise UserError(f"The normalisation must be {kinds}, but is {description!r}.")


def normalize(text: str, normalization: Normalization) -> str:
    """Return the text as the tokenizer sees it."""
    text = normalization.replace(_characters_only(text))
    return " ".join(text.split()) if normalization.collapses_spaces else text


@dataclass(frozen=True)
class Aligned:
    """A normalised text in which each character knows the original characters it came from."""

    text: str
    spans: list[tuple[int, int]]
    """For each character of `text`, start and end in the original."""


def normalize_aligned(text: str, normalization: Normalization) -> Aligned:
    """Do what `normalize` does, and remember where each character came from."""
    if isinstance(normalization, Simplified):  # which looks at neighbours, but leaves every character in its place
        aligned = normalize_aligned(text, normalization.before)
        return Aligned(normalization.table.replace(aligned.text), aligned.spans)
    text = _characters_only(text)
    characters: list[str] = []
    spans: list[tuple[int, int]] = []
    for start, end in _independent_parts(text):
        mapped = normalization.replace(text[start:end])
        characters.extend(mapped)
        spans.extend([(start, end)] * len(mapped))
    whole = normalization.replace(text)
    if "".join(characters) != whole:  # parts that were not independent after all: be vague rather than wrong
        characters, spans = list(whole), [(0, len(text))] * len(whole)
    if normalization.collapses_spaces:
        characters, spans = _collapse(characters, spans)
    return Aligned("".join(characters), spans)


def _characters_only(text: str) -> str:
    """Replace by U+FFFD what is no character: halves of surrogate pairs, and the two last code points.

    The former have no UTF-8; the latter, noncharacters that no text should hold, are what subwords.py marks with.
    """
    return text if text.isascii() else _NO_CHARACTER.sub("\ufffd", text)


def _independent_parts(text: str) -> Iterator[tuple[int, int]]:
    """Cut where no normalisation reaches across: before each character that does not attach itself to the last one."""
    start = 0
    for position in range(1, len(text)):
        if not _attaches(text[position]):
            yield start, position
            start = position
    if text:
        yield start, len(text)


def _attaches(character: str) -> bool:
    if character.isascii():
        return False
    is_jamo = "\u1160" <= character <= "\u11ff"  # vowels and finals that compose into a Hangul syllable
    is_kana_voice = character in "\uff9e\uff9f"  # half-width voicing marks, combining once they are normalised
    return is_jamo or is_kana_voice or character == "\u200d" or unicodedata.category(character).startswith("M")


def _collapse(characters: list[str], spans: list[tuple[int, int]]) -> tuple[list[str], list[tuple[int, int]]]:
    kept_characters: list[str] = []
    kept_spans: list[tuple[int, int]] = []
    pending: tuple[int, int] | None = None
    for character, span in zip(characters, spans, strict=True):
        if character.isspace():
            pending = (pending[0] if pending else span[0], span[1])
            continue
        if pending and kept_characters:
            kept_characters.append(" ")
            kept_spans.append(pending)
        pending = None
        kept_characters.append(character)
        kept_spans.append(span)
    return kept_characters, kept_spans
