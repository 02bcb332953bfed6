"""The plain language model: the paper's decoder without a source (Radford et al., 2018).

A layer is the encoder's, its attention being causal. Positions are places in the segment, so nothing that was computed
for one segment is true in the next: a text longer than a segment is read again from its middle whenever the window is
full. Transformer-XL (transformer_xl.py) is what removes this; both are used alike.
This file knows token ids; it knows no text, no loss and no sampling.
"""

from collections.abc import Iterable
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.language_modeling import LanguageModelConfig
from heedful.models.blocks import build_layer, build_positions
from heedful.models.segment_memory import KeyValueWindow, SegmentMemory
from heedful.nn.attention import MultiHeadSelfAttention, attend_fused
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.layers import EncoderLayer
from heedful.nn.relative_attention import distances


class LanguageModel(nn.Module):
    """Tokens in, states of the next tokens out."""

    def __init__(self, config: LanguageModelConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.dim, self.num_heads, self.context_len = config.dim, config.num_heads, config.context_len
        self.embedding = TokenEmbedding(vocab_size, config.dim)
        self.positions = build_positions(config.positions, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(build_layer(EncoderLayer, config) for _ in range(config.num_layers))
        self.final_norm = nn.LayerNorm(config.dim) if config.norm == "pre" else None
        tied_to = self.embedding if config.tied_output else None
        self.output_projection = OutputProjection(vocab_size, config.dim, bias=True, tied_to=tied_to)

    def forward(self, token_ids: Tensor, memory: SegmentMemory) -> tuple[Tensor, SegmentMemory]:
        """Read token_ids [batch, length], the memory being the empty one it always is: a segment is all there is.

        Returns states [batch, length, dim], to be given to `project`, and the memory as it was.
        """
        states = self.dropout(self.positions(self.embedding(token_ids)))
        for layer in self._layers:
            states = layer.self_attention_residual(states, partial(layer.self_attention, causal=True))
            states = layer.feed_forward_residual(states, layer.feed_forward)
        return self._normed(states), memory

    def project(self, hidden: Tensor) -> Tensor:
        """Turn states [batch, length, dim] into logits [batch, length, vocab]."""
        logits: Tensor = self.output_projection(hidden)
        return logits

    def empty_memory(self, batch: int, memory_len: int, *, dtype: torch.dtype = torch.float32) -> SegmentMemory:
        """Make the memory of `batch` texts, which for this model holds nothing however long it is wanted."""
        assert memory_len == 0, "a model whose positions are absolute has no memory"
        return SegmentMemory.empty(0, batch, 0, self.dim, device=self.embedding.weight.device, dtype=dtype)

    def reader(self, rows: int, *, memory_len: int, segment_len: int = 1) -> "WindowReader":
        """Begin to read `rows` texts side by side, up to segment_len tokens at a time; see `WindowReader`."""
        return WindowReader(self, rows, memory_len=memory_len, segment_len=segment_len)

    @property
    def _layers(self) -> Iterable[EncoderLayer]:
        return cast(Iterable[EncoderLayer], self.layers)

    def _normed(self, states: Tensor) -> Tensor:
        return states if self.final_norm is None else self.final_norm(states)


class WindowReader:
    """Reads on with fixed weights in a window of `context_len` tokens, keeping keys and values while it is not full.

    When it is full, the newest `memory_len` tokens are read once more from the window's beginning, and it goes on.
    """

    def __init__(self, model: LanguageModel, rows: int, *, memory_len: int, segment_len: int) -> None:
        weight = model.embedding.weight
        self._model, self._segment_len = model, min(segment_len, model.context_len)
        self._memory_len = min(memory_len, model.context_len - self._segment_len)
        self._recent = torch.empty(rows, 0, dtype=torch.int64, device=weight.device)
        self._window = KeyValueWindow(
            layers=len(model.layers),
            rows=rows,
            heads=model.num_heads,
            head_dim=model.dim // model.num_heads,
            memory_len=model.context_len,
            segment_len=model.context_len,
            device=weight.device,
            dtype=weight.dtype,
        )

    @torch.no_grad()
    def read(self, token_ids: Tensor) -> Tensor:
        """Read token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab] in fp32."""
        query_len = token_ids.size(1)
        assert query_len <= self._segment_len, f"the reader was made for segments of {self._segment_len}: {query_len}"
        unread = token_ids
        if self._window.length + query_len > self._model.context_len:
            self._window.forget()
            unread = torch.cat([self._recent, token_ids], dim=1)
        remembered = torch.cat([self._recent, token_ids], dim=1)
        self._recent = remembered[:, max(0, remembered.size(1) - self._memory_len) :]
        hidden = self._advance(unread)[:, -query_len:]
        return self._model.project(hidden).float()

    def _advance(self, token_ids: Tensor) -> Tensor:
        model, window = self._model, self._window
        start, query_len = window.length, token_ids.size(1)
        states = model.positions(model.embedding(token_ids), start=start)
        may_see = distances(query_len, start + query_len, device=token_ids.device) >= 0 if query_len > 1 else None
        window.begin(query_len)
        for number, layer in enumerate(model._layers):

            def attend(
                x: Tensor, number: int = number, attention: MultiHeadSelfAttention = layer.self_attention
            ) -> Tensor:
                query, key, value = attention.project(x)
                key, value = window.remember(number, key, value)
                return attention.project_output(attend_fused(query, key, value, may_see))

            states = layer.self_attention_residual(states, attend)
            states = layer.feed_forward_residual(states, layer.feed_forward)
        window.end()
        return model._normed(states)
