"""Help is quick, needs no torch, and knows every verb."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

VERBS = ("translate", "classify", "train", "evaluate", "tune", "data", "check", "info", "demo", "import", "export")


def test_help_takes_less_than_half_a_second() -> None:
    def seconds() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "heedful", "--help"], capture_output=True, check=True)
        return time.perf_counter() - started

    # The other tests share the machine, so one quick start among several is what can be asked for.
    assert any(seconds() < 0.5 for _ in range(20))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)], ids=" ".join)
def test_help_does_not_import_torch(arguments: list[str]) -> None:
    script = (
        "import sys; from heedful.cli import main\n"
        f"sys.argv = ['heedful', *{arguments!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_importing_the_package_does_not_import_torch() -> None:
    modules = "heedful, heedful.config, heedful.errors, heedful.text, heedful.files"
    script = f"import sys, {modules}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


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
