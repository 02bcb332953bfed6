"""Attention as recurrent models have it: one head, and three ways to compare a query with a key.

    additive   v · tanh(W q + U k)     Bahdanau, Cho and Bengio (2015)
    dot        q · k / √d              Luong, Pham and Manning (2015), equation 8
    general    q · W k / √d            the same

The two products are divided by √d, as in a Transformer, because the states they compare are normalised: their sum of d
products would else saturate the softmax. Each is a class; what is done with the scores is the same for all.
This file knows tensors and masks; it knows nothing of recurrence or sentences.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal

from torch import Tensor, nn

from heedful.nn.attention import ScoreExplanation, attend_fused, masked_softmax

Comparison = Literal["additive", "dot", "general"]


class SingleHeadAttention(nn.Module, ABC):
    """Attention from one sequence to another; `output` mixes what was found."""

    formula: Literal["additive", "dot_product"]
    num_heads = 1
    output: nn.Linear

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let every position of `query` gather from the positions of `memory`.

        query [batch, query_len, dim], memory [batch, key_len, dim]; mask, True where a query may attend, broadcasts to
        [batch, 1, query_len, key_len]. Returns [batch, query_len, dim].
        """
        return self.look_up(query, self.answers(memory), memory, mask)

    @abstractmethod
    def answers(self, memory: Tensor) -> Tensor:
        """Make keys of memory [batch, key_len, dim], once for all queries; returns the same shape."""

    @abstractmethod
    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Compare query [batch, query_len, dim] with key [batch, key_len, dim]: [batch, query_len, key_len]."""

    @abstractmethod
    def terms(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        """Take the comparison of a query [dim] with keys [key_len, dim] apart.

        Returns what the query asks, [dim], what the score of each key is the sum of, [key_len, dim], and the divisor.
        """

    def look_up(self, query: Tensor, key: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Do what `forward` does with what `answers` makes of the memory, key [batch, key_len, dim], at hand.

        query [batch, query_len, dim], memory [batch, key_len, dim]. Returns [batch, query_len, dim].
        """
        weights = masked_softmax(self.scores(query, key).unsqueeze(1), mask)
        found: Tensor = self.output(weights.squeeze(1).to(memory.dtype) @ memory)
        return found

    def weights(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return how much each query looks at each position of the memory, for people who want to see it.

        query [batch, query_len, dim], memory [batch, key_len, dim], mask as in `forward`.
        Returns [batch, 1, query_len, key_len].
        """
        return masked_softmax(self.scores(query, self.answers(memory)).unsqueeze(1), mask)

    def explain_score(
        self, query: Tensor, memory: Tensor, mask: Tensor | None = None, *, head: int, row: int, column: int
    ) -> ScoreExplanation:
        """Say how query `row` of the first sentence came to its weight on position `column`; the only `head` is 0.

        query [batch, query_len, dim], memory [batch, key_len, dim], mask as in `forward`.
        """
        assert head == 0, "there is one"
        key = self.answers(memory)[0]
        asks, terms, divisor = self.terms(query[0, row], key)
        scores = terms.float().cpu().sum(dim=-1) / divisor  # [key_len]
        if mask is not None:
            allowed = mask.broadcast_to(query.size(0), 1, query.size(1), memory.size(1))[0, 0, row].cpu()
            scores = scores.masked_fill(~allowed, -math.inf)
        asks, answer, apart = (tensor.float().cpu() for tensor in (asks, key[column], terms[column]))
        return ScoreExplanation(self.formula, asks, answer, apart, divisor, scores, column)


class AdditiveAttention(SingleHeadAttention):
    """A network with one hidden layer compares: W, U and v are the whole comparison, and nothing is scaled."""

    formula = "additive"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim, bias=False)
        self.score = nn.Linear(dim, 1, bias=False)
        self.output = nn.Linear(dim, dim)

    def answers(self, memory: Tensor) -> Tensor:
        """Project memory [batch, key_len, dim] to keys, U k; returns the same shape."""
        key: Tensor = self.key(memory)
        return key

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Compare query [batch, query_len, dim] with key [batch, key_len, dim]: [batch, query_len, key_len]."""
        hidden: Tensor = (self.query(query).unsqueeze(2) + key.unsqueeze(1)).tanh()
        return hidden @ self.score.weight[0]

    def terms(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return W q [dim], v ⊙ tanh(W q + U k) [key_len, dim], and 1; query [dim], key [key_len, dim]."""
        asks = self.query(query)
        return asks, self.score.weight[0] * (asks + key).tanh(), 1.0


class DotAttention(SingleHeadAttention):
    """The product of query and key: nothing is learned in it, so both sides must come to speak alike."""

    formula = "dot_product"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.output = nn.Linear(dim, dim)

    def answers(self, memory: Tensor) -> Tensor:
        """Return memory [batch, key_len, dim] as it is."""
        return memory

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Compare query [batch, query_len, dim] with key [batch, key_len, dim]: [batch, query_len, key_len]."""
        return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))

    def terms(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return q [dim], q ⊙ k [key_len, dim], and √dim; query [dim], key [key_len, dim]."""
        return query, query * key, math.sqrt(query.size(-1))

    def look_up(self, query: Tensor, key: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Do what `forward` does from key [batch, key_len, dim], in one fused kernel.

        query [batch, query_len, dim], memory [batch, key_len, dim]. Returns [batch, query_len, dim].
        """
        averages = attend_fused(query.unsqueeze(1), key.unsqueeze(1), memory.unsqueeze(1), mask)
        found: Tensor = self.output(averages.squeeze(1))
        return found


class GeneralAttention(DotAttention):
    """The product of a query and a key that one learned matrix has translated for it."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.key = nn.Linear(dim, dim, bias=False)

    def answers(self, memory: Tensor) -> Tensor:
        """Project memory [batch, key_len, dim] to keys, W k; returns the same shape."""
        key: Tensor = self.key(memory)
        return key


COMPARISONS: dict[Comparison, type[AdditiveAttention] | type[DotAttention]] = {
    "additive": AdditiveAttention,
    "dot": DotAttention,
    "general": GeneralAttention,
}
