"""One small model that all end-to-end tests share."""

import os
from pathlib import Path

import pytest

from tests.support.commands import Command
from tests.support.small_run import SmallRun, locked, write_corpus


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
