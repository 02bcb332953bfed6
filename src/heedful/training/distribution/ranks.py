"""Who trains together, and how they agree: one process by itself, or the ranks of a process group.

Numbers of the device are added up on the device. Everything that decides what a loop does next (stop, save, what was
best) is agreed on by the hosts, over Gloo, where waiting for a rank that validates or prepares may take a day; a rank
that dies is noticed at once, because its connections close. This file knows numbers, and nothing of what is trained.
"""

import os
from collections.abc import Callable, Sequence
from datetime import timedelta

import torch
from torch import Tensor, distributed
from torch.distributed.rendezvous import rendezvous

from heedful.errors import HeedfulError

_PATIENCE = timedelta(days=1)
_PATIENCE_ON_DEVICE = timedelta(minutes=10)


class ElsewhereError(HeedfulError):
    """Another rank has failed and says why; this one only ends."""

    def __init__(self) -> None:
        super().__init__("Another process of this run has failed, so this one ends, too.")


class Ranks:
    """One process that trains by itself: nothing has to be agreed on."""

    rank, world = 0, 1
    is_group = False

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that tells: it writes journals, validates, and publishes."""
        return self.rank == 0

    def add_up(self, tensor: Tensor) -> None:
        """Add a tensor of the device up over all ranks, in place."""

    def highest(self, number: int) -> int:
        """Return the highest number that any rank has brought."""
        return number

    def gather(self, numbers: Sequence[float]) -> list[list[float]]:
        """Return what every rank has brought; all bring equally many."""
        return [list(numbers)]

    def first(self, work: Callable[[], Sequence[float]], length: int) -> list[float]:
        """Let the first rank do some work and hand the `length` numbers it returns to all, or its failure."""
        numbers = list(work())
        assert len(numbers) == length
        return numbers

    def all_or_none(self, work: Callable[[], None]) -> None:
        """Let every rank do some work on its own; where one fails, all do."""
        work()


class GroupRanks(Ranks):
    """One of several processes that `torchrun`, or its agent, has started; `torchrun` says which by the environment."""

    is_group = True

    def __init__(self, device: torch.device) -> None:
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        store, rank, world = next(rendezvous("env://"))
        # Started again, a group may meet in the store of those who died, and must not look for them.
        own = distributed.PrefixStore(f"start {start_count()}", store)  # type: ignore[attr-defined]
        distributed.init_process_group(backend, timeout=_PATIENCE_ON_DEVICE, store=own, rank=rank, world_size=world)
        self.rank, self.world = distributed.get_rank(), distributed.get_world_size()
        self._hosts = distributed.new_group(backend="gloo", timeout=_PATIENCE)

    def aside(self) -> "GroupRanks":
        """Return the same ranks with a connection of its own, for a thread that must not wait for the loop."""
        other = object.__new__(GroupRanks)
        other.rank, other.world = self.rank, self.world
        other._hosts = distributed.new_group(backend="gloo", timeout=_PATIENCE)
        return other

    def close(self) -> None:
        """Leave the group."""
        distributed.destroy_process_group()

    def add_up(self, tensor: Tensor) -> None:
        """Add a tensor of the device up over all ranks, in place."""
        distributed.all_reduce(tensor)

    def highest(self, number: int) -> int:
        """Return the highest number that any rank has brought."""
        found = torch.tensor(number)
        distributed.all_reduce(found, distributed.ReduceOp.MAX, group=self._hosts)
        return int(found.item())

    def gather(self, numbers: Sequence[float]) -> list[list[float]]:
        """Return what every rank has brought; all bring equally many."""
        own = torch.tensor(numbers, dtype=torch.float64)
        everyone = [torch.zeros_like(own) for _ in range(self.world)]
        distributed.all_gather(everyone, own, group=self._hosts)
        return [numbers_of_one.tolist() for numbers_of_one in everyone]

    def first(self, work: Callable[[], Sequence[float]], length: int) -> list[float]:
        """Let the first rank do some work and hand the `length` numbers it returns to all, or its failure."""
        handed = torch.zeros(1 + length, dtype=torch.float64)
        failure: HeedfulError | None = None
        if self.is_first:
            try:
                handed = torch.tensor([1.0, *work()], dtype=torch.float64)
            except HeedfulError as error:
                failure = error
        distributed.broadcast(handed, 0, group=self._hosts)
        if failure is not None:
            raise failure
        if not handed[0]:
            raise ElsewhereError
        values: list[float] = handed[1:].tolist()
        return values

    def all_or_none(self, work: Callable[[], None]) -> None:
        """Let every rank do some work on its own; where one fails, all do."""
        failure: HeedfulError | None = None
        try:
            work()
        except HeedfulError as error:
            failure = error
        has_failed = self.highest(failure is not None)
        if failure is not None:
            raise failure
        if has_failed:
            raise ElsewhereError


def is_one_of_many() -> bool:
    """Tell whether `torchrun`, or its agent, has started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def local_rank() -> int:
    """Return the number of this process on its machine, which is the number of its GPU."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def start_count() -> int:
    """Return how often the agent has started this run's processes again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
