"""What all candidates may spend: as many parameters, as many tokens, or as much time as each other.

Equal parameters are checked, or the width is fitted to those of the first. Tokens and time become a number of steps,
time by timing real steps on this machine, once, so that a comparison that goes on later does not become another one.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from heedful.comparisons.candidates import Candidate
from heedful.config.classification import ClassificationRun
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.load import AnyRun
from heedful.config.translation import TranslationRun
from heedful.data.labelled import read_split
from heedful.errors import UserError
from heedful.files import write_atomic
from heedful.models.build import construct_classifier, construct_language_model, num_parameters, parameter_shapes
from heedful.text.symbols import symbols_from_json
from heedful.text.tokenizer import Tokenizer

Say = Callable[[str], None]
StepsPerSecond = Callable[[Candidate], float]
_UNITS = {"s": 1, "m": 60, "h": 3600}
_RECORD = "budget.json"


@dataclass(frozen=True)
class Budget:
    """What is made equal; by default nothing, and the table says what each has spent."""

    parameters: bool = False
    fit_width: bool = False
    """Change the widths until parameters are equal, instead of refusing."""

    tolerance: float = 0.05
    """By which share of the first's parameters another may differ."""

    tokens: int | None = None
    """Padded target tokens to train on; 0 for those of the first candidate."""

    seconds: float | None = None
    """Time of the steps of one training."""


def parse_budget(written: Sequence[str], *, fit_width: bool, tolerance: float) -> Budget:
    """Read `parameters`, `tokens`, `tokens=N`, `time=SECONDS` (or 10m, 1h)."""
    budget = Budget(fit_width=fit_width, tolerance=tolerance)
    for word in written:
        name, _, value = word.partition("=")
        if name == "parameters" and not value:
            budget = replace(budget, parameters=True)
        elif name == "tokens" and (not value or (value.isdecimal() and int(value) > 0)):
            budget = replace(budget, tokens=int(value or 0))
        elif name == "time" and (seconds := _seconds(value)) is not None:
            budget = replace(budget, seconds=seconds)
        else:
            raise UserError(f'`--budget` must be parameters, tokens, tokens=N or time=10m, but is "{word}".')
    if budget.tokens is not None and budget.seconds is not None:
        raise UserError("`--budget` must be tokens or time, not both: each decides how many steps are taken.")
    if fit_width and not budget.parameters:
        raise UserError("`--fit-width` must be used with --budget parameters.")
    return budget


def within_budget(
    candidates: Sequence[Candidate],
    budget: Budget,
    tokenizer_json: str,
    folder: Path,
    steps_per_second: StepsPerSecond,
    say: Say,
) -> list[Candidate]:
    """Return the candidates as the budget has them; what cannot be made equal is refused."""
    found = list(candidates)
    if budget.parameters:
        found = _with_equal_parameters(found, budget, tokenizer_json, say)
    if budget.tokens is not None:
        tokens = budget.tokens or _tokens_of(found[0].config)
        found = [_with_steps(it, round(tokens / _tokens_a_step(it.config)), budget, say) for it in found]
    if budget.seconds is not None:
        steps = _steps_in_time(found, budget.seconds, folder, steps_per_second)
        found = [_with_steps(it, steps[it.label], budget, say) for it in found]
    return found


def parameters_of(run: AnyRun, tokenizer_json: str) -> int:
    """Count the parameters of the model that a run trains, without memory for any of them."""
    match run:
        case TranslationRun():
            tokenizer = Tokenizer.from_json(tokenizer_json)
            return num_parameters(run.model, tokenizer.source_vocab_size, tokenizer.target_vocab_size)
        case ClassificationRun():
            size = Tokenizer.from_json(tokenizer_json).source_vocab_size
            labels = len(read_split(run.data).labels)
            return _count(lambda: construct_classifier(run.model, vocab_size=size, num_labels=labels, pad_id=0))
        case LanguageModelRun():
            size = symbols_from_json(tokenizer_json).vocab_size
            return _count(lambda: construct_language_model(run.model, vocab_size=size))


def _count(construct: Callable[[], object]) -> int:
    total = 0
    for shape in parameter_shapes(construct).values():  # type: ignore[arg-type]
        size = 1
        for extent in shape:
            size *= extent
        total += size
    return total


def _with_equal_parameters(
    candidates: Sequence[Candidate], budget: Budget, tokenizer_json: str, say: Say
) -> list[Candidate]:
    wanted = parameters_of(candidates[0].config, tokenizer_json)
    found = [candidates[0]]
    for it in candidates[1:]:
        number = parameters_of(it.config, tokenizer_json)
        if abs(number - wanted) <= budget.tolerance * wanted:
            found.append(it)
            continue
        fitted = _fitted(it.config, wanted, tokenizer_json)
        fits = fitted is not None and abs(parameters_of(fitted, tokenizer_json) - wanted) <= budget.tolerance * wanted
        told = f"{it.label} has {number:,} parameters and {candidates[0].label} {wanted:,}"
        if not fits or fitted is None or it.finished is not None or not budget.fit_width:
            hint = f" With `model.dim` = {fitted.model.dim} it would fit: --fit-width." if fits and fitted else ""
            raise UserError(f"Parameters must be equal within {budget.tolerance:.0%}, but {told}.{hint}")
        say(f"{told}: its width becomes {fitted.model.dim}.")
        found.append(replace(it, config=fitted))
    return found


def _fitted(run: AnyRun, wanted: int, tokenizer_json: str) -> AnyRun | None:
    """Return the run with the width whose parameters come nearest; feed-forward layers keep their proportion."""
    step = 2 * getattr(run.model, "num_heads", 4)
    low, high = 1, max(2, 8 * run.model.dim // step)  # in steps: parameters grow with the width
    while low < high:
        middle = (low + high) // 2
        widened = _with_width(run, middle * step)
        if widened is None:
            return None
        if parameters_of(widened, tokenizer_json) < wanted:
            low = middle + 1
        else:
            high = middle
    near = [widened for number in (low - 1, low) if (widened := _with_width(run, number * step)) is not None]
    return min(near, key=lambda it: abs(parameters_of(it, tokenizer_json) - wanted), default=None)


def _with_width(run: AnyRun, dim: int) -> AnyRun | None:
    fields = run.model.model_dump()
    if "hidden_dim" in fields:
        fields["hidden_dim"] = max(1, round(fields["hidden_dim"] * dim / run.model.dim))
    try:
        return run.model_copy(update={"model": type(run.model).model_validate({**fields, "dim": dim})})
    except ValidationError:
        return None


def _tokens_a_step(run: AnyRun) -> int:
    return run.training.batch_tokens * run.training.accumulate


def _tokens_of(run: AnyRun) -> int:
    return run.training.max_steps * _tokens_a_step(run)


def _with_steps(candidate: Candidate, steps: int, budget: Budget, say: Say) -> Candidate:
    """Return a candidate that takes so many steps; a finished one must have taken as many, or nearly."""
    run, steps = candidate.config, max(1, steps)
    if candidate.finished is not None:
        if abs(run.training.max_steps - steps) > budget.tolerance * steps:
            raise UserError(
                f"The finished run {candidate.finished} must have taken {steps:,} steps for this budget, but has taken "
                f"{run.training.max_steps:,}. Give its config instead, to train it anew."
            )
        return candidate
    if steps != run.training.max_steps:
        say(f"{candidate.label}: {steps:,} steps in place of {run.training.max_steps:,}, for an equal budget.")
    training = run.training.model_copy(update={"max_steps": steps})
    return replace(candidate, config=run.model_copy(update={"training": training}))


def _steps_in_time(
    candidates: Sequence[Candidate], seconds: float, folder: Path, steps_per_second: StepsPerSecond
) -> dict[str, int]:
    """Return how many steps each takes in the time, as it was found when this was first asked in the folder."""
    path = folder / _RECORD
    known: dict[str, dict[str, float]] = json.loads(path.read_bytes()) if path.exists() else {}
    for it in candidates:
        if known.get(it.label, {}).get("seconds") != seconds:
            steps = it.config.training.max_steps if it.finished is not None else round(steps_per_second(it) * seconds)
            known[it.label] = {"seconds": seconds, "steps": max(1, steps)}
            write_atomic(path, json.dumps(known, indent=1).encode() + b"\n")
    return {it.label: int(known[it.label]["steps"]) for it in candidates}


def _seconds(written: str) -> float | None:
    number, unit = (written[:-1], _UNITS[written[-1]]) if written[-1:] in _UNITS else (written, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        return None
    return seconds if 0 < seconds < 1e8 else None
