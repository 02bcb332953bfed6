"""Arrow files whose columns are mapped into memory and seen as NumPy arrays, without a copy of the values.

Sequences are written record batch by record batch; read back, they are one `Ragged` over the whole file. This file
knows columns of int32; it knows nothing of what they hold.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heedful.text.ragged import Ragged

Number = TypeVar("Number", bound=np.integer)
Column = NDArray[np.int32] | tuple[NDArray[np.int32], NDArray[np.int32]]
"""Numbers, or sequences as their values and lengths."""


class ColumnWriter(Protocol):
    """Writes record batches."""

    def __call__(self, **columns: Column) -> None:
        """Write some rows; every call names the same columns."""


@contextmanager
def arrow_writer(
    path: Path, *, numbers: tuple[str, ...] = (), sequences: tuple[str, ...] = ()
) -> Iterator[ColumnWriter]:
    """Open an Arrow file for writing. What is written appears in the order of the calls."""
    fields = [pa.field(name, pa.int32(), nullable=False) for name in numbers]
    fields += [
        pa.field(name, pa.large_list(pa.field("item", pa.int32(), nullable=False)), nullable=False)
        for name in sequences
    ]
    schema = pa.schema(fields)

    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:

        def write(**columns: Column) -> None:
            arrays = [_to_arrow(columns[field.name], field.type) for field in schema]
            writer.write_batch(pa.record_batch(arrays, schema=schema))

        yield write


def map_ragged(path: Path, name: str) -> Ragged:
    """Map a column of sequences. The values stay on disk until they are looked at; starts and lengths are loaded."""
    with pa.memory_map(str(path)) as mapped:
        whole = mapped.read_buffer()
        reader = pa.ipc.open_file(mapped)
        # One array over the whole file, in which every value of every record batch has a place: Arrow puts each buffer
        # at a multiple of eight bytes.
        values = np.frombuffer(whole, dtype=np.int32, count=whole.size // 4)
        starts, lengths = [], []
        for index in range(reader.num_record_batches):
            column = reader.get_batch(index).column(name)
            offsets = column.offsets.to_numpy()
            address = column.values.buffers()[1].address if len(column.values) else whole.address
            starts.append((address - whole.address) // 4 + offsets[:-1])
            lengths.append(np.diff(offsets).astype(np.int32))
    return Ragged(values, _joined(starts, np.int64), _joined(lengths, np.int32))


def map_column(path: Path, name: str) -> NDArray[np.int32]:
    """Read a column of numbers."""
    with pa.memory_map(str(path)) as mapped:
        reader = pa.ipc.open_file(mapped)
        parts = [reader.get_batch(index).column(name).to_numpy() for index in range(reader.num_record_batches)]
        return _joined(parts, np.int32)


def _to_arrow(column: Column, kind: pa.DataType) -> pa.Array:
    if isinstance(column, tuple):
        values, lengths = column
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values, pa.int32()), type=kind)
    return pa.array(column, kind)


def _joined(parts: list[NDArray[Number]], dtype: type[Number]) -> NDArray[Number]:
    return np.concatenate([np.zeros(0, dtype), *parts], dtype=dtype)
