"""One long text in segments: several places of it are read side by side, and each batch goes on where the last stopped.

Which batch stands at a position is a pure function of the text, the settings and the position, so that training is
resumed exactly. Every epoch begins at another offset: the same text is cut at other places. This file knows symbols as
numbers; it knows nothing of memories and models, except that a batch says whose text begins anew.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from heedful.config.language_modeling import SplitFile, TextData, TextFiles
from heedful.data.batch import SegmentBatch
from heedful.data.opening import open_bytes
from heedful.data.paths import resolve_data_path
from heedful.errors import DataError, UserError, nearest
from heedful.text.symbols import Ids


class TextStream:
    """All batches of a text, by position."""

    def __init__(self, ids: Ids, *, num_streams: int, segment_len: int, seed: int) -> None:
        """Lay `num_streams` readers over the text, each to read its own stretch in segments of `segment_len`."""
        self.ids, self.segment_len, self.seed = ids, segment_len, seed
        # One symbol more than is read must be there to predict, and room for the largest offset.
        self._stretch = (len(ids) - segment_len) // num_streams
        self.num_segments = self._stretch // segment_len
        """Batches of an epoch."""

        if self.num_segments < 1:
            raise DataError(
                f"The training text must have at least {(num_streams + 1) * segment_len:,} symbols for "
                f"{num_streams} texts side by side in segments of {segment_len}, but has {len(ids):,}. "
                "Lower `training.batch_tokens` or `training.segment_len`."
            )
        self._starts = np.arange(num_streams) * self._stretch

    def batch_at(self, position: int) -> SegmentBatch:
        """Return the batch at a position, from 0."""
        epoch, index = divmod(position, self.num_segments)
        first = self._starts + self._offset(epoch) + index * self.segment_len  # of each row
        windows = self.ids[first[:, None] + np.arange(self.segment_len + 1)].astype(np.int64)
        fresh = torch.full((len(first),), index == 0)
        ids = torch.from_numpy(windows)
        return SegmentBatch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), fresh)

    def batches_from(self, position: int, *, pin_memory: bool = False) -> Iterator[SegmentBatch]:
        """Yield all batches from a position on, without end. Each costs a few microseconds: no thread is needed."""
        while True:
            batch = self.batch_at(position)
            yield batch.pin_memory() if pin_memory else batch
            position += 1

    def _offset(self, epoch: int) -> int:
        """Return how many symbols an epoch leaves out at the beginning: none at first, then a number drawn for it."""
        if epoch == 0:
            return 0
        return int(np.random.default_rng([self.seed, epoch]).integers(self.segment_len))


def read_train(data: TextData) -> bytes:
    """Return the text to learn from."""
    return _read_all(data.train) if isinstance(data, TextFiles) else _read_part(data, 0, data.train_bytes)


def read_validation(data: TextData) -> bytes:
    """Return the text on which progress is measured."""
    if isinstance(data, TextFiles):
        return _read_all(data.validation)
    return _read_part(data, data.train_bytes, data.validation_bytes)


def held_out_names(data: TextData) -> list[str]:
    """Return the names of the texts that are never seen in training."""
    return list(data.test) if isinstance(data, TextFiles) else ["test"] if data.test_bytes else []


def read_test(data: TextData, name: str) -> bytes:
    """Return one of the texts of `held_out_names`, or that called "validation"."""
    names = held_out_names(data)
    if name == "validation" and name not in names:
        return read_validation(data)
    if name not in names:
        guess = nearest(name, names)
        hint = f' Did you mean "{guess}"?' if guess else ""
        raise UserError(f'`--split` must be one of {", ".join([*names, "validation"])}, but is "{name}".{hint}')
    if isinstance(data, TextFiles):
        return _read_all([data.test[name]])
    return _read_part(data, data.train_bytes + data.validation_bytes, data.test_bytes)


def read_text(path: Path) -> bytes:
    """Return the whole of a file, decompressed as its suffix says; an empty one is an error."""
    with open_bytes(path) as stream:
        text = stream.read()
    if not text:
        raise DataError(f"A text must have at least one byte, but {path} is empty.")
    return text


def _read_all(names: Sequence[str]) -> bytes:
    return b"".join(read_text(resolve_data_path(name)) for name in names)


def _read_part(data: SplitFile, start: int, length: int) -> bytes:
    path = resolve_data_path(data.path)
    with open_bytes(path) as stream:
        skipped = 0
        while skipped < start and (piece := stream.read(min(1 << 24, start - skipped))):
            skipped += len(piece)
        text = stream.read(length)
    if len(text) < length:
        raise DataError(
            f"{path} must have at least {start + length:,} bytes, as `data` cuts it, but has {skipped + len(text):,}. "
            "Lower `data.train_bytes`, `data.validation_bytes` or `data.test_bytes`."
        )
    return text
