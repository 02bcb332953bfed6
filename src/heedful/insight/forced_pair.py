"""A sentence and a translation of it, as tokens: all that is needed to look again at a translation that was found.

The model is made to write the translation (teacher forcing), so nothing is searched for, and nothing has to be known of
how it was found. Knows tokenizers and tokens; knows no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.errors import UserError
from heedful.tasks.translation.translator import Translator
from heedful.text.tokenizer import Tokenizer
from heedful.text.tokens import Token, source_tokens, target_tokens

NO_NUMBERS = "The model gives no usable probabilities for this text (NaN), so there is nothing to see."
MAX_TOKENS = 128
"""The longest text that is looked into: beyond it nobody can read the picture, and it grows with the square."""


@dataclass(frozen=True, kw_only=True)
class ForcedPair:
    """What the model reads and what it is made to write."""

    source: str
    """The text that was read: what was given or, on the way through a third language, what that way made of it."""

    source_tokens: tuple[Token, ...]
    """What the encoder read: the language tag, where the model has languages, the text, the end symbol."""

    target_tokens: tuple[Token, ...]
    """What was written, the end symbol included; row i of decoder and cross-attention is the writing of token i."""

    input_tokens: tuple[Token, ...]
    """What the decoder read to write them: the start symbol, then all but the last."""

    num_forced: int = 0
    """How many of the first tokens were given and not searched for; the tree has one node for each of them."""

    @property
    def source_ids(self) -> list[int]:
        """The ids of `source_tokens`."""
        return [token.id for token in self.source_tokens]

    @property
    def input_ids(self) -> list[int]:
        """The ids of `input_tokens`."""
        return [token.id for token in self.input_tokens]

    @property
    def output_ids(self) -> list[int]:
        """The ids of `target_tokens`."""
        return [token.id for token in self.target_tokens]


def forced_pair(
    translator: Translator, text: str, target_language: str | None, output_ids: Sequence[int], *, num_forced: int = 0
) -> ForcedPair:
    """Put together what a trace was of: its `source`, its target language and the ids of its `target_tokens`."""
    tokenizer = translator.tokenizer
    check_ids("targetIds", output_ids, translator)
    written = written_tokens(tokenizer, output_ids)
    return ForcedPair(
        source=text,
        source_tokens=read_tokens(translator, text, target_language),
        target_tokens=written[1:],
        input_tokens=written[:-1],
        num_forced=num_forced,
    )


def read_tokens(translator: Translator, text: str, target_language: str | None) -> tuple[Token, ...]:
    """Return what the encoder reads for a sentence; refuse one that is too long, or a language the model has not."""
    tokenizer = translator.tokenizer
    tag = target_language if tokenizer.languages else None
    if tokenizer.languages and tag not in tokenizer.languages:
        raise UserError(f"`target` must be one of {', '.join(tokenizer.languages)}.")
    if not text.strip():
        raise UserError("The text to look into must not be empty, but is.")
    tokens = source_tokens(tokenizer, text, tag)
    check_length("The sentence", len(tokens), min(MAX_TOKENS, translator.max_source_tokens()))
    return tuple(tokens)


def written_tokens(tokenizer: Tokenizer, output_ids: Sequence[int]) -> tuple[Token, ...]:
    """Return the start symbol and what is written after it."""
    start = Token(tokenizer.target_piece(tokenizer.bos_id), tokenizer.bos_id, 0, 0, is_special=True)
    return start, *target_tokens(tokenizer, output_ids)


def check_ids(name: str, token_ids: Sequence[int], translator: Translator) -> None:
    """Refuse ids that no token of the target has."""
    size = translator.tokenizer.target_vocab_size
    if odd := [id_ for id_ in token_ids if not 0 <= id_ < size]:
        raise UserError(f"`{name}` must have ids between 0 and {size - 1}, but has {odd[0]}.")


def check_length(what: str, num_tokens: int, limit: int = MAX_TOKENS) -> None:
    """Refuse what is too long to be looked into."""
    if num_tokens > limit:
        raise UserError(
            f"{what} must have at most {limit} tokens to be looked into, but has {num_tokens}. Take a shorter one."
        )
