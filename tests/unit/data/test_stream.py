"""The stream: any position at any time, dropout within the budget, and a thread that minds its manners."""

import threading
import time
from collections import Counter
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from heedful.config.data import DataConfig, FilterConfig
from heedful.data.batch import Batch
from heedful.data.store import SubwordDropout, TokenStore, prepare_store
from heedful.data.stream import BatchStream, prefetch
from heedful.text.tokenizer import Tokenizer
from tests.support.small_corpus import ENGLISH, GERMAN, WriteCorpus


@pytest.fixture
def plain(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> TokenStore:
    return prepare_store(data, tokenizer, cache=tmp_path)


@pytest.fixture
def dropping(data: DataConfig, tokenizer: Tokenizer, tmp_path: Path) -> TokenStore:
    return prepare_store(data, tokenizer, dropout=SubwordDropout(0.4, 1), cache=tmp_path)


def stream_of(store: TokenStore, **settings: Any) -> BatchStream:
    return BatchStream(store, **{"batch_tokens": 200, "seed": 1, "bos_id": 1, "pad_id": 0, **settings})


def same(one: Batch, other: Batch) -> bool:
    return torch.equal(one.source_ids, other.source_ids) and torch.equal(one.target_output_ids, other.target_output_ids)


def epoch_batches(stream: BatchStream, epoch: int) -> list[Batch]:
    first = sum(stream.num_batches(earlier) for earlier in range(epoch))
    return [stream.batch_at(first + index) for index in range(stream.num_batches(epoch))]


def texts(tokenizer: Tokenizer, batch: Batch) -> list[tuple[str, str]]:
    return [
        (tokenizer.decode_source(source), tokenizer.decode_target(target))
        for source, target in zip(batch.source_ids.tolist(), batch.target_output_ids.tolist(), strict=True)
    ]


@pytest.mark.parametrize("kind", ["plain", "dropping"])
def test_every_epoch_has_every_pair_once(kind: str, tokenizer: Tokenizer, request: pytest.FixtureRequest) -> None:
    stream = stream_of(request.getfixturevalue(kind))
    for epoch in range(3):
        batches = epoch_batches(stream, epoch)
        seen = [pair for batch in batches for pair in texts(tokenizer, batch)]
        assert sorted(seen) == sorted(zip(ENGLISH, GERMAN, strict=True))
        for batch in batches:
            assert batch.source_ids.numel() <= 200
            assert batch.target_output_ids.numel() <= 200
            assert batch.num_items == int(batch.target_mask.sum())
            expected = [(ENGLISH[i], GERMAN[i]) for i in batch.example_ids]
            assert texts(tokenizer, batch) == expected


@pytest.mark.parametrize("kind", ["plain", "dropping"])
def test_a_position_gives_the_same_batch_whatever_was_asked_before(kind: str, request: pytest.FixtureRequest) -> None:
    store = request.getfixturevalue(kind)
    in_order = [stream_of(store).batch_at(0)]
    stream = stream_of(store)
    in_order = [stream.batch_at(position) for position in range(60)]
    for position in (59, 3, 30, 0, 31):
        assert same(stream_of(store).batch_at(position), in_order[position])
        assert same(stream.batch_at(position), in_order[position])
    assert not all(same(stream_of(store, seed=2).batch_at(p), in_order[p]) for p in range(10))


def test_epochs_follow_each_other(plain: TokenStore) -> None:
    stream = stream_of(plain)
    count = stream.num_batches(0)
    assert [stream.epoch_of(position) for position in (0, count - 1, count, 2 * count)] == [0, 0, 1, 2]


def test_dropout_cuts_anew_in_each_epoch_and_both_sides_apart(dropping: TokenStore) -> None:
    stream = stream_of(dropping, batch_tokens=10_000)
    sources: Counter[tuple[int, ...]] = Counter()
    for epoch in range(6):
        for batch in epoch_batches(stream, epoch):
            row = batch.example_ids.tolist().index(0)
            sources[tuple(batch.source_ids[row].tolist())] += 1
    assert len(sources) > 3


def test_a_sentence_that_would_grow_too_long_is_cut_plainly(dropping: TokenStore, tokenizer: Tokenizer) -> None:
    limit = int(max(dropping.source_lengths.max(), dropping.target_lengths.max()))
    for epoch in range(3):
        for batch in epoch_batches(stream_of(dropping, max_tokens=limit), epoch):
            assert int(batch.source_mask.sum(1).max()) <= limit
            assert int(batch.target_mask.sum(1).max()) <= limit
    always_plain = stream_of(dropping, max_tokens=1)
    batch = always_plain.batch_at(0)
    expected = tokenizer.encode_source_batch([ENGLISH[i] for i in batch.example_ids])
    assert [row[row != 0].tolist() for row in batch.source_ids.numpy()] == expected


def test_weights_by_corpus(write_corpus: WriteCorpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    train = [write_corpus("a", ENGLISH[:10], GERMAN[:10]), write_corpus("b", ENGLISH[10:20], GERMAN[10:20])]
    store = prepare_store(DataConfig(train=train, validation=train), tokenizer, cache=tmp_path)
    stream = stream_of(store, weights=[2.0, 0.5])
    for epoch in range(3):
        counts = Counter(int(i) for batch in epoch_batches(stream, epoch) for i in batch.example_ids)
        assert [counts[i] for i in range(10)] == [2] * 10
        assert sorted(counts[i] for i in range(10, 20)) == [0] * 5 + [1] * 5
    assert stream.epoch_of(stream.num_batches(0) + stream.num_batches(1)) == 2


def test_prefetching_gives_the_same_batches_and_ends_its_thread(plain: TokenStore) -> None:
    stream = stream_of(plain)
    before = threading.active_count()
    batches = prefetch(stream, 7)
    ahead = list(islice(batches, 30))
    assert all(same(batch, stream.batch_at(7 + number)) for number, batch in enumerate(ahead))
    assert threading.active_count() == before + 1
    assert isinstance(batches, Generator)
    batches.close()
    assert threading.active_count() == before


def test_what_fails_in_the_thread_fails_in_the_loop(plain: TokenStore) -> None:
    stream = stream_of(plain)
    failing = prefetch(stream, -1)
    before = threading.active_count()
    with pytest.raises(ValueError, match="position must be at least 0"):
        next(failing)
    assert threading.active_count() == before


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_an_epoch_of_ten_thousand_pairs_is_assembled_in_no_time(
    rate: float, write_corpus: WriteCorpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    generator = np.random.default_rng(1)
    words = [word for line in ENGLISH + GERMAN for word in line.split()]
    lines = [" ".join(generator.choice(words, size)) for size in generator.integers(3, 25, 10_000)]
    corpus = write_corpus("many", lines, lines)
    data = DataConfig(train=[corpus], validation=[corpus], filters=FilterConfig(max_tokens=500))
    store = prepare_store(data, tokenizer, dropout=SubwordDropout(rate, 1) if rate else None, cache=tmp_path)
    stream = stream_of(store, batch_tokens=4096)
    seconds = []
    for epoch in range(3):
        start = time.process_time()
        assert sum(len(batch) for batch in epoch_batches(stream, epoch)) == len(lines)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1.5  # others on the machine can only add
