"""The command line itself: the installed command, and what a wrong word is answered with."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_the_installed_command_is_the_module() -> None:
    command = Path(sys.executable).with_name("heedful")
    ours = subprocess.run([command, "--version"], capture_output=True, check=True).stdout
    assert (
        ours == subprocess.run([sys.executable, "-m", "heedful", "--version"], capture_output=True, check=True).stdout
    )


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["translat"], "Did you mean 'translate'"),
        (["translate", "--bem", "3"], "--beam"),
        (["train"], "CONFIG"),
        (["translate", "--beam", "0"], "greater than or equal to 1"),
        (["export", "x", "--format", "onnx", "--out", "y"], "huggingface"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_says_what_is_right(arguments: list[str], fragment: str) -> None:
    result = subprocess.run([sys.executable, "-m", "heedful", *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert fragment in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
