"""Attention whose query knows what was read last (Gehring et al., 2017, section 3.3).

    score(i, j) = (W h_i + b + g_i) · z_j / √dim

h_i is the state that asks, g_i the embedding of the token that was read there, z_j what the source says at j. What is
found is the average of values that are given apart from the keys. There is one head, and keys and values are not
projected: a model that asks in every layer asks the same memory each time. This file knows tensors and masks; it
knows nothing of convolutions or sentences.
"""

from torch import Tensor, nn

from heedful.nn.attention import ScoreExplanation, attend, attend_fused, explain_dot_product


class ConditionedAttention(nn.Module):
    """Attention from one sequence to another; `output` mixes what was found."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.num_heads = 1
        self.query = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, dim)

    def forward(self, states: Tensor, read: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let every position gather from what the source says.

        states and read [batch, query_len, dim], key and value [batch, key_len, dim]; mask, True where a query may
        attend, broadcasts to [batch, 1, query_len, key_len]. Returns [batch, query_len, dim].
        """
        query = self.query(states) + read
        # Kernels want a dimension for the heads: [batch, 1, query_len, dim].
        found = attend_fused(query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1), mask).squeeze(1)
        mixed: Tensor = self.output(found)
        return mixed

    def weights(self, states: Tensor, read: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return how much each position looks at each of the source, for people who want to see it.

        states and read [batch, query_len, dim], key and value [batch, key_len, dim], mask as in `forward`.
        Returns [batch, 1, query_len, key_len].
        """
        query = self.query(states) + read
        return attend(query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1), mask)[1]

    def explain_score(
        self,
        states: Tensor,
        read: Tensor,
        key: Tensor,
        value: Tensor,  # noqa: ARG002 - what `forward` is called with
        mask: Tensor | None = None,
        *,
        head: int,
        row: int,
        column: int,
    ) -> ScoreExplanation:
        """Say how position `row` of the first sentence came to its weight on position `column`; `head` is 0.

        states and read [batch, query_len, dim], key and value [batch, key_len, dim], mask as in `forward`.
        """
        query = (self.query(states) + read).unsqueeze(1)  # [batch, 1, query_len, dim]
        return explain_dot_product(query, key.unsqueeze(1), mask, head=head, row=row, column=column)
