"""Where a token stands, added to what it is: section 3.5 of the paper.

Each class is called with embeddings and the position of the first of them, and returns the embeddings with their
positions in them. That first position is what lets a decoder go on token by token; it may be another in every row.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from heedful.errors import UserError

Layout = Literal["interleaved", "halves"]


def sinusoidal_table(length: int, dim: int, layout: Layout = "interleaved", *, start: int = 0) -> Tensor:
    """Tabulate PE(pos, 2i) = sin(pos / 10000^(2i/dim)) and PE(pos, 2i+1) = cos(the same), [length, dim].

    "interleaved" puts each sine beside its cosine, as the paper does; "halves" puts all sines before all cosines, as
    Marian and tensor2tensor do. The first row is for position `start`.
    """
    if torch.get_default_device().type == "meta":  # shapes alone are wanted; arithmetic there imports the compiler
        return torch.empty(length, dim)
    # In double precision: the angle reaches `length`, and in single precision its error alone would exceed 1e-5.
    positions = torch.arange(start, start + length, dtype=torch.float64).unsqueeze(1)  # [length, 1]
    wavelengths = 10000.0 ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = positions / wavelengths  # [length, dim / 2]
    if layout == "interleaved":
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    else:
        table = torch.cat([angles.sin(), angles.cos()], dim=-1)
    return table.float()


def _rows(table: Tensor, start: Tensor, length: int) -> Tensor:
    """Take rows start, start + 1, ... of table [target_len, dim] for each start [batch]: [batch, length, dim]."""
    return table[start.unsqueeze(1) + torch.arange(length, device=start.device)]


class SinusoidalPositions(nn.Module):
    """Sines and cosines of growing wavelengths: nothing to learn, and no longest length."""

    table: Tensor

    def __init__(self, dim: int, layout: Layout = "interleaved", *, ready_len: int = 2048) -> None:
        super().__init__()
        self.dim = dim
        self.layout: Layout = layout
        self.ready_len = ready_len
        # Not persistent: the formula is the truth, a stored copy could only disagree with it.
        self.register_buffer("table", sinusoidal_table(ready_len, dim, layout), persistent=False)

    def forward(self, embeddings: Tensor, start: int | Tensor = 0) -> Tensor:
        """Add positions `start`, `start + 1`, ... to embeddings [batch, length, dim]; returns the same shape.

        As a tensor, start [batch] says it for each row.
        """
        length = embeddings.size(1)
        if isinstance(start, Tensor):
            end = int(start.max()) + length
            table = self.table if end <= self.ready_len else sinusoidal_table(end, self.dim, self.layout)
            return embeddings + _rows(table.to(self.table), start, length)
        if start + length <= self.ready_len:
            return embeddings + self.table[start : start + length]
        return embeddings + sinusoidal_table(length, self.dim, self.layout, start=start).to(self.table)


class LearnedPositions(nn.Module):
    """One trained vector for each of `max_len` positions."""

    def __init__(self, dim: int, max_len: int) -> None:
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Embedding(max_len, dim)

    def forward(self, embeddings: Tensor, start: int | Tensor = 0) -> Tensor:
        """Add positions `start`, `start + 1`, ... to embeddings [batch, length, dim]; returns the same shape.

        As a tensor, start [batch] says it for each row.
        """
        length = embeddings.size(1)
        end = (int(start.max()) if isinstance(start, Tensor) else start) + length
        if end > self.max_len:
            raise UserError(
                f"A sequence must have at most {self.max_len} tokens, the positions this model has learned, "
                f"but one has {end}. Split the text, or train with a larger `model.positions.max_len`."
            )
        if isinstance(start, Tensor):
            return embeddings + _rows(self.embedding.weight, start, length)
        return embeddings + self.embedding.weight[start:end]


class NoPositions(nn.Module):
    """Nothing is added: attention then sees a bag of tokens. For comparison."""

    def forward(self, embeddings: Tensor, start: int | Tensor = 0) -> Tensor:  # noqa: ARG002
        """Return embeddings [batch, length, dim] as they are."""
        return embeddings


Positions = SinusoidalPositions | LearnedPositions | NoPositions
