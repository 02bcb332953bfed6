"""A small network that guesses what a model will write next, so that the model has several tokens to check at once.

It goes on from the vector that the model's last token was projected from. That vector and the embedding of the token
just chosen are joined, look at the source through the keys and values of the model's last layer, which are there
anyway, pass a feed-forward layer, and become the vector of the next position; a narrow projection then picks one of the
most frequent tokens. A guess that goes further goes on from a guess. Whatever it guesses, the model decides.

After EAGLE (Li et al., 2024), but without a memory of its own. Nothing here knows a search, a file or a loss.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from heedful.nn.attention import attend_fused, join_heads, split_heads


@dataclass(frozen=True)
class DrafterShape:
    """How large a drafter is. `dim` and `num_heads` are its model's."""

    dim: int
    num_heads: int
    hidden_dim: int
    rank: int
    """Width of the projection to tokens."""

    num_tokens: int
    """How many of the vocabulary it can guess."""

    num_guesses: int = 3
    """How many tokens ahead it has learned to guess."""


class Drafter(nn.Module):
    """Guesses one token after the other from the state of a model that writes."""

    token_ids: Tensor
    """int64 [vocab]: the tokens it can guess, in the order of its scores."""

    def __init__(self, shape: DrafterShape) -> None:
        super().__init__()
        dim = shape.dim
        self.shape = shape
        self.join = nn.Linear(2 * dim, dim)
        self.look_norm, self.query, self.output = nn.LayerNorm(dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.think_norm = nn.LayerNorm(dim)
        self.expand, self.contract = nn.Linear(dim, shape.hidden_dim), nn.Linear(shape.hidden_dim, dim)
        self.final_norm = nn.LayerNorm(dim)
        self.narrow = nn.Linear(dim, shape.rank)
        self.widen = nn.Linear(shape.rank, shape.num_tokens)
        self.register_buffer("token_ids", torch.zeros(shape.num_tokens, dtype=torch.int64))

    def forward(
        self, hidden: Tensor, embedded: Tensor, memory: tuple[Tensor, Tensor], memory_mask: Tensor | None
    ) -> Tensor:
        """Return the vectors of the next positions, [batch, length, dim].

        hidden [batch, length, dim]: the vectors before; embedded [batch, length, dim]: what was chosen by them. memory:
        keys and values [batch, heads, source_len, head_dim]; memory_mask broadcasts to [batch, heads, length,
        source_len].
        """
        states = self.join(torch.cat([hidden, embedded], dim=-1))
        query = split_heads(self.query(self.look_norm(states)), self.shape.num_heads)
        states = states + self.output(join_heads(attend_fused(query, *memory, memory_mask)))
        states = states + self.contract(self.expand(self.think_norm(states)).relu())
        following: Tensor = self.final_norm(states)
        return following

    def scores(self, hidden: Tensor) -> Tensor:
        """Return how much speaks for each of `token_ids` after hidden [..., dim]: logits [..., vocab]."""
        logits: Tensor = self.widen(self.narrow(hidden))
        return logits
