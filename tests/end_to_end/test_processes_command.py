"""`heedful train --processes 2`: one is killed, the agent starts both again, and the model is the same bit for bit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heedful.files import sha256_file

CONFIG = """
task = "language_modeling"
name = "small"
[data]
kind = "files"
train = ["{text}"]
validation = ["{text}"]
[tokenizer]
kind = "bytes"
[model]
kind = "transformer_xl"
num_layers = 1
dim = 16
num_heads = 2
hidden_dim = 32
[training]
max_steps = 40
batch_tokens = 64
segment_len = 8
memory_len = 8
log_every = 1
checkpoint = {{ every_steps = 8 }}
average = {{ count = 1 }}
[validation]
every_steps = 40
max_symbols = 50
sample_len = 0
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and looked at the moon. " * 60)
    path = tmp_path / "small.toml"
    path.write_text(CONFIG.format(text=text))
    return path


def start(config: Path, name: str, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "heedful", "train", str(config), f"name={name}", "--device", "cpu"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, *more], cwd=config.parent, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def workers_of(agent: int) -> list[int]:
    listed = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
    return [int(child) for child in listed if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()]


def test_a_killed_process_changes_nothing(config: Path) -> None:
    whole = start(config, "whole", "--processes", "2")
    _, told = whole.communicate(timeout=240)
    assert whole.returncode == 0, told
    assert "on 2 processes" in told
    struck = start(config, "struck", "--processes", "2")
    journal = config.parent / "runs" / "struck" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (journal.exists() and journal.read_text().count("\n") > 10):
        time.sleep(0.01)
    os.kill(workers_of(struck.pid)[1], signal.SIGKILL)
    _, told = struck.communicate(timeout=240)
    assert struck.returncode == 0, told
    assert "Going on after step" in told
    ends = [config.parent / "runs" / name / "model" / "model.safetensors" for name in ("whole", "struck")]
    assert sha256_file(ends[0]) == sha256_file(ends[1])


def test_parts_that_do_not_fit_the_processes_are_refused_in_a_sentence(config: Path) -> None:
    process = start(config, "odd", "training.distribution.parts=3", "--processes", "2")
    _, told = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "`training.distribution.parts` must be a multiple of the number of processes, 2, but is 3." in told
    assert "Traceback" not in told


def test_restarts_without_processes_are_refused(config: Path) -> None:
    process = start(config, "alone", "--max-restarts", "2")
    _, told = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "`--max-restarts` must go with --processes" in told
