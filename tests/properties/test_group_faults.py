"""A kill or a full disk at every file operation of a checkpoint that two processes write together: nothing is lost."""

import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from torch import nn

from heedful.config.training import TrainingConfig
from heedful.training.distribution.ranks import Ranks
from heedful.training.distribution.wrapping import Team
from heedful.training.durability.checkpoint import (
    find_latest,
    list_checkpoints,
    load_checkpoint,
    retain,
    take_snapshot,
    write_together,
)
from heedful.training.loop import start_state, weights_sha256
from heedful.training.state import TrainState
from tests.support.faults import count_operations
from tests.support.group_training import in_processes

STEP = int(os.environ.get("HEEDFUL_FAULT_STRIDE", "6"))
"""Every so many operations are struck; with 1, every one (a minute)."""


def state_at(step: int) -> TrainState:
    torch.manual_seed(step)
    state = start_state(nn.Linear(3, 5), TrainingConfig(ema_decay=0.9))
    state.step = step
    for parameter in state.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    state.optimizer.step()
    return state


def save(folder: Path, step: int, ranks: Ranks) -> None:
    write_together(folder, take_snapshot(state_at(step), {}, Team(ranks, 2)), ranks)
    if ranks.is_first:
        retain(folder, every_steps=10, keep_last=1, keep_best=0, scores={})


@pytest.mark.parametrize("fault", ["killed", "full disk"])
@pytest.mark.parametrize("struck_rank", [0, 1])
def test_a_fault_in_either_process_loses_nothing(tmp_path: Path, struck_rank: int, fault: str) -> None:
    before, folder = tmp_path / "before", tmp_path / "checkpoints"
    expected = {step: weights_sha256(state_at(step).model) for step in (10, 20)}
    assert in_processes(2, lambda ranks: save(before, 10, ranks)) == [0, 0]
    state, due, num_struck, is_over = state_at(99), 1 + struck_rank, 0, False
    while not is_over:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(before, folder)

        def work(ranks: Ranks, due: int = due) -> None:
            struck = count_operations(due, fault) if ranks.rank == struck_rank else lambda: False
            save(folder, 20, ranks)
            if ranks.rank == struck_rank and not struck():
                os._exit(42)  # there were fewer operations than that

        codes = in_processes(2, work)
        is_over = codes[struck_rank] == 42
        # A full disk is a failure of both, in words; after a kill the other has lost touch, unless it was through.
        allowed = {0, 1, 42} if fault == "full disk" else {0, 42, 99, -signal.SIGKILL}
        assert set(codes) <= allowed, f"operation {due}: {codes}"
        latest = find_latest(folder, lambda _: None)
        assert latest is not None, f"operation {due} lost the checkpoint"
        assert all(path.name.startswith("step-") for path in folder.iterdir()), "a leftover was not swept"
        load_checkpoint(latest, state, {})
        assert weights_sha256(state.model) == expected[state.step]
        if codes == [0, 0] or is_over:
            assert latest.name == "step-00000020"
        num_struck += not is_over
        due += STEP
    assert num_struck * STEP >= (40, 10)[struck_rank], "the faults did not strike"
    assert list(list_checkpoints(folder)) == [20]
