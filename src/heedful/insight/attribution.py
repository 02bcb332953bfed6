"""Which source words a translation rests on: occlusion (Zeiler and Fergus, 2014; Li et al., 2016, "erasure").

A word of the source is hidden, all its tokens at once, by putting the mean of all embeddings in their place; the model
is made to write the same translation, and what each written token loses of its log-probability is what it rested on
that word. Above 0 the word spoke for the token, below 0 against it. Hiding is a question about one word at a time:
where two say the same, each can be missed without a loss.

A gradient would be one backward pass for each written token and says what a small change of the embedding does; for a
network this far from linear that names the word whose absence matters in fewer than half of the cases.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.insight.forced_pair import ForcedPair
from heedful.models.attention_weights import Floats
from heedful.models.interfaces import EncoderDecoder
from heedful.tasks.device import on_one_thread
from heedful.text.tokens import merge_words

_MAX_LOGITS = 4_000_000  # of one pass: what bounds its memory, and how long nobody is asked whether to go on


@dataclass(frozen=True)
class Attribution:
    """How the log-probability of a translation rests on the tokens of its source; signs are kept."""

    by_token: Floats
    """One row for each written token, one column for each source token, [target_len, source_len]: what the written
    token loses when the word of the source token is hidden. The tokens of one word have the same number."""

    @property
    def total(self) -> Floats:
        """What the whole translation loses without the word of each source token, [source_len]."""
        summed: Floats = self.by_token.sum(axis=0)
        return summed


@on_one_thread()
@torch.no_grad()
def attribute(
    model: EncoderDecoder, pair: ForcedPair, *, before_pass: Callable[[], None] = lambda: None
) -> Attribution:
    """Attribute a traced translation to its source; `model` is the translator's `readable_model`.

    `before_pass` is called before every pass of the model, of which there are many for a long text; it may raise.
    """
    device = next(model.parameters()).device
    source_ids = torch.tensor([pair.source_ids], device=device)
    vectors = model.source_embedding(source_ids)  # [batch, source_len, dim]
    mean = model.source_embedding.weight.mean(dim=0) * model.source_embedding.scale  # [dim]
    spans = _spans(pair)
    hidden = vectors.repeat(1 + len(spans), 1, 1)  # [rows, source_len, dim]: nothing is hidden in the first
    for row, (first, end) in enumerate(spans, start=1):
        hidden[row, first:end] = mean
    log_probs = _log_probs(model, pair, hidden, before_pass)  # [rows, target_len]
    by_token = np.zeros((len(pair.target_tokens), len(pair.source_tokens)), dtype=np.float32)
    for row, (first, end) in enumerate(spans, start=1):
        by_token[:, first:end] = (log_probs[0] - log_probs[row]).float().cpu().numpy()[:, None]
    return Attribution(by_token)


def _spans(pair: ForcedPair) -> list[tuple[int, int]]:
    """Return the source tokens that are hidden together: those of a word, and each symbol by itself."""
    words = [(word.first, word.end) for word in merge_words(pair.source_tokens, pair.source)]
    symbols = [(place, place + 1) for place, token in enumerate(pair.source_tokens) if token.is_special]
    return words + symbols


def _log_probs(model: EncoderDecoder, pair: ForcedPair, vectors: Tensor, before_pass: Callable[[], None]) -> Tensor:
    """Make the model write the translation from each of vectors [rows, source_len, dim]: [rows, target_len]."""
    device = vectors.device
    input_ids = torch.tensor([pair.input_ids], device=device)
    output_ids = torch.tensor([pair.output_ids], device=device)
    num_rows = max(1, _MAX_LOGITS // (output_ids.size(1) * model.target_embedding.weight.size(0)))
    found = []
    for start in range(0, len(vectors), num_rows):
        before_pass()
        some = vectors[start : start + num_rows]
        memory = model.encode_vectors(some, None)
        logits = model.project(model.decode(input_ids.expand(len(some), -1), memory, None))  # [rows, target_len, vocab]
        chosen = logits.gather(2, output_ids.expand(len(some), -1).unsqueeze(-1))[..., 0]
        found.append(chosen - logits.logsumexp(dim=-1))
    return torch.cat(found)
