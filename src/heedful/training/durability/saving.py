"""Checkpoints written behind the back of training: the state is copied at once, a thread writes the files.

Hashing and forcing a checkpoint to disk takes longer than many steps of a small model; copying it does not. One
checkpoint is on its way at a time, so there is never more than one copy. What went wrong is raised where the loop next
asks. Several processes write one checkpoint together and agree, over a connection of their own, whether it is written.
"""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from heedful.errors import HeedfulError
from heedful.files import advising
from heedful.training.distribution.ranks import ElsewhereError, Ranks
from heedful.training.durability.checkpoint import Snapshot, retain, write_snapshot, write_together

_PAUSES_BEFORE_SAVING_AGAIN = (1.0, 5.0)


class Saver:
    """Writes snapshots into a folder and removes those that are outdated."""

    def __init__(
        self,
        folder: Path,
        *,
        every_steps: int,
        keep_last: int,
        keep_best: int,
        report: Callable[[str], None],
        ranks: Ranks | None = None,
    ) -> None:
        self._folder = folder
        self._ranks = ranks or Ranks()
        self._every_steps = every_steps
        self._keep_last = keep_last
        self._keep_best = keep_best
        self._report = report
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def save(self, snapshot: Snapshot, scores: Mapping[int, float]) -> None:
        """Begin to write a snapshot, once the one before it is written. Raises what went wrong with that one."""
        self.wait()
        # Not a daemon: a process that ends lets its last checkpoint be finished.
        self._thread = threading.Thread(target=self._work, args=(snapshot, dict(scores)), name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Wait until what was begun is written. Raises what went wrong with it."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _work(self, snapshot: Snapshot, scores: Mapping[int, float]) -> None:
        try:
            self._write(snapshot)
            if self._ranks.is_first:
                retain(
                    self._folder,
                    every_steps=self._every_steps,
                    keep_last=self._keep_last,
                    keep_best=self._keep_best,
                    scores=scores,
                )
        except BaseException as failure:  # it belongs to whoever waits
            self._failure = failure

    def _write(self, snapshot: Snapshot) -> None:
        """Write; a disk that fails is tried again, because a long run should outlive a short trouble."""
        for pause in (*_PAUSES_BEFORE_SAVING_AGAIN, None):
            try:
                with advising("Free some space."):
                    if snapshot.world > 1:
                        write_together(self._folder, snapshot, self._ranks)
                    else:
                        write_snapshot(self._folder, snapshot)
                return
            except HeedfulError as error:
                if not self._ranks.highest(isinstance(error.__cause__, OSError)) or pause is None:
                    raise
                if not isinstance(error, ElsewhereError):
                    self._report(f"{error} Trying again in {pause:g} s.")
                time.sleep(pause)
