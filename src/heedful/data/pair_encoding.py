"""A block of a corpus as token ids, filtered: the work of preparing pairs that every process does by itself.

Nothing here depends on other blocks. What does, duplicates and the numbers of words, is left to who has them all
(store_building.py). This file writes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.config.data import Corpus, FilterConfig
from heedful.data.filters import FilterReport, pair_digest
from heedful.data.readers import Block, sides_of_block
from heedful.text.encoded_words import EncodedWords, Joined
from heedful.text.subwords import Subwords, mark
from heedful.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class BlockOfCorpus:
    """A block, which corpus it is of, and the target language to ask for, where that has to be said."""

    number: int
    block: Block
    corpus: Corpus
    language: str | None


@dataclass(frozen=True)
class WordsOfBlock:
    """The words of one side: which there are, in the order in which they occur, and for each pair their places."""

    words: list[str]
    places: Joined


@dataclass(frozen=True)
class EncodedBlock:
    """Pairs that stay, unless they are duplicates, and a count of those that do not."""

    corpus: int
    tag_language: str | None
    sources: Joined
    targets: Joined
    digests: NDArray[np.uint64] | None
    """What stands for each pair, where duplicates are to be found."""

    words: tuple[WordsOfBlock, WordsOfBlock] | None
    report: FilterReport


class PairEncoder:
    """Encodes blocks of one corpus after another. `with_words` adds what subword dropout needs."""

    def __init__(self, tokenizer: Tokenizer, filters: FilterConfig, *, with_words: bool) -> None:
        self._tokenizer, self._filters, self._with_words = tokenizer, filters, with_words
        self._sources = EncodedWords(tokenizer, tokenizer.source)
        self._targets = EncodedWords(tokenizer, tokenizer.target)

    def encode(self, given: BlockOfCorpus) -> EncodedBlock:
        """Return what the pairs of a block are."""
        sources, targets = sides_of_block(given.block, given.corpus)
        tag = None if given.language is None else self._tokenizer.tag_of(given.language)
        source_ids, target_ids = self._sources.encode(sources, tag), self._targets.encode(targets)
        is_kept, report = self._filtered(sources, targets, source_ids[1], target_ids[1])
        kept = np.flatnonzero(is_kept).tolist()
        if report.num_kept < report.num_read:
            source_ids, target_ids = selected(source_ids, is_kept), selected(target_ids, is_kept)
        digests = None
        if self._filters.drop_duplicates:
            digests = np.frombuffer(b"".join(pair_digest(sources[n], targets[n])[:8] for n in kept), dtype=np.uint64)
        words = None
        if self._with_words:
            words = (
                self._words(self._tokenizer.source, [sources[n] for n in kept]),
                self._words(self._tokenizer.target, [targets[n] for n in kept]),
            )
        return EncodedBlock(given.number, given.language, source_ids, target_ids, digests, words, report)

    def _filtered(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        source_lens: NDArray[np.int32],
        target_lens: NDArray[np.int32],
    ) -> tuple[NDArray[np.bool_], FilterReport]:
        """Do what `PairFilter` does, for all pairs at once and without looking for duplicates."""
        report = FilterReport(num_read=len(sources))
        is_empty = np.array(
            [not source.strip() or not target.strip() for source, target in zip(sources, targets, strict=True)], bool
        )
        longer, shorter = np.maximum(source_lens, target_lens), np.minimum(source_lens, target_lens)
        is_long = ~is_empty & (longer > self._filters.max_tokens)
        is_uneven = np.zeros_like(is_long)
        if self._filters.max_ratio is not None:
            is_uneven = ~is_empty & ~is_long & (longer > self._filters.max_ratio * shorter)
        report.left_out |= {
            "empty": int(is_empty.sum()),
            "too_long": int(is_long.sum()),
            "uneven": int(is_uneven.sum()),
        }
        return ~(is_empty | is_long | is_uneven), report

    def _words(self, subwords: Subwords, texts: Sequence[str]) -> WordsOfBlock:
        numbers: dict[str, int] = {}
        rows = [
            [numbers.setdefault(word, len(numbers)) for word in subwords.words(mark(self._tokenizer.normalize(text)))]
            for text in texts
        ]
        lengths = np.fromiter(map(len, rows), dtype=np.int32, count=len(rows))
        places = np.fromiter((place for row in rows for place in row), dtype=np.int32, count=int(lengths.sum()))
        return WordsOfBlock(list(numbers), (places, lengths))


def selected(joined: Joined, is_kept: NDArray[np.bool_]) -> Joined:
    """Return the sequences that are kept."""
    values, lengths = joined
    return values[np.repeat(is_kept, lengths)], lengths[is_kept]
