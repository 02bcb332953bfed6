"""Initial weights, and why they are what they are.

- Embeddings, and an output matrix of their own: normal with deviation dim^-0.5. Embeddings times sqrt(dim) then have
  deviation 1, like the positions added to them, and logits of normalised states have deviation 1.
- Matrices: Glorot uniform, as in tensor2tensor, the paper's code base; each third of a packed projection is a matrix.
- Query, key and value projections: Glorot with gain 1/sqrt(2), as in fairseq and `torch.nn.MultiheadAttention`. Scores
  start with half the deviation, so attention starts flatter and post-norm models survive larger learning rates.
- Recurrent units: Glorot for what they read, orthogonal for what they keep, each gate a matrix of its own, so that a
  state neither grows nor fades as it is handed on.
- Biases: zero, but one for the forget gate of long short-term memory: it begins open, so that a cell remembers before
  it has learned to (Jozefowicz et al., 2015, section 2.2). LayerNorm: the identity.
"""

import math

import torch
from torch import nn

from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention
from heedful.nn.embedding import OutputProjection
from heedful.nn.relative_attention import GlobalBiases, RelativeSelfAttention


def initialize(model: nn.Module, generator: torch.Generator | None = None) -> None:
    """Draw all weights of `model` afresh from `generator` (the default one when None), in the order of its modules."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            _glorot(module, parts=1, gain=1.0, generator=generator)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5, generator=generator)
        elif isinstance(module, OutputProjection):
            nn.init.normal_(module.weight, std=module.weight.size(1) ** -0.5, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.GRU | nn.LSTM):
            _recurrent(module, generator)
        elif isinstance(module, GlobalBiases):
            nn.init.zeros_(module.content)
            nn.init.zeros_(module.position)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
    # Second, so that what is special about attention is not overwritten by what holds for every matrix.
    for module in model.modules():
        if isinstance(module, MultiHeadSelfAttention):
            _glorot(module.query_key_value, parts=3, gain=math.sqrt(0.5), generator=generator)
        elif isinstance(module, MultiHeadAttention | RelativeSelfAttention):
            _glorot(module.query, parts=1, gain=math.sqrt(0.5), generator=generator)
            _glorot(module.key_value, parts=2, gain=math.sqrt(0.5), generator=generator)


def _glorot(linear: nn.Linear, *, parts: int, gain: float, generator: torch.Generator | None) -> None:
    """Draw the `parts` matrices stacked in one packed projection, each by its own fan-in and fan-out."""
    for part in linear.weight.chunk(parts):
        nn.init.xavier_uniform_(part, gain=gain, generator=generator)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


def _recurrent(unit: nn.GRU | nn.LSTM, generator: torch.Generator | None) -> None:
    """Draw the matrices of recurrent units, one for each gate, in PyTorch's order of the gates."""
    is_lstm = isinstance(unit, nn.LSTM)
    for name, parameter in unit.named_parameters():
        for number, part in enumerate(parameter.chunk(4 if is_lstm else 3)):
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(part, generator=generator)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(part, generator=generator)
            else:
                nn.init.constant_(part, float(is_lstm and number == 1 and name.startswith("bias_ih")))
