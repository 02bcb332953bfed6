"""Generators that need no model."""

from torch import Tensor

from heedful.decoding import Hypothesis, SearchRequest
from heedful.decoding.hypothesis import finish


class CopyingGenerator:
    """A `Generator` without steps: it writes what it reads, and as alternatives the same with less and less of it."""

    def __init__(self) -> None:
        self.requests: list[SearchRequest] = []

    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Copy source_ids [batch, source_len] where source_mask [batch, source_len], less the end symbol."""
        self.requests.append(request)
        found = []
        for ids, mask in zip(source_ids, source_mask, strict=True):
            tokens = [token for token in ids[mask].tolist() if token != request.eos_id]
            shorter = [tokens[: len(tokens) - less] for less in range(min(request.n_best, len(tokens)))]
            found.append(
                [
                    finish(one, [-0.1 * (1 + rank)] * (len(one) + 1), "eos", length_penalty=request.length_penalty)
                    for rank, one in enumerate(shorter)
                ]
            )
        return found
