"""Reading sentence pairs from files: two aligned files, TSV, JSONL, each plain or compressed.

Every fault of a file is a `DataError` that names the file and the line. Readers keep every pair, empty ones too;
filters.py decides what is left out. This file knows nothing of tokens.
"""

import gzip
import io
import json
import lzma
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from heedful.config.data import Corpus, JsonlCorpus, LineCorpus, TsvCorpus
from heedful.data.paths import resolve_data_path
from heedful.errors import DataError, MissingFileError, count_of
from heedful.text.chinese import simplify
from heedful.text.lines import LineReader, read_lines

_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and the line they stand on (from 1)."""

    source: str
    target: str
    line: int


@dataclass
class EncodingReport:
    """Lines that were not valid UTF-8, per file: how many, and the numbers of the first."""

    bad_lines: dict[str, tuple[int, list[int]]] = field(default_factory=dict)


def corpus_file_names(corpus: Corpus) -> list[str]:
    """Return the names of the files a corpus is made of, as the configuration has them."""
    return [corpus.source, corpus.target] if isinstance(corpus, LineCorpus) else [corpus.path]


def corpus_files(corpus: Corpus) -> list[Path]:
    """Return the files a corpus is made of."""
    return [resolve_data_path(name) for name in corpus_file_names(corpus)]


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed as its suffix says; faults of the file become sentences."""
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(path.open("rb"))
            match path.suffix:
                case ".gz":
                    stream = cast(BinaryIO, stack.enter_context(gzip.open(raw)))
                case ".xz":
                    stream = cast(BinaryIO, stack.enter_context(lzma.open(raw)))
                case ".zst":
                    reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
                    stream = cast(BinaryIO, stack.enter_context(io.BufferedReader(reader)))
                case _:
                    stream = raw
            yield stream
    except FileNotFoundError as error:
        raise MissingFileError(path) from error
    except IsADirectoryError as error:
        raise DataError(f"{path} must be a file, but is a folder.") from error
    except PermissionError as error:
        raise DataError(f"The file {path} must be readable, but permission was denied.") from error
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(f"The file {path} must be whole {path.suffix} data, but is damaged or cut off: {error}.")


def _blamed_on(path: Path, lines: LineReader) -> Iterator[str]:
    """Yield the lines; damage belongs to the file it is in, not to whichever of several was opened last."""
    try:
        yield from lines
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def read_pairs(corpus: Corpus, report: EncodingReport | None = None) -> Iterator[Pair]:
    """Yield all pairs of a corpus in order, empty ones too, in simplified characters where the corpus says so.

    A corpus without a single pair is an error.
    """
    match corpus:
        case LineCorpus():
            pairs = _read_aligned(corpus, report)
        case TsvCorpus():
            pairs = _read_tsv(corpus, report)
        case JsonlCorpus():
            pairs = _read_jsonl(corpus, report)
    num_pairs = 0
    for pair in pairs:
        num_pairs += 1
        yield Pair(simplify(pair.source), simplify(pair.target), pair.line) if corpus.simplify_chinese else pair
    if not num_pairs:
        names = " and ".join(str(path) for path in corpus_files(corpus))
        raise DataError(f"A corpus must hold at least one pair, but {names} holds none.")


def read_parallel(corpus: Corpus) -> tuple[list[str], list[str]]:
    """Return all sources and all targets of a corpus, empty lines kept."""
    sources: list[str] = []
    targets: list[str] = []
    for pair in read_pairs(corpus):
        sources.append(pair.source)
        targets.append(pair.target)
    return sources, targets


def _note(report: EncodingReport | None, path: Path, reader: LineReader) -> None:
    if report is not None and reader.num_bad:
        report.bad_lines[str(path)] = (reader.num_bad, reader.bad_lines)


def _read_aligned(corpus: LineCorpus, report: EncodingReport | None) -> Iterator[Pair]:
    source_path, target_path = corpus_files(corpus)
    with open_bytes(source_path) as source_stream, open_bytes(target_path) as target_stream:
        sources, targets = read_lines(source_stream, str(source_path)), read_lines(target_stream, str(target_path))
        sides = zip_longest(_blamed_on(source_path, sources), _blamed_on(target_path, targets))
        for number, (source, target) in enumerate(sides, start=1):
            if source is None or target is None:
                for _ in sources if target is None else targets:
                    pass  # read on to the end, so that both counts can be said
                raise DataError(_unequal(source_path, sources.num_lines, target_path, targets.num_lines))
            yield Pair(source, target, number)
        _note(report, source_path, sources)
        _note(report, target_path, targets)


def _unequal(source_path: Path, num_sources: int, target_path: Path, num_targets: int) -> str:
    shorter, longer = (source_path, target_path) if num_sources < num_targets else (target_path, source_path)
    few, many = sorted((num_sources, num_targets))
    return (
        f"The two files of a corpus must have equally many lines, but {source_path} has {num_sources:,} and "
        f"{target_path} has {num_targets:,}: {shorter} ends after line {few:,}, "
        f"{longer} goes on for {count_of(many - few, 'line')}."
    )


def _read_tsv(corpus: TsvCorpus, report: EncodingReport | None) -> Iterator[Pair]:
    (path,) = corpus_files(corpus)
    needed = max(corpus.source_column, corpus.target_column) + 1
    with open_bytes(path) as stream:
        lines = read_lines(stream, str(path))
        for number, line in enumerate(lines, start=1):
            columns = line.split("\t")
            if len(columns) < needed:
                raise DataError(
                    f"{path}:{number}: a line must have at least {count_of(needed, 'tab-separated column')}, "
                    f"but has {len(columns)}."
                )
            yield Pair(columns[corpus.source_column], columns[corpus.target_column], number)
        _note(report, path, lines)


def _read_jsonl(corpus: JsonlCorpus, report: EncodingReport | None) -> Iterator[Pair]:
    (path,) = corpus_files(corpus)
    with open_bytes(path) as stream:
        lines = read_lines(stream, str(path))
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}:{number}: a line must be a JSON object, but is not: {error}.") from error
            if not isinstance(record, dict):
                raise DataError(f"{path}:{number}: a line must be a JSON object, but is something else.")
            source = _text_of(record, corpus.source_key, path, number)
            yield Pair(source, _text_of(record, corpus.target_key, path, number), number)
        _note(report, path, lines)


def _text_of(record: dict[str, object], key: str, path: Path, number: int) -> str:
    if key not in record:
        keys = ", ".join(f'"{name}"' for name in record) or "none"
        raise DataError(f'{path}:{number}: the object must have the key "{key}", but has {keys}.')
    value = record[key]
    if not isinstance(value, str):
        raise DataError(f'{path}:{number}: "{key}" must be text, but is {type(value).__name__}.')
    return value
