"""A recurrent encoder-decoder with attention: what translated before the Transformer (Bahdanau et al., 2015).

The encoder reads the source both ways, the decoder carries a state from token to token, and additive attention lets
every token being written look at the source. As in GNMT (Wu et al., 2016, section 3) the first decoder layer asks and
the layers above read what was found: nothing found goes back into the layer that asks, so that training runs whole
sentences through fused kernels. Residuals, LayerNorm, dropout and tying are those of the Transformer.
Search keeps one state for each row and layer. This file knows token ids and masks; it knows no text and no search.
"""

from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.models import RecurrentConfig
from heedful.models.interfaces import AttentionUse, EncoderDecoder
from heedful.nn.additive_attention import AdditiveAttention
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.layers import PostNormResidual
from heedful.nn.masks import padding_mask
from heedful.nn.recurrent import BothWays, GatedRecurrence


class RecurrentSearch:
    """What a search keeps: a state for each layer and row, and what each row's sentence says."""

    def __init__(self, states: Tensor, keys: Tensor, memory: Tensor, source_mask: Tensor | None) -> None:
        """Start with one row for each sentence: states [layers, batch, dim]; keys, memory [batch, source_len, dim]."""
        self.states = states
        self._by_sentence = keys, memory, source_mask
        self._sentence_of_row = torch.arange(states.size(1), device=states.device)  # [rows]
        self.keys, self.memory, self.mask = keys, memory, padding_mask(source_mask)

    def follow(self, parents: Tensor) -> None:
        """Make new row r continue old row parents[r]; parents [rows] may repeat rows and leave rows out."""
        self.states = self.states[:, parents]
        sentence_of_row = self._sentence_of_row[parents]
        if torch.equal(sentence_of_row, self._sentence_of_row):
            return  # rows that change places within their sentence look at the same source
        self._sentence_of_row = sentence_of_row
        keys, memory, source_mask = self._by_sentence
        self.keys, self.memory = keys[sentence_of_row], memory[sentence_of_row]
        self.mask = None if source_mask is None else padding_mask(source_mask[sentence_of_row])


class RecurrentModel(EncoderDecoder):
    """Gated recurrent units in both stacks, and one attention between them."""

    def __init__(self, config: RecurrentConfig, *, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__()
        dim, tying, dropout = config.dim, config.tying, config.dropout
        num_encoder_layers, num_decoder_layers = config.num_encoder_layers, config.num_decoder_layers
        assert tying != "three_way" or source_vocab_size == target_vocab_size, "one matrix needs one vocabulary"
        self.dim = dim
        self.source_embedding = TokenEmbedding(source_vocab_size, dim)
        self.target_embedding = (
            self.source_embedding if tying == "three_way" else TokenEmbedding(target_vocab_size, dim)
        )
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList([BothWays(dim) for _ in range(num_encoder_layers)])
        self.encoder_residuals = nn.ModuleList([PostNormResidual(dim, dropout) for _ in range(num_encoder_layers)])
        self.first_states = nn.Linear(dim, num_decoder_layers * dim)
        self.decoder = nn.ModuleList([GatedRecurrence(dim, dim) for _ in range(num_decoder_layers)])
        # The first layer's states ask; with the embedding added to them they would say what was read, less where.
        self.first_norm = nn.LayerNorm(dim)
        self.decoder_residuals = nn.ModuleList([PostNormResidual(dim, dropout) for _ in range(num_decoder_layers - 1)])
        self.attention = AdditiveAttention(dim)
        self.attention_residual = PostNormResidual(dim, dropout)
        tied_to = None if tying == "none" else self.target_embedding
        self.output_projection = OutputProjection(target_vocab_size, dim, bias=False, tied_to=tied_to)

    def encode_vectors(self, vectors: Tensor, source_mask: Tensor | None) -> Tensor:
        """Read embeddings, vectors [batch, source_len, dim], real where source_mask [batch, source_len].

        Returns the memory [batch, source_len, dim].
        """
        states: Tensor = self.dropout(vectors)
        for layer, residual in zip(self.encoder, self.encoder_residuals, strict=True):
            states = residual(states, partial(layer, mask=source_mask))
        return states

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor | None, keep: Tensor | None = None
    ) -> Tensor:
        """Read target_ids [batch, target_len] one after the other, beside memory [batch, source_len, dim].

        source_mask [batch, source_len] is that of `encode`; tokens where keep [batch, target_len] is False lose their
        embedding. Returns [batch, target_len, dim], to be given to `project`.
        """
        states: Tensor = self.dropout(self.target_embedding(target_ids, keep))
        first_states = self._first_states(memory, source_mask)
        mask = padding_mask(source_mask)
        first, *others = self.decoder
        states = self.first_norm(self.dropout(first(states, first_states[0])))
        states = self.attention_residual(states, lambda x: self.attention(x, memory, mask))
        for layer, residual, state in zip(others, self.decoder_residuals, first_states[1:], strict=True):
            states = residual(states, partial(layer, state=state))
        return states

    @torch.no_grad()
    def start(
        self,
        source_ids: Tensor,
        source_mask: Tensor | None,
        *,
        max_rows: int,  # noqa: ARG002 - the state does not grow
        max_len: int,  # noqa: ARG002
        before_layer: Callable[[], None] = lambda: None,
    ) -> RecurrentSearch:
        """Encode the sentences of a search, source_ids and source_mask [batch, source_len]; one row for each at first.

        `before_layer` is called once, before the encoder; what it raises ends the search.
        """
        before_layer()
        memory = self.encode(source_ids, source_mask)
        first_states = self._first_states(memory, source_mask)
        return RecurrentSearch(first_states, self.attention.key(memory), memory, source_mask)

    @torch.no_grad()
    def step(self, state: RecurrentSearch, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to the rows and return the logits of what comes next, [rows, vocab] in fp32.

        Row r goes on from row parents[r] of the step before, parents [rows]; None lets every row go on from itself.
        """
        if parents is not None:
            state.follow(parents)
        assert token_ids.numel() == state.states.size(1), f"{token_ids.numel()} tokens for {state.states.size(1)} rows"
        states = self.dropout(self.target_embedding(token_ids.unsqueeze(1)))  # [rows, 1, dim]
        newest: list[Tensor] = []

        def read(inputs: Tensor) -> Tensor:
            """Read inputs [rows, 1, dim] in the next layer and keep its new state."""
            layer = cast(GatedRecurrence, self.decoder[len(newest)])
            newest.append(layer.step(inputs[:, 0], state.states[len(newest)]))
            return newest[-1].unsqueeze(1)

        states = self.first_norm(self.dropout(read(states)))
        states = self.attention_residual(
            states, lambda x: self.attention.look_up(x, state.keys, state.memory, state.mask)
        )
        for residual in self.decoder_residuals:
            states = residual(states, read)
        state.states = torch.stack(newest)
        return self.project(states.squeeze(1)).float()

    def attention_uses(self) -> list[AttentionUse]:
        """List the one attention: from what is being written to the source."""
        return [AttentionUse("cross", "target", "source", False, 0, self.attention)]

    def _first_states(self, memory: Tensor, source_mask: Tensor | None) -> Tensor:
        """Make the decoder's first states [layers, batch, dim] of the mean of memory [batch, source_len, dim]."""
        if source_mask is None:
            mean = memory.mean(dim=1)  # [batch, dim]
        else:
            real = memory.masked_fill(~source_mask.unsqueeze(-1), 0.0)
            mean = real.sum(dim=1) / source_mask.sum(dim=1, keepdim=True).clamp(min=1)
        return torch.stack(self.first_states(mean).tanh().chunk(len(self.decoder), dim=-1))
