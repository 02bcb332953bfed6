"""Which characters of a text a translation's tokens stand for, read from where the target looks at the source.

One forced pass of the model over the pair; of the last layer that looks from target to source, the mean of its heads
says which source token a written token looks at most. A reading, not a truth. Symbols take part in the softmax and are
left out. Knows tokenizers and models; knows no search.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from heedful.decoding import KeptReading
from heedful.engines.int8.engine import Int8Transformer
from heedful.models.attention_weights import forced_pass
from heedful.models.interfaces import EncoderDecoder
from heedful.tasks.translation.padding import padded
from heedful.text.tokenizer import Tokenizer
from heedful.text.tokens import Token, source_tokens, target_tokens

MAX_TOKENS = 512
"""On a side; what is longer is not aligned."""


@dataclass(frozen=True)
class Link:
    """A written token and the token of the source it looks at most, each by its characters."""

    target_start: int
    target_end: int
    source_start: int
    source_end: int


def links_between(
    model: EncoderDecoder, tokenizer: Tokenizer, source: str, target: str, language: str | None
) -> list[Link]:
    """Align a text with its translation into a language; none where the model does not look at the source."""
    found = attention_between(model, tokenizer, source, target, language)
    if found is None:
        return []
    is_text = found.is_text_read
    if not is_text.any():
        return []
    best = found.weights.masked_fill(~is_text, -1.0).argmax(dim=-1).tolist()
    return [
        Link(token.start, token.end, found.read[place].start, found.read[place].end)
        for token, place in zip(found.written, best, strict=True)
        if not token.is_special and token.end > token.start
    ]


@dataclass(frozen=True)
class Looks:
    """The tokens of a text and of its translation, and how much each written one looks at each that was read."""

    read: list[Token]
    written: list[Token]
    weights: Tensor
    """[target_len, source_len]"""

    @property
    def is_text_read(self) -> Tensor:
        """Say for each token that was read whether it is text, [source_len]."""
        return torch.tensor(
            [not token.is_special and token.end > token.start for token in self.read], device=self.weights.device
        )


def attention_between(
    model: EncoderDecoder, tokenizer: Tokenizer, source: str, target: str, language: str | None
) -> Looks | None:
    """Let a model look from a translation at its text; None where it does not look, or they are too long."""
    read = _spans(source_tokens(tokenizer, source, language if tokenizer.languages else None), source)
    output_ids = tokenizer.encode_target(target)
    if max(len(read), len(output_ids)) > MAX_TOKENS:
        return None
    written = _spans(target_tokens(tokenizer, output_ids), target)
    device = next(model.parameters()).device
    _, weights = forced_pass(
        model,
        torch.tensor([[token.id for token in read]], device=device),
        None,
        torch.tensor([[tokenizer.bos_id, *output_ids[:-1]]], device=device),
    )
    uses = [use for use in model.attention_uses() if (use.looks_from, use.looks_at) == ("target", "source")]
    if not uses:
        return None
    return Looks(read, written, weights[uses[-1].name][-1, 0].mean(dim=0))  # [target_len, source_len]


def quick_looks(
    engine: Int8Transformer,
    tokenizer: Tokenizer,
    sources: Sequence[tuple[str, str | None]],
    targets: Sequence[str],
    reading: KeptReading | None = None,
) -> list[Looks]:
    """Let the engine look from translations at their texts, each with the language it is translated into."""
    if not sources:
        return []
    asked = [(text, language if tokenizer.languages else None) for text, language in sources]
    read = [_spans(source_tokens(tokenizer, text, language), text) for text, language in asked]
    output_ids = [tokenizer.encode_target(target) for target in targets]
    source_ids, source_mask = padded([[token.id for token in tokens] for tokens in read], tokenizer.pad_id)
    input_ids, _ = padded([[tokenizer.bos_id, *ids[:-1]] for ids in output_ids], tokenizer.pad_id)
    start = engine.start if reading is None else partial(reading.start, engine)
    state = start(source_ids, source_mask, max_rows=len(source_ids), max_len=input_ids.size(1))
    weights = engine.looks(state, input_ids, source_ids.size(1))  # [batch, target_len, source_len]
    return [
        Looks(tokens, _spans(target_tokens(tokenizer, ids), target), here[: len(ids), : len(tokens)])
        for tokens, ids, target, here in zip(read, output_ids, targets, weights, strict=True)
    ]


def _spans(tokens: list[Token], text: str) -> list[Token]:
    """Take the white space before a token away from its characters."""
    found = []
    for token in tokens:
        start = token.start
        while start < token.end and text[start : start + 1].isspace():
            start += 1
        found.append(Token(token.text, token.id, start, token.end, token.is_special))
    return found
