"""Lines in groups that are worth translating together, without making anybody wait.

A model is fast on many lines at once, but a person at the other end of a pipe has typed only one. So: take what is
there. A thread reads ahead; a group ends when no further line is ready, or when it is large enough. Groups start
small and grow, so that the first output of a large file comes soon. Knows nothing of models.
"""

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_FIRST_GROUP = 32
_LARGEST_GROUP = 1024
_MOST_CHARACTERS = 500_000
_PATIENCE_SECONDS = 0.005
"""How long a group waits for one more line: a file is read faster than this, a person types slower."""


@dataclass(frozen=True)
class _End:
    """What the reading thread leaves behind: the failure that ended it, if it was one."""

    failure: BaseException | None


def group_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines in order, in groups of those that are ready at the same time.

    Reading is at most one group ahead of what has been taken. A failure of `lines` is raised here, after the lines
    before it have been yielded.
    """
    ready: queue.Queue[str | _End] = queue.Queue(maxsize=_LARGEST_GROUP)
    stopped = threading.Event()
    # A daemon: when the consumer leaves, the thread may be waiting for input that never comes.
    threading.Thread(target=_read_ahead, args=(lines, ready, stopped), daemon=True, name="heedful-lines").start()
    limit = _FIRST_GROUP
    try:
        while True:
            group, end = _take_group(ready, limit)
            if group:
                yield group
            if end is not None:
                if end.failure is not None:
                    raise end.failure
                return
            limit = min(2 * limit, _LARGEST_GROUP)
    finally:
        stopped.set()


def _take_group(ready: "queue.Queue[str | _End]", limit: int) -> tuple[list[str], _End | None]:
    """Wait for one line, then take those that are there too."""
    group: list[str] = []
    num_characters = 0
    item = ready.get()
    while not isinstance(item, _End):
        group.append(item)
        num_characters += len(item)
        if len(group) >= limit or num_characters >= _MOST_CHARACTERS:
            return group, None
        try:
            item = ready.get(timeout=_PATIENCE_SECONDS)
        except queue.Empty:
            return group, None
    return group, item


def _read_ahead(lines: Iterable[str], ready: "queue.Queue[str | _End]", stopped: threading.Event) -> None:
    failure: BaseException | None = None
    try:
        for line in lines:
            if not _put(ready, line, stopped):
                return
    except BaseException as error:  # it belongs to the consumer, who raises it
        failure = error
    _put(ready, _End(failure), stopped)


def _put(ready: "queue.Queue[str | _End]", item: str | _End, stopped: threading.Event) -> bool:
    """Wait for room; return False when nobody takes lines any more."""
    while not stopped.is_set():
        try:
            ready.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
