"""The real command as a process, and one small model that all end-to-end tests share."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_server import command_server
from tests.support.commands import Command, environment_of
from tests.support.small_run import SmallRun, locked, write_corpus


@pytest.fixture(scope="session")
def heedful() -> Iterator[Command]:
    """The command as a process of its own, forked from one that has torch already."""
    with command_server(environment_of()) as server:

        def run(
            *arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str
        ) -> "subprocess.CompletedProcess[bytes]":
            words, settled = [*map(str, arguments)], environment_of(**environment)
            if any(name.startswith("PYTHON") for name in environment):  # read at the start, which a fork has behind it
                command = [sys.executable, "-m", "heedful", *words]
                return subprocess.run(
                    command, input=stdin, capture_output=True, cwd=cwd, env=settled, timeout=300, check=False
                )
            return server.run(words, stdin=stdin, cwd=cwd, environment=settled, timeout=300)

        yield run


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> SmallRun:
    """Train the shared model once, whichever test process comes first."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "small-run"
    with locked(root.with_suffix(".lock")):
        log = root / "stderr.txt"
        if not log.exists():
            write_corpus(root)
            result = heedful("train", "small.toml", "--device", "cpu", cwd=root, HEEDFUL_CACHE=str(root / "cache"))
            assert result.returncode == 0, result.stderr.decode()
            log.write_bytes(result.stderr)
    return SmallRun(root, root / "small.toml", root / "runs" / "small", log.read_text())


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    """A fresh folder with the same corpus and config, for tests that train or break things."""
    write_corpus(tmp_path)
    return tmp_path
