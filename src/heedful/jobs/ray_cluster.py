"""Workers of a job on many machines: Ray's tasks, a piece each, and where they run is Ray's affair.

Pieces go to the tasks and results come back through Ray, so that no other machine needs the input or the output folder;
each needs Heedful, and the models under the same names. A process keeps what it has loaded for its next piece.
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from heedful.data.processes import Message, answer_of, raised
from heedful.errors import HeedfulError, UserError
from heedful.jobs.work import Work, work_of

_MOST_RETRIES = 10
"""Workers and machines that a piece may lose before the job gives up."""


def on_cluster(
    address: str,
    setup: Message,
    pieces: Iterable[tuple[int, Message]],
    num_workers: int | None,
    *,
    on_gpu: bool = False,
) -> Iterator[tuple[int, Message]]:
    """Yield what becomes of pieces, as it comes, from the cluster at an address ("auto" finds a running one).

    A piece has a core to itself, and with `on_gpu` a GPU.
    """
    ray = _imported()
    try:
        ray.init(address=address, logging_level="error", log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise UserError(
            f"A Ray cluster must be running at `--ray {address}`, but none was found. Begin one: ray start --head"
        ) from error
    task = ray.remote(num_cpus=1, num_gpus=1 if on_gpu else 0, max_retries=_MOST_RETRIES)(_do)
    told = json.dumps(setup.facts)
    most = num_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting: dict[Any, int] = {}
    try:
        for number, piece in pieces:
            waiting[task.remote(told, piece.facts, piece.parts)] = number
            while len(waiting) >= most:
                yield from _taken(ray, waiting)
        while waiting:
            yield from _taken(ray, waiting)
    finally:
        for unwanted in waiting:
            ray.cancel(unwanted, force=True)
        ray.shutdown()


def _taken(ray: Any, waiting: dict[Any, int]) -> Iterator[tuple[int, Message]]:
    for done in ray.wait(list(waiting))[0]:
        number = waiting.pop(done)
        try:
            facts, parts = ray.get(done)
        except ray.exceptions.RayError as error:
            raise HeedfulError(f"Ray could not do piece {number:,}: {str(error).splitlines()[0]}") from error
        yield number, raised(Message(facts, parts))


def _do(setup: str, facts: Any, parts: tuple[bytes, ...]) -> tuple[Any, tuple[bytes, ...]]:
    """Do one piece, in whichever process Ray has for it."""
    answer = answer_of(lambda piece: _loaded(setup)(piece), Message(facts, parts))
    return answer.facts, answer.parts


@lru_cache(maxsize=1)
def _loaded(setup: str) -> Work:
    return work_of(Message(json.loads(setup)))


def _imported() -> Any:
    try:
        import ray
    except ModuleNotFoundError as missing:
        raise UserError("`--ray` needs the package ray. Install it: pip install 'heedful[ray]'.") from missing
    return ray
