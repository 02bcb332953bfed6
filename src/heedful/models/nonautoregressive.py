"""Models that write all positions at once; here the one that up-samples the source and collapses what it writes: CTC.

Encoder, embeddings and positions are the Transformer's; no position of the decoder waits for another. `write` is one
pass from source tokens to the best token of every position. What such a model says is also a distribution over whole
outputs, and `start` and `step` give it token by token, so that every search works; `write` is what makes it fast. The
other family, with fertilities, is fertility.py's. This file knows token ids and masks; it knows no text, no loss and no
search.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from heedful.config.models import CtcConfig, FertilityConfig, SinusoidalPositions
from heedful.models.blocks import build_embeddings, build_layer, build_positions
from heedful.models.collapsed_prefixes import CollapsedPrefixes
from heedful.models.interfaces import AttentionUse, EncoderDecoder
from heedful.models.transformer import Encoder
from heedful.nn.embedding import OutputProjection
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.nn.masks import padding_mask


class Written(NamedTuple):
    """What a model writes in one pass, position by position, [batch, length] each."""

    token_ids: Tensor
    log_probs: Tensor
    real: Tensor
    """True at the positions that a sentence has; those after them are padding."""


class ParallelModel(EncoderDecoder):
    """What models that write all positions at once have in common: all but how the decoder's inputs are made."""

    def __init__(
        self,
        config: CtcConfig | FertilityConfig,
        decoder: Sequence[nn.Module],
        *,
        source_vocab_size: int,
        target_vocab_size: int,
    ) -> None:
        super().__init__()
        dim = config.dim
        self.dim = dim
        self.source_embedding, self.target_embedding = build_embeddings(
            config.tying, dim, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size
        )
        self.source_positions = build_positions(SinusoidalPositions(), dim)
        self.target_positions = build_positions(SinusoidalPositions(), dim)
        self.dropout = nn.Dropout(config.dropout)

        def final_norm() -> nn.LayerNorm | None:
            return nn.LayerNorm(dim) if config.norm == "pre" else None

        encoder = [build_layer(EncoderLayer, config) for _ in range(config.num_encoder_layers)]
        self.encoder = Encoder(encoder, final_norm())
        self.decoder = nn.ModuleList(decoder)
        self.decoder_norm = final_norm()
        tied_to = None if config.tying == "none" else self.target_embedding
        self.output_projection = OutputProjection(target_vocab_size, dim, bias=False, tied_to=tied_to)

    def encode_vectors(self, vectors: Tensor, source_mask: Tensor | None) -> Tensor:
        """Read embeddings, vectors [batch, source_len, dim], real where source_mask [batch, source_len].

        Returns the memory [batch, source_len, dim].
        """
        memory: Tensor = self.encoder(self.dropout(self.source_positions(vectors)), padding_mask(source_mask))
        return memory


class CtcModel(ParallelModel):
    """Every source token gets several positions; what they say is collapsed: repeats are one, blanks are none."""

    def __init__(self, config: CtcConfig, *, source_vocab_size: int, target_vocab_size: int, pad_id: int) -> None:
        decoder = [build_layer(DecoderLayer, config) for _ in range(config.num_decoder_layers)]
        super().__init__(config, decoder, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
        self.upsampling = config.upsampling
        self.blank_id = pad_id  # the one symbol that no output has

    def refine(self, inputs: Tensor, real: Tensor | None, memory: Tensor, source_mask: Tensor | None) -> list[Tensor]:
        """Run all positions through the decoder at once, inputs [batch, length, dim], real where real [batch, length].

        memory [batch, source_len, dim] and source_mask [batch, source_len] are the encoder's.
        Returns what the positions know after each layer, [batch, length, dim] each, to be given to `project`.
        """
        states = self.dropout(self.target_positions(inputs))
        mask, memory_mask, found = padding_mask(real), padding_mask(source_mask), []
        for layer in self.decoder:
            states = layer(states, memory, memory_mask, mask, causal=False)
            found.append(states if self.decoder_norm is None else self.decoder_norm(states))
        return found

    @torch.no_grad()
    def write(self, source_ids: Tensor, source_mask: Tensor | None, *, forbidden_ids: Sequence[int] = ()) -> Written:
        """Write the best token of every position, but none of `forbidden_ids`; a blank is not a token.

        source_ids and source_mask [batch, source_len]. Returns ids, log-probabilities and a mask, [batch, length] each.
        """
        log_probs, real = self.distributions(source_ids, source_mask)
        if refused := [token for token in forbidden_ids if token != self.blank_id]:
            log_probs[:, :, refused] = -math.inf
        best, token_ids = log_probs.max(dim=-1)
        return Written(token_ids, best, real)

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor | None, keep: Tensor | None = None
    ) -> Tensor:
        """Refuse: nothing is written after something else here, so there is nothing that target_ids could decide.

        target_ids and keep [batch, target_len], memory [batch, source_len, dim], source_mask [batch, source_len].
        """
        raise NotImplementedError("a model that writes all positions at once has no forced decoding")

    def attention_uses(self) -> list[AttentionUse]:
        """List the attention of the encoder; positions of the decoder are no tokens of the target."""
        layers = [layer for layer in self.encoder.layers if isinstance(layer, EncoderLayer)]
        return [
            AttentionUse("encoder", "source", "source", False, number, layer.self_attention)
            for number, layer in enumerate(layers)
        ]

    def positions_of(self, source_ids: Tensor, source_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Give every source token its positions: inputs [batch, length, dim] and which are real, [batch, length].

        source_ids and source_mask [batch, source_len]; None: nothing is padded.
        """
        inputs = self.source_embedding(source_ids, source_mask).repeat_interleave(self.upsampling, dim=1)
        return inputs, None if source_mask is None else source_mask.repeat_interleave(self.upsampling, dim=1)

    def hidden(
        self, source_ids: Tensor, source_mask: Tensor | None, shown: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return what the positions know, [batch, length, dim], and which are real, [batch, length].

        source_ids and source_mask [batch, source_len]. `shown` are token ids and where they are shown, both
        [batch, length]: these positions read the token, not their source.
        """
        memory = self.encode(source_ids, source_mask)
        inputs, real = self.positions_of(source_ids, source_mask)
        if shown is not None:
            token_ids, where = shown
            inputs = torch.where(where.unsqueeze(-1), self.target_embedding(token_ids), inputs)
        states = self.refine(inputs, real, memory, source_mask)[-1]
        return states, torch.ones(states.shape[:2], dtype=torch.bool, device=states.device) if real is None else real

    def distributions(self, source_ids: Tensor, source_mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Say what every position may be, [batch, length, vocab], and which are real, [batch, length].

        source_ids and source_mask [batch, source_len].
        """
        states, real = self.hidden(source_ids, source_mask)
        return self.project(states).float().log_softmax(dim=-1), real

    @torch.no_grad()
    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor | None,
        *,
        max_rows: int,  # noqa: ARG002 - rows are made as they come
        max_len: int,  # noqa: ARG002
        before_layer: Callable[[], None] = lambda: None,
    ) -> CollapsedPrefixes:
        """Read source_ids where source_mask, [batch, source_len] each; one empty output for each sentence at first."""
        before_layer()
        log_probs, real = self.distributions(source_ids, source_mask)
        return CollapsedPrefixes(log_probs, real, blank_id=self.blank_id)

    @torch.no_grad()
    def step(self, state: CollapsedPrefixes, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to rows parents [rows] and return the logits of what comes next, [rows, vocab]."""
        return state.step(token_ids, parents)
