"""Groups of lines: nothing lost, nobody waits, failures arrive."""

import queue
from collections.abc import Iterator

import pytest

from heedful.tasks.line_groups import group_lines


def test_all_lines_come_in_order_in_groups_that_grow() -> None:
    lines = [str(number) for number in range(5000)]
    groups = list(group_lines(lines))
    assert [line for group in groups for line in group] == lines
    assert len(groups[0]) <= 32
    assert max(map(len, groups)) <= 1024


def test_no_lines_give_no_groups() -> None:
    assert list(group_lines([])) == []


def test_a_line_is_handed_on_while_the_next_one_has_not_come() -> None:
    answers: queue.Queue[str] = queue.Queue()

    def typed() -> Iterator[str]:
        yield "first"
        # Would wait for ever, and fail, if the group waited for this line.
        yield answers.get(timeout=10) + " again"

    groups = group_lines(typed())
    assert next(groups) == ["first"]
    answers.put("second")
    assert next(groups) == ["second again"]
    assert list(groups) == []


def test_a_huge_line_closes_its_group() -> None:
    groups = list(group_lines(["x" * 600_000, "y", "z"]))
    assert groups[0] == ["x" * 600_000]
    assert [line for group in groups[1:] for line in group] == ["y", "z"]


def test_the_failure_of_the_input_comes_after_the_lines_before_it() -> None:
    def broken() -> Iterator[str]:
        yield "good"
        raise OSError("unplugged")

    groups = group_lines(broken())
    assert next(groups) == ["good"]
    with pytest.raises(OSError, match="unplugged"):
        next(groups)
