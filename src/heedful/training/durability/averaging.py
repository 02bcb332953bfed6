"""The mean of several checkpoints: the model one publishes (section 6.1 of the paper)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from heedful.config.training import AverageConfig
from heedful.errors import UserError
from heedful.files import verify_manifest
from heedful.training.durability.checkpoint import AVERAGE, WEIGHTS, best_steps, list_checkpoints, scheduled_steps
from heedful.training.durability.shards import read_shards, shard_files


def checkpoints_to_average(
    folder: Path, config: AverageConfig, *, every_steps: int, scores: Mapping[int, float]
) -> list[Path]:
    """Return the checkpoints that `config` asks for, or as many of them as there are."""
    checkpoints = list_checkpoints(folder)
    steps = scheduled_steps(checkpoints, every_steps)[-config.count :]
    if config.which == "best":
        steps = best_steps(checkpoints, scores, config.count) or steps
    return [checkpoints[step] for step in steps]


def average_checkpoints(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Return the mean weights of the checkpoints; where a run kept a moving average, the mean of that.

    Sums are taken in fp64, so the order of the checkpoints does not matter to the fp32 result. Tied matrices appear
    once, under their first name.
    """
    if not paths:
        raise UserError("There must be at least one checkpoint to average, but there is none.")
    sums: dict[str, Tensor] = {}
    dtypes: dict[str, torch.dtype] = {}
    for path in paths:
        verify_manifest(path)
        for name, tensor in _weights_of(path).items():
            sums[name] = sums.get(name, 0.0) + tensor.double()
            dtypes[name] = tensor.dtype
    return {name: (total / len(paths)).to(dtypes[name]) for name, total in sums.items()}


def _weights_of(path: Path) -> dict[str, Tensor]:
    weights = read_shards(path, WEIGHTS)
    if shard_files(path, AVERAGE):
        weights |= read_shards(path, AVERAGE)
    return weights
