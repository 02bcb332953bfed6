"""Reading sentence pairs from files: two aligned files, TSV, JSONL, each plain or compressed.

Every fault of a file is a `DataError` that names the file and the line. Readers keep every pair, empty ones too;
filters.py decides what is left out. This file knows nothing of tokens.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from heedful.config.data import Corpus, JsonlCorpus, LineCorpus, ShardCorpus, TsvCorpus
from heedful.data.addresses import find_shards
from heedful.data.line_blocks import LineBlocks, lines_of
from heedful.data.opening import DAMAGE, damaged, open_bytes
from heedful.data.paths import resolve_data_path
from heedful.data.shards import read_rows
from heedful.errors import DataError, count_of
from heedful.text.chinese import simplify
from heedful.text.lines import MAX_LINE_NUMBERS

LINES_AT_ONCE = 8192
_BYTES_AT_ONCE = 1 << 24


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

    def note(self, name: str, numbers: list[int]) -> None:
        """Count lines of a file."""
        count, first = self.bad_lines.get(name, (0, []))
        self.bad_lines[name] = count + len(numbers), (first + numbers)[:MAX_LINE_NUMBERS]


def corpus_file_names(corpus: Corpus) -> list[str]:
    """Return the names of the files a corpus is made of, as the configuration has them."""
    if isinstance(corpus, ShardCorpus):
        return find_shards(corpus.path)
    return [corpus.source, corpus.target] if isinstance(corpus, LineCorpus) else [corpus.path]


def corpus_files(corpus: Corpus) -> list[Path]:
    """Return the files a corpus is made of."""
    return [resolve_data_path(name) for name in corpus_file_names(corpus)]


def read_pairs(corpus: Corpus, report: EncodingReport | None = None) -> Iterator[Pair]:
    """Yield all pairs of a corpus in order, empty ones too, in simplified characters where the corpus says so.

    A corpus without a single pair is an error.
    """
    for block in read_blocks(corpus):
        sources, targets = sides_of_block(block, corpus, report)
        for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
            yield Pair(source, target, block.first_line + place)


@dataclass(frozen=True)
class Block:
    """Some lines of each file of a corpus, as many of each, from a line on (counted from 1)."""

    first_line: int
    files: tuple[bytes, ...]


def read_blocks(corpus: Corpus) -> Iterator[Block]:
    """Yield a corpus in blocks that depend on its files alone. One without a single line is an error."""
    if isinstance(corpus, ShardCorpus):
        yield from _shard_blocks(corpus)
        return
    paths = corpus_files(corpus)
    with ExitStack() as stack:
        blocks = [LineBlocks(stack.enter_context(open_bytes(path)), str(path)) for path in paths]
        first_line = 1
        while files := _next_block(paths, blocks):
            yield Block(first_line, files)
            first_line = blocks[0].num_lines + 1
    if first_line == 1:
        names = " and ".join(str(path) for path in paths)
        raise DataError(f"A corpus must hold at least one pair, but {names} holds none.")


def _shard_blocks(corpus: ShardCorpus) -> Iterator[Block]:
    """Yield the shards of a corpus one after the other; what each of its rows is has been found out by reading it."""
    num_rows = 0
    for address in find_shards(corpus.path):
        for rows in read_rows(address, (corpus.source_column, corpus.target_column), LINES_AT_ONCE, corpus.format):
            num_rows += len(rows.columns[0])
            parts = (json.dumps(texts, ensure_ascii=False) for texts in rows.columns)
            yield Block(rows.first_row, tuple(part.encode("utf-8", "surrogatepass") for part in parts))
    if not num_rows:
        raise DataError(f"A corpus must hold at least one pair, but {corpus.path} holds none.")


def _next_block(paths: list[Path], blocks: list[LineBlocks]) -> tuple[bytes, ...] | None:
    """Return as many lines of each file; files that end in different places are refused."""
    before = blocks[0].num_lines
    first = _take(paths[0], blocks[0], LINES_AT_ONCE, _BYTES_AT_ONCE)
    if len(blocks) == 1:
        return (first,) if first else None
    num_lines = blocks[0].num_lines - before
    second = _take(paths[1], blocks[1], num_lines or 1, None)
    if blocks[0].num_lines != blocks[1].num_lines:
        for path, lines in zip(paths, blocks, strict=True):
            while _take(path, lines, LINES_AT_ONCE, _BYTES_AT_ONCE):
                pass  # read on to the end, so that both counts can be said
        raise DataError(_unequal(paths[0], blocks[0].num_lines, paths[1], blocks[1].num_lines))
    return (first, second) if first else None


def _take(path: Path, lines: LineBlocks, most_lines: int, most_bytes: int | None) -> bytes:
    """Take lines; damage belongs to the file it is in, not to whichever of several was opened last."""
    try:
        return lines.take(most_lines, most_bytes)
    except DAMAGE as error:
        raise damaged(path, error) from error


def sides_of_block(block: Block, corpus: Corpus, report: EncodingReport | None = None) -> tuple[list[str], list[str]]:
    """Return the sources and the targets of a block, in simplified characters where the corpus says so."""
    if isinstance(corpus, ShardCorpus):
        sources, targets = (json.loads(part.decode("utf-8", "surrogatepass")) for part in block.files)
        return _simplified(sources, targets) if corpus.simplify_chinese else (sources, targets)
    paths = corpus_files(corpus)
    lines = []
    for path, raw in zip(paths, block.files, strict=True):
        found, bad = lines_of(raw, str(path), block.first_line)
        lines.append(found)
        if report is not None and bad:
            report.note(str(path), bad)
    match corpus:
        case LineCorpus():
            sources, targets = lines
        case TsvCorpus():
            sources, targets = _columns(lines[0], corpus, paths[0], block.first_line)
        case JsonlCorpus():
            sources, targets = _values(lines[0], corpus, paths[0], block.first_line)
    return _simplified(sources, targets) if corpus.simplify_chinese else (sources, targets)


def _simplified(sources: list[str], targets: list[str]) -> tuple[list[str], list[str]]:
    return [simplify(text) for text in sources], [simplify(text) for text in targets]


def read_parallel(corpus: Corpus) -> tuple[list[str], list[str]]:
    """Return all sources and all targets of a corpus, empty lines kept."""
    sources: list[str] = []
    targets: list[str] = []
    for pair in read_pairs(corpus):
        sources.append(pair.source)
        targets.append(pair.target)
    return sources, targets


def _unequal(source_path: Path, num_sources: int, target_path: Path, num_targets: int) -> str:
    shorter, longer = (source_path, target_path) if num_sources < num_targets else (target_path, source_path)
    few, many = sorted((num_sources, num_targets))
    return (
        f"The two files of a corpus must have equally many lines, but {source_path} has {num_sources:,} and "
        f"{target_path} has {num_targets:,}: {shorter} ends after line {few:,}, "
        f"{longer} goes on for {count_of(many - few, 'line')}."
    )


def _columns(lines: list[str], corpus: TsvCorpus, path: Path, first_line: int) -> tuple[list[str], list[str]]:
    source, target = corpus.source_column, corpus.target_column
    rows = [line.split("\t") for line in lines]
    try:
        return [row[source] for row in rows], [row[target] for row in rows]
    except IndexError:
        needed = max(source, target) + 1
        place = next(place for place, row in enumerate(rows) if len(row) < needed)
        raise DataError(
            f"{path}:{first_line + place}: a line must have at least {count_of(needed, 'tab-separated column')}, "
            f"but has {len(rows[place])}."
        ) from None


def _values(lines: list[str], corpus: JsonlCorpus, path: Path, first_line: int) -> tuple[list[str], list[str]]:
    sources, targets = [], []
    for number, line in enumerate(lines, first_line):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}:{number}: a line must be a JSON object, but is not: {error}.") from error
        if not isinstance(record, dict):
            raise DataError(f"{path}:{number}: a line must be a JSON object, but is something else.")
        sources.append(_text_of(record, corpus.source_key, path, number))
        targets.append(_text_of(record, corpus.target_key, path, number))
    return sources, targets


def _text_of(record: dict[str, object], key: str, path: Path, number: int) -> str:
    if key not in record:
        keys = ", ".join(f'"{name}"' for name in record) or "none"
        raise DataError(f'{path}:{number}: the object must have the key "{key}", but has {keys}.')
    value = record[key]
    if not isinstance(value, str):
        raise DataError(f'{path}:{number}: "{key}" must be text, but is {type(value).__name__}.')
    return value
