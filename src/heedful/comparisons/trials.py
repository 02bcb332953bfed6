"""Train some configs, each with some seeds, under one folder; resume what was begun; collect what they scored.

A trial is one training and its scores. It is done when its model and the scores of that model are there, and is not
done again; one that was interrupted goes on where it stopped and ends with the same bits (tasks/runs.py). A trial that
fails is an outcome with a sentence, and the others stay. Folder: `runs/NAME/` for each run, `trials/NAME.*` for its
config, log and scores, `trials.json` for what must not change between two sittings.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from heedful.comparisons.judging import SetScores, find_cases
from heedful.comparisons.trial_files import RUNS, TrialFiles, name_of, read_scores
from heedful.comparisons.workers import Answer, Request, do_all
from heedful.config.load import AnyRun, changed_settings, dump_toml, load_any
from heedful.errors import HeedfulError, UserError
from heedful.files import write_atomic
from heedful.tasks.run_folder import CONFIG, MODEL
from heedful.training.durability.run_lock import RunLock, is_locked

Say = Callable[[str], None]
_SETTLED = "trials.json"
NOT_BEGUN = "It was not begun in the time there was; the same command goes on."


@dataclass(frozen=True)
class Trial:
    """One training, or a run that is finished already."""

    label: str
    """What the trials of several seeds have in common."""

    config: AnyRun
    """What is trained, its seed included; name and folder are chosen by `run_trials`."""

    finished: Path | None = None
    """The folder of a run that is only to be scored, on the test sets of `config`."""

    @property
    def seed(self) -> int:
        """What decides everything that is left to chance."""
        return self.config.seed


@dataclass(frozen=True)
class Outcome:
    """What became of a trial."""

    label: str
    seed: int
    run_folder: Path
    failure: str | None
    """A sentence when it failed, else None."""

    scores: tuple[SetScores, ...]
    """By test set; nothing when it failed."""


def trials_of(configs: Mapping[str, AnyRun], seeds: Sequence[int]) -> list[Trial]:
    """Return a trial for each config, by label, and each seed."""
    return [
        Trial(label, config.model_copy(update={"seed": seed})) for label, config in configs.items() for seed in seeds
    ]


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    *,
    processes: int = 1,
    device: str | None = None,
    minutes: float | None = None,
    say: Say,
) -> list[Outcome]:
    """Do what is left to do of the trials under `folder`, so many side by side, and return what became of each.

    They begin in the order in which they come; what has not begun after so many minutes is left for another time. The
    threads of a CPU are shared among the processes when a folder is begun, and stay as they are then: how many there
    are decides the last bits.
    """
    if processes < 1:
        raise UserError(f"`processes` must be at least 1, but is {processes}.")
    files = _files_of(trials, folder)
    if is_locked(folder):
        raise UserError(f"{folder} must be used by one command at a time, but another is at it. Wait for it.")
    with RunLock(folder):
        threads = _settled_threads(folder, processes)
        left = [place for place, trial in enumerate(trials) if not _is_done(trial, files[place])]
        for place in left:
            _write_config(_named(trials[place], files[place], folder), files[place])
        failures = dict.fromkeys(left, NOT_BEGUN)
        requests = [_request(trials[place], files[place], threads, device) for place in left]

        def titled(number: int, told: str) -> None:
            trial = trials[left[number]]
            say(f"{trial.label}, seed {trial.seed}: {told}")

        def done(number: int, answer: Answer) -> None:
            if answer.exit_code:
                failures[left[number]] = answer.message
                titled(number, f"failed: {answer.message}")
            else:
                del failures[left[number]]
                titled(number, "done.")

        if len(left) < len(trials):
            say(f"{len(trials) - len(left)} of {len(trials)} trials are done already.")
        do_all(requests, processes, tell=titled, done=done, minutes=minutes)
    return [
        _outcome(trial, its_files, failures.get(place))
        for place, (trial, its_files) in enumerate(zip(trials, files, strict=True))
    ]


def _files_of(trials: Sequence[Trial], folder: Path) -> list[TrialFiles]:
    names = [name_of(trial.label, trial.seed) for trial in trials]
    for name, trial in zip(names, trials, strict=True):
        if names.count(name) > 1:
            raise UserError(
                f'Trials must differ in label or seed, but "{trial.label}" with seed {trial.seed} is there twice.'
            )
    return [TrialFiles.under(folder, name, trial.finished) for name, trial in zip(names, trials, strict=True)]


def _named(trial: Trial, files: TrialFiles, folder: Path) -> AnyRun:
    """Return the config as it is trained: its run is under the folder. A finished run keeps its name."""
    if trial.finished is not None:
        return trial.config
    return trial.config.model_copy(update={"name": files.run_folder.name, "runs_folder": str(folder / RUNS)})


def _write_config(config: AnyRun, files: TrialFiles) -> None:
    files.config.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(files.config, dump_toml(config).encode())


def _settled_threads(folder: Path, processes: int) -> int:
    """Return how many threads each process has: as it was when the folder was begun, or as this machine has them."""
    path = folder / _SETTLED
    try:
        return max(1, int(json.loads(path.read_bytes())["threads"]))
    except FileNotFoundError:
        threads = max(1, torch.get_num_threads() // processes)
        write_atomic(path, json.dumps({"threads": threads}).encode() + b"\n")
        return threads
    except (ValueError, LookupError, TypeError):
        raise UserError(f"{path} must say how many threads a process has, but does not. Remove it.") from None


def _request(trial: Trial, files: TrialFiles, threads: int, device: str | None) -> Request:
    return {
        "train": trial.finished is None,
        "config": str(files.config),
        "run_folder": str(files.run_folder),
        "scores": str(files.scores),
        "log": str(files.log),
        "threads": threads,
        "device": device,
    }


def _is_done(trial: Trial, files: TrialFiles) -> bool:
    """Tell whether a trial is trained as its config says, and scored on the cases its config names."""
    scores = read_scores(files.scores, files.run_folder / MODEL)
    if scores is None:
        return False
    try:
        if trial.finished is None:
            changed = changed_settings(load_any(files.run_folder / CONFIG), trial.config)
            if any(name not in ("name", "runs_folder") for name in changed):
                return False  # the training says whether it can go on with that
        return [it.digest for it in scores] == [cases.digest for cases in find_cases(trial.config)]
    except HeedfulError:
        return False  # the worker meets the same and says it


def _outcome(trial: Trial, files: TrialFiles, failure: str | None) -> Outcome:
    scores = None if failure is not None else read_scores(files.scores, files.run_folder / MODEL)
    if scores is None and failure is None:
        failure = f"{files.scores} must hold the scores of this trial, but does not."
    return Outcome(trial.label, trial.seed, files.run_folder, failure, scores or ())
