"""How several processes hold one model: each the whole of it (DDP), or each a shard of every weight (FSDP2).

PyTorch's wrappers gather weights and add up gradients; what is here says where a step, the optimiser and a checkpoint
find what is theirs. The optimiser, the moving average and checkpoints work on plain tensors, the shards themselves:
Adam is element by element, so a shard is all it needs. This file knows modules, not tasks.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from heedful.config.training import Distribution, Sharded
from heedful.data.named_batch import BatchT, NamedBatch
from heedful.errors import UserError
from heedful.training.distribution.ranks import Ranks
from heedful.training.distribution.shares import Cut, shares_of
from heedful.training.losses.loss_module import LossModule, LossSum

Layers = tuple[type[nn.Module], ...]


def local(tensor: Tensor) -> Tensor:
    """Return what this process holds of a weight or a gradient: all of it, or its shard."""
    to_local = getattr(tensor, "to_local", None)
    if to_local is None:
        return tensor
    with torch.no_grad():
        held: Tensor = to_local()
    return held


class Team:
    """How this process takes part in a step. This one trains alone, or with others that hold the whole model, too."""

    def __init__(self, ranks: Ranks | None = None, parts: int = 1) -> None:
        self.ranks = Ranks() if ranks is None else ranks
        self.cut = Cut(parts, self.ranks.rank, self.ranks.world)

    can_record = True
    """Whether steps can be recorded on a GPU."""

    is_sharded = False

    def wrapped(self, loss: LossModule[BatchT]) -> Callable[[BatchT], LossSum]:
        """Return what is called in the place of the loss."""
        return loss

    def settle(self, batch: NamedBatch) -> None:
        """Do what the wrapper has to see before the first step; gradients it leaves are nobody's."""

    def gathering(self, is_last: bool) -> AbstractContextManager[None]:  # noqa: ARG002 - DDP's does
        """Return the context of a pass; gradients are added up over the ranks in the last one of a step."""
        return nullcontext()

    def norm(self, gradients: Sequence[Tensor]) -> Tensor:
        """Return the norm of the whole gradient from what this process holds of it."""
        return torch.nn.utils.get_total_norm(gradients)

    def slice_of(self, tensor: Tensor) -> Tensor:
        """Return what of a held tensor this rank writes into a checkpoint: its rows, as PyTorch's `chunk` cuts."""
        if not tensor.ndim:
            return tensor
        size = -(-len(tensor) // self.ranks.world)
        return tensor[self.ranks.rank * size : (self.ranks.rank + 1) * size]

    def held_rows(self, num_rows: int) -> tuple[int, int]:
        """Return which rows of a whole tensor this process holds: first, and one after the last."""
        return 0, num_rows

    def for_evaluation(self, model: nn.Module) -> nn.Module:
        """Return the model to be judged, with all its weights; only the first rank may use it. All ranks must ask."""
        return model


class ReplicatedTeam(Team):
    """Every process holds the whole model; `DistributedDataParallel` adds the gradients up."""

    def __init__(self, ranks: Ranks, parts: int, loss: LossModule[BatchT]) -> None:
        super().__init__(ranks, parts)
        # Built on a stream of its own, as recording steps with DDP asks for.
        self._device = loss.device
        aside: AbstractContextManager[Any] = nullcontext()
        if self._device.type == "cuda":
            aside = torch.cuda.stream(torch.cuda.Stream())  # type: ignore[no-untyped-call]
        with aside, warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # its successor's name is not yet in every version
            self._wrapped = DistributedDataParallel(loss, broadcast_buffers=False, gradient_as_bucket_view=True)
        # Timing its own passes now and then, DDP would wait for the device in the middle of a recording.
        self._wrapped._set_ddp_runtime_logging_sample_rate(1 << 30)  # type: ignore[no-untyped-call]

    def wrapped(self, loss: LossModule[BatchT]) -> Callable[[BatchT], LossSum]:  # noqa: ARG002 - wrapped at the start
        """Return the loss inside DDP."""
        return self._wrapped

    def settle(self, batch: NamedBatch) -> None:
        """Do a pass, after which DDP groups gradients by the order in which they come; before recording, eleven."""
        share = shares_of([batch], self.cut, 1, 0)[0]
        for _ in range(11 if self._device.type == "cuda" else 1):
            found: LossSum = self._wrapped(share.batch)
            (found.loss_sum * 0.0).backward()  # type: ignore[no-untyped-call]

    def gathering(self, is_last: bool) -> AbstractContextManager[None]:
        """Let only the last pass of a step add up gradients."""
        context: AbstractContextManager[None] = nullcontext() if is_last else self._wrapped.no_sync()
        return context


class ShardedTeam(Team):
    """Every process holds a shard of each weight; `fully_shard` gathers a layer when it is needed."""

    can_record = False
    is_sharded = True

    def __init__(self, ranks: Ranks, parts: int, loss: LossModule[BatchT], layers: Layers, whole: nn.Module) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        super().__init__(ranks, parts)
        # The loss is an element of a tensor of sums, which nothing here writes to.
        warnings.filterwarnings("ignore", message="FSDP2-wrapped module", category=UserWarning)
        self._whole = whole if ranks.is_first else None
        mesh = init_device_mesh(loss.device.type, (ranks.world,))
        for layer in _separable(loss.model, layers):
            fully_shard(layer, mesh=mesh)
        fully_shard(loss, mesh=mesh)

    def norm(self, gradients: Sequence[Tensor]) -> Tensor:
        """Add up the squares of all shards."""
        squared = torch.nn.utils.get_total_norm(gradients).square()
        self.ranks.add_up(squared)
        return squared.sqrt()

    def slice_of(self, tensor: Tensor) -> Tensor:
        """Return the shard, which is this rank's."""
        return tensor

    def held_rows(self, num_rows: int) -> tuple[int, int]:
        """Return the rows of this rank's shard."""
        size = -(-num_rows // self.ranks.world)
        return min(num_rows, self.ranks.rank * size), min(num_rows, (self.ranks.rank + 1) * size)

    def for_evaluation(self, model: nn.Module) -> nn.Module:
        """Gather all weights into a model without hooks, whose passes wait for nobody."""
        whole = dict(self._whole.named_parameters()) if self._whole is not None else {}
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                gathered: Any = parameter
                full = gathered.full_tensor()
                if self._whole is not None:
                    whole[name].copy_(full)
        return model if self._whole is None else self._whole.to(full.device).eval()


def make_team(ranks: Ranks, loss: LossModule[BatchT], config: Distribution, layers: Layers) -> Team:
    """Wrap the loss as the config asks for. `layers` are what FSDP2 gathers one by one; called before compiling."""
    parts = config.parts or 1
    if parts > 1 and any("BatchNorm" in type(module).__name__ for module in loss.modules()):
        raise UserError(
            "`training.distribution.parts` must be 1 for a model with BatchNorm, whose statistics are those of a whole "
            f"batch, but is {parts}."
        )
    if not ranks.is_group:
        return Team(ranks, parts)
    if isinstance(config, Sharded):
        whole = copy.deepcopy(loss.model).cpu() if ranks.is_first else loss.model
        return ShardedTeam(ranks, parts, loss, layers, whole)
    return ReplicatedTeam(ranks, parts, loss)


def _separable(model: nn.Module, kinds: Layers) -> list[nn.Module]:
    """Return the layers that share no weight with one another: what is shared must be gathered together."""
    layers = [module for module in model.modules() if isinstance(module, kinds)]
    owners: dict[int, int] = {}
    for layer in layers:
        for parameter in set(layer.parameters()):
            owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    return [layer for layer in layers if all(owners[id(parameter)] == 1 for parameter in layer.parameters())]
