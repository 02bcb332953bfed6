"""A Transformer whose steps have fixed shapes and change memory in place, so that a GPU can replay them.

It computes what models/transformer.py computes, from the same weights. Keys and values of what was written lie where
they were first written, however a search re-orders its rows; those of a source lie there once, however many rows
translate it. Each sentence has its own position, so that one that has ended makes room for another. Without a GPU the
same program runs in plain PyTorch: tests hold it against the model.
"""

import importlib.util
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from heedful.engines.cuda.attention import attend_to_past, attend_to_source
from heedful.engines.cuda.choice import ALLOWED, END, FORBIDDEN, best_allowed
from heedful.engines.cuda.products import FusedProducts, PlainProducts, Products, Stream, normalized
from heedful.engines.cuda.weights import LayerWeights, Norm, is_plain, weights_in
from heedful.models.transformer import Transformer
from heedful.nn.attention import attend_fused, join_heads, split_heads
from heedful.nn.feed_forward import ACTIVATIONS
from heedful.nn.masks import padding_mask

MAX_LEN = 2048
"""Positions that an output or a source may have here."""

_FEW_ROWS = 32
"""Up to so many rows a step goes the way of `FusedProducts`."""


def can_replay(model: Transformer, *, half: bool) -> bool:
    """Say whether this engine runs a model where it is: on a GPU for which kernels can be compiled."""
    device = model.output_projection.weight.device
    if device.type != "cuda" or not is_plain(model) or importlib.util.find_spec("triton") is None:
        return False
    return torch.cuda.get_device_capability(device) >= ((8, 0) if half else (7, 0))


@dataclass(frozen=True)
class Seats:
    """Room for sentences being translated, each with a beam of rows, and where each of them stands."""

    past: Tensor  # [layers, 2, rows, target_len, dim]
    memory: Tensor  # [layers, 2, batch, source_len, dim]
    is_real: Tensor  # bool [batch, source_len]
    ends: Tensor  # int64 [batch]: behind which position of the source nothing is real
    steps: Tensor  # int64 [batch]: positions written
    holders: Tensor  # int32 [rows, target_len]: the row that holds a position's keys and values
    token_ids: Tensor  # int64 [rows]: what is read next


class FixedTransformer:
    """A model in one precision; see `decoding.FixedDecodable`."""

    def __init__(self, model: Transformer, dtype: torch.dtype) -> None:
        self.dtype, self.dim = dtype, model.dim
        self.device = model.output_projection.weight.device
        self.weights = weights_in(model, dtype, MAX_LEN)
        self.vocab = self.weights.output.weight.size(0)
        self.max_len = min(len(self.weights.source.positions), len(self.weights.target.positions))

    def position_bytes(self) -> tuple[int, int]:
        """Return what a position of a row takes, and what a position of a source takes."""
        size = 2 * len(self.weights.target.layers) * self.dim * self.dtype.itemsize
        return size, size

    def make_seats(self, *, batch: int, beam: int, source_len: int, max_len: int) -> Seats:
        """Make room for so many sentences and rows of each."""
        layers, rows, device = len(self.weights.target.layers), batch * beam, self.device
        own = torch.arange(rows, dtype=torch.int32, device=device)
        # Zeros: what is hidden must be finite where it is hidden by a mask.
        return Seats(
            past=torch.zeros(layers, 2, rows, max_len, self.dim, dtype=self.dtype, device=device),
            memory=torch.zeros(layers, 2, batch, source_len, self.dim, dtype=self.dtype, device=device),
            is_real=torch.zeros(batch, source_len, dtype=torch.bool, device=device),
            ends=torch.zeros(batch, dtype=torch.int64, device=device),
            steps=torch.zeros(batch, dtype=torch.int64, device=device),
            holders=own.unsqueeze(1).repeat(1, max_len),
            token_ids=torch.zeros(rows, dtype=torch.int64, device=device),
        )

    def kinds_of(self, forbidden_ids: tuple[int, ...], eos_id: int) -> Tensor:
        """Say of every token whether it may be written, int8 [vocab]."""
        kinds = torch.full((self.vocab,), ALLOWED, dtype=torch.int8)
        kinds[list(forbidden_ids)] = FORBIDDEN
        kinds[eos_id] = END
        return kinds.to(self.device)

    def read(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        """Read sentences, [batch, source_len] each; returns keys and values [layers, 2, batch, source_len, dim]."""
        side, heads = self.weights.source, self.weights.num_heads
        vectors = functional.embedding(source_ids, side.embedding).masked_fill(~source_mask.unsqueeze(-1), 0.0)
        states = vectors + side.positions[: source_ids.size(1)]
        mask = padding_mask(source_mask)
        for layer in side.layers:
            states = self._read_layer(states, layer, mask, heads)
        states = normalized(states, side.final_norm)
        crosses = [layer.cross for layer in self.weights.target.layers if layer.cross is not None]
        both = [torch.stack(functional.linear(states, *cross.key_value).chunk(2, dim=-1)) for cross in crosses]
        return torch.stack(both)

    def _read_layer(self, states: Tensor, layer: LayerWeights, mask: Tensor | None, heads: int) -> Tensor:
        """Run states [batch, source_len, dim] through a layer of the encoder."""
        own, feed, is_pre = layer.own, layer.feed_forward, self.weights.is_pre_norm
        projected = functional.linear(normalized(states, own.norm if is_pre else None), *own.query_key_value)
        query, key, value = (split_heads(part, heads) for part in projected.chunk(3, dim=-1))
        found = functional.linear(join_heads(attend_fused(query, key, value, mask)), *own.output)
        states = normalized(states + found, None if is_pre else own.norm)
        hidden = functional.linear(normalized(states, feed.norm if is_pre else None), *feed.expand)
        found = functional.linear(ACTIVATIONS[self.weights.activation](hidden), *feed.contract)
        return normalized(states + found, None if is_pre else feed.norm)

    def step_best(self, seats: Seats, kinds: Tensor, *, min_length: int, count: int) -> tuple[Tensor, Tensor]:
        """Read the newest token of every row; returns the best that may follow, and ids, [rows, candidates] each.

        kinds int8 [vocab] are those of `kinds_of`.
        """
        logits = self.logits(seats)
        return best_allowed(logits, kinds, seats.steps, min_length, count)

    def logits(self, seats: Seats) -> Tensor:
        """Read the newest token of every row; returns logits [rows, vocab] in fp32."""
        side, heads = self.weights.target, self.weights.num_heads
        rows = len(seats.token_ids)
        places = seats.steps.repeat_interleave(rows // len(seats.steps), output_size=rows)
        is_few = rows <= _FEW_ROWS and seats.past.is_cuda and self.dim <= 1024
        products: Products = FusedProducts() if is_few else PlainProducts()
        stream = Stream(
            functional.embedding(seats.token_ids, side.embedding) + functional.embedding(places, side.positions)
        )
        for number, layer in enumerate(side.layers):
            assert layer.cross is not None, "a layer of the decoder looks at the source"
            before, after = _norms(layer.own.norm, self.weights.is_pre_norm)
            projected = products.project(stream, layer.own.query_key_value, before)
            found = attend_to_past(projected, seats.past[number], seats.holders, seats.steps, heads)
            stream = products.add(stream, found, layer.own.output, after)
            before, after = _norms(layer.cross.norm, self.weights.is_pre_norm)
            query = products.project(stream, layer.cross.query, before)
            found = attend_to_source(query, seats.memory[number], seats.is_real, seats.ends, heads)
            stream = products.add(stream, found, layer.cross.output, after)
            before, after = _norms(layer.feed_forward.norm, self.weights.is_pre_norm)
            hidden = products.project(stream, layer.feed_forward.expand, before, self.weights.activation)
            stream = products.add(stream, hidden, layer.feed_forward.contract, after)
        return products.logits(stream, self.weights.output, side.final_norm)


def _norms(norm: Norm, is_pre_norm: bool) -> tuple[Norm | None, Norm | None]:
    """Say what normalises what a sub-layer reads, and what the sum behind it."""
    return (norm, None) if is_pre_norm else (None, norm)
