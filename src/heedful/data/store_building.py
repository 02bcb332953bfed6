"""Building a token store: corpora through tokenizer and filters into Arrow files, a few thousand pairs at a time.

One process reads and writes, as many as there are cores encode what lies between (pair_encoding.py). Memory is bounded
by a few blocks of the corpus, not by the whole (where duplicates are left out, eight bytes of each pair are
remembered, and with subword dropout the distinct words). This file knows how a store is written; store.py knows when.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from heedful.config.data import DataConfig, ShardCorpus
from heedful.data.addresses import find_shards, is_remote
from heedful.data.arrow_files import Column, arrow_writer
from heedful.data.encoding_worker import EncodingSetup, block_message, encoded_block, setup_message
from heedful.data.filters import FilterReport, SeenBefore
from heedful.data.opening import is_compressed
from heedful.data.pair_encoding import BlockOfCorpus, EncodedBlock, Making, WordsOfBlock, selected
from heedful.data.processes import Message, Start, num_cores, start_workers
from heedful.data.readers import Block, corpus_files, read_blocks
from heedful.files import write_new
from heedful.text.subword_dropout import build_table
from heedful.text.subwords import Subwords
from heedful.text.tokenizer import Tokenizer

PAIRS = "pairs.arrow"
SEGMENTS = {"source": "source_segments.arrow", "target": "target_segments.arrow"}
STORE = "store.json"

SEGMENTS_AT_ONCE = 1 << 16
_WORTH_PROCESSES = 1 << 24
"""Bytes of text that take longer to encode than processes take to start: about 70,000 pairs."""

_WARM_UP_LINES = 2048
"""Encoded by one process before the others are forked from it, so that each need not learn the frequent words."""


class Dropout(Protocol):
    """How words are cut anew."""

    @property
    def rate(self) -> float:
        """How often a merge is passed over."""

    @property
    def seed(self) -> int:
        """Decides the cuts."""


def fill_store(
    folder: Path,
    data: DataConfig,
    tokenizer: Tokenizer,
    dropout: Dropout | None,
    num_processes: int | None = None,
    *,
    seed: int = 0,
) -> None:
    """Write the files of a store into an empty folder: the same bytes whatever the number of processes.

    None takes a process for each core where there is enough to do, and none besides this one otherwise. `seed` decides
    what is made of pairs, and which are told their register.
    """
    making = Making(data.augmentation, data.register_rate, seed)
    setup = EncodingSetup(tokenizer.to_json(), data.filters, dropout is not None, making)
    if num_processes is None:
        num_processes = num_cores() if _num_bytes(data) > _WORTH_PROCESSES else 1
    words = None if dropout is None else {side: _Words(tokenizer, side) for side in SEGMENTS}
    blocks = blocks_of(data, tokenizer)
    if num_processes == 1:
        reports = _write_pairs(folder, data, map(setup.make().encode, blocks), words)
    else:
        start = Start("heedful.data.encoding_worker", setup_message(setup))
        with start_workers(start, num_processes, warm_up=_warm_up(data, tokenizer)) as workers:
            answers = workers.map(map(block_message, blocks))
            reports = _write_pairs(folder, data, map(encoded_block, answers), words)
    if words and dropout:
        for side, numbered in words.items():
            _write_segments(folder / SEGMENTS[side], numbered, dropout)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    facts = {"has_words": dropout is not None, "reports": [asdict(report) for report in reports], "sizes": sizes}
    write_new(folder / STORE, json.dumps(facts, indent=1).encode())


def _num_bytes(data: DataConfig) -> int:
    """Return how much there is to read, compressed files as what they may hold."""
    shards = [find_shards(corpus.path) for corpus in data.train if isinstance(corpus, ShardCorpus)]
    if any(map(is_remote, chain.from_iterable(shards))):
        return _WORTH_PROCESSES + 1
    paths = [path for corpus in data.train for path in corpus_files(corpus)]
    return sum(path.stat().st_size * (4 if is_compressed(path) else 1) for path in paths if path.is_file())


def _warm_up(data: DataConfig, tokenizer: Tokenizer) -> Message:
    """Return the first lines of the first corpus: who encodes them knows the frequent words."""
    given = next(blocks_of(data, tokenizer))
    beginning = tuple(b"\n".join(raw.split(b"\n")[:_WARM_UP_LINES]) for raw in given.block.files)
    return block_message(replace(given, block=Block(given.block.first_line, beginning)))


def blocks_of(data: DataConfig, tokenizer: Tokenizer) -> Iterator[BlockOfCorpus]:
    """Yield the training corpora in blocks that depend on their files alone."""
    for number, corpus in enumerate(data.train):
        languages = corpus.source_language or data.source_language, corpus.target_language or data.target_language
        for block in read_blocks(corpus):
            yield BlockOfCorpus(number, block, corpus, languages, bool(tokenizer.languages))


def _write_pairs(
    folder: Path, data: DataConfig, encoded: Iterable[EncodedBlock], words: "dict[str, _Words] | None"
) -> list[FilterReport]:
    """Write the pairs that stay, in order, and return for each corpus what was left out of it."""
    columns = ("source_ids", "target_ids", *(f"{side}_words" for side in words or ()))
    reports = [FilterReport() for _ in data.train]
    seen = SeenBefore()
    with arrow_writer(folder / PAIRS, numbers=("corpus",), sequences=columns) as write:
        for block in encoded:
            is_new = np.ones(len(block.sources[1]), dtype=bool)
            if block.digests is not None:
                is_new = seen.are_new(block.digests)
                block.report.left_out["duplicate"] = int((~is_new).sum())
            reports[block.corpus] += block.report
            named: dict[str, Column] = {"corpus": np.full(int(is_new.sum()), block.corpus, dtype=np.int32)}
            named |= {"source_ids": selected(block.sources, is_new), "target_ids": selected(block.targets, is_new)}
            if words and block.words:
                for side, found in zip(words, block.words, strict=True):
                    named[f"{side}_words"] = words[side].number(found, block.tags, is_new)
            write(**named)
    return reports


class _Words:
    """Numbers the words of one side in the order in which they occur; symbols that are no text come first."""

    def __init__(self, tokenizer: Tokenizer, side: str) -> None:
        self.subwords: Subwords = tokenizer.source if side == "source" else tokenizer.target
        registers = [tag for tags in tokenizer.register_ids.values() for tag in tags.values()]
        self.symbols = [tokenizer.eos_id, *tokenizer.language_ids.values(), *registers]
        self.numbers: dict[str, int] = {}
        self._has_tags = side == "source"
        self._tags = np.zeros(max(self.symbols) + 1, dtype=np.int32)
        self._tags[self.symbols] = np.arange(len(self.symbols))

    def number(self, found: WordsOfBlock, tags: NDArray[np.int32] | None, is_new: NDArray[np.bool_]) -> Column:
        """Return the words of each text as numbers, with its tag first and the end symbol last.

        Words of duplicates have a number already: the pair they are duplicates of has them, too.
        """
        numbers, first = self.numbers, len(self.symbols)
        table = np.array([first + numbers.setdefault(word, len(numbers)) for word in found.words], dtype=np.int32)
        places, lengths = selected(found.places, is_new)
        starts = np.concatenate([[0], np.cumsum(lengths[:-1], dtype=np.int64)]) if len(lengths) else lengths
        values = np.insert(table[places], starts + lengths, 0)
        if tags is None or not self._has_tags:
            return values, lengths + 1
        return np.insert(values, starts + np.arange(len(lengths)), self._tags[tags[is_new]]), lengths + 2


def _write_segments(path: Path, words: _Words, dropout: Dropout) -> None:
    with arrow_writer(path, sequences=("segment",)) as write:
        table = build_table(
            words.subwords, list(words.numbers), rate=dropout.rate, seed=dropout.seed, symbols=words.symbols
        )
        for start in range(0, len(table.segments), SEGMENTS_AT_ONCE):
            entries = np.arange(start, min(start + SEGMENTS_AT_ONCE, len(table.segments)))
            write(segment=table.segments.gather(entries))
