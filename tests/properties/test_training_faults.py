"""A kill or a full disk at every single file operation of a save, and damage at a thousand places: nothing is lost.

Each fault strikes in a process of its own, forked from this one (so that torch is imported once): the operations of
the operating system are counted, and the one that is due kills the process, fails, or tears the write in half.
"""

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from heedful.config.training import TrainingConfig
from heedful.errors import HeedfulError, ModelFolderError
from heedful.files import verify_manifest
from heedful.training.durability.checkpoint import (
    find_latest,
    list_checkpoints,
    load_checkpoint,
    retain,
    save_checkpoint,
)
from heedful.training.loop import start_state, weights_sha256
from heedful.training.state import TrainState
from tests.support.faults import count_operations

FINISHED, STRUCK_AND_FINISHED, REFUSED, BROKEN = 10, 11, 12, 13


def state_at(step: int) -> TrainState:
    torch.manual_seed(step)  # every step has weights of its own
    state = start_state(nn.Linear(3, 2), TrainingConfig(ema_decay=0.9))
    state.step = step
    for parameter in state.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    state.optimizer.step()
    return state


def save_next(folder: Path) -> None:
    save_checkpoint(folder, state_at(20), {})
    retain(folder, every_steps=10, keep_last=1, keep_best=0, scores={})


def strike(work: Callable[[], None], due: int, fault: str) -> int:
    """Do `work` in a child process in which operation number `due` meets the fault; return how the child ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        struck = count_operations(due, fault)
        work()
        status = STRUCK_AND_FINISHED if struck() else FINISHED
    except HeedfulError:
        status = REFUSED
    except BaseException:
        status = BROKEN
    os._exit(status)


@pytest.mark.parametrize("fault", ["killed", "full disk"])
@pytest.mark.parametrize("situation", ["nothing yet", "one good, one damaged"])
def test_a_fault_at_every_file_operation_of_a_save_loses_nothing(tmp_path: Path, situation: str, fault: str) -> None:
    before, folder = tmp_path / "before", tmp_path / "checkpoints"
    before.mkdir()
    expected = {step: weights_sha256(state_at(step).model) for step in (10, 20)}
    if situation == "one good, one damaged":
        save_checkpoint(before, state_at(10), {})
        (save_checkpoint(before, state_at(20), {}) / "model.safetensors").write_bytes(b"torn")
    state, status, due = state_at(99), -signal.SIGKILL, 0
    while status != FINISHED:
        due += 1
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(before, folder)
        status = strike(lambda: save_next(folder), due, fault)
        assert status in (FINISHED, STRUCK_AND_FINISHED, REFUSED, -signal.SIGKILL), f"operation {due}: {status}"
        latest = find_latest(folder, lambda _: None)
        assert latest is not None or situation == "nothing yet", f"operation {due} lost the checkpoint"
        assert all(path.name.startswith("step-") for path in folder.iterdir()), "a leftover was not swept"
        if latest is not None:
            load_checkpoint(latest, state, {})
            assert weights_sha256(state.model) == expected[state.step]
        if status in (FINISHED, STRUCK_AND_FINISHED):
            assert latest is not None
            assert latest.name == "step-00000020"
    assert due > 40, "the faults did not strike"
    assert list(list_checkpoints(folder)) == [20]


def test_after_a_fault_the_same_save_succeeds(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, state_at(10), {})
    assert strike(lambda: save_next(tmp_path), 20, "full disk") == REFUSED
    assert strike(lambda: save_next(tmp_path), 20, "killed") == -signal.SIGKILL
    save_next(tmp_path)
    assert list(list_checkpoints(tmp_path)) == [20]


def test_a_thousand_alterations_are_all_detected(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    good = save_checkpoint(tmp_path, state_at(10), {"tokenizer": "abc"})
    path = save_checkpoint(tmp_path, state_at(20), {"tokenizer": "abc"})
    files = sorted(path.iterdir())
    assert [file.name for file in files] == [
        "average.safetensors",
        "manifest.json",
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
        "tally.safetensors",
    ]
    for number in range(1000):
        file = files[number % len(files)]
        data = file.read_bytes()
        if chance.random() < 0.3:
            altered = data[: chance.randrange(len(data))]
        else:
            position = chance.randrange(len(data))
            flipped = data[position] ^ (1 << chance.randrange(8))
            altered = data[:position] + bytes([flipped]) + data[position + 1 :]
        file.write_bytes(altered)
        with pytest.raises(ModelFolderError):
            verify_manifest(path)
        if number % 50 == 0:
            with pytest.raises(ModelFolderError):
                load_checkpoint(path, state_at(1), {})
            assert find_latest(tmp_path, lambda _: None) == good
        file.write_bytes(data)
    assert find_latest(tmp_path, lambda _: None) == path


def test_a_file_of_another_checkpoint_is_detected(tmp_path: Path) -> None:
    first, second = (save_checkpoint(tmp_path, state_at(step), {}) for step in (10, 20))
    for file in sorted(first.iterdir()):
        other = second / file.name
        data = other.read_bytes()
        if file.read_bytes() == data:
            continue
        other.write_bytes(file.read_bytes())
        with pytest.raises(ModelFolderError):
            verify_manifest(second)
        other.write_bytes(data)
    assert verify_manifest(second)["step"] == 20
