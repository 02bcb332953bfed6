"""A batch: what is padded, shifted, counted and split."""

import numpy as np
import torch

from heedful.data.batch import collate

SOURCES = [[5, 6, 2], [7, 2]]
TARGETS = [[8, 9, 10, 2], [2]]


def test_targets_are_shifted_right_and_everything_is_padded() -> None:
    batch = collate(SOURCES, TARGETS, bos_id=1, pad_id=0)
    assert batch.source_ids.tolist() == [[5, 6, 2], [7, 2, 0]]
    assert batch.target_input_ids.tolist() == [[1, 8, 9, 10], [1, 0, 0, 0]]
    assert batch.target_output_ids.tolist() == [[8, 9, 10, 2], [2, 0, 0, 0]]
    assert batch.num_items == 5
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_mask.sum(1).tolist() == [4, 1]
    assert {ids.dtype for ids in (batch.source_ids, batch.target_input_ids, batch.target_output_ids)} == {torch.int64}


def test_lengths_can_be_given_and_padding_can_be_any_id() -> None:
    """Marian models start with the padding symbol."""
    batch = collate(SOURCES, TARGETS, bos_id=99, pad_id=99, source_len=8, target_len=5)
    assert batch.source_ids.shape == (2, 8)
    assert batch.target_input_ids.tolist() == [[99, 8, 9, 10, 99], [99, 99, 99, 99, 99]]
    assert batch.target_output_ids.tolist() == [[8, 9, 10, 2, 99], [2, 99, 99, 99, 99]]


def test_splitting_loses_nothing() -> None:
    sources = [[number, 2] for number in range(3, 10)]
    batch = collate(sources, sources, bos_id=1, pad_id=0, example_ids=np.arange(30, 37))
    for count in (1, 2, 3, 7, 50):
        parts = batch.split(count)
        assert len(parts) == min(count, 7)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        assert torch.equal(torch.cat([part.source_ids for part in parts]), batch.source_ids)
        assert torch.equal(torch.cat([part.target_input_ids for part in parts]), batch.target_input_ids)
        assert sum(part.num_items for part in parts) == batch.num_items
        assert np.concatenate([part.example_ids for part in parts]).tolist() == batch.example_ids.tolist()


def test_moving_keeps_the_counts() -> None:
    moved = collate(SOURCES, TARGETS, bos_id=1, pad_id=0).to(torch.device("meta"), non_blocking=True)
    assert moved.source_ids.device.type == moved.target_output_ids.device.type == "meta"
    assert moved.num_items == 5
