"""Batches of labelled documents: nothing lost, nothing padded beyond need, every batch a function of its position."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.data.labelled_batches import LabelledStream, LabelledTokens, head_and_tail, labelled_tokens
from heedful.data.stream import prefetch

PAD = 0
LENGTHS = st.lists(st.integers(1, 90), min_size=1, max_size=40)


def tokens_of(lengths: list[int]) -> LabelledTokens:
    """Documents whose every id is their number plus one, and whose label is their number."""
    return labelled_tokens([[number + 1] * length for number, length in enumerate(lengths)], list(range(len(lengths))))


@settings(deadline=None)
@given(LENGTHS, st.integers(90, 400), st.integers(0, 3))
def test_every_document_is_in_an_epoch_once_with_all_its_tokens(lengths: list[int], budget: int, seed: int) -> None:
    stream = LabelledStream(tokens_of(lengths), batch_tokens=budget, seed=seed, pad_id=PAD)
    for epoch in (0, 1):
        seen = []
        for index in range(stream.batches_per_epoch):
            batch = stream.batch_at(epoch * stream.batches_per_epoch + index)
            assert batch.token_ids.numel() <= max(budget, batch.token_ids.size(1))
            for row, label in zip(batch.token_ids, batch.labels.tolist(), strict=True):
                assert row[row != PAD].tolist() == [label + 1] * lengths[label]
                seen.append(label)
        assert sorted(seen) == list(range(len(lengths)))


def test_a_batch_is_a_function_of_seed_and_position() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 200).tolist()
    first = LabelledStream(tokens_of(lengths), batch_tokens=300, seed=1, pad_id=PAD)
    again = LabelledStream(tokens_of(lengths), batch_tokens=300, seed=1, pad_id=PAD)
    other = LabelledStream(tokens_of(lengths), batch_tokens=300, seed=2, pad_id=PAD)
    positions = [3, 100, 0, 7]
    assert all(torch.equal(first.batch_at(p).token_ids, again.batch_at(p).token_ids) for p in reversed(positions))
    assert any(first.batch_at(p).labels.tolist() != other.batch_at(p).labels.tolist() for p in positions)
    ahead = prefetch(first, 100)
    assert torch.equal(next(ahead).labels, again.batch_at(100).labels)
    assert torch.equal(next(ahead).labels, again.batch_at(101).labels)
    ahead.close()  # type: ignore[attr-defined]


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 400))
def test_in_batches_loses_nothing_and_keeps_the_budget(lengths: list[int], budget: int) -> None:
    tokens = tokens_of(lengths)
    numbers = []
    for chosen, batch in tokens.in_batches(batch_tokens=budget, pad_id=PAD):
        assert batch.labels.tolist() == chosen.tolist()
        assert len(chosen) == 1 or batch.token_ids.numel() <= budget
        numbers += chosen.tolist()
    assert sorted(numbers) == list(range(len(lengths)))


def test_batches_can_be_split_copied_and_moved() -> None:
    tokens = tokens_of([3, 5, 2])
    batch = tokens.batch(np.array([0, 1, 2]), pad_id=PAD)
    assert batch.token_ids.shape == (3, 6)
    assert batch.num_items == 3
    parts = batch.split(2)
    assert torch.equal(torch.cat([part.token_ids for part in parts]), batch.token_ids)
    assert len(batch.split(10)) == 3
    other = tokens.batch(np.array([2, 1, 0]), pad_id=PAD, length=6)
    batch.copy_from(other)
    assert torch.equal(batch.token_ids, other.token_ids)
    assert torch.equal(batch.to("cpu").labels, other.labels)


@pytest.mark.parametrize(
    ("head", "tail", "expected"),
    [(3, 2, [0, 1, 2, 8, 9]), (3, 0, [0, 1, 2]), (6, 4, list(range(10))), (20, 1, list(range(10)))],
)
def test_head_and_tail(head: int, tail: int, expected: list[int]) -> None:
    assert list(head_and_tail(range(10), head=head, tail=tail)) == expected
