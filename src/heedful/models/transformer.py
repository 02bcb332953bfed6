"""The Transformer of *Attention Is All You Need* (Vaswani et al., 2017), sections 3.1 to 3.5.

Training reads `encode` and `decode`: all target positions at once. Search reads `start`, then `step` or `extend`: one
position at a time, or a few, with keys and values kept in a `DecoderCache`, which `rewind` cuts back. Tests hold the
two equal.
This file knows token ids and masks; it knows no text, no loss and no search.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.models import TransformerConfig
from heedful.models.blocks import build_embeddings, build_layer, build_positions
from heedful.models.cache import DecoderCache
from heedful.models.interfaces import AttentionUse, ExtendableModel, Side
from heedful.nn.embedding import OutputProjection
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.nn.masks import padding_mask
from heedful.nn.positions import Positions


class Encoder(nn.Module):
    """A stack of identical layers; with pre-norm, a last LayerNorm on top of a sum that nobody has normalised."""

    def __init__(self, layers: list[EncoderLayer], final_norm: nn.LayerNorm | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Run states [batch, source_len, dim] through all layers; mask broadcasts as in `EncoderLayer`."""
        for layer in self.layers:
            states = layer(states, mask)
        return states if self.final_norm is None else self.final_norm(states)


class Decoder(nn.Module):
    """A stack of identical layers, with the same last LayerNorm as the encoder when pre-norm."""

    def __init__(self, layers: list[DecoderLayer], final_norm: nn.LayerNorm | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(self, states: Tensor, memory: Tensor, memory_mask: Tensor | None) -> Tensor:
        """Run states [batch, target_len, dim] through all layers beside memory [batch, source_len, dim]."""
        for layer in self.layers:
            states = layer(states, memory, memory_mask)
        return states if self.final_norm is None else self.final_norm(states)

    def project_memory(self, memory: Tensor) -> Tensor:
        """Compute every layer's keys and values of memory [batch, source_len, dim] once for a whole search.

        Returns [layers, 2, batch, heads, source_len, head_dim].
        """
        layers = cast(Iterable[DecoderLayer], self.layers)
        return torch.stack([torch.stack(layer.cross_attention.project_key_value(memory)) for layer in layers])

    def extend(self, states: Tensor, cache: DecoderCache) -> Tensor:
        """Run the newest positions alone, states [rows, length, dim]; returns the same shape."""
        cache.make_room(states.size(1))
        for number, layer in enumerate(cast(Iterable[DecoderLayer], self.layers)):
            states = layer.extend(states, partial(cache.remember, number), partial(cache.look_up, number))
        cache.advance(states.size(1))
        return states if self.final_norm is None else self.final_norm(states)


class Transformer(ExtendableModel):
    """Source tokens in, a distribution over the next target token out."""

    def __init__(
        self, config: TransformerConfig, *, source_vocab_size: int, target_vocab_size: int, pad_id: int
    ) -> None:
        super().__init__()
        dim, tying = config.dim, config.tying
        self.pad_id = pad_id
        self.dim, self.num_heads = dim, config.num_heads
        self.source_embedding, self.target_embedding = build_embeddings(
            tying, dim, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size
        )
        self.source_positions = build_positions(config.positions, dim)
        self.target_positions = build_positions(config.positions, dim)
        self.dropout = nn.Dropout(config.dropout)

        def final_norm() -> nn.LayerNorm | None:
            return nn.LayerNorm(dim) if config.norm == "pre" else None

        encoder = [build_layer(EncoderLayer, config) for _ in range(config.num_encoder_layers)]
        decoder = [build_layer(DecoderLayer, config) for _ in range(config.num_decoder_layers)]
        self.encoder = Encoder(encoder, final_norm())
        self.decoder = Decoder(decoder, final_norm())
        tied_to = None if tying == "none" else self.target_embedding
        self.output_projection = OutputProjection(target_vocab_size, dim, bias=config.output_bias, tied_to=tied_to)

    def encode_vectors(self, vectors: Tensor, source_mask: Tensor | None) -> Tensor:
        """Read embeddings, vectors [batch, source_len, dim], real where source_mask [batch, source_len].

        Returns the memory [batch, source_len, dim].
        """
        memory: Tensor = self.encoder(self.dropout(self.source_positions(vectors)), padding_mask(source_mask))
        return memory

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor | None, keep: Tensor | None = None
    ) -> Tensor:
        """Read target_ids where keep, [batch, target_len] each, all positions at once: [batch, target_len, dim].

        memory [batch, source_len, dim] and source_mask [batch, source_len] are those of `encode`.
        """
        states = self.dropout(self.target_positions(self.target_embedding(target_ids, keep)))
        hidden: Tensor = self.decoder(states, memory, padding_mask(source_mask))
        return hidden

    @torch.no_grad()
    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor | None,
        *,
        max_rows: int,
        max_len: int,
        before_layer: Callable[[], None] = lambda: None,
    ) -> DecoderCache:
        """Encode source_ids, real where source_mask, [batch, source_len] each, and keep their keys and values."""
        before_layer()
        if source_mask is not None and bool(source_mask.all()):
            source_mask = None
        memory = self.decoder.project_memory(self.encode(source_ids, source_mask))
        return DecoderCache(memory, source_mask, max_rows=max_rows, max_len=max_len)

    @torch.no_grad()
    def extend(self, state: DecoderCache, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab] in fp32.

        A token sees those before it in its row, as if it had been appended by a `step` of its own; parents as there.
        """
        if parents is not None:
            state.follow(parents)
        assert token_ids.size(0) == state.num_rows, f"{token_ids.size(0)} lists of tokens for {state.num_rows} rows"
        states = self.dropout(self.target_positions(self.target_embedding(token_ids), start=state.starts))
        hidden = self.decoder.extend(states, state)  # [rows, length, dim]
        return self.project(hidden.flatten(0, 1)).float().view(*token_ids.shape, -1)

    def rewind(self, state: DecoderCache, lengths: Tensor) -> None:
        """Let every row forget what it has written beyond lengths [rows]."""
        state.rewind(lengths)

    def attention_uses(self) -> list[AttentionUse]:
        """List the three uses of attention: in the encoder, in the decoder, from decoder to encoder (section 3.2.3)."""
        encoder = list(enumerate(cast(Iterable[EncoderLayer], self.encoder.layers)))
        decoder = list(enumerate(cast(Iterable[DecoderLayer], self.decoder.layers)))
        return [
            *(AttentionUse("encoder", "source", "source", False, n, layer.self_attention) for n, layer in encoder),
            *(AttentionUse("decoder", "target", "target", True, n, layer.self_attention) for n, layer in decoder),
            *(AttentionUse("cross", "target", "source", False, n, layer.cross_attention) for n, layer in decoder),
        ]

    def positions(self, side: Side) -> Positions:
        """Return what one side adds to its embeddings."""
        return self.source_positions if side == "source" else self.target_positions
