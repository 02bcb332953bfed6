from collections.abc import Callable
from typing import Any, Never

import pytest
import torch

from heedful.errors import HeedfulError
from heedful.tasks.device import within_memory


def doubled_within(room: int, tries: list[int]) -> Callable[..., Any]:
    def work(rows: list[int]) -> list[int]:
        tries.append(len(rows))
        if len(rows) > room:
            raise torch.OutOfMemoryError("CUDA out of memory (a test says so)")
        return [2 * row for row in rows]

    return work


def test_what_does_not_fit_is_done_in_halves_and_keeps_its_order() -> None:
    tries: list[int] = []
    assert within_memory(doubled_within(3, tries), list(range(10))) == [2 * row for row in range(10)]
    assert tries == [10, 5, 2, 3, 5, 2, 3]


def test_what_fits_is_done_at_once() -> None:
    tries: list[int] = []
    assert within_memory(doubled_within(3, tries), [5, 6, 7]) == [10, 12, 14]
    assert tries == [3]


def test_a_single_row_that_does_not_fit_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(HeedfulError, match="--device cpu"):
        within_memory(doubled_within(0, []), [1, 2])


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("The int8 engine was refused the memory it asked for."),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you ..."
        ),
    ],
)
def test_memory_the_machine_refuses_is_halved_too_and_has_a_sentence(error: MemoryError | RuntimeError) -> None:
    def work(rows: list[int]) -> list[int]:
        if len(rows) > 1:
            raise error
        return list(rows)

    assert within_memory(work, [1, 2, 3]) == [1, 2, 3]
    with pytest.raises(HeedfulError, match="The memory of this machine does not hold even one sentence"):
        within_memory(lambda rows: work([*rows, 0]), [1])


def test_other_errors_are_not_taken_for_want_of_memory() -> None:
    def work(rows: list[int]) -> Never:
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        within_memory(work, [1, 2])
