"""A batch as named tensors: what is a column is moved, pinned, cut and copied without a line about it."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.data.named_batch import NamedBatch


@dataclass(frozen=True)
class Alignments(NamedBatch):
    """A kind of batch that nothing in the package knows."""

    words: Tensor
    fertilities: Tensor
    numbers: NDArray[np.int64]
    name: str = "a"


def alignments(rows: int = 5, length: int = 3) -> Alignments:
    words = torch.arange(rows * length).reshape(rows, length)
    return Alignments(words, words % 2, np.arange(rows))


def test_a_batch_of_a_new_kind_is_cut_into_rows_with_all_its_columns() -> None:
    batch = alignments()
    parts = batch.split(2)
    assert [len(part) for part in parts] == [2, 3]
    assert torch.equal(torch.cat([part.words for part in parts]), batch.words)
    assert torch.equal(torch.cat([part.fertilities for part in parts]), batch.fertilities)
    assert np.concatenate([part.numbers for part in parts]).tolist() == [0, 1, 2, 3, 4]
    assert {part.name for part in parts} == {"a"}
    assert [len(part) for part in batch.split(100)] == [1] * 5


def test_a_loss_is_averaged_over_rows_unless_the_kind_says_otherwise() -> None:
    assert alignments().num_items == 5


def test_batches_are_of_one_shape_when_all_their_tensors_are() -> None:
    assert alignments().shape == alignments().shape
    assert alignments(rows=4).shape != alignments().shape
    assert alignments(length=4).shape != alignments().shape
    hash(alignments().shape)


def test_the_tensors_move_and_what_is_the_hosts_stays() -> None:
    batch = alignments()
    moved = batch.to("meta")
    assert moved.words.is_meta
    assert moved.fertilities.is_meta
    assert moved.numbers is batch.numbers
    assert isinstance(moved, Alignments)


def test_contents_are_taken_over_in_place() -> None:
    batch, other = alignments(), alignments()
    other.words.add_(100)
    other.fertilities.add_(7)
    words = batch.words
    batch.copy_from(other)
    assert batch.words is words
    assert torch.equal(batch.words, other.words)
    assert torch.equal(batch.fertilities, other.fertilities)


@pytest.mark.gpu
def test_all_tensors_are_put_into_page_locked_memory() -> None:
    pinned = alignments().pin_memory()
    assert pinned.words.is_pinned()
    assert pinned.fertilities.is_pinned()
