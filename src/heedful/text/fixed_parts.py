"""Parts of a text that no translation may change: addresses, placeholders, code, numbers with their units, emoji, tags.

Each is found by its form alone, in any language. In a `Masked` text one private character stands for each, so that
whoever cuts sentences or words does not cut through them. What a model reads in their place is the business of
tasks/translation. Every pattern is linear in the text. Knows no tokens and no model.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from heedful.text.words import UNSPACED

MASK = "\ue000"
"""Stands for one fixed part; of the private use area, where no text has meaning."""

_END = r"(?<![.,;:!?'\"*_)\]}])"  # what ends a sentence does not end an address
_URL = rf"(?:(?:https?|ftp|file)://|www\.)[^\s<>\"“”«»{UNSPACED}]{{1,2000}}{_END}"
_EMAIL = r"[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9-]{1,63})+"
_TAG = r"</?[A-Za-z][A-Za-z0-9:-]{0,30}(?:\s[^<>\n]{0,300})?/?>|<!--[^\n]{0,300}?-->"
_ENTITY = r"&(?:[A-Za-z]{2,10}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});"
_CODE = r"`[^`\n]{1,200}`"
_PLACEHOLDER = (
    r"\{\{[^{}\n]{1,80}\}\}|\$\{[^{}\n]{1,80}\}|\{[\w.:!,#\[\]-]{0,60}\}"
    r"|%\([\w. -]{1,60}\)[-+#0]{0,3}\d{0,3}(?:\.\d{1,3})?[a-zA-Z]"
    r"|(?<![\d%])%(?:\d{1,2}\$)?[-+#0]{0,3}\d{0,3}(?:\.\d{1,3})?(?:l{1,2}|h{1,2}|z)?[sdiufgeExXcrp@](?![A-Za-z])|%%"
    r"|%[A-Z][A-Z0-9_]{1,30}%|\$[A-Za-z_]\w{0,40}|\$\d{1,2}(?![\d.,])"
)
_NAME = (  # of files, variables, functions, versions, people of the net
    r"(?<![\w/])(?:[A-Za-z]:\\|~?/)[\w.\\/+-]{1,200}(?<![.,])"
    r"|\b[\w-]{1,80}\.(?:py|js|ts|c|h|cpp|rs|go|java|sh|md|txt|html?|css|json|xml|ya?ml|toml|ini|cfg|csv|tsv|pdf|docx?"
    r"|xlsx?|pptx?|odt|zip|gz|tar|exe|dll|so|jpe?g|png|gif|svg|mp[34]|wav|log|po|srt)\b"
    r"|\b[A-Za-z]\w{0,60}_\w{1,60}\b|\b[A-Za-z_]\w{0,60}\(\)|\bv\d{1,4}(?:\.\d{1,6}){0,4}\b"
    r"|(?<!\w)[#@][A-Za-z]\w{1,60}(?<!_)"
)
_UNIT = (
    r"(?:km/h|m/s|mph|kWh|[kMGT]i?B(?:/s)?|[kMGT]bit(?:/s)?|[kMG]?Hz|[kM]?Pa|dpi|px|rpm|[kcm]?m[²³]?|[kmµ]?g|[cdm]?l|mL"
    r"|[mk]?W|[mk]?V|mA|mAh|°\s?[CF]|°|%|‰|[€$£¥])(?![A-Za-z0-9])"
)
_NUMBER = (
    rf"(?:[€$£¥]\s?)?(?<![\w.,])[+−-]?\d{{1,30}}(?:[.,:/'’\u00a0\u202f-]\d{{1,30}}){{0,12}}(?:[ \u00a0\u202f]?{_UNIT})?"
    r"(?![A-Za-z0-9_])"
)
_EMOJI_SIGN = "[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
_TONE = "[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*"
_EMOJI = rf"(?:{_EMOJI_SIGN}|[#*0-9]\ufe0f\u20e3){_TONE}(?:\u200d{_EMOJI_SIGN}{_TONE})*"
_LOOSE = re.compile(rf"(?:{_EMOJI}|{_TAG}|{_ENTITY})")

_FIXED = re.compile(
    "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in (
            ("code", _CODE), ("tag", _TAG), ("url", _URL), ("email", _EMAIL), ("placeholder", _PLACEHOLDER),
            ("entity", _ENTITY), ("emoji", _EMOJI), ("name", _NAME), ("number", _NUMBER),
        )
    ),
    re.ASCII,  # a Chinese character is no letter of the address beside it
)  # fmt: skip
_OF_WORDS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "So"))  # letters, their marks, and odd signs
_TAG_PATTERN = re.compile(_TAG)
_HINT = re.compile(rf"[0-9@/\\\\<&`{{%$#_\u20e3]|\.[A-Za-z]|\(\)|{_EMOJI_SIGN}")
"""One of these is in every fixed part. Most sentences have none, and need not be looked at more closely."""

_PLAIN_NUMBER = re.compile(r"\d{1,4}")


@dataclass(frozen=True)
class Masked:
    """A text with one `MASK` for each of its fixed parts, in order."""

    text: str
    parts: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """The text as it was."""
        return self.filled(self.parts)

    def filled(self, parts: Sequence[str]) -> str:
        """Return the text with something in the place of each fixed part."""
        rest = iter(parts)
        return MASK_PATTERN.sub(lambda _: next(rest), self.text) if self.parts else self.text

    def cut(self, pieces: Sequence[str]) -> list["Masked"]:
        """Give each of the pieces, which joined are the text, its own fixed parts."""
        if not self.parts:  # and a private character that somebody else has put there is none of ours
            return [self] if len(pieces) == 1 else [Masked(piece) for piece in pieces]
        rest = iter(self.parts)
        return [Masked(piece, tuple(next(rest) for _ in range(piece.count(MASK)))) for piece in pieces]

    def place_in_whole(self, place: int) -> int:
        """Return where a place of `text` is in `whole`."""
        masks = self.text.count(MASK, 0, place)
        return place + sum(len(part) - 1 for part in self.parts[:masks])

    def stripped(self) -> "Masked":
        """Return it without white space around."""
        text = self.text.strip()
        return self if text == self.text else Masked(text, self.parts)

    @property
    def has_words(self) -> bool:
        """Say whether anything is left to be translated."""
        if self.text[:1].isalpha():
            return True
        return any(unicodedata.category(character) in _OF_WORDS for character in self.text)


MASK_PATTERN = re.compile(MASK)


def mask_fixed_parts(text: str, *, plain_numbers: bool = False) -> Masked:
    """Find what must not change. Numbers of up to four digits without a unit only where `plain_numbers`."""
    if MASK in text or not _HINT.search(text):
        return Masked(text)  # somebody else's private character, or, mostly, nothing fixed at all
    parts: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        if match.lastgroup == "number" and not plain_numbers and _PLAIN_NUMBER.fullmatch(match[0]):
            return match[0]
        parts.append(match[0])
        return MASK

    return Masked(_FIXED.sub(put_aside, text), tuple(parts))


def is_loose(part: str) -> bool:
    """Say whether a fixed part is none of the words of its sentence: an emoji, a tag, an entity."""
    return _LOOSE.fullmatch(part) is not None


def is_tag(part: str) -> bool:
    """Say whether a fixed part is markup."""
    return _TAG_PATTERN.fullmatch(part) is not None
