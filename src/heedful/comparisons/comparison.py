"""`heedful compare`: train what is not trained, score all on the same cases, measure what each costs, put it together.

The folder holds everything: the shared tokenizer, the runs, their scores and costs, and the report. The same command
goes on where it was stopped, and may name more configs or more seeds than before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from heedful.comparisons.budgets import Budget, within_budget
from heedful.comparisons.candidates import Broken, Candidate, Field, in_a_line, tokenizer_json_of, with_shared_tokenizer
from heedful.comparisons.judging import TestCases
from heedful.comparisons.measuring import Costs, measure_all, measure_steps
from heedful.comparisons.significance import Gap, Judged, LengthGroup, by_length, gap_between, holm
from heedful.comparisons.trials import Outcome, Trial, run_trials
from heedful.errors import UserError
from heedful.tasks.run_folder import TOKENIZER

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """What was found out about one candidate."""

    candidate: Candidate
    outcomes: Sequence[Outcome]
    """One for each seed."""

    judged: Sequence[Sequence[Judged]]
    """By test set, then by metric."""

    lengths: Sequence[Sequence[LengthGroup]]
    """By test set: the first metric over the length of the source."""

    costs: Costs | None

    @property
    def label(self) -> str:
        """What it is called."""
        return self.candidate.label


@dataclass(frozen=True)
class Pair:
    """Two candidates, the second against the first, on one test set by its first metric."""

    first: str
    second: str
    gap: Gap
    adjusted: float
    """The p-value among all pairs, by Holm's method."""


@dataclass(frozen=True)
class Comparison:
    """All that was found out."""

    rows: Sequence[Row]
    broken: Sequence[Broken]
    cases: Sequence[TestCases]
    pairs: Sequence[Sequence[Pair]]
    """By test set."""

    budget: Budget
    device: str | None


@dataclass(frozen=True)
class Wanted:
    """How a comparison is made."""

    seeds: Sequence[int] | None = None
    """Trained with each of them; None for the seed of each config."""

    budget: Budget = field(default_factory=Budget)
    processes: int = 1
    device: str | None = None
    measure: bool = True
    """Whether speed and memory are measured."""

    minutes: float | None = None
    """After how many no further training begins; None for any."""


def compare(entered: Field, folder: Path, wanted: Wanted, *, say: Say) -> Comparison:
    """Compare what has entered, in `folder`."""
    for it in entered.broken:
        say(f"{it.label} is left out: {it.failure}")
    candidates = with_shared_tokenizer(entered, folder, say)
    candidates = within_budget(
        candidates,
        wanted.budget,
        tokenizer_json_of(candidates[0]),
        folder,
        lambda it: measure_steps(it.config, folder / "timing" / it.label, wanted.device).steps_per_second,
        say,
    )
    trials = [trial for candidate in candidates for trial in _trials_of(candidate, wanted.seeds)]
    trials.sort(key=lambda trial: trial.seed)  # stopped halfway, all have been trained equally often
    outcomes = run_trials(
        trials, folder, processes=wanted.processes, device=wanted.device, minutes=wanted.minutes, say=say
    )
    broken = [
        *entered.broken,
        *(Broken(it.label, in_a_line(it.failure), 1) for it in outcomes if it.failure is not None),
    ]
    sound = {
        it.label: its
        for it in candidates
        if (its := [o for o in outcomes if o.label == it.label and o.failure is None])
    }
    if not sound:
        raise UserError("\n".join(f"{it.label}: {it.failure}" for it in broken))
    _check_tokenizers(sound)
    costs: dict[str, Costs] = {}
    if wanted.measure:
        first_runs = {it.label: (it.config, sound[it.label][0].run_folder) for it in candidates if it.label in sound}
        costs = measure_all(first_runs, folder, device=wanted.device, say=say)
    rows = [_row(it, sound[it.label], costs.get(it.label)) for it in candidates if it.label in sound]
    pairs = [_pairs(rows, number) for number in range(len(entered.cases))]
    return Comparison(rows, broken, entered.cases, pairs, wanted.budget, wanted.device)


def _trials_of(candidate: Candidate, seeds: Sequence[int] | None) -> list[Trial]:
    """Return one trial for each seed; a finished run has the one it has."""
    if candidate.finished is not None or seeds is None:
        return [Trial(candidate.label, candidate.config, candidate.finished)]
    return [Trial(candidate.label, candidate.config.model_copy(update={"seed": seed})) for seed in seeds]


def _check_tokenizers(sound: dict[str, list[Outcome]]) -> None:
    """Refuse what was trained with different tokenizers after all, such as one that came with first weights."""
    texts = {label: (its[0].run_folder / TOKENIZER).read_bytes() for label, its in sound.items()}
    first = next(iter(texts))
    for label, text in texts.items():
        if text != texts[first]:
            raise UserError(f"The tokenizer must be the same, but those of {first} and {label} differ.")


def _row(candidate: Candidate, outcomes: Sequence[Outcome], costs: Costs | None) -> Row:
    judged, lengths = [], []
    for number, scores in enumerate(outcomes[0].scores):
        by_seed = [outcome.scores[number] for outcome in outcomes]
        judged.append([Judged([it.metrics[place] for it in by_seed]) for place in range(len(scores.metrics))])
        lengths.append(by_length([it.metrics[0] for it in by_seed], scores.lengths))
    return Row(candidate, outcomes, judged, lengths, costs)


def _pairs(rows: Sequence[Row], number: int) -> list[Pair]:
    found = [
        (first.label, second.label, gap_between(first.judged[number][0], second.judged[number][0]))
        for first, second in combinations(rows, 2)
    ]
    adjusted = holm([gap.p_value for _, _, gap in found])
    return [Pair(*it, adjusted=p_value) for it, p_value in zip(found, adjusted, strict=True)]
