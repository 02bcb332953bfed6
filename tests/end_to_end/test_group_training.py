"""Several real processes train what one trains: the same curve, from checkpoints of any other number of them.

Gloo, CPU; DDP and FSDP2, every task, with dropout, R-Drop from the fourth step on, accumulation, a moving average and
Transformer-XL's memory; batches have fewer rows than parts now and then.
"""

from pathlib import Path
from typing import Any

import pytest
import torch

from heedful.files import sha256_file
from heedful.training.distribution.ranks import Ranks
from heedful.training.durability.averaging import average_checkpoints
from heedful.training.durability.checkpoint import AVERAGE, CARRIED, OPTIMIZER, WEIGHTS
from heedful.training.durability.journal import Journal
from heedful.training.durability.shards import read_shards, shard_files
from tests.support.group_training import copy_checkpoint, in_processes, train_in

TASKS = ("translation", "classification", "language_modeling")
KINDS = ("replicated", "sharded")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {task: tmp_path_factory.mktemp("alone") / task for task in TASKS}
    for task, folder in folders.items():
        train_in(folder, task, 1)
    return folders


def curve(folder: Path, kind: str = "train") -> list[dict[str, Any]]:
    records = Journal(folder / "metrics.jsonl").records()
    return [
        {key: value for key, value in record.items() if key != "timing"} for record in records if record["kind"] == kind
    ]


def differences(folder: Path, other: Path, name: str, kind: str = "train") -> list[float]:
    ours, theirs = curve(folder, kind), curve(other, kind)
    assert [record["step"] for record in ours] == [record["step"] for record in theirs]
    return [abs(one[name] - two[name]) for one, two in zip(ours, theirs, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", TASKS)
def test_two_processes_have_the_curve_of_one(task: str, kind: str, alone: dict[str, Path], tmp_path: Path) -> None:
    assert train_in(tmp_path / "run", task, 2, distribution={"kind": kind, "parts": 4}) == [0, 0]
    assert len(curve(tmp_path / "run")) == 20
    for name in ("loss", "nll"):
        assert max(differences(tmp_path / "run", alone[task], name)) < 1e-6
    # What the first rank validates is the whole model, with the average's weights.
    assert max(differences(tmp_path / "run", alone[task], "loss", "validation")) < 1e-6
    assert len(curve(tmp_path / "run", "validation")) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_four_processes_too_and_the_same_bits_again(kind: str, alone: dict[str, Path], tmp_path: Path) -> None:
    task, distribution = "translation", {"kind": kind, "parts": 4}
    for name in ("once", "again"):
        assert train_in(tmp_path / name, task, 4, distribution=distribution) == [0, 0, 0, 0]
    assert max(differences(tmp_path / "once", alone[task], "loss")) < 1e-6
    assert curve(tmp_path / "once") == curve(tmp_path / "again")
    files = [
        {file.name: sha256_file(file) for file in (tmp_path / name / "checkpoints" / "step-00000020").iterdir()}
        for name in ("once", "again")
    ]
    assert files[0] == files[1]


def test_a_run_goes_on_with_two_then_one_then_four_then_two(alone: dict[str, Path], tmp_path: Path) -> None:
    folder, task = tmp_path / "run", "language_modeling"
    for steps, world, kind in ((5, 2, "sharded"), (10, 1, "replicated"), (15, 4, "sharded"), (20, 2, "replicated")):
        codes = train_in(folder, task, world, max_steps=steps, distribution={"kind": kind, "parts": 4})
        assert codes == [0] * world
        assert len(shard_files(folder / "checkpoints" / f"step-{steps:08d}", WEIGHTS)) == world
    assert max(differences(folder, alone[task], "loss")) < 1e-6
    # The model folder is made from joined shards.
    assert average_checkpoints([folder / "checkpoints" / "step-00000020"]).keys() == (
        average_checkpoints([alone[task] / "checkpoints" / "step-00000020"]).keys()
    )


def test_whoever_reads_a_checkpoint_reads_the_same_bits(alone: dict[str, Path], tmp_path: Path) -> None:
    task = "language_modeling"
    path = alone[task] / "checkpoints" / "step-00000020"
    whole = {name: read_shards(path, name) for name in (WEIGHTS, AVERAGE, OPTIMIZER, CARRIED)}
    for number, (world, kind) in enumerate(((2, "sharded"), (1, "replicated"), (4, "sharded"), (2, "replicated"))):
        folder, source = tmp_path / str(number), path

        def work(ranks: Ranks, source: Path = source, folder: Path = folder, kind: str = kind) -> None:
            copy_checkpoint(source, folder, task, ranks, {"kind": kind, "parts": 4})

        assert in_processes(world, work) == [0] * world
        path = folder / "step-00000020"
        assert len(shard_files(path, WEIGHTS)) == world
        for name, tensors in whole.items():
            read = read_shards(path, name)
            assert read.keys() == tensors.keys()
            assert [key for key, tensor in tensors.items() if not torch.equal(read[key], tensor)] == []
