"""Trains and scores one trial after the other; by itself it is a process, which a crash of another does not touch.

It is asked by lines of JSON on its stdin and answers by lines on its stdout. Whoever started it may vanish: then stdin
ends, and a training that is under way is asked to stop, as by SIGTERM, so that it saves and nothing goes on unseen.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from heedful.waiting import spin_briefly

_PATIENCE_SECONDS = 60.0
"""How long is waited for a trainer that is leaving: the worker of a comparison that was killed a moment ago."""

Answer = Callable[..., None]
"""Writes one line of answer with the given fields."""


class TrialDisplay:
    """Writes everything to the trial's log, and tells the validations to whoever waits for the trial."""

    def __init__(self, log: TextIO, tell: Callable[[str], None], max_steps: int) -> None:
        self._log, self._tell, self._max_steps = log, tell, max_steps

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._log.flush()

    def show(self, record: Any) -> None:
        """Write a record of the journal as a line."""
        from heedful.training.display import describe

        line = f"step {record['step']}/{self._max_steps}  {describe(record)}"
        self.say(line)
        if record["kind"] != "train":
            self._tell(line)

    def say(self, sentence: str) -> None:
        """Write a sentence as a line, at once."""
        self._log.write(sentence + "\n")
        self._log.flush()


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library that prints must not be taken for an answer

    def answer(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    spin_briefly()
    requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    is_busy = threading.Event()
    threading.Thread(target=_listen, args=(requests, is_busy), daemon=True).start()
    while (request := requests.get()) is not None:
        is_busy.set()
        answer_one(request, answer)
        is_busy.clear()


def _listen(requests: "queue.SimpleQueue[dict[str, Any] | None]", is_busy: threading.Event) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    requests.put(None)
    if is_busy.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


def answer_one(request: dict[str, Any], answer: Answer) -> None:
    """Do what is asked; a failure that has a sentence is answered, every other one ends the process with a trace."""
    from heedful.errors import HeedfulError, is_out_of_memory

    try:
        _do(request, answer)
    except HeedfulError as error:
        answer(exit_code=error.exit_code, message=str(error))
    except OSError as error:
        answer(exit_code=1, message=f"{error.filename or 'A file'} cannot be read or written: {error.strerror}.")
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        answer(exit_code=1, message="The memory is too small for this, or others have it.")
    else:
        answer(exit_code=0)


def _do(request: dict[str, Any], answer: Answer) -> None:
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(request["threads"])
    try:
        with Path(request["log"]).open("a", encoding="utf-8", errors="replace") as log:
            if request["train"]:
                _train(request, log, lambda line: answer(told=line))
            _score(request)
    finally:
        torch.set_num_threads(num_threads)


def _train(request: dict[str, Any], log: TextIO, tell: Callable[[str], None]) -> None:
    from heedful.config.load import load_any
    from heedful.tasks.run_folder import is_training, run_folder_of
    from heedful.tasks.runs import run_training
    from heedful.tasks.table import task_of_run

    run = load_any(request["config"])
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while is_training(run_folder_of(run)) and time.monotonic() < deadline:
        time.sleep(0.1)
    with TrialDisplay(log, tell, run.training.max_steps) as display:
        run_training(run, task_of_run(run).prepare, display=display, resume=True, device=request["device"])


def _score(request: dict[str, Any]) -> None:
    from heedful.comparisons.judging import judge
    from heedful.comparisons.trial_files import write_scores
    from heedful.config.load import load_any
    from heedful.storage.locate import find_model_folder

    model = find_model_folder(request["run_folder"])
    run = load_any(request["config"])
    write_scores(Path(request["scores"]), model, judge(run, model, device=request["device"]))


if __name__ == "__main__":
    main()
