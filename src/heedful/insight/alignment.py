"""Which source word a written word stands for, read from where the target looks at the source, in whole words.

A reading, not a truth: the mean of all heads of one layer, where single heads may look elsewhere. Symbols take part in
the softmax and often gather weight that means "nothing here"; they are left out, and what remains is scaled to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heedful.insight.trace import Trace
from heedful.models.attention_weights import Floats, check_place
from heedful.text.tokens import Word, merge_words


@dataclass(frozen=True)
class Alignment:
    """How the words of a translation look at the words of its source."""

    source_words: tuple[Word, ...]
    target_words: tuple[Word, ...]
    weights: Floats
    """One row for each target word, one column for each source word; rows sum to 1."""

    links: tuple[tuple[int, int], ...]
    """For each target word, its number and that of the source word it looks at most."""


def align(trace: Trace, layer: int | None = None) -> Alignment:
    """Align the words of a trace by one layer of the attention from target to source, the last when None.

    The weights of a word's source tokens are added, those of its target tokens averaged. A model that does not look
    from target to source aligns nothing: all weights are 0 and there are no links.
    """
    mean = _mean_weights(trace, layer)  # [target_len, source_len]
    sources = merge_words(trace.source_tokens, trace.source)
    targets = merge_words(trace.target_tokens, trace.text)
    belongs = _membership(targets, len(trace.target_tokens))
    averages = belongs / belongs.sum(axis=1, keepdims=True)
    weights: Floats = averages @ mean @ _membership(sources, len(trace.source_tokens)).T
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    links = tuple(enumerate(weights.argmax(axis=1).tolist())) if sources and mean.any() else ()
    return Alignment(tuple(sources), tuple(targets), weights, links)


def _membership(words: Sequence[Word], num_tokens: int) -> Floats:
    """Return 1 where a token belongs to a word: one row for each word, one column for each token."""
    places = np.arange(num_tokens)
    first, end = (np.array([getattr(word, name) for word in words], dtype=int)[:, None] for name in ("first", "end"))
    return ((first <= places) & (places < end)).astype(np.float32)


def _mean_weights(trace: Trace, layer: int | None) -> Floats:
    """Return the mean of the heads of one layer, [target_len, source_len]."""
    use = trace.use_between("target", "source")
    if use is None:
        return np.zeros((len(trace.target_tokens), len(trace.source_tokens)), dtype=np.float32)
    heads = trace.weights[use.name]
    if layer is not None:
        check_place(("layer", layer, len(heads)))
    mean: Floats = heads[-1 if layer is None else layer].mean(axis=0)
    return mean
