import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heedful.errors import HeedfulError
from heedful.training.durability import saving
from heedful.training.durability.checkpoint import (
    Snapshot,
    list_checkpoints,
    load_checkpoint,
    take_snapshot,
    write_snapshot,
)
from heedful.training.durability.saving import Saver
from heedful.training.loop import weights_sha256
from heedful.training.step import StepSettings, train_step


@pytest.fixture
def saver(tmp_path: Path) -> Saver:
    return Saver(tmp_path, every_steps=1, keep_last=1, keep_best=0, report=lambda _: None)


def step(made: Any) -> None:
    stream = made.job.batches_from(made.state.step)
    train_step(made.state, made.job.loss, [next(stream)], StepSettings(seed=3), learning_rate=0.1)


def test_steps_after_a_snapshot_do_not_change_it(small: Callable[..., Any], tmp_path: Path) -> None:
    made = small(ema_decay=0.5)
    step(made)
    before, average = (
        weights_sha256(made.state.model),
        {name: t.clone() for name, t in made.state.average.weights.items()},
    )
    snapshot = take_snapshot(made.state, {})
    step(made)
    assert weights_sha256(made.state.model) != before
    other = small(ema_decay=0.5).state
    load_checkpoint(write_snapshot(tmp_path, snapshot), other, {})
    assert other.step == 1
    assert weights_sha256(other.model) == before
    assert all(bool((other.average.weights[name] == tensor).all()) for name, tensor in average.items())


def test_training_goes_on_while_a_checkpoint_is_written(
    small: Callable[..., Any], saver: Saver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, may_write = small(), threading.Event()

    def slow_disk(folder: Path, snapshot: Snapshot) -> Path:
        assert may_write.wait(20)
        return write_snapshot(folder, snapshot)

    monkeypatch.setattr(saving, "write_snapshot", slow_disk)
    step(made)
    saver.save(take_snapshot(made.state, {}), {})
    step(made)
    assert list_checkpoints(tmp_path) == {}
    may_write.set()
    saver.save(take_snapshot(made.state, {}), {})  # waits for the first
    saver.wait()
    assert list(list_checkpoints(tmp_path)) == [2]  # and the first was outdated


def test_a_disk_that_fails_is_tried_again_and_then_told_of(
    small: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "_PAUSES_BEFORE_SAVING_AGAIN", (0.0,))
    (tmp_path / "file").write_text("no folder can be made here")
    said: list[str] = []
    saver = Saver(tmp_path / "file" / "checkpoints", every_steps=1, keep_last=1, keep_best=0, report=said.append)
    saver.save(take_snapshot(small().state, {}), {})
    with pytest.raises(HeedfulError):
        saver.wait()
    assert len(said) == 1
    assert said[0].endswith("Trying again in 0 s.")
    saver.wait()  # it is told once
