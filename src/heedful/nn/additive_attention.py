"""Additive attention (Bahdanau, Cho and Bengio, 2015): a small network compares query and key.

    score(q, k) = v · tanh(W q + U k)

where a Transformer takes their product. Nothing is scaled, and there is one head: W, U and v are the whole comparison.
This file knows tensors and masks; it knows nothing of recurrence or sentences.
"""

import math

from torch import Tensor, nn

from heedful.nn.attention import ScoreExplanation, masked_softmax


def attend_additive(
    query: Tensor, key: Tensor, value: Tensor, vector: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Average the values, weighted by how well each key goes with the query.

    query [batch, query_len, dim], key and value [batch, key_len, dim], vector [dim]; mask, True where a query may
    attend, broadcasts to [batch, 1, query_len, key_len].
    Returns the averages [batch, query_len, dim] and the weights [batch, 1, query_len, key_len].
    """
    scores = (query.unsqueeze(2) + key.unsqueeze(1)).tanh() @ vector  # [batch, query_len, key_len]
    weights = masked_softmax(scores.unsqueeze(1), mask)
    return weights.squeeze(1).to(value.dtype) @ value, weights


class AdditiveAttention(nn.Module):
    """Attention from one sequence to another by a network with one hidden layer; `output` mixes what was found."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.num_heads = 1
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim, bias=False)
        self.score = nn.Linear(dim, 1, bias=False)
        self.output = nn.Linear(dim, dim)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let every position of `query` gather from the positions of `memory`.

        query [batch, query_len, dim], memory [batch, key_len, dim]; mask, True where a query may attend, broadcasts to
        [batch, 1, query_len, key_len]. Returns [batch, query_len, dim].
        """
        return self.look_up(query, self.key(memory), memory, mask)

    def look_up(self, query: Tensor, key: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Do what `forward` does with what it makes of the memory, key [batch, key_len, dim], already at hand.

        query [batch, query_len, dim], memory [batch, key_len, dim]. Returns [batch, query_len, dim].
        """
        found: Tensor = self.output(attend_additive(self.query(query), key, memory, self.score.weight[0], mask)[0])
        return found

    def weights(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return how much each query looks at each position of the memory, for people who want to see it.

        query [batch, query_len, dim], memory [batch, key_len, dim], mask as in `forward`.
        Returns [batch, 1, query_len, key_len].
        """
        return attend_additive(self.query(query), self.key(memory), memory, self.score.weight[0], mask)[1]

    def explain_score(
        self, query: Tensor, memory: Tensor, mask: Tensor | None = None, *, head: int, row: int, column: int
    ) -> ScoreExplanation:
        """Say how query `row` of the first sentence came to its weight on position `column`; the only `head` is 0.

        query [batch, query_len, dim], memory [batch, key_len, dim], mask as in `forward`.
        """
        assert head == 0, "there is one"
        asks, answers = self.query(query)[0, row].float().cpu(), self.key(memory)[0].float().cpu()
        terms = self.score.weight[0].float().cpu() * (asks + answers).tanh()  # [key_len, dim]
        scores = terms.sum(dim=-1)
        if mask is not None:
            allowed = mask.broadcast_to(query.size(0), 1, query.size(1), memory.size(1))[0, 0, row].cpu()
            scores = scores.masked_fill(~allowed, -math.inf)
        return ScoreExplanation("additive", asks, answers[column], terms[column], 1.0, scores, column)
