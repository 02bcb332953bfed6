"""Fertilities of a training set: they add up, say what was written for what, and are computed once."""

import random
from pathlib import Path

import numpy as np
import pytest

from heedful.config.data import DataConfig
from heedful.data.batch import FertilityBatch
from heedful.data.fertilities import FertilityStream, fertilities_of, prepare_fertilities
from heedful.data.store import TokenStore, prepare_store
from heedful.data.stream import BatchStream
from heedful.text.ragged import Ragged, ragged_from_lengths
from heedful.text.tokenizer import Tokenizer
from tests.support.tiny_models import make_model

EOS = 2
WRITTEN = {token: list(range(10 * token, 10 * token + token % 4)) for token in range(3, 33)}
"""What is written for a token: nothing, or up to three others."""


def ragged(rows: list[list[int]]) -> Ragged:
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    return ragged_from_lengths(np.array([id_ for row in rows for id_ in row], dtype=np.int32), lengths)


def constructed(count: int, seed: int = 1) -> tuple[list[list[int]], list[list[int]]]:
    """Sentences in which every token is always written as the same ones, in order."""
    chance = random.Random(seed)
    sources = [chance.sample(list(WRITTEN), chance.randint(1, 6)) for _ in range(count)]
    targets = [[id_ for token in source for id_ in WRITTEN[token]] for source in sources]
    return [[*source, EOS] for source in sources], [[*target, EOS] for target in targets]


def test_what_is_always_written_for_a_token_is_counted_for_it() -> None:
    sources, targets = constructed(2000)
    found = fertilities_of(ragged(sources), ragged(targets))
    wanted = np.array([count for source in sources for count in (*(len(WRITTEN[it]) for it in source[:-1]), 1)])
    num_elsewhere = np.abs(found - wanted).sum() / 2
    assert num_elsewhere / wanted.sum() < 0.05  # tokens that nothing is written for attract what is rare


def test_they_sum_to_the_targets_length_whatever_the_pair() -> None:
    chance = random.Random(3)
    sources = [[*(chance.randrange(3, 20) for _ in range(length)), EOS] for length in (0, 1, 4, 600, 3, 2)]
    targets = [[*(chance.randrange(3, 20) for _ in range(length)), EOS] for length in (2, 0, 9, 7, 700, 2)]
    found = fertilities_of(ragged(sources), ragged(targets))
    ends = np.cumsum([len(source) for source in sources])
    assert [int(part.sum()) for part in np.split(found, ends[:-1])] == [len(target) for target in targets]
    assert (found >= 0).all()


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    """The token store of a small corpus."""
    lines = [(f"ten houses {number}", f"zehn häuser {number}") for number in range(40)]
    for side, name in enumerate(("train.en", "train.de")):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in lines), encoding="utf-8")
    corpus = {"kind": "lines", "source": str(tmp_path / "train.en"), "target": str(tmp_path / "train.de")}
    data = DataConfig.model_validate({"train": [corpus], "validation": [corpus]})
    return prepare_store(data, Tokenizer.from_json(make_model().tokenizer_json), cache=tmp_path / "cache")


def test_they_are_computed_once_and_again_when_they_are_damaged(store: TokenStore) -> None:
    said: list[str] = []
    first = prepare_fertilities(store, say=said.append)
    assert len(said) == 1
    again = prepare_fertilities(store, say=said.append)
    assert len(said) == 1
    assert np.array_equal(first.values, again.values)
    [kept] = store.folder.parent.glob("fertilities-*/*.npy")
    kept.write_bytes(kept.read_bytes()[:-8])
    mended = prepare_fertilities(store, say=said.append)
    assert len(said) == 2
    assert np.array_equal(first.values, mended.values)


def test_a_batch_has_those_of_its_sources(store: TokenStore) -> None:
    plain = BatchStream(store, batch_tokens=200, seed=1, bos_id=1, pad_id=0)
    stream = FertilityStream(plain, prepare_fertilities(store))
    for position in range(2 * plain.num_batches(0)):
        batch = stream.batch_at(position)
        assert isinstance(batch, FertilityBatch)
        assert batch.fertilities.shape == batch.source_ids.shape
        assert batch.fertilities.sum(dim=1).tolist() == batch.target_lengths.tolist()
        assert not batch.fertilities[~batch.source_mask].any()
        first = stream.fertilities[int(batch.example_ids[0])]
        assert batch.fertilities[0, : len(first)].tolist() == first.tolist()
