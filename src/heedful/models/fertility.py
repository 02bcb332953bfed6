"""The non-autoregressive Transformer with fertilities (Gu et al., 2018).

The encoder says of every source token how many target tokens it stands for, its *fertility*; the decoder reads each
source token so many times and writes all positions at once. No position looks at itself, and in each layer one
attention more looks by position alone. Given fertilities the tokens are independent of each other, so `start` and
`step` give them one by one to any search. Made to write a given output, the model takes the most probable fertilities
of that length. This file knows token ids and masks; it knows no text, no loss and no search.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.models import FertilityConfig
from heedful.models.fertilities import copied_places, most_probable_of_length
from heedful.models.interfaces import AttentionUse
from heedful.models.nonautoregressive import ParallelModel, Written
from heedful.nn.attention import (
    MultiHeadAttention,
    MultiHeadSelfAttention,
    ScoreExplanation,
    attend,
    attend_fused,
    explain_dot_product,
    join_heads,
    split_heads,
)
from heedful.nn.feed_forward import FeedForward
from heedful.nn.layers import RESIDUALS, EncoderLayer
from heedful.nn.masks import padding_mask

_IMPOSSIBLE = -1e9


class PositionalAttention(nn.Module):
    """Attention that compares positions and averages states (section 3.1 of the paper)."""

    def __init__(self, dim: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.query_key = nn.Linear(dim, 2 * dim)
        self.value = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, dim)

    def forward(self, positions: Tensor, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let every position gather from states [batch, length, dim], by positions [batch, length, dim] alone.

        mask, True where a query may attend, broadcasts to [batch, heads, length, length]. Returns [batch, length, dim].
        """
        query, key = self._project(positions)
        value = split_heads(self.value(states), self.num_heads)
        dropout = self.dropout if self.training else 0.0
        mixed: Tensor = self.output(join_heads(attend_fused(query, key, value, mask, dropout=dropout)))
        return mixed

    def weights(self, positions: Tensor, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return how much each position looks at each, [batch, heads, length, length]; arguments as in `forward`."""
        query, key = self._project(positions)
        return attend(query, key, split_heads(self.value(states), self.num_heads), mask)[1]

    def explain_score(
        self,
        positions: Tensor,
        states: Tensor,  # noqa: ARG002 - what is averaged decides no score
        mask: Tensor | None = None,
        *,
        head: int,
        row: int,
        column: int,
    ) -> ScoreExplanation:
        """Say how position `row` of the first sentence came to its weight on `column`.

        positions and states [batch, length, dim], mask as in `forward`.
        """
        return explain_dot_product(*self._project(positions), mask, head=head, row=row, column=column)

    def _project(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        query, key = self.query_key(positions).chunk(2, dim=-1)
        return split_heads(query, self.num_heads), split_heads(key, self.num_heads)


class FertilityLayer(nn.Module):
    """One layer of the decoder: to the other positions, by position, to the source, then the feed-forward network."""

    def __init__(self, config: FertilityConfig) -> None:
        super().__init__()
        dim, heads, dropout = config.dim, config.num_heads, config.attention_dropout
        residual = RESIDUALS[config.norm]
        self.self_attention = MultiHeadSelfAttention(dim, heads, dropout)
        self.self_attention_residual = residual(dim, config.dropout)
        self.positional_attention = PositionalAttention(dim, heads, dropout)
        self.positional_attention_residual = residual(dim, config.dropout)
        self.cross_attention = MultiHeadAttention(dim, heads, dropout)
        self.cross_attention_residual = residual(dim, config.dropout)
        self.feed_forward = FeedForward(dim, config.hidden_dim, config.activation, config.hidden_dropout)
        self.feed_forward_residual = residual(dim, config.dropout)

    def forward(
        self, states: Tensor, positions: Tensor, real: Tensor, memory: Tensor, memory_mask: Tensor | None
    ) -> Tensor:
        """Read states and positions [batch, length, dim], real where real [batch, length], beside memory.

        memory [batch, source_len, dim]; memory_mask broadcasts to [batch, heads, length, source_len]. Returns
        [batch, length, dim].
        """
        mask = real[:, None, None, :]
        others = mask & ~torch.eye(states.size(1), dtype=torch.bool, device=states.device)
        states = self.self_attention_residual(states, lambda x: self.self_attention(x, others))
        states = self.positional_attention_residual(states, lambda x: self.positional_attention(positions, x, mask))
        states = self.cross_attention_residual(states, lambda x: self.cross_attention(x, memory, memory_mask))
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output


class FertilityModel(ParallelModel):
    """Source tokens are copied as often as they are fertile, and all copies become target tokens at once."""

    def __init__(self, config: FertilityConfig, *, source_vocab_size: int, target_vocab_size: int, pad_id: int) -> None:
        decoder = [FertilityLayer(config) for _ in range(config.num_decoder_layers)]
        super().__init__(config, decoder, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
        self.pad_id, self.choice = pad_id, config.choice
        self.fertility = nn.Linear(config.dim, config.max_fertility + 1)

    def encode_vectors(self, vectors: Tensor, source_mask: Tensor | None) -> Tensor:
        """Read embeddings, vectors [batch, source_len, dim], real where source_mask [batch, source_len].

        Returns the memory beside the embeddings, which the decoder copies: twice as wide, [batch, source_len, dim].
        """
        return torch.cat([super().encode_vectors(vectors, source_mask), vectors], dim=-1)

    def fertility_log_probs(self, memory: Tensor, source_mask: Tensor | None) -> Tensor:
        """Say how probable which fertility of each source token is, from 0 on: [batch, source_len, classes].

        memory [batch, source_len, dim] and source_mask [batch, source_len]; what is padded has none for sure.
        """
        log_probs: Tensor = self.fertility(memory.chunk(2, dim=-1)[0]).float().log_softmax(dim=-1)
        if source_mask is None:
            return log_probs
        is_some = torch.arange(log_probs.size(-1), device=log_probs.device) > 0
        none = torch.zeros_like(log_probs[0, 0]).masked_fill(is_some, _IMPOSSIBLE)
        return torch.where(source_mask.unsqueeze(-1), log_probs, none)

    def choose(self, log_probs: Tensor) -> Tensor:
        """Take one fertility of each token, by the model's `choice`.

        log_probs [batch, source_len, classes]. Returns [batch, source_len].
        """
        if self.choice == "average":
            return average(log_probs)
        return log_probs.argmax(dim=-1)

    def refine(
        self, memory: Tensor, source_mask: Tensor | None, places: Tensor, real: Tensor, keep: Tensor | None = None
    ) -> list[Tensor]:
        """Run all positions through the decoder at once; position i reads the source token places[i].

        memory [batch, source_len, dim] is the encoder's; places and real, and keep where inputs are hidden, are
        [batch, length]. Returns what the positions know after each layer, [batch, length, dim] each.
        """
        memory, vectors = memory.chunk(2, dim=-1)
        copies = vectors.gather(1, places.unsqueeze(-1).expand(-1, -1, self.dim))
        shown = real if keep is None else real & keep
        states = self.dropout(self.target_positions(copies.masked_fill(~shown.unsqueeze(-1), 0.0)))
        positions = self.target_positions(torch.zeros_like(states[:1])).expand(len(states), -1, -1)
        memory_mask, found = padding_mask(source_mask), []
        for layer in self.decoder:
            states = layer(states, positions, real, memory, memory_mask)
            found.append(states if self.decoder_norm is None else self.decoder_norm(states))
        return found

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor | None, keep: Tensor | None = None
    ) -> Tensor:
        """Say what could stand at each position of an output as long as target_ids [batch, target_len].

        Of the tokens nothing but their number is read: the most probable fertilities of that sum are taken. memory
        [batch, source_len, dim], source_mask [batch, source_len], keep [batch, target_len]. Returns
        [batch, target_len, dim].
        """
        real = target_ids != self.pad_id
        fertilities = self.fertilities_of_length(memory, source_mask, real.sum(dim=1), target_ids.size(1))
        places, _ = copied_places(fertilities, target_ids.size(1))
        return self.refine(memory, source_mask, places, real, keep)[-1]

    def fertilities_of_length(
        self, memory: Tensor, source_mask: Tensor | None, lengths: Tensor, max_length: int
    ) -> Tensor:
        """Return the most probable fertilities that sum to lengths [batch], of which none is above `max_length`.

        memory [batch, source_len, dim] and source_mask [batch, source_len]. Returns [batch, source_len].
        """
        return most_probable_of_length(self.fertility_log_probs(memory, source_mask), lengths, max_length)

    @torch.no_grad()
    def copied(self, source_ids: Tensor, length: int) -> Tensor:
        """Say which token of source_ids [1, source_len] each of `length` positions reads, [1, length]."""
        memory = self.encode(source_ids, None)
        lengths = torch.tensor([length], device=source_ids.device)
        return copied_places(self.fertilities_of_length(memory, None, lengths, length), length)[0]

    @torch.no_grad()
    def read(self, source_ids: Tensor, source_mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Encode sentences, source_ids and source_mask [batch, source_len].

        Returns the memory [batch, source_len, dim] and what fertilities are probable, [batch, source_len, classes].
        """
        memory = self.encode(source_ids, source_mask)
        return memory, self.fertility_log_probs(memory, source_mask)

    @torch.no_grad()
    def write(
        self,
        memory: Tensor,
        source_mask: Tensor | None,
        fertilities: Tensor,
        *,
        max_length: int,
        forbidden_ids: Sequence[int] = (),
    ) -> Written:
        """Write the best token of every position, but none of `forbidden_ids`, and no more than `max_length`.

        memory [batch, source_len, dim]; source_mask and fertilities [batch, source_len]. Returns ids, log-probabilities
        and a mask, [batch, length] each.
        """
        log_probs, real = self.distributions(memory, source_mask, fertilities, max_length)
        if forbidden_ids:
            log_probs[:, :, list(forbidden_ids)] = -math.inf
        best, token_ids = log_probs.max(dim=-1)
        return Written(token_ids, best, real)

    def distributions(
        self, memory: Tensor, source_mask: Tensor | None, fertilities: Tensor, max_length: int
    ) -> tuple[Tensor, Tensor]:
        """Say what every position may be, [batch, length, vocab], and which are real, [batch, length].

        memory [batch, source_len, dim]; source_mask and fertilities [batch, source_len].
        """
        length = min(max(int(fertilities.sum(dim=1).max()), 1), max_length)
        places, real = copied_places(fertilities, length)
        states = self.refine(memory, source_mask, places, real)[-1]
        return self.project(states).float().log_softmax(dim=-1), real

    def attention_uses(self) -> list[AttentionUse]:
        """List the four uses of attention: in the encoder; of the decoder among others, by position, to the source."""
        encoder = list(enumerate(cast(Iterable[EncoderLayer], self.encoder.layers)))
        decoder = list(enumerate(cast(Iterable[FertilityLayer], self.decoder)))
        return [
            *(AttentionUse("encoder", "source", "source", False, n, layer.self_attention) for n, layer in encoder),
            *(AttentionUse("decoder", "target", "target", False, n, layer.self_attention) for n, layer in decoder),
            *(AttentionUse("position", "target", "target", False, n, it.positional_attention) for n, it in decoder),
            *(AttentionUse("cross", "target", "source", False, n, layer.cross_attention) for n, layer in decoder),
        ]

    @torch.no_grad()
    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor | None,
        *,
        max_rows: int,  # noqa: ARG002 - rows are made as they come
        max_len: int,
        before_layer: Callable[[], None] = lambda: None,
    ) -> "IndependentPositions":
        """Read source_ids where source_mask, [batch, source_len] each; one empty output for each sentence at first."""
        before_layer()
        memory, log_probs = self.read(source_ids, source_mask)
        return IndependentPositions(*self.distributions(memory, source_mask, self.choose(log_probs), max_len))

    @torch.no_grad()
    def step(self, state: "IndependentPositions", token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to rows parents [rows] and return the logits of what comes next, [rows, vocab]."""
        return state.step(token_ids, parents)


class IndependentPositions:
    """What a search keeps of its rows: what every position may be, whatever the others are."""

    def __init__(self, log_probs: Tensor, real: Tensor) -> None:
        """Start with an empty row for each sentence: log_probs [batch, length, vocab] where real [batch, length]."""
        # Behind the last position any token is as good as another, and none is worth writing but the end symbol, which
        # stands at the last real position wherever the model has learned to put it.
        last = real.sum(dim=1).clamp(min=1) - 1
        self._log_probs, self._last = log_probs, last
        self._sentence_of_row = torch.arange(len(log_probs), device=log_probs.device)
        self._place = -1

    def step(self, token_ids: Tensor, parents: Tensor | None) -> Tensor:  # noqa: ARG002 - they decide nothing
        """Go on to the next position, of rows parents [rows]; return its log-probabilities, [rows, vocab]."""
        if parents is not None:
            self._sentence_of_row = self._sentence_of_row[parents]
        self._place += 1
        last = self._last[self._sentence_of_row]
        return self._log_probs[self._sentence_of_row, last.clamp(max=self._place)]


def average(log_probs: Tensor) -> Tensor:
    """Return the mean fertility of each token, rounded, [batch, source_len].

    log_probs [batch, source_len, classes].
    """
    counts = torch.arange(log_probs.size(-1), device=log_probs.device, dtype=log_probs.dtype)
    return (log_probs.exp() * counts).sum(dim=-1).round().long()
