"""A batch is cut alike however many processes share the parts: every row once, each part with its own seed."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from heedful.data.named_batch import NamedBatch
from heedful.errors import UserError
from heedful.training.distribution.shares import Cut, Share, check_parts, shares_of


@dataclass(frozen=True)
class Rows(NamedBatch):
    """A batch of numbers."""

    numbers: Tensor


def batch(num_rows: int, start: int = 0) -> Rows:
    return Rows(torch.arange(start, start + num_rows))


def passes(shares: list[Share[Rows]]) -> list[tuple[list[int], int | None]]:
    return [(share.batch.numbers.tolist(), share.seed) for share in shares if share.counts]


@pytest.mark.parametrize("num_rows", [1, 3, 4, 7, 16])
@pytest.mark.parametrize("num_pieces", [1, 2])
@pytest.mark.parametrize("world", [1, 2, 4])
def test_the_ranks_together_do_what_one_process_does(world: int, num_pieces: int, num_rows: int) -> None:
    batches = [batch(num_rows), batch(num_rows, 100)]
    alone = shares_of(batches, Cut(parts=4), num_pieces, seed=5)
    together = [shares_of(batches, Cut(4, rank, world), num_pieces, seed=5) for rank in range(world)]
    assert sorted(passes(alone), key=str) == sorted((one for each in together for one in passes(each)), key=str)
    assert sorted(row for rows, _ in passes(alone) for row in rows) == [
        *range(num_rows),
        *range(100, 100 + num_rows),
    ]
    # The wrappers wait for a pass of every rank, so all have equally many, filled up where rows are few.
    assert {len(shares) for shares in together} == {2 * 4 // world * num_pieces}
    assert all(len(share.batch) > 0 for shares in together for share in shares)


def test_one_part_is_the_plain_loop_seeded_once() -> None:
    shares = shares_of([batch(4), batch(4)], Cut(), 2, seed=9)
    assert [share.seed for share in shares] == [9, None, None, None]
    assert [len(share.batch) for share in shares] == [2, 2, 2, 2]
    assert [len(share.batch) for share in shares_of([batch(1)], Cut(), 4, seed=9)] == [1]


def test_each_part_has_a_seed_of_its_own() -> None:
    seeds = [share.seed for share in shares_of([batch(8), batch(8)], Cut(parts=4), 1, seed=2**63 - 3)]
    assert len(set(seeds)) == 8
    assert all(seed is not None and 0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("num_rows", [1, 3, 10])
def test_rows_that_are_carried_on_belong_to_one_rank_each(num_rows: int) -> None:
    ends = [Cut(4, rank, 2).own_rows(num_rows) for rank in range(2)]
    assert ends[0][0] == 0
    assert ends[0][1] == ends[1][0]
    assert ends[1][1] == num_rows
    for rank, (start, end) in enumerate(ends):
        done = [row for rows, _ in passes(shares_of([batch(num_rows)], Cut(4, rank, 2), 1, 0)) for row in rows]
        assert done == list(range(start, end))


def test_parts_that_cannot_be_shared_evenly_are_refused() -> None:
    check_parts(4, 2)
    with pytest.raises(UserError) as refusal:
        check_parts(4, 3)
    assert str(refusal.value).startswith(
        "`training.distribution.parts` must be a multiple of the number of processes, 3, but is 4. "
    )
