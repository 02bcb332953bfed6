"""Inputs longer than a model reads at once: split at sentence ends, translated in parts, joined again.

Nothing is ever cut away. Knows tokens only by how many there are.
"""

from collections.abc import Sequence

from heedful.text.sentences import split_sentences
from heedful.text.tokenizer import Tokenizer

_FIRST_CJK = "\u2e80"


def split_long(
    tokenizer: Tokenizer, texts: Sequence[str], target_languages: Sequence[str] | None, max_tokens: int
) -> list[list[list[int]]]:
    """Return, for each text, the token ids of its parts: none for an empty text, one for most."""
    encoded = tokenizer.encode_source_batch(texts, target_languages)
    languages: Sequence[str | None] = [None] * len(texts) if target_languages is None else target_languages
    return [
        [] if not text else [ids] if len(ids) <= max_tokens else _split(tokenizer, text, language, max_tokens)
        for text, ids, language in zip(texts, encoded, languages, strict=True)
    ]


def join_parts(parts: Sequence[str]) -> str:
    """Join translated parts: with a space between them, except where the script writes none."""
    joined = ""
    for part in parts:
        gap = " " if joined and part and joined[-1] < _FIRST_CJK and part[0] < _FIRST_CJK else ""
        joined += gap + part
    return joined


def _split(tokenizer: Tokenizer, text: str, target_language: str | None, max_tokens: int) -> list[list[int]]:
    """Return the token ids of the parts of a text that is too long; blank parts between sentences have none."""

    def fits(part: str) -> bool:
        return len(tokenizer.encode_source(part, target_language)) <= max_tokens

    parts = [part for part in split_sentences(text, fits) if part.strip()]
    languages = None if target_language is None else [target_language] * len(parts)
    return tokenizer.encode_source_batch(parts, languages)
