"""How well a language model expects a text: perplexity, and bits per byte.

Every symbol is scored once, the first from a line end, each other from all the model remembers. To use a machine well
the text can be read at several places side by side; each reader first reads, without scoring, what stands before its
part, so that none begins with an empty memory. What is scored are probabilities the model really gives: no smoothing,
no symbol left out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from heedful.models.segment_memory import Reader

Ids = npt.NDArray[np.integer]


class ReadableModel(Protocol):
    """A language model that can read on."""

    def reader(self, rows: int, *, memory_len: int, segment_len: int = 1) -> Reader:
        """Begin to read `rows` texts side by side."""


@dataclass(frozen=True)
class Likelihood:
    """What a model thinks of a text."""

    nats: float
    """Negative logarithm of the text's probability."""

    num_symbols: int
    num_bytes: int
    seconds: float = 0.0

    @property
    def loss(self) -> float:
        """Nats per symbol."""
        return self.nats / self.num_symbols

    @property
    def perplexity(self) -> float:
        """How many equally likely symbols the model hesitates between."""
        return math.exp(min(self.loss, 700.0))

    @property
    def bits_per_byte(self) -> float:
        """What an ideal compressor with this model would need; of a text of bytes, the usual bits per character."""
        return self.nats / math.log(2) / self.num_bytes


def score_symbols(
    model: ReadableModel,
    ids: Ids,
    *,
    start_id: int,
    memory_len: int,
    segment_len: int,
    rows: int = 1,
    device: torch.device | None = None,
    bf16: bool = False,
) -> float:
    """Return the nats of all symbols, in segments of `segment_len` beside `memory_len` positions of memory.

    With one row the text is read from its beginning to its end. With more, the first `memory_len` symbols are, and the
    rest in as many equal parts.
    """
    device = device or torch.device("cpu")
    total = 0.0
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        for part in _parts(model, ids, start_id, memory_len, segment_len, rows, device):
            nats_of_part = torch.zeros((), dtype=torch.float64, device=device)  # read once: no waiting
            for _, nats in part:
                nats_of_part += nats.sum()
            total += float(nats_of_part.item())
    return total


def symbol_nats(
    model: ReadableModel,
    ids: Ids,
    *,
    start_id: int,
    memory_len: int,
    segment_len: int,
    rows: int = 1,
    device: torch.device | None = None,
) -> npt.NDArray[np.float64]:
    """Return the nats of each symbol by itself, [length]; their sum is what `score_symbols` returns."""
    device = device or torch.device("cpu")
    found = np.zeros(len(ids))
    for part in _parts(model, ids, start_id, memory_len, segment_len, rows, device):
        for places, nats in part:
            found[places] = nats.cpu().numpy()
    return found


Nats = Iterator[tuple[npt.NDArray[np.int64], Tensor]]
"""Places of the text, [length], with the nats of the symbols there, [length], on the device."""


def _parts(
    model: ReadableModel,
    ids: Ids,
    start_id: int,
    memory_len: int,
    segment_len: int,
    rows: int,
    device: torch.device,
) -> Iterator[Nats]:
    """Yield the readings that make up a text: its head, and the rest in `rows` parts side by side."""
    head = len(ids) if rows == 1 else min(len(ids), memory_len)
    if head:
        reader = model.reader(1, memory_len=memory_len, segment_len=segment_len)
        yield _read(reader, ids, np.array([0]), head, head, segment_len, start_id, device)
    if head < len(ids):
        stretch = -(-(len(ids) - head) // rows)
        starts = head + stretch * np.arange(-(-(len(ids) - head) // stretch))
        reader = model.reader(len(starts), memory_len=memory_len, segment_len=segment_len)
        for places in _segments(starts - head, head, segment_len):  # what stands before each part
            reader.read(_inputs(ids, places, start_id, device))
        yield _read(reader, ids, starts, stretch, len(ids) - int(starts[-1]), segment_len, start_id, device)


def _read(
    reader: Reader,
    ids: Ids,
    starts: npt.NDArray[np.int64],
    length: int,
    last_length: int,
    segment_len: int,
    start_id: int,
    device: torch.device,
) -> Nats:
    """Read `length` symbols from each of `starts` on, of the last row only `last_length`, and yield their nats."""
    for part in _segments(starts, length, segment_len):
        # Beyond its end the last row reads its last symbol again and again, and nothing is counted.
        inside = (part < np.append(starts[:-1] + length, starts[-1] + last_length)[:, None]).flatten()
        part = np.minimum(part, len(ids) - 1)
        logits = reader.read(_inputs(ids, part, start_id, device))  # [rows, length, vocab]
        wanted = torch.from_numpy(ids[part].astype(np.int64)).to(device)
        nats = functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), reduction="none")
        yield part.flatten()[inside], nats.double()[torch.from_numpy(inside).to(device)]


def _segments(starts: npt.NDArray[np.int64], length: int, segment_len: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the places of each segment, one row for each start, from the starts on to `length`."""
    for first in range(0, length, segment_len):
        yield starts[:, None] + np.arange(first, min(first + segment_len, length))


def _inputs(ids: Ids, places: npt.NDArray[np.int64], start_id: int, device: torch.device) -> Tensor:
    """Return what is read to predict the symbols at some places: each time the symbol before."""
    before = ids[np.maximum(places - 1, 0)].astype(np.int64)
    before[places == 0] = start_id
    return torch.from_numpy(before).to(device)
