"""How much memory a computation holds at most, on a CPU and on a GPU.

A GPU's allocator knows. PyTorch's on a CPU does not, and what the operating system counts depends on what was freed
before; there every tensor that an operation makes is followed from its birth to its end. What a kernel uses inside and
gives back is not seen on a CPU.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


class _LiveTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes of tensors that are alive, each storage once, from the moment it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = self._live = 0
        self._followed: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        known = {id(leaf.untyped_storage()) for leaf in tree_iter((args, kwargs)) if isinstance(leaf, Tensor)}
        result = func(*args, **(kwargs or {}))
        for leaf in tree_iter(result):
            if isinstance(leaf, Tensor):
                self._follow(leaf.untyped_storage(), known)
        return result

    def _follow(self, storage: torch.UntypedStorage, known: set[int]) -> None:
        key = id(storage)
        if key in known or key in self._followed:  # a view, or what was there already
            return
        size = storage.nbytes()
        self._followed.add(key)
        self._live += size
        self.peak = max(self.peak, self._live)
        weakref.finalize(storage, self._end, key, size)

    def _end(self, key: int, size: int) -> None:
        self._followed.discard(key)
        self._live -= size


def peak_bytes(compute: Callable[[], object], device: torch.device) -> int:
    """Run `compute` and return how many bytes it held at most beside what was there before."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before: int = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        compute()
        torch.cuda.synchronize(device)
        peak: int = torch.cuda.max_memory_allocated(device)
        return peak - before
    with _LiveTensors() as tensors:
        compute()
    return int(tensors.peak)
