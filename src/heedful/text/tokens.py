"""Tokens as they are shown: a spelling, an id, and the characters of the text they stand for.

Words are put together from tokens here as well. Knows tokenizers and text; knows no model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heedful.text.tokenizer import Tokenizer
from heedful.text.words import begins_word


@dataclass(frozen=True)
class Token:
    """One token of a text."""

    text: str
    """Its piece of the vocabulary; a space mark opens a word."""

    id: int
    start: int
    end: int
    """The characters `start` to `end` of the text; none for a symbol that is no text."""

    is_special: bool = False
    """Whether it is a symbol: a language tag, the start, the end."""


@dataclass(frozen=True)
class Word:
    """Neighbouring tokens that are one word."""

    text: str
    first: int
    end: int
    """It is made of tokens `first` to `end` (without `end`)."""


def source_tokens(tokenizer: Tokenizer, text: str, target_language: str | None) -> list[Token]:
    """Return what the encoder reads: the language tag, where the model has languages, the text, the end symbol."""
    traced = tokenizer.trace_source(text)
    tokens = [
        Token(piece, id_, start, end)
        for piece, id_, (start, end) in zip(traced.pieces, traced.ids, traced.offsets, strict=True)
    ]
    if target_language is not None:
        tag = tokenizer.language_ids[target_language]
        tokens.insert(0, Token(tokenizer.source_piece(tag), tag, 0, 0, is_special=True))
    end_piece = tokenizer.source_piece(tokenizer.eos_id)
    return [*tokens, Token(end_piece, tokenizer.eos_id, len(text), len(text), is_special=True)]


def target_tokens(tokenizer: Tokenizer, token_ids: Sequence[int]) -> list[Token]:
    """Say where each token of an output, end symbol included, stands in the text they make together.

    A model may cut its words otherwise than the tokenizer would, so the text is not cut again but grown token by token.
    """
    text = tokenizer.decode_target(token_ids)
    ends = [_common_length(tokenizer.decode_target(token_ids[: count + 1]), text) for count in range(len(token_ids))]
    starts = [0, *ends[:-1]]
    for number in range(len(token_ids) - 2, -1, -1):
        if starts[number] == ends[number] and token_ids[number] in tokenizer.target.byte_ids:
            ends[number] = ends[number + 1]  # the first bytes of a character stand for it as the last does
    return [
        Token(tokenizer.target_piece(id_), id_, start, max(start, end), id_ in tokenizer.target.reserved_ids)
        for id_, start, end in zip(token_ids, starts, ends, strict=True)
    ]


def merge_words(tokens: Sequence[Token], text: str) -> list[Word]:
    """Put the tokens of a text together into words; symbols belong to none.

    Where a word begins is said by text/words.py.
    """
    return [
        Word(text[tokens[first].start : tokens[end - 1].end].strip() or tokens[first].text, first, end)
        for first, end in _word_bounds(tokens)
    ]


def _word_bounds(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    first: int | None = None
    for number, token in enumerate(tokens):
        if first is not None and (token.is_special or _begins_word(tokens[number - 1], token)):
            yield first, number
            first = None
        if first is None and not token.is_special:
            first = number
    if first is not None:
        yield first, len(tokens)


def _begins_word(before: Token, token: Token) -> bool:
    is_same_place = (token.start, token.end) == (before.start, before.end)  # several tokens for one character
    return not is_same_place and begins_word(before.text, token.text)


def _common_length(first: str, second: str) -> int:
    pairs = zip(first, second, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
