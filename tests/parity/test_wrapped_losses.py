"""Losses are modules that PyTorch's own wrappers for several processes can hold: their gradients are those of one.

`DistributedDataParallel` adds gradients up in hooks of one forward, `fully_shard` (FSDP2) gathers and frees the weights
there. A loss that read a model's weights outside that forward would get a stale gradient from the one and a shard from
the other. Two real processes, Gloo, CPU; every task.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.support.wrapped_losses import ROWS, TASKS, WRAPPERS, gradients_of_rows

WORLD = 2
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Let two processes take all gradients together; return the folder with what each of them then holds."""
    folder = tmp_path_factory.mktemp("together")
    command = [sys.executable, "-m", "tests.parity.wrapped_losses_process", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(WORLD)], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
        )
        for rank in range(WORLD)
    ]
    for process in processes:
        _, complaint = process.communicate(timeout=300)
        assert process.returncode == 0, complaint
    return folder


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("task", TASKS)
def test_two_processes_with_half_a_batch_each_have_the_gradient_of_the_whole(
    task: str, wrapper: str, together: Path
) -> None:
    whole, half = gradients_of_rows(task, 0, ROWS), gradients_of_rows(task, 0, ROWS // 2)
    first, second = (load_file(together / f"{task}-{wrapper}-{rank}.safetensors") for rank in range(WORLD))
    assert set(first) == set(second) == set(whole)
    assert [name for name in whole if not torch.equal(first[name], second[name])] == []
    assert [name for name in whole if not torch.allclose(first[name], whole[name], rtol=1e-4, atol=1e-6)] == []
    # What was added up is no accident: the gradient of the first process alone is another one.
    assert [name for name in whole if not torch.allclose(half[name], whole[name], rtol=1e-2, atol=1e-6)] != []
