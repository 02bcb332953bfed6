"""The batches of a run whose corpora are shards: which files there are, and how each becomes tokens in its turn."""

from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path

from heedful.config.data import Corpus, DataConfig, ShardCorpus
from heedful.config.translation import TranslationRun
from heedful.data.addresses import find_shards
from heedful.data.readers import Pair, read_pairs
from heedful.data.shard_stream import Shard, ShardStream
from heedful.data.store import TokenStore, prepare_store, store_folder
from heedful.errors import UserError, count_of
from heedful.files import cache_folder
from heedful.tasks.run_folder import Say
from heedful.text.tokenizer import Tokenizer

_PAIRS_TO_LEARN_FROM = 2_000_000
"""Of a corpus in shards, spread over all of them: what a tokenizer is learned from."""


def is_sharded(data: DataConfig) -> bool:
    """Say whether a training corpus comes in shards: then all are read shard by shard, a plain file as one of them."""
    return any(isinstance(corpus, ShardCorpus) for corpus in data.train)


def prepare_shards(config: TranslationRun, tokenizer: Tokenizer, say: Say) -> ShardStream:
    """Return the batches; the shards of the first are tokenised now, all others when they come near."""
    data = config.data
    for setting, value in (
        ("tokenizer.dropout", config.tokenizer.dropout),
        ("data.temperature", data.temperature - 1),
        ("data.register_temperature", data.register_temperature - 1),
    ):
        if value:
            raise UserError(f"`{setting}` must be left out with shards: it needs all pairs at once. Use `weight`.")
    if config.model.kind == "fertility":
        raise UserError("`model.kind` must be another one with shards: fertilities are learned from all pairs at once.")
    shards = []
    for corpus in data.train:
        parts = _parts(corpus)
        shards += [_shard(data.model_copy(update={"train": [part]}), tokenizer, config.seed) for part in parts]
    stream = ShardStream(
        shards,
        batch_tokens=config.training.batch_tokens,
        seed=config.seed,
        bos_id=tokenizer.bos_id,
        pad_id=tokenizer.pad_id,
        max_tokens=data.filters.max_tokens,
    )
    say(f"Preparing the first of {count_of(len(shards), 'shard')}; the others follow while it trains.")
    stream.batch_at(0)
    return stream


def pairs_to_learn_from(corpus: Corpus) -> Iterator[Pair]:
    """Yield what a tokenizer is learned from: all pairs, of shards the first of each."""
    parts = _parts(corpus)
    most = _PAIRS_TO_LEARN_FROM // len(parts) + 1 if isinstance(corpus, ShardCorpus) else None
    for part in parts:
        yield from islice(read_pairs(part), most)


def _parts(corpus: Corpus) -> list[Corpus]:
    if not isinstance(corpus, ShardCorpus):
        return [corpus]
    return [corpus.model_copy(update={"path": address}) for address in find_shards(corpus.path)]


def _shard(data: DataConfig, tokenizer: Tokenizer, seed: int) -> Shard:
    corpus = data.train[0]
    folder = cache(partial(store_folder, data, tokenizer, seed=seed, cache=cache_folder()))

    def opened() -> TokenStore:
        return prepare_store(data, tokenizer, seed=seed)

    def notes() -> Path:
        return folder().with_name(folder().name.replace("tokens-", "shard-"))

    keeps = corpus.keep_tokens if isinstance(corpus, ShardCorpus) else True
    return Shard(opened, notes, corpus.weight, keeps)
