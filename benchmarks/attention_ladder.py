"""What each trick of the Transformer is worth on a real data set: from words alone up to n-grams, one run a step.

    python benchmarks/attention_ladder.py [--documents N] [--steps N] [--only NAME ...] [--test] [--json FILE]

Every step of the ladder is the run of a config (by default configs/imdb_plain.toml) with one thing more than the step
before it; the two kinds of learned and computed positions stand side by side. The score is the accuracy on the part of
train that is held out, --test adds that on the test set. Small enough for a CPU with `--documents 2000 --steps 300`;
without either it is the whole data set, for a GPU. A ladder that was stopped goes on where it was.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from heedful.config.classification import ClassificationRun
from heedful.config.load import load_any
from heedful.data.labelled import read_documents, read_split
from heedful.evaluation.classification import wilson_interval
from heedful.storage.descriptions import ClassifierDescription
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.classification.classifier import load_classifier
from heedful.tasks.classification.evaluate import evaluate_classification
from heedful.tasks.classification.train import ClassificationJob
from heedful.tasks.runs import run_training
from heedful.training.display import make_display

BARE, BLOCK = "model.layer={kind='attention'}", "model.layer={kind='transformer', hidden_dim=512}"
ONE, HEADS = "model.num_layers=1", "model.attention={kind='multi_head', num_heads=4}"
NO_POSITIONS = "model.positions={kind='none'}"
NGRAMS = "model.ngram_embedding={up_to=3, num_buckets=262144}"

LADDER: dict[str, list[str]] = {
    "words": ["model.num_layers=0", BARE, NO_POSITIONS],
    "basic": [ONE, BARE, "model.attention={kind='basic'}", NO_POSITIONS],
    "scaling": [ONE, BARE, "model.attention={kind='scaled'}", NO_POSITIONS],
    "projections": [ONE, BARE, "model.attention={kind='projected'}", NO_POSITIONS],
    "heads": [ONE, BARE, HEADS, NO_POSITIONS],
    "block": [ONE, BLOCK, HEADS, NO_POSITIONS],
    "depth": [BLOCK, HEADS, NO_POSITIONS],
    "sinusoidal": [BLOCK, HEADS],
    "learned": [BLOCK, HEADS, "model.positions={kind='learned', max_len=512}"],
    "ngrams": [BLOCK, HEADS, NGRAMS],
    "naive_bayes": [BLOCK, HEADS, NGRAMS, "model.naive_bayes={up_to=3}"],
}
MEANINGS = {
    "words": "mean of word vectors",
    "basic": "basic self-attention, no parameters",
    "scaling": "+ scores divided by the root of the width",
    "projections": "+ queries, keys and values are learned",
    "heads": "+ four heads",
    "block": "+ residual, LayerNorm, feed-forward",
    "depth": "+ a second layer",
    "sinusoidal": "+ positions, sinusoidal",
    "learned": "  or positions, learned",
    "ngrams": "+ n-gram vectors (sinusoidal)",
    "naive_bayes": "+ the linear path of NB-SVM",
}


@dataclass(frozen=True)
class Step:
    """One row of the table."""

    name: str
    num_parameters: int
    held_out: float
    low: float
    high: float
    test: float | None
    minutes: float


def climb(config: Path, name: str, overrides: Sequence[str], *, test: bool, device: str | None) -> Step:
    """Train one step of the ladder, or find it trained, and score it."""
    run = load_any(config, [*overrides, *LADDER[name]])
    if not isinstance(run, ClassificationRun):
        raise SystemExit(f"{config} must describe a classification run, but is one of {run.task}.")
    run = run.model_copy(update={"name": f"{run.name}_{name}"})
    started = time.perf_counter()
    with make_display(run.training.max_steps) as display:
        result = run_training(run, ClassificationJob.prepare, display=display, resume=True, device=device)
    minutes = (time.perf_counter() - started) / 60
    folder = load_model_folder(result.model_folder, ClassifierDescription)
    num_held_out = len(read_split(run.data).validation)
    best = max(result.scores.values())
    scores = []
    for split, corpus in run.data.test.items() if test else ():
        classifier = load_classifier(result.model_folder, device=device)
        scores.append(evaluate_classification(classifier, split, list(read_documents(corpus))).scores.accuracy.value)
    return Step(
        name=name,
        num_parameters=sum(tensor.numel() for tensor in folder.weights.values()),
        held_out=best,
        low=wilson_interval(round(best * num_held_out), num_held_out)[0],
        high=wilson_interval(round(best * num_held_out), num_held_out)[1],
        test=scores[0] if scores else None,
        minutes=minutes,
    )


def report(steps: Sequence[Step]) -> None:
    """Print the table."""
    print(f"{'step':<44} {'parameters':>11} {'held out':>9} {'95 %':>15} {'test':>7} {'minutes':>8}")
    for step in steps:
        test = "" if step.test is None else f"{100 * step.test:.2f}"
        interval = f"[{100 * step.low:.1f}, {100 * step.high:.1f}]"
        print(
            f"{MEANINGS[step.name]:<44} {step.num_parameters:>11,} {100 * step.held_out:>9.2f} {interval:>15} "
            f"{test:>7} {step.minutes:>8.1f}",
            flush=True,
        )


def main() -> None:
    """Climb the ladder and print what each step is worth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/imdb_plain.toml"))
    parser.add_argument("--documents", type=int, help="learn from so many documents, by default from all")
    parser.add_argument("--steps", type=int, help="updates of each run, by default those of the config")
    parser.add_argument("--only", nargs="+", choices=list(LADDER), default=list(LADDER))
    parser.add_argument("--test", action="store_true", help="also score on the test set")
    parser.add_argument("--runs", default="runs/ladder", help="where the runs go")
    parser.add_argument("--device")
    parser.add_argument("--json", type=Path)
    parser.add_argument("overrides", nargs="*", metavar="SECTION.KEY=VALUE", help="settings of all steps")
    arguments = parser.parse_args()
    overrides = [f"runs_folder={json.dumps(arguments.runs)}", *arguments.overrides]
    if arguments.documents is not None:
        overrides.append(f"data.max_documents={arguments.documents}")
    if arguments.steps is not None:
        every = max(1, arguments.steps // 4)
        overrides += [f"training.max_steps={arguments.steps}", f"validation.every_steps={every}"]
        overrides += [f"training.checkpoint.every_steps={arguments.steps}", "training.schedule.warmup_steps=20"]
    steps = []
    for name in arguments.only:
        steps.append(climb(arguments.config, name, overrides, test=arguments.test, device=arguments.device))
    report(steps)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(step) for step in steps], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
