"""Which device and how many threads a job runs on, and what becomes of it when memory is too small."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch

from heedful.errors import HeedfulError, UserError, is_out_of_memory

RowT = TypeVar("RowT")
ResultT = TypeVar("ResultT")


def choose_device(name: str | None) -> torch.device:
    """Return the device called `name`; None takes a GPU when there is one."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f'The device must be cpu, cuda or cuda:N, but is "{name}".') from None
    if device.type not in ("cpu", "cuda"):
        raise UserError(f'The device must be cpu, cuda or cuda:N, but is "{name}".')
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UserError(f'The device "{name}" must be there, but PyTorch sees {count} GPUs. Leave the device out.')
    return device


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Compute on one thread of the CPU: what is done for a single sentence is too small to be shared out.

    A second thread gains little there, and on a busy machine the two would mostly wait for each other.
    """
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(num_threads)


def within_memory(work: Callable[[Sequence[RowT]], list[ResultT]], rows: Sequence[RowT]) -> list[ResultT]:
    """Do the work for all rows together; where memory does not hold them, for each half by itself.

    A GPU may be shared: what has fitted a hundred times need not fit the next time.
    """
    try:
        return work(rows)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if len(rows) == 1:
            raise HeedfulError(_too_small(error)) from None
    # Outside the handler, where the exception no longer holds the tensors of the failed try.
    torch.cuda.empty_cache()
    middle = len(rows) // 2
    return [*within_memory(work, rows[:middle]), *within_memory(work, rows[middle:])]


def _too_small(error: Exception) -> str:
    if isinstance(error, torch.OutOfMemoryError):
        return "The memory of the GPU does not hold even one sentence. Use `--device cpu`."
    return "The memory of this machine does not hold even one sentence. Use a smaller beam, or translate shorter texts."
