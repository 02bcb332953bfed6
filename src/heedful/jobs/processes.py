"""Workers of a job on this machine: a process each, with one thread, so that results do not depend on their number."""

from collections.abc import Iterable, Iterator

from heedful.data.processes import Message, Start, num_cores, start_workers
from heedful.jobs.work import WORK_MODULE

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def on_this_machine(
    setup: Message, pieces: Iterable[tuple[int, Message]], num_workers: int | None
) -> Iterator[tuple[int, Message]]:
    """Yield what becomes of pieces, as it comes; None takes a worker for each core. A worker that dies is replaced."""
    with start_workers(Start(WORK_MODULE, setup, _ONE_THREAD), num_workers or num_cores()) as workers:
        yield from workers.as_done(pieces)
