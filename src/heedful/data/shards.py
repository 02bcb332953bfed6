"""Columns of text from shards of any kind: lines, TSV, JSONL, Parquet, Arrow, compressed or not, here or elsewhere.

A shard is one file. It is read from its beginning in blocks that depend on the file alone, a few thousand rows at a
time, so that memory does not grow with it. This file knows columns; it knows neither pairs nor tokens.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from heedful.data.addresses import open_address, suffixes_of
from heedful.data.line_blocks import LineBlocks, lines_of
from heedful.errors import DataError, count_of

Format = Literal["text", "tsv", "jsonl", "parquet", "arrow"]
Columns = tuple[str | int, ...]
"""Names of columns, or their places from 0 in what has no names."""

_BYTES_AT_ONCE = 1 << 24
_FORMATS: dict[str, Format] = {
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


@dataclass(frozen=True)
class Rows:
    """Some rows of a shard, from a row on (counted from 1): a list of texts for each column."""

    first_row: int
    columns: tuple[list[str], ...]


def format_of(address: str) -> Format:
    """Say by its name what a shard holds; what has no known ending is text."""
    return _FORMATS.get(suffixes_of(address)[0], "text")


def read_rows(address: str, columns: Columns, rows_at_once: int, kind: Format | None = None) -> Iterator[Rows]:
    """Yield the rows of a shard in order, as many at once in each block but the last."""
    kind = kind or format_of(address)
    with open_address(address, decompressed=kind not in ("parquet", "arrow")) as stream:
        if kind in ("parquet", "arrow"):
            yield from _table_rows(stream, address, columns, rows_at_once, kind)
            return
        lines = LineBlocks(stream, address)
        first = 1
        while block := lines.take(rows_at_once, None):
            texts, _ = lines_of(block, address, first)
            yield Rows(first, _cut(texts, columns, kind, address, first))
            first = lines.num_lines + 1


def _cut(lines: list[str], columns: Columns, kind: Format, address: str, first: int) -> tuple[list[str], ...]:
    match kind:
        case "text":
            if len(columns) > 1:
                raise DataError(f"{address} must have {len(columns)} columns, but is plain text, which has one.")
            return (lines,)
        case "tsv":
            rows = [line.split("\t") for line in lines]
            return tuple([_field(row, column, address, first + n) for n, row in enumerate(rows)] for column in columns)
        case _:
            if any(isinstance(column, int) for column in columns):
                raise DataError(f"Of {address} the columns must be named, since its rows are JSON objects.")
            records = [_record(line, address, first + n) for n, line in enumerate(lines)]
            return tuple(
                [_text(record.get(str(column)), column, address, first + n) for n, record in enumerate(records)]
                for column in columns
            )


def _field(row: list[str], column: str | int, address: str, number: int) -> str:
    try:
        return row[int(column)]
    except ValueError:
        raise DataError(f'{address}: columns of a TSV file are counted from 0, but "{column}" is asked for.') from None
    except IndexError:
        wanted = count_of(int(column) + 1, "tab-separated column")
        raise DataError(f"{address}:{number}: a line must have at least {wanted}, but has {len(row)}.") from None


def _record(line: str, address: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{address}:{number}: a line must be a JSON object, but is not: {error}.") from error
    if not isinstance(record, dict):
        raise DataError(f"{address}:{number}: a line must be a JSON object, but is something else.")
    return record


def _text(value: object, column: str | int, address: str, number: int) -> str:
    if not isinstance(value, str):
        found = "missing" if value is None else type(value).__name__
        raise DataError(f'{address}:{number}: "{column}" must be text, but is {found}.')
    return value


def _table_rows(stream: BinaryIO, address: str, columns: Columns, rows_at_once: int, kind: Format) -> Iterator[Rows]:
    try:
        batches = _parquet(stream, columns, rows_at_once) if kind == "parquet" else _arrow(stream)
        first, kept = 1, [list[str]() for _ in columns]
        for batch in batches:
            for place, column in enumerate(columns):
                kept[place] += _values(batch, column, address, first + len(kept[place]))
            while len(kept[0]) >= rows_at_once:
                yield Rows(first, tuple(texts[:rows_at_once] for texts in kept))
                first, kept = first + rows_at_once, [texts[rows_at_once:] for texts in kept]
        if kept[0]:
            yield Rows(first, tuple(kept))
    except pa.ArrowException as error:
        raise DataError(f"{address} must be whole {kind} data, but is not: {str(error).rstrip('.')}.") from error


def _parquet(stream: BinaryIO, columns: Columns, rows_at_once: int) -> Iterator[pa.RecordBatch]:
    """Read what is asked for by name; whoever counts columns gets all of them to count."""
    wanted = [str(column).partition(".")[0] for column in columns]
    file = pq.ParquetFile(stream)
    is_known = set(wanted) <= set(file.schema_arrow.names)
    yield from file.iter_batches(batch_size=rows_at_once, columns=wanted if is_known else None)


def _arrow(stream: BinaryIO) -> Iterator[pa.RecordBatch]:
    """Read a file or a stream of Arrow: Hugging Face's `datasets` keeps streams under the same ending."""
    try:
        reader = pa.ipc.open_file(stream)
    except pa.ArrowInvalid:
        stream.seek(0)
        yield from pa.ipc.open_stream(stream)
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


def _values(batch: pa.RecordBatch, column: str | int, address: str, first: int) -> Sequence[str]:
    """Return a column of text; "translation.de" is a field of a column, as corpora of translations have it."""
    if isinstance(column, int) and column < len(batch.schema.names):
        column = batch.schema.names[column]
    name, _, field = str(column).partition(".")
    if name not in batch.schema.names:
        names = ", ".join(batch.schema.names) or "none"
        raise DataError(f'{address} must have a column "{name}", but has {names}.')
    values = batch.column(name).to_pylist()
    if field:
        values = [value.get(field) if isinstance(value, dict) else None for value in values]
    return [_text(value, column, address, first + place) for place, value in enumerate(values)]
