"""Building a token store: corpora through tokenizer and filters into Arrow files, a few thousand pairs at a time.

Memory is bounded by a piece of the corpus, not by the whole (of duplicates sixteen bytes each are remembered, and
with subword dropout the distinct words). This file knows how a store is written; store.py knows when.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

import numpy as np

from heedful.config.data import DataConfig
from heedful.data.arrow_files import Column, arrow_writer
from heedful.data.filters import FilterReport, PairFilter
from heedful.data.readers import Pair, read_pairs
from heedful.files import write_new
from heedful.text.subword_dropout import build_table
from heedful.text.subwords import Subwords, mark
from heedful.text.tokenizer import Tokenizer

PAIRS = "pairs.arrow"
SEGMENTS = {"source": "source_segments.arrow", "target": "target_segments.arrow"}
STORE = "store.json"

PAIRS_AT_ONCE = 8192
SEGMENTS_AT_ONCE = 1 << 16


class Dropout(Protocol):
    """How words are cut anew."""

    @property
    def rate(self) -> float:
        """How often a merge is passed over."""

    @property
    def seed(self) -> int:
        """Decides the cuts."""


def fill_store(folder: Path, data: DataConfig, tokenizer: Tokenizer, dropout: Dropout | None) -> None:
    """Write the files of a store into an empty folder."""
    pair_filter = PairFilter(data.filters)
    words = None if dropout is None else {side: _Words(tokenizer, side) for side in SEGMENTS}
    columns = ("source_ids", "target_ids", *(f"{side}_words" for side in words or ()))
    reports: list[FilterReport] = []
    with arrow_writer(folder / PAIRS, numbers=("corpus",), sequences=columns) as write:
        for number, corpus in enumerate(data.train):
            pair_filter.report = FilterReport()
            language = (corpus.target_language or data.target_language) if tokenizer.languages else None
            for pairs in _pieces(read_pairs(corpus)):
                rows = _tokenise(pairs, tokenizer, language, pair_filter)
                named: dict[str, Column] = {"corpus": np.full(len(rows.pairs), number, dtype=np.int32)}
                named |= {"source_ids": _flat(rows.sources), "target_ids": _flat(rows.targets)}
                if words:
                    named["source_words"] = words["source"].number([pair.source for pair in rows.pairs], language)
                    named["target_words"] = words["target"].number([pair.target for pair in rows.pairs], None)
                write(**named)
            reports.append(pair_filter.report)
    if words and dropout:
        for side, numbered in words.items():
            _write_segments(folder / SEGMENTS[side], numbered, dropout)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    facts = {"has_words": dropout is not None, "reports": [asdict(report) for report in reports], "sizes": sizes}
    write_new(folder / STORE, json.dumps(facts, indent=1).encode())


class _Words:
    """Numbers the words of one side in the order in which they occur; symbols that are no text come first."""

    def __init__(self, tokenizer: Tokenizer, side: str) -> None:
        self.subwords: Subwords = tokenizer.source if side == "source" else tokenizer.target
        self.symbols = [tokenizer.eos_id, *tokenizer.language_ids.values()]
        self.numbers: dict[str, int] = {}
        self._normalize = tokenizer.normalize
        self._tags = {language: number for number, language in enumerate(tokenizer.languages, 1)}

    def number(self, texts: Sequence[str], language: str | None) -> Column:
        """Return the words of each text as numbers, with the language tag first and the end symbol last."""
        opening = [] if language is None else [self._tags[language]]
        numbers, first = self.numbers, len(self.symbols)
        rows = []
        for text in texts:
            words = self.subwords.words(mark(self._normalize(text)))
            rows.append([*opening, *(first + numbers.setdefault(word, len(numbers)) for word in words), 0])
        return _flat(rows)


@dataclass(frozen=True)
class _Rows:
    """Pairs that stay, with their ids."""

    pairs: list[Pair]
    sources: list[list[int]]
    targets: list[list[int]]


def _tokenise(pairs: list[Pair], tokenizer: Tokenizer, language: str | None, pair_filter: PairFilter) -> _Rows:
    languages = None if language is None else [language] * len(pairs)
    sources = tokenizer.encode_source_batch([pair.source for pair in pairs], languages)
    targets = tokenizer.encode_target_batch([pair.target for pair in pairs])
    kept = [
        number
        for number, (pair, source, target) in enumerate(zip(pairs, sources, targets, strict=True))
        if pair_filter.reason_against(pair.source, pair.target, len(source), len(target)) is None
    ]
    return _Rows([pairs[n] for n in kept], [sources[n] for n in kept], [targets[n] for n in kept])


def _pieces(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    remaining = iter(pairs)
    while piece := list(islice(remaining, PAIRS_AT_ONCE)):
        yield piece


def _flat(rows: Sequence[Sequence[int]]) -> Column:
    lengths = np.fromiter(map(len, rows), dtype=np.int32, count=len(rows))
    return np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(lengths.sum())), lengths


def _write_segments(path: Path, words: _Words, dropout: Dropout) -> None:
    with arrow_writer(path, sequences=("segment",)) as write:
        table = build_table(
            words.subwords, list(words.numbers), rate=dropout.rate, seed=dropout.seed, symbols=words.symbols
        )
        for start in range(0, len(table.segments), SEGMENTS_AT_ONCE):
            entries = np.arange(start, min(start + SEGMENTS_AT_ONCE, len(table.segments)))
            write(segment=table.segments.gather(entries))
