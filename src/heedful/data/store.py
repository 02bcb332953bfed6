"""The token store: tokenised training pairs in Arrow files that are mapped into memory, built once and used again.

A store is a folder in the cache, named by the hash of all it is made of: the bytes of the corpora, the tokenizer, the
filters. Another corpus, however small the difference, is another store; the same one is never tokenised twice.
Corpora larger than memory work: building streams, and reading is left to the paging of the operating system. This
file knows nothing of batches or tensors.

    pairs.arrow            source_ids, target_ids, corpus; with subword dropout also source_words, target_words
    source_segments.arrow  with subword dropout: all cuts of every word (text/subword_dropout.py)
    target_segments.arrow
    store.json             what was left out, and the sizes of the files above; written last
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.config.data import AugmentationConfig, Corpus, DataConfig, ShardCorpus
from heedful.data.addresses import find_shards, identity_of
from heedful.data.arrow_files import map_column, map_ragged
from heedful.data.file_identity import FileIdentities
from heedful.data.filters import FilterReport
from heedful.data.readers import corpus_files
from heedful.data.store_building import PAIRS, SEGMENTS, STORE, fill_store
from heedful.errors import DataError, HeedfulError, UserError
from heedful.files import cache_folder, make_private_folder, publish_folder, remove_folder, writing
from heedful.text.ragged import Ragged
from heedful.text.subword_dropout import NUM_CHOICES, SegmentationTable
from heedful.text.subwords import Merges
from heedful.text.tokenizer import Tokenizer

_FORMAT_VERSION = 1


@dataclass(frozen=True)
class SubwordDropout:
    """Cut words anew in each epoch: how often a merge is passed over, and the seed of the cuts."""

    rate: float
    seed: int


@dataclass(frozen=True)
class WordTable:
    """One side of the corpus as words, and the ways in which each word can be cut."""

    words: Ragged
    table: SegmentationTable


class TokenStore:
    """Tokenised pairs on disk. Opening costs next to nothing; tokens are read when they are asked for.

    Attributes:
        sources, targets: the ids of every pair, with language tag and end symbol.
        corpus_ids: for every pair, the place of its corpus in `data.train`.
        reports: for every corpus, what was left out of it.
        source_words, target_words: with subword dropout, the words of every pair and how they can be cut.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        facts = json.loads((folder / STORE).read_bytes())
        self.reports = [FilterReport(**report) for report in facts["reports"]]
        pairs = folder / PAIRS
        self.sources = map_ragged(pairs, "source_ids")
        self.targets = map_ragged(pairs, "target_ids")
        self.corpus_ids: NDArray[np.int32] = map_column(pairs, "corpus")
        self.source_words = self._word_table("source") if facts["has_words"] else None
        self.target_words = self._word_table("target") if facts["has_words"] else None

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """Tokens of every source."""
        return self.sources.lengths

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """Tokens of every target."""
        return self.targets.lengths

    @property
    def report(self) -> FilterReport:
        """What was left out of all corpora together."""
        return reduce(FilterReport.__add__, self.reports)

    def source(self, index: int) -> NDArray[np.int32]:
        """Return the ids of one source."""
        return self.sources[index]

    def target(self, index: int) -> NDArray[np.int32]:
        """Return the ids of one target."""
        return self.targets[index]

    def _word_table(self, side: str) -> WordTable:
        segments = map_ragged(self.folder / SEGMENTS[side], "segment")
        return WordTable(map_ragged(self.folder / PAIRS, f"{side}_words"), SegmentationTable(segments))


def prepare_store(
    data: DataConfig,
    tokenizer: Tokenizer,
    *,
    dropout: SubwordDropout | None = None,
    seed: int = 0,
    identities: FileIdentities | None = None,
    cache: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> TokenStore:
    """Open the store of the training corpora, after building it where there is none yet.

    `dropout` adds what subword dropout needs, `seed` decides what is made of pairs. `identities` saves reading a corpus
    once more to know what it is. `cache` is the folder of all stores; None takes the user's.
    """
    if dropout is not None and not all(
        isinstance(s.segmentation, Merges) for s in (tokenizer.source, tokenizer.target)
    ):
        raise UserError("`tokenizer.dropout` must be 0 for a tokenizer without merges: there is nothing to pass over.")
    folder = store_folder(data, tokenizer, dropout=dropout, seed=seed, identities=identities, cache=cache)
    if folder.exists() and not _is_whole(folder):
        say(f"The token store {folder} is damaged and is built anew.")
        remove_folder(folder)
    if not folder.exists():
        say("Tokenising the training corpora.")
        with writing(folder):
            make_private_folder(folder.parent)
        try:
            publish_folder(folder, lambda partial: fill_store(partial, data, tokenizer, dropout, seed=seed))
        except HeedfulError:
            if not folder.exists():  # otherwise another run has just built the same one
                raise
    store = TokenStore(folder)
    if not len(store):
        files = " and ".join(str(path) for corpus in data.train for path in corpus_files(corpus))
        raise DataError(
            f"The training corpora must have a usable pair, but {files} have none: {store.report.sentence()}"
        )
    return store


def store_folder(
    data: DataConfig,
    tokenizer: Tokenizer,
    *,
    dropout: SubwordDropout | None = None,
    seed: int = 0,
    identities: FileIdentities | None = None,
    cache: Path | None = None,
) -> Path:
    """Return where the store of the training corpora is or will be."""
    return (cache or cache_folder()) / f"tokens-{_key(data, tokenizer, dropout, seed, identities or FileIdentities())}"


def _key(
    data: DataConfig, tokenizer: Tokenizer, dropout: SubwordDropout | None, seed: int, identities: FileIdentities
) -> str:
    """Return a short hash of everything that decides what is in a store."""
    parts = {
        "format_version": _FORMAT_VERSION,
        "tokenizer": tokenizer.fingerprint,
        "target_language": data.target_language,
        "filters": data.filters.model_dump(mode="json"),
        "corpora": [_describe(corpus, identities) for corpus in data.train],
        "dropout": None if dropout is None else [asdict(dropout), NUM_CHOICES],
    }
    if any(corpus.in_register is not None for corpus in data.train):
        parts["registers"] = [data.register_rate, seed]
    if data.augmentation != AugmentationConfig():
        languages = [(one.source_language or data.source_language) for one in data.train]
        parts["augmentation"] = [data.augmentation.model_dump(mode="json"), languages, seed]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _describe(corpus: Corpus, identities: FileIdentities) -> dict[str, object]:
    """Say what a corpus is by its bytes rather than its names: a file that moves is still the same."""
    if isinstance(corpus, ShardCorpus):
        shards = [identity_of(address) for address in find_shards(corpus.path)]
        return {**corpus.model_dump(mode="json", exclude={"path", "weight", "keep_tokens"}), "files": shards}
    hashes = [(path.suffix, identities.of(path).sha256) for path in corpus_files(corpus)]
    settings = corpus.model_dump(mode="json", exclude={"source", "target", "path", "weight"})
    return {**settings, "files": hashes}


def _is_whole(folder: Path) -> bool:
    """Say whether every file has the size it was written with; the folder appeared in one step, so this is enough."""
    try:
        sizes = json.loads((folder / STORE).read_bytes())["sizes"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError):
        return False
