"""Sampling: the next token is drawn, not chosen.

From all tokens, the k most probable (Fan et al., 2018), or the fewest with probability p (Holtzman et al., 2020).
Each sentence brings its own generator, and all its draws are made from it before the first step, so a sample depends
on the sentence's seed and never on the batch it was in. Log-probabilities stay the model's own, at temperature 1.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from heedful.decoding.constraints import Constraints
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.paths import follow_paths
from heedful.decoding.protocol import Decodable, State
from heedful.decoding.request import SearchRequest
from heedful.errors import UserError


@torch.inference_mode()
def sample(
    model: Decodable[State],
    source_ids: Tensor,
    source_mask: Tensor,
    request: SearchRequest,
    *,
    generators: Sequence[torch.Generator],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> list[Hypothesis]:
    """Draw one output for each sentence of the batch.

    source_ids int64 and source_mask bool [batch, source_len]; generators [batch], on the CPU. `top_k` draws from the k
    most probable tokens only, `top_p` from the fewest tokens that have probability p together; both apply after the
    temperature. Of the request, what belongs to beams is not looked at.
    """
    caps = request.max_lengths
    request.check_batch(len(source_ids))
    _check_sampling(len(caps), len(generators), temperature, top_k, top_p)
    if not caps:
        return []
    device = source_ids.device
    constraints = Constraints(request, device)
    # Each sentence draws for its own cap, not the longest: the generator is left as if it had been alone.
    uniform = [torch.rand(cap, generator=generator) for cap, generator in zip(caps, generators, strict=True)]
    draws = pad_sequence(uniform, batch_first=True).to(device)  # [batch, target_len]
    state = model.start(
        source_ids, source_mask, max_rows=len(caps), max_len=max(caps), before_layer=request.before_step
    )

    def choose(token_ids: Tensor, parents: Tensor | None, step: int, sentences: Sequence[int]) -> tuple[Tensor, Tensor]:
        log_probs = constraints.distribution(model, state, token_ids, parents, step=step, sentences=sentences)
        rows = torch.tensor(sentences, device=device)
        next_ids = draw_tokens(log_probs / temperature, draws[rows, step], top_k=top_k, top_p=top_p)
        return next_ids, log_probs.gather(1, next_ids.unsqueeze(1)).squeeze(1)

    return follow_paths(choose, request, device)


def draw_tokens(logits: Tensor, draws: Tensor, *, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Turn uniform numbers into tokens: each picks the token whose share of the cumulated probabilities it falls into.

    logits float32 [rows, vocab], draws float32 [rows] in [0, 1). Returns ids int64 [rows].
    """
    count = logits.size(-1) if top_k is None else min(top_k, logits.size(-1))
    probs, ids = logits.softmax(dim=-1).topk(count, dim=-1)  # [rows, candidates], descending
    if top_p is not None:
        before = probs.cumsum(dim=-1) - probs
        # The most probable token stays whatever p is: rounding must not leave a row without any.
        outside = before >= top_p
        outside[:, 0] = False
        probs = probs.masked_fill(outside, 0.0)
    cumulated = probs.cumsum(dim=-1)
    threshold = draws.unsqueeze(1) * cumulated[:, -1:]
    column = (cumulated <= threshold).sum(dim=-1)
    # A threshold that rounds up to the whole sum would fall behind the last token with any probability.
    last = (probs > 0).sum(dim=-1) - 1
    return ids.gather(1, column.minimum(last).clamp(min=0).unsqueeze(1)).squeeze(1)


def _check_sampling(
    batch: int, num_generators: int, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    if num_generators != batch:
        raise UserError(f"`generators` must have one entry for each of {batch} sentences, but has {num_generators}.")
    if not temperature > 0:
        raise UserError(
            f"`temperature` must be greater than 0, but is {temperature}. Use a search for the best output."
        )
    check_choice(top_k, top_p)


def check_choice(top_k: int | None, top_p: float | None) -> None:
    """Refuse settings that leave nothing to draw from."""
    if top_k is not None and top_k < 1:
        raise UserError(f"`top_k` must be at least 1, but is {top_k}.")
    if top_p is not None and not 0 < top_p <= 1:
        raise UserError(f"`top_p` must be greater than 0 and at most 1, but is {top_p}.")
