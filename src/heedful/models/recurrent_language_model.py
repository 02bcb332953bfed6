"""A recurrent language model: a state of fixed size remembers all that was read (Mikolov et al., 2010).

Training reads `forward`: a segment after the state that the segment before it left, through which no gradient flows.
With fixed weights `reader` reads on in pieces of any size. Nothing grows with the length of a text.
Residuals, LayerNorm and dropout are those of the other recurrent models.
This file knows token ids; it knows no text, no loss and no sampling.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from heedful.config.language_modeling import RecurrentLanguageModelConfig
from heedful.models.segment_memory import SegmentMemory
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.layers import PostNormResidual
from heedful.nn.recurrent import CELLS, Recurrence


class RecurrentLanguageModel(nn.Module):
    """Tokens and a state in; states of the next tokens and the state after having read them out."""

    def __init__(self, config: RecurrentLanguageModelConfig, *, vocab_size: int) -> None:
        super().__init__()
        dim, dropout = config.dim, config.dropout
        self.dim = dim
        self.embedding = TokenEmbedding(vocab_size, dim)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([CELLS[config.cell](dim, dim) for _ in range(config.num_layers)])
        self.residuals = nn.ModuleList([PostNormResidual(dim, dropout) for _ in range(config.num_layers)])
        tied_to = self.embedding if config.tied_output else None
        self.output_projection = OutputProjection(vocab_size, dim, bias=True, tied_to=tied_to)

    def forward(self, token_ids: Tensor, memory: SegmentMemory) -> tuple[Tensor, SegmentMemory]:
        """Read token_ids [batch, length] from the state in the memory on.

        Returns states [batch, length, dim], to be given to `project`, and the memory of the next segment, into which no
        gradient flows: nothing is changed in place.
        """
        if not memory.memory_len:
            return self.read(token_ids, None)[0], memory
        # A text that begins has no state, whatever stands in its place.
        known = (memory.filled > 0).view(1, -1, 1)
        dtype = self.embedding.weight.dtype
        states, last = self.read(token_ids, memory.states[:, :, 0].to(dtype).masked_fill(~known, 0.0).unbind(0))
        newest = torch.stack([state.detach() for state in last]).unsqueeze(2).to(memory.states.dtype)
        return states, SegmentMemory(newest, torch.ones_like(memory.filled))

    def read(self, token_ids: Tensor, states: Sequence[Tensor] | None) -> tuple[Tensor, list[Tensor]]:
        """Read token_ids [batch, length] from the states [batch, dim] of the layers on, zeros when None.

        Returns states of the next tokens, [batch, length, dim], and the last states of the layers.
        """
        vectors: Tensor = self.dropout(self.embedding(token_ids))
        last: list[Tensor] = []
        for number, residual in enumerate(self.residuals):

            def read(x: Tensor, number: int = number) -> Tensor:
                """Read x [batch, length, dim] in a layer and keep its last state."""
                layer = cast(Recurrence, self.layers[number])
                said, state = layer.read(x, None if states is None else states[number])
                last.append(state)
                return said

            vectors = residual(vectors, read)
        return vectors, last

    def project(self, hidden: Tensor) -> Tensor:
        """Turn states [batch, length, dim] into logits [batch, length, vocab]."""
        logits: Tensor = self.output_projection(hidden)
        return logits

    def empty_memory(self, batch: int, memory_len: int, *, dtype: torch.dtype = torch.float32) -> SegmentMemory:
        """Make the memory of `batch` texts that begin now: one state a layer however long it is wanted, none for 0."""
        state_dim = cast(Recurrence, self.layers[0]).state_dim
        device = self.embedding.weight.device
        return SegmentMemory.empty(len(self.layers), batch, min(memory_len, 1), state_dim, device=device, dtype=dtype)

    def reader(self, rows: int, *, memory_len: int, segment_len: int = 1) -> "RecurrentReader":  # noqa: ARG002
        """Begin to read `rows` texts side by side; how much is remembered and read at once does not matter."""
        return RecurrentReader(self)


class RecurrentReader:
    """Reads on with fixed weights from the state it stands in."""

    def __init__(self, model: RecurrentLanguageModel) -> None:
        self._model = model
        self._states: list[Tensor] | None = None

    @torch.no_grad()
    def read(self, token_ids: Tensor) -> Tensor:
        """Read token_ids [rows, length] and return the logits of what follows each, [rows, length, vocab] in fp32."""
        hidden, self._states = self._model.read(token_ids, self._states)
        return self._model.project(hidden).float()
