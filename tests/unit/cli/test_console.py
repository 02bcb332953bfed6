"""How a verb ends: the sentence, and the exit code."""

import pytest
import typer

from heedful.cli.console import exits
from heedful.errors import DataError, HeedfulError


def outcome_of(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(typer.Exit) as caught, exits():
        raise error
    return caught.value.exit_code, capsys.readouterr().err


def test_a_users_mistake_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome_of(DataError("x must exist."), capsys) == (2, "error: x must exist.\n")


def test_a_failure_at_run_time_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome_of(HeedfulError("The disk is full."), capsys) == (1, "error: The disk is full.\n")


def test_what_a_signal_ended_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    ended = HeedfulError("Stopped and saved.")
    ended.exit_code = 143
    assert outcome_of(ended, capsys) == (143, "Stopped and saved.\n")


def test_a_closed_pipe_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome_of(BrokenPipeError(), capsys) == (0, "")


def test_the_operating_systems_complaint_becomes_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    error = PermissionError(13, "Permission denied", "/secret")
    assert outcome_of(error, capsys) == (1, "error: /secret cannot be read or written: Permission denied.\n")


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")]
)
def test_want_of_memory_becomes_a_sentence(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "The memory of this machine is too small for this, or others have it. Ask for less at once."
    assert outcome_of(error, capsys) == (1, f"error: {sentence}\n")


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), exits():
        _ = 1 / 0
