"""One of several processes that take gradients together. Started by `test_wrapped_losses.py`.

Arguments: FOLDER RANK WORLD. Every process has the same models and its share of the rows of each batch. Writes the
gradients it then holds, by the model's own names, to FOLDER/TASK-WRAPPER-RANK.safetensors.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.training.losses.loss_module import LossModule
from tests.support.wrapped_losses import TASKS, WRAPPERS, batches_of, loss_of


def wrap(loss: LossModule[Any], wrapper: str, world: int) -> nn.Module:
    if wrapper == "ddp":
        return DistributedDataParallel(loss)
    mesh = init_device_mesh("cpu", (world,))
    for layer in loss.modules():
        # Not Transformer-XL's: they share their biases, and what is shared must be in one group, here the outermost.
        if isinstance(layer, EncoderLayer | DecoderLayer):
            fully_shard(layer, mesh=mesh)
    fully_shard(loss, mesh=mesh)
    return loss


def gradients_together(task: str, wrapper: str, rank: int, world: int) -> dict[str, Tensor]:
    loss = loss_of(task)
    wrapped = wrap(loss, wrapper, world)
    found: dict[str, Tensor] = {}
    for step, batch in enumerate(batches_of(task)):
        share = batch.split(world)[rank]
        part = wrapped(share)
        assert part.num_items == share.num_items
        (part.loss_sum * world / batch.num_items).backward()  # both wrappers take the mean over the processes
        part.after_gradients()
        for name, parameter in loss.model.named_parameters():
            gradient = parameter.grad
            assert gradient is not None, name
            found[f"{step}/{name}"] = gradient.full_tensor() if isinstance(gradient, DTensor) else gradient.clone()
            parameter.grad = None
    return found


def main(folder: Path, rank: int, world: int) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    for task in TASKS:
        for wrapper in WRAPPERS:
            save_file(gradients_together(task, wrapper, rank, world), folder / f"{task}-{wrapper}-{rank}.safetensors")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
