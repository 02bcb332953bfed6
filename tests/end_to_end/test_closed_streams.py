"""Standard streams that are closed before the command starts: a sentence where one is needed, nothing where not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import environment_of

OUTPUT = "error: The output must be open, but is closed. Let it go to a file, a pipe or /dev/null.\n"
INPUT = "error: The input must be open, but is closed. Give the text as an argument, from a file or through a pipe.\n"


def run(closing: str, *arguments: str, cwd: Path) -> "subprocess.CompletedProcess[bytes]":
    command = ["sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-m", "heedful", *arguments]
    return subprocess.run(
        command, capture_output=True, stdin=subprocess.DEVNULL, cwd=cwd, env=environment_of(), timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("closing", "arguments", "code", "said"),
    [
        (">&-", ["translate", "Hello.", "--to", "de"], 2, OUTPUT),
        (">&-", ["--version"], 2, OUTPUT),
        ("<&-", ["translate", "--to", "de"], 2, INPUT),
        ("<&-", ["generate", "-", "--model", "model"], 2, INPUT),
        (">&-", ["train", "missing.toml"], 2, "error: The configuration missing.toml must exist"),
        ("2>&-", ["train", "missing.toml"], 2, ""),
        ("2>&- >&-", ["translate", "Hello.", "--to", "de"], 2, ""),
    ],
)
def test_a_closed_stream_is_no_traceback(
    tmp_path: Path, closing: str, arguments: list[str], code: int, said: str
) -> None:
    result = run(closing, *arguments, cwd=tmp_path)
    assert result.returncode == code
    assert result.stderr.decode().startswith(said)
    assert "Traceback" not in result.stderr.decode()


def test_without_stdin_a_text_is_translated(tmp_path: Path) -> None:
    result = run("<&-", "translate", "Hello.", "--to", "de", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.strip()
