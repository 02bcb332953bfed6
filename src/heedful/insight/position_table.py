"""A model's own positions as data: the table it adds to embeddings, and how alike its rows are (section 3.5)."""

from typing import Literal

import numpy as np
import torch

from heedful.errors import UserError
from heedful.insight.attention_weights import Floats
from heedful.models.transformer import Transformer
from heedful.nn.positions import LearnedPositions, SinusoidalPositions

PositionKind = Literal["sinusoidal", "learned", "none"]


def position_kind(model: Transformer, side: Literal["source", "target"] = "source") -> PositionKind:
    """Name the kind of positions one side of a model has."""
    positions = model.source_positions if side == "source" else model.target_positions
    if isinstance(positions, SinusoidalPositions):
        return "sinusoidal"
    return "learned" if isinstance(positions, LearnedPositions) else "none"


@torch.no_grad()
def position_table(model: Transformer, length: int, side: Literal["source", "target"] = "source") -> Floats:
    """Return what the model adds to the embeddings of the first `length` positions, [length, dim]."""
    if length < 1:
        raise UserError(f"`length` must be at least 1, but is {length}.")
    positions = model.source_positions if side == "source" else model.target_positions
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
