"""The real command as a process, and one small model that all end-to-end tests share."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from heedful.demo.corpus import make_corpus

CONFIG = """
name = "small"
runs_folder = "runs"

[data]
source_language = "en"
target_language = "de"
train = [{ source = "train.en", target = "train.de" }]
validation = [{ source = "validation.en", target = "validation.de" }]
test = { unseen = { source = "test.en", target = "test.de" } }

[tokenizer]
vocab_size = 400

[model]
dim = 64
num_heads = 4
hidden_dim = 128
num_encoder_layers = 1
num_decoder_layers = 1
dropout = 0.0

[training]
max_steps = 240
batch_tokens = 2048
schedule = { kind = "cosine", peak = 6e-3, warmup_steps = 30 }
checkpoint = { every_steps = 120, keep_last = 2 }
average = { count = 1 }
log_every = 20

[validation]
every_steps = 120
max_sentences = 20
"""


class Command(Protocol):
    """Runs `heedful` with arguments."""

    def __call__(
        self, *arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[bytes]": ...


@dataclass(frozen=True)
class SmallRun:
    """A folder with a corpus, a config and a finished run."""

    root: Path
    config: Path
    run: Path
    stderr: str


def environment_of(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "120", **more}


@pytest.fixture(scope="session")
def heedful() -> Command:
    def run(
        *arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[bytes]":
        command = [sys.executable, "-m", "heedful", *map(str, arguments)]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env=environment_of(**environment),
            timeout=300,
            check=False,
        )

    return run


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


def write_corpus(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    corpus = make_corpus(num_train=3000, num_validation=40, num_test=60)
    parts = {"train": corpus.train, "validation": corpus.validation, "test": corpus.test}
    for name, pairs in parts.items():
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in pairs)
            (root / f"{name}.{language}").write_bytes(text.encode())
    (root / "small.toml").write_text(CONFIG)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    """A fresh folder with the same corpus and config, for tests that train or break things."""
    write_corpus(tmp_path)
    return tmp_path
