"""Batches over shards: every pair once an epoch, the same at every position whoever asks, resumed without the rest."""

from collections import Counter
from pathlib import Path

import pytest
import torch

from heedful.config.data import DataConfig, ShardCorpus, TokenizerConfig
from heedful.data.shard_stream import Shard, ShardStream
from heedful.data.store import TokenStore, prepare_store, store_folder
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer

NUM_SHARDS, PAIRS = 5, 60


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    words = [f"w{number} x" for number in range(NUM_SHARDS * PAIRS)]
    return learn_tokenizer(TokenizerConfig(vocab_size=300), words, words, [])


class Shards:
    """Shards on disk, and which of them were opened."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, weights: list[float], *, keeps_tokens: bool = True) -> None:
        self.opened: list[int] = []
        self.shards = []
        for number, weight in enumerate(weights):
            path = folder / f"s{number}.tsv"
            path.write_text("".join(f"w{number * PAIRS + n}\tx {'y ' * (n % 7)}\n" for n in range(PAIRS)))
            corpus = ShardCorpus(kind="shards", path=str(path))
            data = DataConfig(train=[corpus], validation=[corpus])

            def opened(number: int = number, data: DataConfig = data) -> TokenStore:
                self.opened.append(number)
                return prepare_store(data, tokenizer, cache=folder / "cache")

            def notes(data: DataConfig = data) -> Path:
                place = store_folder(data, tokenizer, cache=folder / "cache")
                return place.with_name(place.name.replace("tokens-", "shard-"))

            self.shards.append(Shard(opened, notes, weight, keeps_tokens))

    def stream(self, tokenizer: Tokenizer, seed: int = 3) -> ShardStream:
        ids = {"bos_id": tokenizer.bos_id, "pad_id": tokenizer.pad_id}
        return ShardStream(self.shards, batch_tokens=64, seed=seed, max_tokens=256, **ids)


def _epoch(stream: ShardStream, tokenizer: Tokenizer, epoch: int) -> Counter[str]:
    position, texts = 0, Counter[str]()
    while stream.epoch_of(position) < epoch:
        position += 1
    while stream.epoch_of(position) == epoch:
        for row in stream.batch_at(position).source_ids.tolist():
            texts[tokenizer.decode_source([token for token in row if token != tokenizer.pad_id])] += 1
        position += 1
    return texts


def test_every_pair_comes_once_an_epoch(tokenizer: Tokenizer, tmp_path: Path) -> None:
    stream = Shards(tmp_path, tokenizer, [1.0] * NUM_SHARDS).stream(tokenizer)
    for epoch in (0, 1):
        texts = _epoch(stream, tokenizer, epoch)
        assert set(texts) == {f"w{number}" for number in range(NUM_SHARDS * PAIRS)}
        assert set(texts.values()) == {1}
    assert stream.num_pairs == NUM_SHARDS * PAIRS


def test_weights_repeat_and_leave_out_whole_shards(tokenizer: Tokenizer, tmp_path: Path) -> None:
    stream = Shards(tmp_path, tokenizer, [2.0, 1.0, 0.5, 0.5]).stream(tokenizer)
    texts = _epoch(stream, tokenizer, 0)
    counts = [texts[f"w{shard * PAIRS}"] for shard in range(4)]
    assert counts[:2] == [2, 1]
    assert sorted(counts[2:]) == [0, 1]


@pytest.mark.parametrize("keeps_tokens", [True, False])
def test_a_run_that_resumes_gets_the_same_batches_and_opens_what_is_near(
    tokenizer: Tokenizer, tmp_path: Path, keeps_tokens: bool
) -> None:
    shards = Shards(tmp_path, tokenizer, [1.0] * NUM_SHARDS, keeps_tokens=keeps_tokens)
    whole = shards.stream(tokenizer)
    num_batches = next(position for position in range(10_000) if whole.epoch_of(position) == 2)
    expected = [whole.batch_at(position) for position in range(num_batches)]
    if not keeps_tokens:
        assert len(list((tmp_path / "cache").glob("tokens-*"))) <= 4
    for position in (0, num_batches // 2 + 1, num_batches - 1):
        shards.opened.clear()
        resumed = shards.stream(tokenizer).batch_at(position)
        assert len(set(shards.opened)) <= 4
        for name in ("source_ids", "target_input_ids", "target_output_ids"):
            assert torch.equal(getattr(resumed, name), getattr(expected[position], name))


def test_another_seed_is_another_order(tokenizer: Tokenizer, tmp_path: Path) -> None:
    shards = Shards(tmp_path, tokenizer, [1.0] * NUM_SHARDS)
    one, other = (shards.stream(tokenizer, seed).batch_at(0).source_ids for seed in (1, 2))
    assert one.shape != other.shape or not bool((one == other).all())
