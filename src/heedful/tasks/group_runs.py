"""A run by several processes: one of those that `torchrun` has started, or all of them, started here by its agent.

The agent is PyTorch's own (torch.distributed.elastic): it starts the processes, and when one dies it ends the others
and starts all again, which go on from the last checkpoint. A mistake of the user or a wish to stop is no death: it
comes back as an `Outcome`. This file knows processes; what they do is tasks/runs.py's.
"""

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from heedful.config.load import AnyRun, load_any
from heedful.errors import HeedfulError
from heedful.tasks.device import choose_device
from heedful.tasks.run_folder import TrainingResult
from heedful.tasks.runs import run_training
from heedful.tasks.table import task_of_run
from heedful.training.display import QuietDisplay, make_display
from heedful.training.distribution.ranks import ElsewhereError, GroupRanks, local_rank, start_count
from heedful.training.durability.interruption import TrainingInterruptedError
from heedful.training.step import CrampedError


@dataclass(frozen=True)
class Outcome:
    """How a process of a group ended: with a result, or with a sentence and an exit code."""

    result: TrainingResult | None = None
    sentence: str = ""
    exit_code: int = 0
    is_elsewhere: bool = False
    """Whether it ended only because another one did."""


class LostTouchError(HeedfulError):
    """Another process is gone; the agent starts all of them again."""


def train_as_one_of_many(run: AnyRun, *, resume: bool, device: str | None) -> TrainingResult:
    """Train as one of the processes that the environment speaks of. Started again after a death, it goes on."""
    own = _own_device(device)
    if own.type == "cuda":
        torch.cuda.set_device(own)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    resume = resume or start_count() > 0
    try:
        ranks = GroupRanks(own)
        display = make_display(run.training.max_steps) if ranks.is_first else QuietDisplay()
        with display:
            result = run_training(
                run, task_of_run(run).prepare, display=display, resume=resume, device=str(own), ranks=ranks
            )
        ranks.close()
        return result
    except RuntimeError as error:
        if not _is_about_connections(error):
            raise
        first_line = str(error).splitlines()[0]
        raise LostTouchError(f"This process has lost touch with another one of its run: {first_line}") from None


def train_in_processes(
    path: Path, overrides: list[str], *, num_processes: int, resume: bool, device: str | None, max_restarts: int
) -> TrainingResult:
    """Start so many processes with PyTorch's elastic agent, and return what they have made."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    launch = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=num_processes,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=max_restarts,
        start_method="spawn",
    )
    outcomes = _launched(lambda: elastic_launch(launch, _work)(str(path), overrides, resume, device))
    told = [outcome for outcome in outcomes if outcome.exit_code and not outcome.is_elsewhere]
    if told:
        raise _ToldError(told[0])
    result = outcomes[0].result
    assert result is not None
    return result


def _launched(launch: Callable[[], dict[int, Outcome]]) -> list[Outcome]:
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    try:
        outcomes = launch()
    except SignalException as error:
        raise TrainingStoppedError(int(error.sigval)) from None
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise HeedfulError(
            f"Process {rank} of this run died (exit code {failure.exitcode}), and so did its successors. "
            "What it said stands above; go on with --resume."
        ) from None
    return [outcomes[rank] for rank in sorted(outcomes)]


class TrainingStoppedError(HeedfulError):
    """A signal came to the agent, which has handed it to all processes; the first of them has said what is saved."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        super().__init__("All processes have ended.")


class _ToldError(HeedfulError):
    def __init__(self, outcome: Outcome) -> None:
        self.exit_code = outcome.exit_code
        super().__init__(outcome.sentence)


def _work(path: str, overrides: list[str], resume: bool, device: str | None) -> Outcome:
    """Be one of the processes."""
    os.setpgrp()  # Ctrl-C reaches the agent alone, which hands it on: twice would mean "at once"
    try:
        result = train_as_one_of_many(load_any(Path(path), overrides), resume=resume, device=device)
    except (CrampedError, LostTouchError):
        raise  # for the agent, which starts all again
    except HeedfulError as error:
        if isinstance(error, TrainingInterruptedError) and int(os.environ["RANK"]) == 0:
            os.write(2, f"{error}\n".encode())  # the agent no longer listens to what comes back
        return Outcome(None, str(error), error.exit_code, isinstance(error, ElsewhereError))
    return Outcome(result)


def _own_device(device: str | None) -> torch.device:
    chosen = choose_device(device)
    if chosen.type == "cuda" and chosen.index is None:
        return choose_device(f"cuda:{local_rank()}")
    return chosen


def _is_about_connections(error: RuntimeError) -> bool:
    told = str(error).lower()
    return isinstance(error, torch.distributed.DistError) or any(
        word in told for word in ("gloo", "nccl", "connection", "socket")
    )
