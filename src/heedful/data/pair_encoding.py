"""A block of a corpus as token ids, filtered: the work of preparing pairs that every process does by itself.

Nothing here depends on other blocks. What does, duplicates and the numbers of words, is left to who has them all
(store_building.py). This file writes nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.config.data import AugmentationConfig, Corpus, FilterConfig
from heedful.data.augmentation import Augmentation
from heedful.data.filters import FilterReport, pair_digest
from heedful.data.readers import Block, sides_of_block
from heedful.text.encoded_words import EncodedWords, Joined
from heedful.text.subwords import Subwords, mark
from heedful.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class BlockOfCorpus:
    """A block, which corpus it is of, the languages of its sides, and whether the target one has to be asked for."""

    number: int
    block: Block
    corpus: Corpus
    languages: tuple[str, str]
    is_tagged: bool


@dataclass(frozen=True)
class WordsOfBlock:
    """The words of one side: which there are, in the order in which they occur, and for each pair their places."""

    words: list[str]
    places: Joined


@dataclass(frozen=True)
class EncodedBlock:
    """Pairs that stay, unless they are duplicates, and a count of those that do not."""

    corpus: int
    tags: NDArray[np.int32] | None
    """What each source begins with, where the target language has to be asked for."""

    sources: Joined
    targets: Joined
    digests: NDArray[np.uint64] | None
    """What stands for each pair, where duplicates are to be found."""

    words: tuple[WordsOfBlock, WordsOfBlock] | None
    report: FilterReport


@dataclass(frozen=True)
class Making:
    """What is made of pairs beside reading them: further ones, and which are told their register."""

    augmentation: AugmentationConfig
    register_rate: float
    seed: int


class PairEncoder:
    """Encodes blocks of one corpus after another. `with_words` adds what subword dropout needs."""

    def __init__(self, tokenizer: Tokenizer, filters: FilterConfig, making: Making, *, with_words: bool) -> None:
        self._tokenizer, self._filters, self._with_words = tokenizer, filters, with_words
        self._making = making
        self._sources = EncodedWords(tokenizer, tokenizer.source)
        self._targets = EncodedWords(tokenizer, tokenizer.target)

    def encode(self, given: BlockOfCorpus) -> EncodedBlock:
        """Return what the pairs of a block are."""
        sources, targets = sides_of_block(given.block, given.corpus)
        num_read = len(sources)
        made = Augmentation(self._making.augmentation, *given.languages).of(sources, targets, self._chance(given))
        sources, targets = [*sources, *(pair[0] for pair in made)], [*targets, *(pair[1] for pair in made)]
        tag = self._tokenizer.tag_of(given.languages[1]) if given.is_tagged else None
        source_ids, target_ids = self._sources.encode(sources, tag), self._targets.encode(targets)
        tags = None
        if tag is not None:
            source_ids, tags = self._tagged(source_ids, given, tag)
        is_kept, report = self._filtered(sources, targets, source_ids[1], target_ids[1])
        report.num_read, report.num_made = num_read, len(made)
        kept = np.flatnonzero(is_kept).tolist()
        if not is_kept.all():
            source_ids, target_ids = selected(source_ids, is_kept), selected(target_ids, is_kept)
            tags = None if tags is None else tags[is_kept]
        digests = None
        if self._filters.drop_duplicates:
            digests = np.frombuffer(b"".join(pair_digest(sources[n], targets[n])[:8] for n in kept), dtype=np.uint64)
        words = None
        if self._with_words:
            words = (
                self._words(self._tokenizer.source, [sources[n] for n in kept]),
                self._words(self._tokenizer.target, [targets[n] for n in kept]),
            )
        return EncodedBlock(given.number, tags, source_ids, target_ids, digests, words, report)

    def _chance(self, given: BlockOfCorpus) -> random.Random:
        """Return what decides in this block: the same for a block whichever process has it."""
        return random.Random(f"{self._making.seed} {given.number} {given.block.first_line}")  # noqa: S311 - no secret

    def _tagged(self, source_ids: Joined, given: BlockOfCorpus, tag: int) -> tuple[Joined, NDArray[np.int32]]:
        """Put the tag of the register into some, in the place of the language's, and return what each begins with."""
        values, lengths = source_ids
        tags = np.full(len(lengths), tag, dtype=np.int32)
        register = given.corpus.in_register
        if register is not None:
            chance = np.random.default_rng((self._making.seed, given.number, given.block.first_line))
            is_told = chance.random(len(lengths)) < self._making.register_rate
            tags[is_told] = self._tokenizer.in_register(register).tag_of(given.languages[1])
            values = values.copy()
            values[np.cumsum(lengths) - lengths] = tags
        return (values, lengths), tags

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
