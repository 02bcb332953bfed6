"""A recurrent encoder-decoder: what translated before the Transformer.

The encoder reads the source both ways, the decoder carries a state from token to token. What the decoder knows of the
source is one vector, what both ways end with (`attention = "none"`: Sutskever et al., 2014; Cho et al., 2014), or what
attention finds at every token (Bahdanau et al., 2015; Luong et al., 2015). As in GNMT (Wu et al., 2016, section 3) the
first decoder layer asks and the layers above read what was found. As long as nothing found goes back into the layer
that asks, training runs whole sentences through fused kernels; with input feeding (Luong et al., 2015, section 3.3)
it does, and the first layer goes from token to token, while the layers above still run whole sentences.
Residuals, LayerNorm, dropout and tying are those of the Transformer.
Search keeps one state for each row and layer. This file knows token ids and masks; it knows no text and no search.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.config.models import RecurrentConfig
from heedful.models.blocks import build_embeddings
from heedful.models.cache import groups_of
from heedful.models.interfaces import AttentionUse, EncoderDecoder
from heedful.nn.embedding import OutputProjection
from heedful.nn.layers import PostNormResidual
from heedful.nn.masks import padding_mask
from heedful.nn.recurrent import CELLS, BothWays, Recurrence, last_said
from heedful.nn.single_head_attention import COMPARISONS


class RecurrentSearch:
    """What a search keeps: a state for each layer and row, and what each sentence says."""

    def __init__(self, states: Sequence[Tensor], source: "RecurrentSource") -> None:
        """Start with one row for each sentence: states [batch, dim], one after the other."""
        self.states = list(states)
        self._by_sentence = source
        self._sentence_of_row = torch.arange(states[0].size(0), device=states[0].device)  # [rows]
        self.source, self.group_size = source, 1  # neighbouring rows of one sentence form a group and share its source

    @property
    def num_rows(self) -> int:
        """Hypotheses being written."""
        return self.states[0].size(0)

    def follow(self, parents: Tensor) -> None:
        """Make new row r continue old row parents[r]; parents [rows] may repeat rows and leave rows out."""
        self.states = [state.index_select(0, parents) for state in self.states]
        sentence_of_row = self._sentence_of_row[parents]
        if torch.equal(sentence_of_row, self._sentence_of_row):
            return  # rows that change places within their sentence look at the same source
        self._sentence_of_row = sentence_of_row
        self.group_size, groups = groups_of(sentence_of_row)
        self.source = self._by_sentence.of(groups)


class RecurrentSource:
    """What the decoder is given of some sentences: their memory and its keys, or one vector each."""

    def __init__(self, memory: Tensor, key: Tensor | None, mask: Tensor | None) -> None:
        """Take memory and key [batch, source_len, dim] and mask [batch, source_len], or vectors [batch, 1, dim]."""
        self.memory, self.key, self.mask = memory, key, padding_mask(mask)
        self._mask = mask

    def of(self, sentences: Tensor) -> "RecurrentSource":
        """Return what is known of sentences [batch], which may repeat."""
        mask = None if self._mask is None else self._mask[sentences]
        return RecurrentSource(self.memory[sentences], None if self.key is None else self.key[sentences], mask)


class RecurrentModel(EncoderDecoder):
    """Recurrent units in both stacks, and one attention between them or none."""

    def __init__(self, config: RecurrentConfig, *, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__()
        dim, tying, dropout = config.dim, config.tying, config.dropout
        num_encoder_layers, num_decoder_layers = config.num_encoder_layers, config.num_decoder_layers
        self.dim, self.feeds = dim, config.input_feeding
        self.source_embedding, self.target_embedding = build_embeddings(
            tying, dim, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size
        )
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList([BothWays(dim, config.cell) for _ in range(num_encoder_layers)])
        self.encoder_residuals = nn.ModuleList([PostNormResidual(dim, dropout) for _ in range(num_encoder_layers)])
        unit = CELLS[config.cell]
        decoder = [unit(2 * dim if self.feeds and not number else dim, dim) for number in range(num_decoder_layers)]
        self.first_states = nn.Linear(dim, num_decoder_layers * decoder[0].state_dim)
        self.decoder = nn.ModuleList(decoder)
        # The first layer's states ask; with the embedding added to them they would say what was read, less where.
        self.first_norm = nn.LayerNorm(dim)
        self.decoder_residuals = nn.ModuleList([PostNormResidual(dim, dropout) for _ in range(num_decoder_layers - 1)])
        self.attention = None if config.attention == "none" else COMPARISONS[config.attention](dim)
        self.context = nn.Linear(dim, dim) if config.attention == "none" else None
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
        vectors: Tensor = self.dropout(self.target_embedding(target_ids, keep))
        first_state, *other_states = self._first_states(memory, source_mask)
        states = (self._read_feeding if self.feeds else self._read_first)(vectors, first_state, memory, source_mask)
        for layer, residual, state in zip(self._units[1:], self.decoder_residuals, other_states, strict=True):
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
        if source_mask is not None and bool(source_mask.all()):
            source_mask = None
        memory = self.encode(source_ids, source_mask)
        states = self._first_states(memory, source_mask)
        if self.feeds:
            states = [*states, torch.zeros_like(memory[:, 0])]
        return RecurrentSearch(states, self._source(memory, source_mask))

    @torch.no_grad()
    def step(self, state: RecurrentSearch, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to rows parents [rows] and return the logits of what comes next, [rows, vocab]."""
        return self.project(self.advance(state, token_ids, parents)).float()

    @torch.no_grad()
    def advance(self, state: RecurrentSearch, token_ids: Tensor, parents: Tensor | None = None) -> Tensor:
        """Append token_ids [rows] to the rows and return what the logits are made of, [rows, dim].

        Row r goes on from row parents[r] of the step before, parents [rows]; None lets every row go on from itself.
        """
        if parents is not None:
            state.follow(parents)
        assert token_ids.numel() == state.num_rows, f"{token_ids.numel()} tokens for {state.num_rows} rows"
        inputs = self.dropout(self.target_embedding(token_ids))  # [rows, dim]
        if self.feeds:
            inputs = torch.cat([inputs, state.states[-1]], dim=-1)
        first, *others = self._units
        state.states[0] = first.step(inputs, state.states[0])
        said = self.first_norm(self.dropout(first.said(state.states[0])))
        grouped = said.view(-1, state.group_size, self.dim)  # [batch, query_len, dim]
        found = self.attention_residual(grouped, partial(self._found, source=state.source))
        states = found.view(-1, 1, self.dim)  # [rows, 1, dim]
        if self.feeds:
            state.states[-1] = states[:, 0]
        for number, (layer, residual) in enumerate(zip(others, self.decoder_residuals, strict=True), start=1):

            def read(x: Tensor, number: int = number, layer: Recurrence = layer) -> Tensor:
                """Read x [rows, 1, dim] in a layer and keep its new state."""
                state.states[number] = layer.step(x[:, 0], state.states[number])
                return layer.said(state.states[number]).unsqueeze(1)

            states = residual(states, read)
        hidden: Tensor = states.squeeze(1)
        return hidden

    def attention_uses(self) -> list[AttentionUse]:
        """List the one attention, from what is being written to the source; nothing where the model has none."""
        return [] if self.attention is None else [AttentionUse("cross", "target", "source", False, 0, self.attention)]

    @property
    def _units(self) -> list[Recurrence]:
        return [cast(Recurrence, layer) for layer in self.decoder]

    def _read_first(self, vectors: Tensor, state: Tensor, memory: Tensor, source_mask: Tensor | None) -> Tensor:
        """Read vectors [batch, target_len, dim] in the first layer, all at once, and add what is found in the source.

        state [batch, dim] is the layer's first, memory [batch, source_len, dim]. Returns [batch, target_len, dim].
        """
        said = self.first_norm(self.dropout(self._units[0](vectors, state)))
        if self.attention is None:
            find = partial(self._found, source=self._source(memory, source_mask))
        else:
            find = partial(self.attention, memory=memory, mask=padding_mask(source_mask))
        found: Tensor = self.attention_residual(said, find)
        return found

    def _read_feeding(self, vectors: Tensor, state: Tensor, memory: Tensor, source_mask: Tensor | None) -> Tensor:
        """Do what `_read_first` does, what was found being read with the next token.

        Only what depends on the token before is left in the loop; [batch, target_len, dim] as there.
        """
        assert self.attention is not None, "there is nothing to feed"
        layer, source = self._units[0], self._source(memory, source_mask)
        weight, _, bias, _ = layer.unit.all_weights[0]
        read = functional.linear(vectors, weight[:, : self.dim], bias)  # [batch, target_len, hidden_dim]
        from_found = weight[:, self.dim :].t()
        found = torch.zeros_like(vectors[:, 0])
        asked, all_found = [], []
        for token in read.unbind(1):  # not by index, whose gradient would be as long as the sentence at every token
            state = layer.advance(torch.addmm(token, found, from_found), state)
            said = self.first_norm(self.dropout(layer.said(state))).unsqueeze(1)
            found = self.attention_residual(said, partial(self._found, source=source)).squeeze(1)
            asked.append(said)
            all_found.append(found)
        if not self.training:
            # For those who watch the attention (attention_weights.py): what was asked, all at once.
            self.attention(torch.cat(asked, dim=1), memory, padding_mask(source_mask))
        return torch.stack(all_found, dim=1)

    def _found(self, query: Tensor, source: RecurrentSource) -> Tensor:
        """Return what query [batch, query_len, dim] finds in the source; the same shape."""
        if self.attention is None:
            return source.memory.expand_as(query)
        assert source.key is not None, "attention has keys"
        return self.attention.look_up(query, source.key, source.memory, source.mask)

    def _source(self, memory: Tensor, source_mask: Tensor | None) -> RecurrentSource:
        """Prepare what the decoder is given, from memory [batch, source_len, dim] and source_mask of `encode`."""
        if self.attention is None:
            assert self.context is not None, "one vector stands for attention"
            return RecurrentSource(self.context(last_said(memory, source_mask)).unsqueeze(1), None, None)
        return RecurrentSource(memory, self.attention.answers(memory), source_mask)

    def _first_states(self, memory: Tensor, source_mask: Tensor | None) -> Sequence[Tensor]:
        """Make the first state [batch, dim] of each decoder layer, of memory [batch, source_len, dim].

        They are made of its mean, or, without attention, of what both ways end with.
        """
        if self.attention is None:
            summary = last_said(memory, source_mask)
        elif source_mask is None:
            summary = memory.mean(dim=1)  # [batch, dim]
        else:
            real = memory.masked_fill(~source_mask.unsqueeze(-1), 0.0)
            summary = real.sum(dim=1) / source_mask.sum(dim=1, keepdim=True).clamp(min=1)
        states: Tensor = self.first_states(summary).tanh()
        return states.chunk(len(self.decoder), dim=-1)
