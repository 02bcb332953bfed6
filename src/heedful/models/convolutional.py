"""A convolutional encoder-decoder with attention in every decoder layer: ConvS2S (Gehring et al., 2017).

Both stacks are gated convolutions, so that every layer widens what a position knows by a window; in the decoder the
windows end at their position. Each decoder layer asks the source by itself, with the embedding of the token read last
added to its query, and finds what the encoder says there with the embedding of the source token added to it. Residuals,
LayerNorm, dropout and tying are those of the Transformer; `norm = "scaled"` is the paper's way without LayerNorm.
Search keeps for each row and layer the inputs that the next window still sees. This file knows token ids and masks; it
knows no text and no search.
"""

import math
from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.models import ConvolutionalConfig
from heedful.models.blocks import build_embeddings, build_positions
from heedful.models.interfaces import AttentionUse, ExtendableModel, Side
from heedful.nn.conditioned_attention import ConditionedAttention
from heedful.nn.convolution import GatedConvolution
from heedful.nn.embedding import OutputProjection
from heedful.nn.layers import PostNormResidual, PreNormResidual, ScaledResidual
from heedful.nn.masks import padding_mask
from heedful.nn.positions import Positions

_RESIDUALS = {"post": PostNormResidual, "pre": PreNormResidual, "scaled": ScaledResidual}


class ConvolutionalEncoderLayer(nn.Module):
    """A gated convolution over the source."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        before = config.kernel_size // 2
        self.convolution = GatedConvolution(config.dim, before=before, after=config.kernel_size - 1 - before)
        self.residual = _RESIDUALS[config.norm](config.dim, config.dropout)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Read states [batch, source_len, dim], real where mask [batch, source_len]; returns the same shape."""
        output: Tensor = self.residual(states, lambda x: self.convolution(x, mask))
        return output


class ConvolutionalDecoderLayer(nn.Module):
    """A causal gated convolution over the target, then attention to the source."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        residual = _RESIDUALS[config.norm]
        self.convolution = GatedConvolution(config.dim, before=config.kernel_size - 1, after=0)
        self.convolution_residual = residual(config.dim, config.dropout)
        self.attention = ConditionedAttention(config.dim)
        self.attention_residual = residual(config.dim, config.dropout)

    def forward(
        self, states: Tensor, convolve: Callable[[Tensor], Tensor], attend: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Run states [batch, target_len, dim] through both; returns the same shape.

        `convolve` and `attend` call the layer's two modules with what they need besides.
        """
        states = self.convolution_residual(states, convolve)
        output: Tensor = self.attention_residual(states, attend)
        return output


class ConvolutionalSearch:
    """What a search keeps of its rows: the inputs that windows still see, and the tokens, to go back by.

    Rows may have lengths of their own once they have been cut back.
    """

    def __init__(
        self,
        memory: Tensor,
        source_mask: Tensor | None,
        *,
        num_layers: int,
        before: int,
        max_rows: int,
        max_len: int,
    ) -> None:
        """Start with one empty row for each sentence.

        memory [batch, source_len, 2 · dim] and source_mask [batch, source_len] are the encoder's; `before` is how many
        inputs of a layer's convolution a window sees besides the newest.
        """
        batch, device, dim = memory.size(0), memory.device, memory.size(-1) // 2
        self.windows = memory.new_zeros(num_layers, max(max_rows, batch), before, dim)
        self.written = torch.zeros(self.windows.size(1), max_len, dtype=torch.long, device=device)  # token ids
        self.lengths = torch.zeros(batch, dtype=torch.long, device=device)  # [rows]
        self.longest: int | None = 0  # None where rows differ in length
        self._by_sentence = memory, source_mask
        self._sentence_of_row = torch.arange(batch, device=device)
        self._look_at(self._sentence_of_row)

    @property
    def num_rows(self) -> int:
        """Rows that are being written."""
        return self.lengths.numel()

    @property
    def starts(self) -> int | Tensor:
        """The position that each row writes next: one for all, or [rows]."""
        return self.lengths if self.longest is None else self.longest

    def follow(self, parents: Tensor) -> None:
        """Make new row r continue old row parents[r]; parents [rows] may repeat rows and leave rows out."""
        num_rows = parents.numel()
        assert num_rows <= self.windows.size(1), f"{num_rows} rows do not fit into room for {self.windows.size(1)}"
        self.windows[:, :num_rows] = self.windows[:, parents]
        self.written[:num_rows] = self.written[parents]
        self.lengths = self.lengths[parents]
        sentence_of_row = self._sentence_of_row[parents]
        if not torch.equal(sentence_of_row, self._sentence_of_row):
            self._look_at(sentence_of_row)

    def _look_at(self, sentence_of_row: Tensor) -> None:
        """Take up what the sentences of the rows say, sentence_of_row [rows]."""
        memory, source_mask = self._by_sentence
        self._sentence_of_row = sentence_of_row
        keys, values = memory[sentence_of_row].chunk(2, dim=-1)
        self.keys, self.values = keys.contiguous(), values.contiguous()  # [rows, source_len, dim]
        self.mask = None if source_mask is None else padding_mask(source_mask[sentence_of_row])

    def write(self, token_ids: Tensor) -> None:
        """Note what every row reads next, token_ids [rows, length]; the lengths are counted when it has been read."""
        end = token_ids.size(1) + (int(self.lengths.max()) if self.longest is None else self.longest)
        assert end <= self.written.size(1), f"there is room for {self.written.size(1)} positions"
        places = self.lengths.unsqueeze(1) + torch.arange(token_ids.size(1), device=token_ids.device)
        self.written[: self.num_rows].scatter_(1, places, token_ids)

    def remember(self, layer: int, inputs: Tensor, kept: Tensor | None) -> Tensor:
        """Put what a window still sees before the newest inputs [rows, length, dim] of a layer's convolution.

        What the next window will see is kept: it ends after the first kept[r] of them, kept [rows]; None: after all.
        Returns [rows, before + length, dim].
        """
        window = self.windows[layer, : self.num_rows]
        neighbourhood = torch.cat([window, inputs], dim=1)
        if kept is None:
            window[:] = neighbourhood[:, inputs.size(1) :]
        else:
            places = kept.unsqueeze(1) + torch.arange(window.size(1), device=kept.device)  # [rows, before]
            window[:] = neighbourhood.gather(1, places.unsqueeze(-1).expand_as(window))
        return neighbourhood


class ConvolutionalModel(ExtendableModel):
    """Gated convolutions in both stacks, and an attention in every layer of the decoder."""

    def __init__(self, config: ConvolutionalConfig, *, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__()
        dim, tying = config.dim, config.tying
        self.dim = dim
        self.source_embedding, self.target_embedding = build_embeddings(
            tying, dim, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size
        )
        self.source_positions = build_positions(config.positions, dim)
        self.target_positions = build_positions(config.positions, dim)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList([ConvolutionalEncoderLayer(config) for _ in range(config.num_encoder_layers)])
        self.decoder = nn.ModuleList([ConvolutionalDecoderLayer(config) for _ in range(config.num_decoder_layers)])
        is_sum = config.norm == "pre"  # the sum of all layers, which nobody has normalised
        self.encoder_norm = nn.LayerNorm(dim) if is_sum else nn.Identity()
        self.decoder_norm = nn.LayerNorm(dim) if is_sum else nn.Identity()
        tied_to = None if tying == "none" else self.target_embedding
        self.output_projection = OutputProjection(target_vocab_size, dim, bias=False, tied_to=tied_to)

    def encode_vectors(self, vectors: Tensor, source_mask: Tensor | None) -> Tensor:
        """Read embeddings, vectors [batch, source_len, dim], real where source_mask [batch, source_len].

        Returns the memory [batch, source_len, 2 · dim]: what is compared with a query, then what is found, which has
        the source's embeddings in it.
        """
        embeddings: Tensor = self.dropout(self.source_positions(vectors))
        states = embeddings
        for layer in self.encoder:
            states = layer(states, source_mask)
        states = self.encoder_norm(states)
        return torch.cat([states, (states + embeddings) * math.sqrt(0.5)], dim=-1)

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor | None, keep: Tensor | None = None
    ) -> Tensor:
        """Read target_ids where keep, [batch, target_len] each, all positions at once: [batch, target_len, dim].

        memory [batch, source_len, 2 · dim] and source_mask [batch, source_len] are those of `encode`.
        """
        read = self.dropout(self.target_positions(self.target_embedding(target_ids, keep)))
        keys, values = memory.chunk(2, dim=-1)
        mask = padding_mask(source_mask)
        states = read
        for layer in self._decoder_layers():
            states = layer(states, layer.convolution, lambda x, ask=layer.attention: ask(x, read, keys, values, mask))
        hidden: Tensor = self.decoder_norm(states)
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
    ) -> ConvolutionalSearch:
        """Encode source_ids, real where source_mask, [batch, source_len] each, and make room for the rows' windows."""
        before_layer()
        if source_mask is not None and bool(source_mask.all()):
            source_mask = None
        memory = self.encode(source_ids, source_mask)
        before, num_layers = self._decoder_layers()[0].convolution.before, len(self.decoder)
        return ConvolutionalSearch(
            memory, source_mask, num_layers=num_layers, before=before, max_rows=max_rows, max_len=max_len
        )

    @torch.no_grad()
    def extend(self, state: ConvolutionalSearch, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab] in fp32.

        A token sees those before it in its row, as if it had been appended by a `step` of its own; parents as there.
        """
        if parents is not None:
            state.follow(parents)
        rows, length = token_ids.shape
        assert rows == state.num_rows, f"{rows} lists of tokens for {state.num_rows} rows"
        state.write(token_ids)
        hidden = self._read(state, token_ids, None)
        state.lengths = state.lengths + length
        state.longest = None if state.longest is None else state.longest + length
        return self.project(hidden.flatten(0, 1)).float().view(rows, length, -1)

    @torch.no_grad()
    def rewind(self, state: ConvolutionalSearch, lengths: Tensor) -> None:
        """Let every row forget what it has written beyond lengths [rows].

        Windows hold what comes next and nothing before it, so what remains is read again, all positions at once.
        """
        lengths = lengths.to(state.lengths)
        assert lengths.numel() == state.num_rows, f"{lengths.numel()} lengths for {state.num_rows} rows"
        assert bool(((lengths >= 0) & (lengths <= state.lengths)).all()), "a row can only be cut back"
        if torch.equal(lengths, state.lengths):
            return
        shortest, longest = int(lengths.min()), int(lengths.max())
        state.windows[:, : state.num_rows] = 0.0
        state.lengths, state.longest = torch.zeros_like(lengths), 0
        if longest > 0:
            self._read(state, state.written[: state.num_rows, :longest], lengths)
        state.lengths, state.longest = lengths, longest if shortest == longest else None

    def _read(self, state: ConvolutionalSearch, token_ids: Tensor, kept: Tensor | None) -> Tensor:
        """Run the newest positions alone, token_ids [rows, length], and keep windows as `remember` does, kept [rows].

        Returns [rows, length, dim].
        """
        read = self.dropout(self.target_positions(self.target_embedding(token_ids), start=state.starts))
        states = read
        for number, layer in enumerate(self._decoder_layers()):

            def convolve(x: Tensor, number: int = number, layer: ConvolutionalDecoderLayer = layer) -> Tensor:
                """Convolve x [rows, length, dim] with what the windows still see."""
                return layer.convolution.read(state.remember(number, x, kept))

            def attend(x: Tensor, layer: ConvolutionalDecoderLayer = layer) -> Tensor:
                """Ask the sources of the rows, x [rows, length, dim]."""
                found: Tensor = layer.attention(x, read, state.keys, state.values, state.mask)
                return found

            states = layer(states, convolve, attend)
        hidden: Tensor = self.decoder_norm(states)
        return hidden

    def attention_uses(self) -> list[AttentionUse]:
        """List the attention of every decoder layer, from what is being written to the source."""
        return [
            AttentionUse("cross", "target", "source", False, number, layer.attention)
            for number, layer in enumerate(self._decoder_layers())
        ]

    def positions(self, side: Side) -> Positions:
        """Return what one side adds to its embeddings."""
        return self.source_positions if side == "source" else self.target_positions

    def _decoder_layers(self) -> list[ConvolutionalDecoderLayer]:
        """Return the layers of the decoder, by their type."""
        return list(cast(Iterable[ConvolutionalDecoderLayer], self.decoder))
