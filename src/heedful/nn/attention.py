"""Attention, section 3.2 of the paper: scaled dot products, then several heads of them.

`attend` and `attend_fused` are two forms of one function: the first says what it is, the second says it fast, and tests
hold them equal. Around them stand the two multi-head modules: `MultiHeadAttention`, whose queries and keys come from
different sequences, and `MultiHeadSelfAttention`, where one matrix product serves all three projections. Each can say
how one of its weights came about: `explain_score`.
This file knows tensors, heads and masks; it knows nothing of layers, caches or sentences.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.nn.masks import causal_mask


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Average the values, weighted by how well each key answers the query (equation 1).

    query [batch, heads, query_len, head_dim], key and value [batch, heads, key_len, head_dim];
    mask, True where a query may attend, broadcasts to [batch, heads, query_len, key_len].
    Returns the averages [batch, heads, query_len, head_dim] and the weights [batch, heads, query_len, key_len].
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # [batch, heads, query_len, key_len]
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Turn scores [batch, heads, query_len, key_len] into weights, those of each row where `mask` is True summing to 1.

    mask broadcasts to the shape of the scores. A row with nothing to attend to has no weight anywhere.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    # A row with nothing to attend to would be all -inf and its softmax NaN, in the gradient as well; such a row
    # attends everywhere first, and its weights are then taken away.
    empty = ~mask.any(dim=-1, keepdim=True)
    return scores.masked_fill(~(mask | empty), -math.inf).softmax(dim=-1).masked_fill(empty, 0.0)


def attend_fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Return the averages of `attend` from one fused kernel, without ever holding the weights.

    query [batch, heads, query_len, head_dim], key and value [batch, heads, key_len, head_dim];
    mask, True where a query may attend, broadcasts to [batch, heads, query_len, key_len]. With `causal`, query i sees
    keys 0 to i only; said without a mask, this is what lets the flash kernel run. `dropout` is the rate at which
    single weights are dropped. What is hidden must be finite: kernels add the mask to scores, and 0 times NaN is NaN.
    Returns [batch, heads, query_len, head_dim].
    """
    if _is_short(query, key, mask, dropout):
        from heedful.nn.kernels.short_attention import attend_short

        return attend_short(query, key, value, None if mask is None else mask[:, 0, 0], causal=causal)
    if mask is None:
        return functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=causal)
    if causal:
        mask = mask & causal_mask(query.size(-2), key.size(-2), device=query.device)
    # Kernels differ in what they make of a row with nothing to attend to, so none of them gets to see one.
    empty = ~mask.any(dim=-1, keepdim=True)
    averages = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask | empty, dropout_p=dropout)
    return averages.masked_fill(empty, 0.0)


def _is_short(query: Tensor, key: Tensor, mask: Tensor | None, dropout: float) -> bool:
    """Say whether the kernel for short sentences can be used: training in half precision, padding its only mask."""
    batch, _, query_len, head_dim = query.shape
    return (
        query.is_cuda
        and query.dtype == key.dtype == torch.bfloat16
        and dropout == 0.0
        and max(query_len, key.size(-2)) <= 64
        and head_dim in (16, 32, 64, 128)
        and (mask is None or mask.shape == (batch, 1, 1, key.size(-2)))
    )


@dataclass(frozen=True)
class ScoreExplanation:
    """How one query came to its weight on one key, number by number; tensors are float32 on the CPU."""

    formula: Literal["dot_product", "additive"]
    """How query and key are compared: q · k, or v · tanh(q + k)."""

    query: Tensor
    """What the query asks, [head_dim]."""

    key: Tensor
    """What the key answers, [head_dim]."""

    terms: Tensor
    """The comparison feature by feature, [head_dim]; their sum is the score before it is scaled."""

    divisor: float
    """What the sum is divided by: √d_k, or 1 where nothing is scaled."""

    row_scores: Tensor
    """The scores of all keys, [key_len]; -inf where the mask lets nothing through."""

    column: int
    """Which of them is explained."""

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return float(self.terms.sum())

    @property
    def row_weights(self) -> Tensor:
        """The softmax of the scores, [key_len]: the row of the map."""
        return self.row_scores.softmax(dim=-1)

    @property
    def weight(self) -> float:
        """The weight that is explained."""
        return float(self.row_weights[self.column])


def explain_dot_product(
    query: Tensor, key: Tensor, mask: Tensor | None, *, head: int, row: int, column: int
) -> ScoreExplanation:
    """Take equation 1 apart for one cell of the first sentence's map.

    query [batch, heads, query_len, head_dim], key [batch, heads, key_len, head_dim], mask as for `attend`.
    """
    asks, answers = query[0, head, row].float().cpu(), key[0, head].float().cpu()
    divisor = math.sqrt(asks.size(0))
    scores = answers @ asks / divisor  # [key_len]
    if mask is not None:
        allowed = mask.broadcast_to(*query.shape[:3], key.size(-2))[0, head, row].cpu()
        scores = scores.masked_fill(~allowed, -math.inf)
    return ScoreExplanation("dot_product", asks, answers[column], asks * answers[column], divisor, scores, column)


def split_heads(states: Tensor, num_heads: int) -> Tensor:
    """Give every head its own slice of the features: [batch, length, dim] to [batch, heads, length, head_dim]."""
    batch, length, dim = states.shape
    return states.view(batch, length, num_heads, dim // num_heads).transpose(1, 2)


def join_heads(states: Tensor) -> Tensor:
    """Put the heads side by side again: [batch, heads, length, head_dim] to [batch, length, dim]."""
    return states.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Attention in `num_heads` subspaces at once (section 3.2.2), from one sequence to another.

    The projections W^K and W^V are the two halves of one matrix, `key_value`, since both read the same sequence.
    """

    def __init__(self, dim: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.output = nn.Linear(dim, dim)

    def forward(self, query: Tensor, key_value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let every position of `query` gather from the positions of `key_value`.

        query [batch, query_len, dim], key_value [batch, key_len, dim]; mask, True where a query may attend, broadcasts
        to [batch, heads, query_len, key_len]. Returns [batch, query_len, dim].
        """
        key, value = self.project_key_value(key_value)
        dropout = self.dropout if self.training else 0.0
        return self.project_output(attend_fused(self.project_query(query), key, value, mask, dropout=dropout))

    def weights(self, query: Tensor, key_value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return how much each query looks at each key, for people who want to see it.

        query [batch, query_len, dim], key_value [batch, key_len, dim], mask as in `forward`.
        Returns [batch, heads, query_len, key_len].
        """
        key, value = self.project_key_value(key_value)
        return attend(self.project_query(query), key, value, mask)[1]

    def explain_score(
        self, query: Tensor, key_value: Tensor, mask: Tensor | None = None, *, head: int, row: int, column: int
    ) -> ScoreExplanation:
        """Say how query `row` of the first sentence came to its weight on key `column`.

        query [batch, query_len, dim], key_value [batch, key_len, dim], mask as in `forward`.
        """
        key, _ = self.project_key_value(key_value)
        return explain_dot_product(self.project_query(query), key, mask, head=head, row=row, column=column)

    def project_query(self, states: Tensor) -> Tensor:
        """Project [batch, query_len, dim] to the heads' queries [batch, heads, query_len, head_dim]."""
        return split_heads(self.query(states), self.num_heads)

    def project_key_value(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Project [batch, key_len, dim] to the heads' keys and values, [batch, heads, key_len, head_dim] each."""
        key, value = self.key_value(states).chunk(2, dim=-1)
        return split_heads(key, self.num_heads), split_heads(value, self.num_heads)

    def project_output(self, averages: Tensor) -> Tensor:
        """Mix what the heads found, [batch, heads, query_len, head_dim], into [batch, query_len, dim]."""
        mixed: Tensor = self.output(join_heads(averages))
        return mixed


class MultiHeadSelfAttention(nn.Module):
    """Attention in `num_heads` subspaces at once, from a sequence to itself.

    W^Q, W^K and W^V are the thirds of one matrix, `query_key_value`: all three read the same states, and one large
    matrix product is faster than three small ones.
    """

    def __init__(self, dim: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.query_key_value = nn.Linear(dim, 3 * dim)
        self.output = nn.Linear(dim, dim)

    def forward(self, states: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        """Let every position gather from all positions of the same sequence, or with `causal` from no later one.

        states [batch, length, dim]; mask, True where a query may attend, broadcasts to [batch, heads, length, length].
        Returns [batch, length, dim].
        """
        query, key, value = self.project(states)
        dropout = self.dropout if self.training else 0.0
        return self.project_output(attend_fused(query, key, value, mask, causal=causal, dropout=dropout))

    def weights(self, states: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        """Return how much each position looks at each, for people who want to see it.

        states [batch, length, dim], mask and `causal` as in `forward`. Returns [batch, heads, length, length].
        """
        query, key, value = self.project(states)
        return attend(query, key, value, _allowed(states, mask, causal))[1]

    def explain_score(
        self, states: Tensor, mask: Tensor | None = None, *, causal: bool = False, head: int, row: int, column: int
    ) -> ScoreExplanation:
        """Say how position `row` of the first sentence came to its weight on position `column`.

        states [batch, length, dim], mask and `causal` as in `forward`.
        """
        query, key, _ = self.project(states)
        return explain_dot_product(query, key, _allowed(states, mask, causal), head=head, row=row, column=column)

    def project(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project [batch, length, dim] to queries, keys and values, [batch, heads, length, head_dim] each."""
        query, key, value = self.query_key_value(states).chunk(3, dim=-1)
        return split_heads(query, self.num_heads), split_heads(key, self.num_heads), split_heads(value, self.num_heads)

    def project_output(self, averages: Tensor) -> Tensor:
        """Mix what the heads found, [batch, heads, length, head_dim], into [batch, length, dim]."""
        mixed: Tensor = self.output(join_heads(averages))
        return mixed


def _allowed(states: Tensor, mask: Tensor | None, causal: bool) -> Tensor | None:
    """Put causality into the mask, as readable forms want it; states [batch, length, dim]."""
    if not causal:
        return mask
    no_later = causal_mask(states.size(1), states.size(1), device=states.device)
    return no_later if mask is None else mask & no_later
