"""`kill -9` at random instants of a training run: resumed, it ends bit for bit where the uninterrupted one ends."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heedful.config.training import AverageConfig
from heedful.files import sha256_file
from heedful.training.durability.averaging import average_checkpoints, checkpoints_to_average
from heedful.training.durability.checkpoint import list_checkpoints
from heedful.training.durability.journal import Journal
from heedful.training.durability.run_lock import RunLock

SCRIPT = Path(__file__).with_name("training_process.py")
KILLS = 20


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., int]]:
    """Return a function that trains in a folder, with a signal at some time, and returns the exit code."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None

    assert process.stdout.readline() == "ready\n"

    def run(folder: Path, number: int = 0, when: str = "never") -> int:
        process.stdin.write(f"{folder} {int(number)} {when}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield run
    process.stdin.close()
    process.wait(timeout=30)


@pytest.fixture(scope="module")
def uninterrupted(start: Callable[..., int], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    started = time.monotonic()
    assert start(folder) == 0
    return outcome(folder), time.monotonic() - started


def outcome(folder: Path) -> dict[str, Any]:
    """All that must not depend on interruptions: checkpoints, their average, the loss curve, the samples."""
    checkpoints = list_checkpoints(folder / "checkpoints")
    last = checkpoints[max(checkpoints)]
    weights = average_checkpoints(
        checkpoints_to_average(folder / "checkpoints", AverageConfig(count=2), every_steps=5, scores={})
    )
    records = Journal(folder / "metrics.jsonl").records()
    return {
        "steps": list(checkpoints),
        "files": {path.name: sha256_file(path) for path in last.iterdir() if path.suffix != ".json"},
        "average": {name: tensor.tolist() for name, tensor in weights.items()},
        "curve": [{key: value for key, value in record.items() if key != "timing"} for record in records],
        "samples": Journal(folder / "samples.jsonl").records(),
    }


def test_the_uninterrupted_run_learns_and_tells(uninterrupted: tuple[dict[str, Any], float]) -> None:
    result, _ = uninterrupted
    losses = [record["loss"] for record in result["curve"] if record["kind"] == "train"]
    assert len(losses) == 20
    assert losses[-1] < losses[0]
    assert len(result["samples"]) == 5
    assert result["steps"][-2:] == [35, 40]


def test_killed_at_twenty_random_instants_it_ends_the_same(
    start: Callable[..., int], uninterrupted: tuple[dict[str, Any], float], tmp_path: Path
) -> None:
    expected, duration = uninterrupted
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}, the whole run takes {duration:.2f} s")
    chance = random.Random(seed)
    kills = runs = 0
    while kills < KILLS:
        runs += 1
        folder = tmp_path / f"run{runs}"
        while True:
            # A run meets about five kills before its end; what it has saved is never lost, so it gets there.
            when = f"after {chance.uniform(0.02, 0.4 * duration)}" if kills < KILLS else "never"
            code = start(folder, signal.SIGKILL, when)
            if code == 0:
                break
            assert code == -signal.SIGKILL
            kills += 1
        assert outcome(folder) == expected, f"run {runs} differs after {kills} kills (seed {seed})"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_asked_to_stop_it_saves_leaves_and_ends_the_same(
    start: Callable[..., int], uninterrupted: tuple[dict[str, Any], float], tmp_path: Path, number: int, code: int
) -> None:
    expected, _ = uninterrupted
    folder = tmp_path / "run"
    assert start(folder, number, "at 22") == code
    assert max(list_checkpoints(folder / "checkpoints")) == 22
    assert start(folder) == 0
    assert outcome(folder) == expected


def test_a_second_trainer_in_the_same_folder_is_refused(start: Callable[..., int], tmp_path: Path) -> None:
    with RunLock(tmp_path / "run"):
        assert start(tmp_path / "run") == 2
    assert not (tmp_path / "run" / "checkpoints").exists()
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]
