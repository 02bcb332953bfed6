"""A model's own positions as data: the table it adds to embeddings, and how alike its rows are (section 3.5)."""

from typing import Literal

import numpy as np
import torch

from heedful.errors import UserError
from heedful.models.attention_weights import Floats
from heedful.models.interfaces import EncoderDecoder, Side
from heedful.nn.positions import LearnedPositions, SinusoidalPositions

PositionKind = Literal["sinusoidal", "learned", "none", "sequential"]


def position_kind(model: EncoderDecoder, side: Side = "source") -> PositionKind:
    """Name the kind of positions one side of a model has; "sequential" where it reads one token after the other."""
    positions = model.positions(side)
    if positions is None:
        return "sequential"
    if isinstance(positions, SinusoidalPositions):
        return "sinusoidal"
    return "learned" if isinstance(positions, LearnedPositions) else "none"


@torch.no_grad()
def position_table(model: EncoderDecoder, length: int, side: Side = "source") -> Floats:
    """Return what the model adds to the embeddings of the first `length` positions, [length, dim]."""
    if length < 1:
        raise UserError(f"`length` must be at least 1, but is {length}.")
    positions = model.positions(side)
    if positions is None:
        raise UserError("This model has no table of positions: it reads one token after the other.")
    if isinstance(positions, LearnedPositions):
        length = min(length, positions.max_len)
    nothing = torch.zeros(1, length, model.dim, device=next(model.parameters()).device)
    table: Floats = positions(nothing)[0].float().cpu().numpy()
    return table


def similarity(table: Floats) -> Floats:
    """Compare each row of a table [length, dim] with each: the cosine of the angle between them, [length, length]."""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    unit = table / np.maximum(lengths, np.finfo(np.float32).tiny)
    cosines: Floats = unit @ unit.T
    return cosines
