"""Transformer-XL (Dai et al., 2019): a language model whose context flows over the borders of segments.

Training reads `forward`: a segment beside the memory of those before it (section 3.2), positions being distances
(section 3.3). With fixed weights `reader` reads on in pieces of any size, down to a single token, and keeps keys and
values instead of states. Tests hold the two equal to each other, and to one long segment.
This file knows token ids; it knows no text, no loss and no sampling.
"""

from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.language_modeling import TransformerXLConfig
from heedful.models.segment_memory import KeyValueWindow, SegmentMemory
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.feed_forward import FeedForward
from heedful.nn.layers import RESIDUALS, PreNormResidual
from heedful.nn.relative_attention import GlobalBiases, RelativePositions, RelativeSelfAttention


class RelativeLayer(nn.Module):
    """Attention to the memory and the past by distance, then the feed-forward network."""

    def __init__(self, config: TransformerXLConfig, biases: GlobalBiases) -> None:
        super().__init__()
        dim, residual = config.dim, RESIDUALS[config.norm]
        self.attention = RelativeSelfAttention(dim, config.num_heads, biases, config.attention_dropout)
        self.attention_residual = residual(dim, config.dropout)
        self.feed_forward = FeedForward(dim, config.hidden_dim, config.activation, config.hidden_dropout)
        self.feed_forward_residual = residual(dim, config.dropout)

    def forward(self, states: Tensor, memory: Tensor, encodings: Tensor, is_real: Tensor | None = None) -> Tensor:
        """Read states [batch, query_len, dim] beside memory [batch, memory_len, dim], what this layer read before.

        encodings [key_len, dim] are those of `RelativePositions`, is_real [batch, key_len] is True at keys that exist.
        Returns [batch, query_len, dim].
        """
        if isinstance(self.attention_residual, PreNormResidual):
            memory = self.attention_residual.norm(memory.to(states.dtype))  # as what is read now will be
        return self.around(states, lambda x: self.attention(x, memory, encodings, is_real))

    def around(self, states: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        """Do what the layer does with states [batch, length, dim], whatever `attend` lets its attention see."""
        states = self.attention_residual(states, attend)
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output


class TransformerXL(nn.Module):
    """Tokens and a memory in; states of the next tokens and the memory of having read them out."""

    def __init__(self, config: TransformerXLConfig, *, vocab_size: int) -> None:
        super().__init__()
        dim, num_heads = config.dim, config.num_heads
        self.dim, self.num_heads = dim, num_heads
        self.embedding = TokenEmbedding(vocab_size, dim)
        self.positions = RelativePositions(dim, config.clamp_len)
        self.dropout = nn.Dropout(config.dropout)
        shared = GlobalBiases(num_heads, dim // num_heads) if config.tied_biases else None
        self.layers = nn.ModuleList(
            RelativeLayer(config, GlobalBiases(num_heads, dim // num_heads) if shared is None else shared)
            for _ in range(config.num_layers)
        )
        self.final_norm = nn.LayerNorm(dim) if config.norm == "pre" else None
        tied_to = self.embedding if config.tied_output else None
        self.output_projection = OutputProjection(vocab_size, dim, bias=True, tied_to=tied_to)

    def forward(self, token_ids: Tensor, memory: SegmentMemory) -> tuple[Tensor, SegmentMemory]:
        """Read token_ids [batch, query_len] after what is in the memory.

        Returns states [batch, query_len, dim], to be given to `project`, and the memory of the next segment, into which
        no gradient flows: nothing is changed in place.
        """
        query_len = token_ids.size(1)
        # In the memory's type: what is remembered in half precision is also handed from layer to layer in it.
        states = self.dropout(self.embedding(token_ids).to(memory.states.dtype))
        encodings = self.dropout(self.positions(memory.memory_len + query_len))
        is_real = memory.is_real(query_len)
        read: list[Tensor] = []
        for layer, past in zip(self.layers, memory.states, strict=True):
            read.append(states)
            states = layer(states, past, encodings, is_real)
        return self.dropout(self._normed(states)), memory.extended(read)

    def project(self, hidden: Tensor) -> Tensor:
        """Turn states [batch, length, dim] into logits [batch, length, vocab]."""
        logits: Tensor = self.output_projection(hidden)
        return logits

    def clamp(self, clamp_len: int | None) -> None:
        """Take all distances beyond this one for it: for reading with a longer memory than the model has learned."""
        self.positions = RelativePositions(self.dim, clamp_len).to(self.embedding.weight.device)

    def empty_memory(self, batch: int, memory_len: int, *, dtype: torch.dtype = torch.float32) -> SegmentMemory:
        """Make the memory of `batch` texts that begin now, on the model's device."""
        device = self.embedding.weight.device
        return SegmentMemory.empty(len(self.layers), batch, memory_len, self.dim, device=device, dtype=dtype)

    def reader(self, rows: int, *, memory_len: int, segment_len: int = 1) -> "TransformerXLReader":
        """Begin to read `rows` texts side by side, up to segment_len tokens at a time, remembering memory_len."""
        return TransformerXLReader(self, rows, memory_len=memory_len, segment_len=segment_len)

    @property
    def _layers(self) -> Iterable[RelativeLayer]:
        return cast(Iterable[RelativeLayer], self.layers)

    def _normed(self, states: Tensor) -> Tensor:
        return states if self.final_norm is None else self.final_norm(states)


class TransformerXLReader:
    """Reads on with fixed weights: keys and values of the past are kept, and so are the projected distances."""

    @torch.no_grad()
    def __init__(self, model: TransformerXL, rows: int, *, memory_len: int, segment_len: int) -> None:
        weight = model.embedding.weight
        self._model = model
        self._window = KeyValueWindow(
            layers=len(model.layers),
            rows=rows,
            heads=model.num_heads,
            head_dim=model.dim // model.num_heads,
            memory_len=memory_len,
            segment_len=segment_len,
            device=weight.device,
            dtype=weight.dtype,
        )
        encodings = model.positions(memory_len + segment_len)
        self._distance_keys = [layer.attention.project_distances(encodings) for layer in model._layers]

    @torch.no_grad()
    def read(self, token_ids: Tensor) -> Tensor:
        """Read token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab] in fp32."""
        model, window = self._model, self._window
        states = model.embedding(token_ids)
        window.begin(token_ids.size(1))
        for number, layer in enumerate(model._layers):

            def attend(x: Tensor, number: int = number, attention: RelativeSelfAttention = layer.attention) -> Tensor:
                key, value = window.remember(number, *attention.project_key_value(x))
                distance_key = self._distance_keys[number][:, -key.size(2) :]
                return attention.attend(attention.project_query(x), key, value, distance_key)

            states = layer.around(states, attend)
        window.end()
        return model.project(model._normed(states)).float()
