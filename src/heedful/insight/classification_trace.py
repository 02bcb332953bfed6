"""How a classifier came to its decision: where its heads look, and how much each word moved it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from heedful.errors import HeedfulError, UserError
from heedful.insight.forced_pair import MAX_TOKENS, NO_NUMBERS
from heedful.models.attention_weights import Floats, watch_attention
from heedful.tasks.classification.classifier import Classification, Classifier
from heedful.text.tokens import Token, source_tokens


@dataclass(frozen=True)
class ClassificationTrace:
    """A decision and what can be seen of it."""

    decision: Classification
    """The label, the probabilities, and how much each word moved the decision."""

    tokens: tuple[Token, ...]
    """What the model read: the start symbol, the text, the end symbol."""

    weights: Floats | None = field(repr=False)
    """The attention of all layers and heads, [layers, heads, query_len, key_len]; None where the text is too long."""


@torch.no_grad()
def trace_classification(
    classifier: Classifier, text: str, *, any_length: bool = False, before_pass: Callable[[], None] = lambda: None
) -> ClassificationTrace:
    """Put a label on one text and keep what is to be seen; `before_pass` as in `Classifier.classify_detailed`.

    A text too long for its attention to be shown is refused, or with `any_length` traced without.
    """
    if not text.strip():
        raise UserError("The text to look into must not be empty, but is.")
    tokenizer, model = classifier.tokenizer, classifier.model
    start = Token(tokenizer.source_piece(tokenizer.bos_id), tokenizer.bos_id, 0, 0, is_special=True)
    tokens = (start, *source_tokens(tokenizer, text, None))
    (read,) = classifier.encode([text]).ids
    limit = min(MAX_TOKENS, model.window, len(read))  # a longer text is read in windows, or not all of it
    is_long = len(tokens) > limit
    if is_long and not any_length:
        raise UserError(f"The text must have at most {limit} tokens to be looked into, but has {len(tokens)}.")
    weights = None if is_long else _weights(classifier, tokens)
    (decision,) = classifier.classify_detailed([text], explain=True, before_pass=before_pass)
    if any(map(math.isnan, decision.probabilities.values())):
        raise HeedfulError(NO_NUMBERS)
    return ClassificationTrace(decision, tokens, weights)


def _weights(classifier: Classifier, tokens: Sequence[Token]) -> Floats:
    """Return where all heads look, [layers, heads, query_len, key_len]."""
    with watch_attention(classifier.model) as found:
        classifier.model(torch.tensor([[token.id for token in tokens]], device=classifier.device))
    nothing = torch.zeros(0, 1, len(tokens), len(tokens))  # of a classifier without layers
    weights: Floats = (torch.stack([layer[0] for layer in found.values()]) if found else nothing).float().cpu().numpy()
    return weights
