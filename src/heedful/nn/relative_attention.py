"""Attention with relative positions: Transformer-XL (Dai et al., 2019), section 3.3.

How well key j answers query i is the sum of four terms, over the square root of the head's width:

    (a) q_i · k_j        what the query asks and the key is
    (b) q_i · r_(i-j)    what the query asks of that distance
    (c) u · k_j          what the key is, whoever asks
    (d) v · r_(i-j)      the distance, whoever asks

Only distances occur, never places, so what was computed for an earlier segment stays true when it becomes memory.
`attend_relative` says this term by term, in O(n²) vectors; `attend_relative_fused` says it fast. The trick between them
is `shift` (appendix B of that paper), which has a reference implementation of its own. Tests hold each pair equal.
Keys begin with what is remembered and end with the queries' own positions, so the last query stands at the last key.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.nn.attention import join_heads, split_heads
from heedful.nn.positions import sinusoidal_table


def attend_relative(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    distance_key: Tensor,
    content_bias: Tensor,
    position_bias: Tensor,
    is_real: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Average the values by the four terms, each computed as it is written.

    query [batch, heads, query_len, head_dim], key and value [batch, heads, key_len, head_dim]; distance_key
    [heads, key_len, head_dim] holds the vectors r of the distances key_len - 1 down to 0; content_bias (u) and
    position_bias (v) [heads, head_dim]; is_real [batch, key_len] is True at keys that exist, None where all do.
    No query sees a later key. Returns the averages [batch, heads, query_len, head_dim] and the weights
    [batch, heads, query_len, key_len].
    """
    query_len, key_len = query.size(-2), key.size(-2)
    distance = distances(query_len, key_len, device=query.device)  # [query_len, key_len]
    of_pair = distance_key[:, key_len - 1 - distance.clamp(min=0)]  # [heads, query_len, key_len, head_dim]
    asked_content = torch.einsum("bhid,bhjd->bhij", query, key)
    asked_distance = torch.einsum("bhid,hijd->bhij", query, of_pair)
    any_content = torch.einsum("hd,bhjd->bhj", content_bias, key).unsqueeze(2)  # [batch, heads, 1, key_len]
    any_distance = torch.einsum("hd,hijd->hij", position_bias, of_pair)  # [heads, query_len, key_len]
    scores = (asked_content + asked_distance + any_content + any_distance) / math.sqrt(query.size(-1))
    weights = scores.masked_fill(_hidden(distance, is_real), -math.inf).softmax(dim=-1)
    return weights @ value, weights


def attend_relative_fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    distance_key: Tensor,
    content_bias: Tensor,
    position_bias: Tensor,
    is_real: Tensor | None = None,
    *,
    dropout: float = 0.0,
) -> Tensor:
    """Return the averages of `attend_relative` from two products and one fused kernel.

    query [batch, heads, query_len, head_dim], all else as there; `dropout` is the rate at which weights are dropped.
    Terms (a) and (c) are one product, (q + u) · k, inside the kernel; (b) and (d) are another, (q + v) · r, which is
    taken once per query and distance, shifted into place and added to the scores. In half precision on a GPU the shift
    is part of a kernel of our own (relative_kernel.py). Returns the shape of query.
    """
    content_query = query + content_bias.to(query.dtype).unsqueeze(1)
    # Scaled here and not at the distances: one symbol at a time there are many distances and one query.
    position_query = (query + position_bias.to(query.dtype).unsqueeze(1)) / math.sqrt(query.size(-1))
    if _has_kernel(query, key, distance_key, dropout):
        from heedful.nn.kernels.relative_attention import attend_by_distance

        return attend_by_distance(content_query, position_query, key, value, distance_key, is_real)
    distance = distances(query.size(-2), key.size(-2), device=query.device)
    position_scores = shift(position_query @ distance_key.transpose(-2, -1))  # [batch, heads, query_len, key_len]
    bias = position_scores.masked_fill(_hidden(distance, is_real), -math.inf)
    return functional.scaled_dot_product_attention(content_query, key, value, attn_mask=bias, dropout_p=dropout)


def _has_kernel(query: Tensor, key: Tensor, distance_key: Tensor, dropout: float) -> bool:
    """Say whether the kernel can be used: training on segments of whole tiles, in half precision."""
    if not (query.is_cuda and query.dtype == key.dtype == distance_key.dtype == torch.bfloat16 and dropout == 0.0):
        return False
    from heedful.nn.kernels.relative_attention import fits

    return query.size(3) in (16, 32, 64, 128) and fits(query.size(2), key.size(2))


def shift(scores: Tensor) -> Tensor:
    """Bring scores by distance into the columns of their keys: row i moves to the left by query_len - 1 - i.

    scores [batch, heads, query_len, key_len], the last row's columns standing for distances key_len - 1 down to 0, and
    so every other row's. A column of zeros before them makes each row one longer; read again as rows of the old length,
    row i begins one place later than row i - 1 did. No element is looked up. What lies in the future of a query (to
    the right of its own position) is left over from the next row and must be hidden. Returns the same shape.
    """
    *leading, query_len, key_len = scores.shape
    padded = functional.pad(scores, (1, 0))  # one column more
    turned = padded.reshape(*leading, key_len + 1, query_len)
    return turned[..., 1:, :].reshape(scores.shape)


def shift_by_lookup(scores: Tensor) -> Tensor:
    """Do what `shift` does element by element: key j of query i is at column j + query_len - 1 - i.

    scores [batch, heads, query_len, key_len]. What lies in the future of a query is zero. Returns the same shape.
    """
    query_len, key_len = scores.shape[-2:]
    shifted = torch.zeros_like(scores)
    for i in range(query_len):
        own_position = key_len - query_len + i
        for j in range(own_position + 1):
            shifted[..., i, j] = scores[..., i, j + query_len - 1 - i]
    return shifted


def distances(query_len: int, key_len: int, *, device: torch.device | None = None) -> Tensor:
    """Say how far before each query each key stands, [query_len, key_len]; what comes after it is negative."""
    place = torch.arange(key_len, device=device)
    return place[key_len - query_len :].unsqueeze(1) - place


def _hidden(distance: Tensor, is_real: Tensor | None) -> Tensor:
    """Return what no query may see: its future, and keys that do not exist; broadcasts to the scores."""
    future = distance < 0  # [query_len, key_len]
    return future if is_real is None else future | ~is_real[:, None, None, :]


class RelativePositions(nn.Module):
    """Sines and cosines of the distance between two tokens (R in the paper): nothing to learn, no longest distance."""

    table: Tensor

    def __init__(self, dim: int, clamp_len: int | None = None, *, ready_len: int = 4096) -> None:
        super().__init__()
        self.dim, self.clamp_len = dim, clamp_len
        self.ready_len = ready_len if clamp_len is None else clamp_len + 1
        # Not persistent: the formula is the truth, a stored copy could only disagree with it.
        self.register_buffer("table", sinusoidal_table(self.ready_len, dim, "halves"), persistent=False)

    def forward(self, key_len: int) -> Tensor:
        """Return the encodings of the distances key_len - 1 down to 0, [key_len, dim].

        Distances beyond `clamp_len` are all encoded as that one: a model that has never seen them need not guess.
        """
        if self.clamp_len is None and key_len > self.ready_len:
            return sinusoidal_table(key_len, self.dim, "halves").flip(0).to(self.table)
        distance = torch.arange(key_len - 1, -1, -1, device=self.table.device)
        return self.table[distance if self.clamp_len is None else distance.clamp(max=self.clamp_len)]


class GlobalBiases(nn.Module):
    """What every query asks: u of keys, v of distances, [heads, head_dim] each. All layers can share one pair."""

    def __init__(self, num_heads: int, head_dim: int) -> None:
        super().__init__()
        self.content = nn.Parameter(torch.empty(num_heads, head_dim))
        self.position = nn.Parameter(torch.empty(num_heads, head_dim))


class RelativeSelfAttention(nn.Module):
    """Attention in `num_heads` subspaces, from a segment to what is remembered and to itself.

    As in the authors' code no projection has a bias, and distances have a key projection of their own (W_(k,R)).
    """

    def __init__(self, dim: int, num_heads: int, biases: GlobalBiases, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = nn.Linear(dim, dim, bias=False)
        self.key_value = nn.Linear(dim, 2 * dim, bias=False)
        self.distance = nn.Linear(dim, dim, bias=False)
        self.output = nn.Linear(dim, dim, bias=False)
        self.biases = biases

    def forward(self, states: Tensor, memory: Tensor, encodings: Tensor, is_real: Tensor | None = None) -> Tensor:
        """Let every position gather from the memory, from the positions before it and from itself.

        states [batch, query_len, dim], memory [batch, memory_len, dim]; encodings [key_len, dim] are those of
        `RelativePositions` for all keys, memory included; is_real [batch, key_len] is True at keys that exist.
        Returns [batch, query_len, dim].
        """
        # In the memory's type: in half precision the product would round the states to it anyway, after the copy.
        key, value = self.project_key_value(torch.cat([memory, states.to(memory.dtype)], dim=1))
        return self.attend(self.project_query(states), key, value, self.project_distances(encodings), is_real)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, distance_key: Tensor, is_real: Tensor | None = None
    ) -> Tensor:
        """Answer projected queries [batch, heads, query_len, head_dim] from projected keys and distances.

        key and value [batch, heads, key_len, head_dim], distance_key [heads, key_len, head_dim], is_real
        [batch, key_len]. Returns [batch, query_len, dim].
        """
        averages = attend_relative_fused(
            query,
            key,
            value,
            distance_key,
            self.biases.content,
            self.biases.position,
            is_real,
            dropout=self.dropout if self.training else 0.0,
        )
        mixed: Tensor = self.output(join_heads(averages))
        return mixed

    def weights(self, states: Tensor, memory: Tensor, encodings: Tensor, is_real: Tensor | None = None) -> Tensor:
        """Return how much each position looks at each key, for people who want to see it.

        states [batch, query_len, dim], all else as in `forward`. Returns [batch, heads, query_len, key_len].
        """
        key, value = self.project_key_value(torch.cat([memory, states.to(memory.dtype)], dim=1))
        query, distance_key = self.project_query(states), self.project_distances(encodings)
        biases = self.biases
        return attend_relative(query, key, value, distance_key, biases.content, biases.position, is_real)[1]

    def project_query(self, states: Tensor) -> Tensor:
        """Project [batch, query_len, dim] to the heads' queries [batch, heads, query_len, head_dim]."""
        return split_heads(self.query(states), self.num_heads)

    def project_key_value(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Project [batch, key_len, dim] to the heads' keys and values, [batch, heads, key_len, head_dim] each."""
        key, value = self.key_value(states).chunk(2, dim=-1)
        return split_heads(key, self.num_heads), split_heads(value, self.num_heads)

    def project_distances(self, encodings: Tensor) -> Tensor:
        """Project the encodings of distances [key_len, dim] to the heads' r, [heads, key_len, head_dim]."""
        return split_heads(self.distance(encodings).unsqueeze(0), self.num_heads).squeeze(0)
