"""What a candidate costs: parameters, training tokens a second, memory of a step, and how fast its model answers.

Steps are real ones on the run's own batches, thrown away afterwards. Models answer test sentences in rounds, each
candidate once in every round, and the median counts: what slows the machine for a while slows all of them.
"""

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path

import torch

from heedful.comparisons.judging import find_cases
from heedful.config.classification import ClassificationRun
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.load import AnyRun
from heedful.data.file_identity import FileIdentities
from heedful.errors import HeedfulError
from heedful.files import MANIFEST, sha256_file, write_atomic
from heedful.models.build import count_parameters
from heedful.tasks.classification.classifier import load_classifier
from heedful.tasks.device import choose_device
from heedful.tasks.language_modeling.model import load_text_model
from heedful.tasks.run_folder import MODEL
from heedful.tasks.runs import RunContext
from heedful.tasks.table import task_of_run
from heedful.tasks.translation.load import load_translator
from heedful.tasks.trial_step import kept_bytes
from heedful.training.loop import Run, start_state, stepper

_ROUNDS = 3
_NUM_ANSWERED, _NUM_ALONE = 48, 8
_STEP_SECONDS, _LEAST_STEPS, _MOST_STEPS = 1.0, 5, 200
_DIFFERENT_BATCHES, _GPU_ROUNDS = 8, 3
"""Batches a speed is measured on, and how often a GPU does each before it counts: kernels are built, steps recorded."""

_BYTES_PER_PARAMETER = 16
_SYMBOLS_WRITTEN = 64


@dataclass(frozen=True)
class StepCost:
    """What training costs."""

    num_parameters: int
    tokens_per_second: float
    steps_per_second: float
    memory_bytes: int
    """On a GPU what was allocated at most; on a CPU weights, optimiser and what the backward pass needs."""

    device: str


@dataclass(frozen=True)
class AnswerCost:
    """How fast a model answers."""

    tokens_per_second: float
    """Written tokens of translations and texts, read tokens of documents; many at a time."""

    latency_ms: float
    """Median of one sentence or document alone; of a language model, of one symbol."""


@dataclass(frozen=True)
class Costs:
    """All of it."""

    step: StepCost | None
    """None where the training data is not there any more."""

    answers: Mapping[str, AnswerCost]
    """By "CPU", "CPU int8" and "GPU", as far as there are any."""


def measure_steps(run: AnyRun, folder: Path, device: str | None) -> StepCost:
    """Take some steps of a run's training on its own first batches, and throw them away; `folder` is its run folder."""
    chosen = choose_device(device)
    job = task_of_run(run).prepare(run, RunContext(folder, chosen, lambda _: None, FileIdentities()))
    state = start_state(job.loss.model, run.training, job.loss.carried)
    settings = Run(folder, run.training, run.validation, run.seed, run.model.dim)
    state.model.train()
    if chosen.type == "cuda":
        torch.cuda.reset_peak_memory_stats(chosen)
    batches = job.batches_from(0)
    some = [next(batches) for _ in range(_DIFFERENT_BATCHES)]
    if close := getattr(batches, "close", None):
        close()
    do_step = stepper(state, job, settings)
    tokens, seconds, steps = 0, 0.0, 0
    num_warming = 1 if chosen.type == "cpu" else _GPU_ROUNDS * len(some)
    for number, batch in enumerate(islice(cycle(some), _MOST_STEPS + num_warming)):
        began = time.perf_counter()
        do_step([batch], learning_rate=0.0)
        if chosen.type == "cuda":
            torch.cuda.synchronize(chosen)
        if number >= num_warming:
            seconds += time.perf_counter() - began
            tokens += batch.num_items
            steps += 1
        if steps >= _LEAST_STEPS and seconds > _STEP_SECONDS:
            break
    num_parameters = count_parameters(job.loss.model)
    if chosen.type == "cuda":
        memory = torch.cuda.max_memory_allocated(chosen)
    else:
        largest = max(some, key=lambda it: it.num_items)  # not the last one: which that is depends on the clock
        kept = kept_bytes(job.loss, largest, bf16=run.training.precision == "bf16")
        memory = kept + _BYTES_PER_PARAMETER * num_parameters
    per_update = run.training.accumulate
    return StepCost(num_parameters, tokens / seconds, steps / seconds / per_update, memory, chosen.type)


def measure_all(
    runs: Mapping[str, tuple[AnyRun, Path]], folder: Path, *, device: str | None, say: Callable[[str], None]
) -> dict[str, Costs]:
    """Return the costs of each candidate, given its run and run folder; what is known already is not measured again."""
    found = {label: _known(folder, label, run_folder) for label, (_, run_folder) in runs.items()}
    missing = [label for label, costs in found.items() if costs is None]
    if missing:
        say(f"Measuring speed and memory of {', '.join(missing)}.")
    answering: dict[str, dict[str, list[AnswerCost]]] = {label: {} for label in missing}
    ways = [(label, name, ask) for label in missing for name, ask in _ways(*runs[label]).items()]
    for _ in range(_ROUNDS):
        for label, name, ask in ways:
            answering[label].setdefault(name, []).append(ask())
    for label in missing:
        run, run_folder = runs[label]
        try:
            step = measure_steps(run, run_folder, device)
        except HeedfulError:
            step = None
        costs = Costs(step, {name: _median(costs) for name, costs in answering[label].items()})
        _write(folder, label, run_folder, costs)
        found[label] = costs
    return {label: costs for label, costs in found.items() if costs is not None}


Ask = Callable[[], AnswerCost]


def _ways(run: AnyRun, run_folder: Path) -> dict[str, Ask]:
    """Return how the model can be asked: on the CPU, in 8 bits where there is an engine, and on a GPU."""
    model = run_folder / MODEL
    ways: dict[str, Ask] = {}
    places = {"CPU": "cpu"} | ({"GPU": "cuda"} if torch.cuda.is_available() else {})
    texts = [] if isinstance(run, LanguageModelRun) else list(find_cases(run)[0].sources[:_NUM_ANSWERED])
    for name, device in places.items():
        match run:
            case ClassificationRun():
                ways[name] = _ask_classifier(model, device, texts)
            case LanguageModelRun():
                ways[name] = _ask_language_model(model, device)
            case _:
                ways[name] = _ask_translator(model, device, "none", texts)
                if device == "cpu" and run.model.has_int8_engine:
                    ways["CPU int8"] = _ask_translator(model, device, "auto", texts)
    return ways


def _ask_translator(model: Path, device: str, quantize: str, texts: Sequence[str]) -> Ask:
    translator = load_translator(model, device=device, quantize=quantize, say=lambda _: None)

    def answer(some: Sequence[str]) -> int:
        written = translator.translate(list(some))
        return sum(map(len, translator.tokenizer.encode_target_batch(written)))

    return lambda: _timed(answer, texts)


def _ask_classifier(model: Path, device: str, texts: Sequence[str]) -> Ask:
    classifier = load_classifier(model, device=device)

    def answer(some: Sequence[str]) -> int:
        encoded = classifier.encode(some)
        classifier.probabilities(encoded)
        return sum(map(len, encoded.ids))

    return lambda: _timed(answer, texts)


def _ask_language_model(model: Path, device: str) -> Ask:
    loaded = load_text_model(model, device=device)

    def ask() -> AnswerCost:
        began = time.perf_counter()
        for _ in loaded.generate(max_tokens=_SYMBOLS_WRITTEN, seed=1):
            pass
        seconds = time.perf_counter() - began
        return AnswerCost(_SYMBOLS_WRITTEN / seconds, 1000 * seconds / _SYMBOLS_WRITTEN)

    return ask


def _timed(answer: Callable[[Sequence[str]], int], texts: Sequence[str]) -> AnswerCost:
    """Time some sentences one by one, which also warms up, then all of them together."""
    alone = []
    for text in texts[:_NUM_ALONE]:
        began = time.perf_counter()
        answer([text])
        alone.append(time.perf_counter() - began)
    began = time.perf_counter()
    num_tokens = answer(texts)
    return AnswerCost(num_tokens / (time.perf_counter() - began), 1000 * statistics.median(alone))


def _median(costs: Sequence[AnswerCost]) -> AnswerCost:
    return AnswerCost(
        statistics.median(it.tokens_per_second for it in costs), statistics.median(it.latency_ms for it in costs)
    )


def _file(folder: Path, label: str) -> Path:
    return folder / "costs" / f"{label}.json"


def _write(folder: Path, label: str, run_folder: Path, costs: Costs) -> None:
    path = _file(folder, label)
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {"model": sha256_file(run_folder / MODEL / MANIFEST), **asdict(costs)}
    write_atomic(path, json.dumps(told, indent=1).encode() + b"\n")


def _known(folder: Path, label: str, run_folder: Path) -> Costs | None:
    """Return what was measured of this very model."""
    try:
        told = json.loads(_file(folder, label).read_bytes())
        if told["model"] != sha256_file(run_folder / MODEL / MANIFEST):
            return None
        step = None if told["step"] is None else StepCost(**told["step"])
        return Costs(step, {name: AnswerCost(**cost) for name, cost in told["answers"].items()})
    except (OSError, ValueError, LookupError, TypeError):
        return None
