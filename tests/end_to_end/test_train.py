"""`heedful train` as a process: the run folder, interruption, going on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from heedful.config import load_config
from tests.support.commands import Command
from tests.support.small_run import SmallRun

SHORT = [
    "training.max_steps=40",
    "training.checkpoint.every_steps=20",
    "validation.every_steps=20",
    "training.log_every=1",
]


def records(run: Path) -> list[dict[str, object]]:
    """The journal without what the clock decides."""
    lines = (run / "metrics.jsonl").read_text().split("\n")[:-1]
    return [{name: value for name, value in json.loads(line).items() if name != "timing"} for line in lines]


def test_a_run_folder_holds_everything_a_run_is(small_run: SmallRun) -> None:
    run = small_run.run
    names = {path.name for path in run.iterdir() if not path.name.startswith(".")}
    assert names == {
        "config.toml", "data.json", "environment.json", "tokenizer.json", "metrics.jsonl", "samples.jsonl",
        "checkpoints", "model",
    }  # fmt: skip
    assert load_config(run / "config.toml") == load_config(small_run.config)
    assert (run / "model" / "tokenizer.json").read_bytes() == (run / "tokenizer.json").read_bytes()
    assert json.loads((run / "model" / "config.json").read_bytes())["directions"] == [["en", "de"]]
    losses = [record["loss"] for record in records(run) if record["kind"] == "train"]
    assert losses[-1] < losses[0] / 2
    assert [record["step"] for record in records(run) if record["kind"] == "validation"] == [120, 240]
    sample = json.loads((run / "samples.jsonl").read_text().split("\n")[0])
    assert {"step", "source", "translation", "reference"} <= sample.keys()


def test_the_log_is_plain_lines_when_stderr_is_no_terminal(small_run: SmallRun) -> None:
    assert "3,000 training pairs of 3,000." in small_run.stderr
    assert "step 240/240" in small_run.stderr
    assert "\x1b" not in small_run.stderr


def test_going_on_with_a_finished_run_changes_nothing(heedful: Command, small_run: SmallRun) -> None:
    before = (small_run.run / "model" / "manifest.json").read_bytes()
    result = heedful("train", "small.toml", "--resume", cwd=small_run.root, HEEDFUL_CACHE=str(small_run.root / "cache"))
    assert result.returncode == 0, result.stderr.decode()
    assert (small_run.run / "model" / "manifest.json").read_bytes() == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_and_resumed_equals_uninterrupted(
    heedful: Command, corpus_folder: Path, number: int, code: int
) -> None:
    cache = str(corpus_folder / "cache")
    whole = heedful("train", "small.toml", "name=whole", *SHORT, cwd=corpus_folder, HEEDFUL_CACHE=cache)
    assert whole.returncode == 0, whole.stderr.decode()
    command = [sys.executable, "-m", "heedful", "train", "small.toml", "name=parts", *SHORT]
    environment = {**os.environ, "HEEDFUL_CACHE": cache}
    with subprocess.Popen(command, cwd=corpus_folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        journal = corpus_folder / "runs" / "parts" / "metrics.jsonl"
        while not journal.exists() and process.poll() is None:  # its first line is the sign that steps are being made
            time.sleep(0.005)
        process.send_signal(number)
        assert process.stderr is not None
        message = process.stderr.read()
        assert process.wait(timeout=60) == code, message
    assert "Go on with --resume." in message
    assert "Traceback" not in message
    resumed = heedful("train", "small.toml", "name=parts", "--resume", *SHORT, cwd=corpus_folder, HEEDFUL_CACHE=cache)
    assert resumed.returncode == 0, resumed.stderr.decode()
    runs = [corpus_folder / "runs" / name for name in ("whole", "parts")]
    assert records(runs[0]) == records(runs[1])
    weights = [(run / "model" / "model.safetensors").read_bytes() for run in runs]
    assert weights[0] == weights[1]


def test_going_on_with_an_edited_corpus_is_refused_and_names_the_file(
    heedful: Command, small_run: SmallRun, tmp_path: Path
) -> None:
    shutil.copytree(small_run.root, tmp_path / "copy")
    corpus = tmp_path / "copy" / "train.en"
    before = corpus.read_bytes()
    corpus.write_bytes(before + b"One more.\n")
    result = heedful("train", "small.toml", "--resume", cwd=tmp_path / "copy")
    assert (result.returncode, result.stdout) == (2, b"")
    said = result.stderr.decode().split("\n")
    assert said[0] == (
        "error: The run runs/small can only go on with the data it began with, but this file has changed:"
    )
    assert said[1].startswith(
        f"  - train.en had {len(before):,} bytes with the sha256 {sha256(before).hexdigest()[:16]}"
    )
    assert said[2] == "Put the old file back, or start a new run with another name: name=..."
    assert "Traceback" not in result.stderr.decode()
