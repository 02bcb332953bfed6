"""Which characters of a text a translation's tokens stand for, read from where the target looks at the source.

One forced pass of the model over the pair; of the last layer that looks from target to source, the mean of its heads
says which source token a written token looks at most. A reading, not a truth. Symbols take part in the softmax and are
left out. Knows tokenizers and models; knows no search.
"""

from dataclasses import dataclass

import torch

from heedful.models.attention_weights import forced_pass
from heedful.models.interfaces import EncoderDecoder
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
    read = _spans(source_tokens(tokenizer, source, language if tokenizer.languages else None), source)
    output_ids = tokenizer.encode_target(target)
    if max(len(read), len(output_ids)) > MAX_TOKENS:
        return []
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
        return []
    mean = weights[uses[-1].name][-1, 0].mean(dim=0)  # [target_len, source_len]
    is_text = torch.tensor([not token.is_special and token.end > token.start for token in read], device=device)
    if not is_text.any():
        return []
    best = mean.masked_fill(~is_text, -1.0).argmax(dim=-1).tolist()
    return [
        Link(token.start, token.end, read[place].start, read[place].end)
        for token, place in zip(written, best, strict=True)
        if not token.is_special and token.end > token.start
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
