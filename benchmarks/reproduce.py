"""The recipes of RESULTS.md from data to scores, in as many sittings as it takes.

    python benchmarks/reproduce.py translator multi30k_de [--minutes N] [--side-by-side N] [SECTION.KEY=VALUE ...]

A recipe is a list of stages: train, distil, tune, evaluate. Stages that wait for nothing run side by side on one GPU.
What is done is not done again; what was interrupted goes on from its checkpoint, bit for bit. When the time is up the
stages are told to stop, save and leave, and the same command goes on later. Settings at the end go to every training.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path("runs/results")
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Stage:
    """One command of `heedful`, what must be done before it, and the file that says it is done."""

    name: str
    command: tuple[str, ...]
    done: Path
    needs: tuple[str, ...] = ()
    output: Path | None = None
    """Where its standard output goes, when that is its result."""


def train(config: str, name: str, *settings: str, needs: Sequence[str] = ()) -> Stage:
    """Train a run, or go on with it."""
    command = ("train", f"configs/{config}.toml", f"name={name}", *settings)
    return Stage(name, command, Path("runs") / name / "model" / "manifest.json", tuple(needs))


def distill(config: str, name: str, teachers: Sequence[str], *, parts: int = 1, beam: int = 5) -> list[Stage]:
    """Let teachers translate a training set, in as many processes as there are parts."""
    folder = Path("data/distilled") / name
    models = [word for teacher in teachers for word in ("--model", f"runs/{teacher}")]
    command = ("distill", f"configs/{config}.toml", *models, "--out", str(folder), "--beam", str(beam))
    return [
        Stage(
            f"{name}_distilled_{part}",
            (*command, "--part", f"{part}/{parts}"),
            folder / f"part-{part}-of-{parts}.txt",
            tuple(teachers),
            folder / f"part-{part}-of-{parts}.txt",
        )
        for part in range(1, parts + 1)
    ]


def evaluate(run: str, *options: str, needs: Sequence[str] = ()) -> Stage:
    """Score a run on the test sets of its config."""
    scores = RESULTS / f"{run}.json"
    return Stage(f"{run}_scores", ("evaluate", f"runs/{run}", *options, "--json"), scores, (*needs, run), scores)


def tune(run: str, *options: str) -> Stage:
    """Choose how a run is searched, on its validation set."""
    found = RESULTS / f"{run}_tuned.json"
    return Stage(f"{run}_tuned", ("tune", f"runs/{run}", *options, "--write", "--json"), found, (run,), found)


def translator() -> list[Stage]:
    """The model that ships with the package: a large teacher, its translations, a small student."""
    distilled = distill("tatoeba_distill", "tatoeba", ["tatoeba_teacher"], parts=12, beam=2)
    parts = [stage.name for stage in distilled]
    tuned = tune("tatoeba_student")
    return [
        train("tatoeba_teacher", "tatoeba_teacher"),
        *distilled,
        train("tatoeba_student", "tatoeba_student", needs=parts),
        tuned,
        evaluate("tatoeba_teacher", needs=parts),  # which fill a GPU's memory
        evaluate("tatoeba_student", needs=[tuned.name]),
    ]


def multi30k(language: str) -> list[Stage]:
    """Three teachers, what they make of the training set together, three students that go on from them; cased text."""
    teachers = [
        train(f"multi30k_{language}_teacher", f"multi30k_{language}_teacher_{seed}", f"seed={seed}") for seed in SEEDS
    ]
    distilled = distill(
        f"multi30k_{language}_teacher", f"multi30k_{language}", [stage.name for stage in teachers], parts=2
    )
    students = [
        train(
            f"multi30k_{language}_student",
            f"multi30k_{language}_student_{seed}",
            f"seed={seed}",
            f"training.init_from=runs/{teacher.name}",
            needs=[stage.name for stage in distilled],
        )
        for seed, teacher in zip(SEEDS, teachers, strict=True)
    ]
    tuned = [tune(stage.name, "--tokenize", "none", "--beams", "5") for stage in students]
    cased = train(f"multi30k_{language}_teacher", f"multi30k_{language}_cased", *cased_text(language))
    return [
        *teachers,
        *distilled,
        *students,
        *tuned,
        *(evaluate(stage.name, "--tokenize", "none") for stage in teachers),
        *(
            evaluate(stage.name, "--tokenize", "none", needs=[choice.name])
            for stage, choice in zip(students, tuned, strict=True)
        ),
        cased,
        evaluate(cased.name),
    ]


def cased_text(language: str) -> list[str]:
    """Return the settings that make a run read Multi30k as it was written, and score it so."""

    def files(split: str) -> str:
        folder = "data/multi30k"
        return f'{{source="{folder}/{split}.en.gz", target="{folder}/{split}.{language}.gz"}}'

    tests = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
    return [
        f"data.train=[{files('train')}]",
        f"data.validation=[{files('val')}]",
        f"data.test={{{', '.join(f'{name}={files(name)}' for name in tests)}}}",
        "validation.bleu_tokenize=13a",
    ]


def czech() -> list[Stage]:
    """English and Czech, three seeds."""
    runs = [train("multi30k_cs", f"multi30k_cs_{seed}", f"seed={seed}") for seed in SEEDS]
    return [*runs, *(evaluate(stage.name, "--tokenize", "none") for stage in runs)]


def parallel() -> list[Stage]:
    """A teacher, and what writes all positions at once: CTC and fertilities, from people's translations and its own."""
    teacher = "multi30k_parallel_teacher"
    families = ("multi30k_ctc", "multi30k_nat")
    return [
        train(teacher, teacher),
        *(train(name, name, needs=[teacher]) for name in families),
        *(train(name, f"{name}_raw", 'data.distillation={kind="none"}', needs=[teacher]) for name in families),
    ]


def imdb() -> list[Stage]:
    """The classifier on a part of train, which chooses, and on all of it, which is reported; parts of it alone."""
    everything = ("data.hold_out=0.01", 'training.average={which="last", count=1}')
    runs = [
        train("imdb", "imdb"),
        train("imdb", "imdb_all", *everything),
        train("imdb_linear", "imdb_linear_all", *everything),
        train("imdb_plain", "imdb_plain"),
    ]
    return [*runs, *(evaluate(stage.name) for stage in runs)]


def enwik8() -> list[Stage]:
    """Transformer-XL of twelve layers on bytes, evaluated with a long memory."""
    long = ("--memory", "2100", "--segment", "128", "--clamp", "820")
    return [train("enwik8_xl", "enwik8_xl"), evaluate("enwik8_xl", *long)]


RECIPES: dict[str, Callable[[], list[Stage]]] = {
    "translator": translator,
    "multi30k_de": lambda: multi30k("de"),
    "multi30k_fr": lambda: multi30k("fr"),
    "multi30k_cs": czech,
    "multi30k_parallel": parallel,
    "imdb": imdb,
    "enwik8": enwik8,
}


class Sitting:
    """Runs stages until all are done or the time is up."""

    def __init__(self, stages: Sequence[Stage], settings: Sequence[str], logs: Path) -> None:
        self._stages = {stage.name: stage for stage in stages}
        self._settings = settings
        self._logs = logs
        self._running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
        self.outcome: dict[str, str] = {}

    def run(self, *, side_by_side: int, seconds: float) -> bool:
        """Run what can be run; returns whether everything is done."""
        end = time.monotonic() + seconds
        while self._ready() or self._running:
            if time.monotonic() > end:
                self._stop()
                break
            for name in self._ready()[: side_by_side - len(self._running)]:
                self._start(self._stages[name])
            time.sleep(0.2)
            self._collect()
        return all(stage.done.exists() for stage in self._stages.values())

    def _ready(self) -> list[str]:
        return [
            name
            for name, stage in self._stages.items()
            if not stage.done.exists()
            and name not in self._running
            and name not in self.outcome
            and all(self._stages[need].done.exists() and need not in self._running for need in stage.needs)
        ]

    def _start(self, stage: Stage) -> None:
        command = [sys.executable, "-m", "heedful", *stage.command]
        if stage.command[0] == "train":
            command += self._settings
            command += ["--resume"] if (Path("runs") / stage.name / "config.toml").exists() else []
        self._logs.mkdir(parents=True, exist_ok=True)
        stage.done.parent.parent.mkdir(parents=True, exist_ok=True)
        with (self._logs / f"{stage.name}.log").open("ab") as log:
            output = log if stage.output is None else _part_of(stage.output).open("wb")
            self._running[stage.name] = subprocess.Popen(command, stdout=output, stderr=log), time.monotonic()
        print(f"begin  {stage.name}", flush=True)

    def _collect(self) -> None:
        """Take note of what has ended; a result gets its name only when it is whole."""
        for name, (process, started) in list(self._running.items()):
            if process.poll() is None:
                continue
            del self._running[name]
            output = self._stages[name].output
            if process.returncode == 0 and output is not None:
                _part_of(output).rename(output)
            state = {0: "done", 143: "interrupted", -15: "interrupted"}.get(process.returncode, "failed")
            if state != "done":
                self.outcome[name] = state
            print(f"{state:<6} {name}  {time.monotonic() - started:.0f} s", flush=True)

    def _stop(self) -> None:
        for process, _ in self._running.values():
            process.terminate()
        for process, _ in self._running.values():
            process.wait()
        self._collect()


def _part_of(output: Path) -> Path:
    output.parent.mkdir(parents=True, exist_ok=True)
    return output.with_name(f"{output.name}.part")


def main() -> None:
    """Run the recipes that are named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="+", metavar="RECIPE|KEY=VALUE", help=", ".join(RECIPES))
    parser.add_argument("--minutes", type=float, default=24 * 60)
    parser.add_argument("--side-by-side", type=int, default=4)
    arguments = parser.parse_intermixed_args()
    settings = [word for word in arguments.words if "=" in word]
    names = [word for word in arguments.words if "=" not in word]
    if unknown := set(names) - set(RECIPES):
        parser.error(f"there is no recipe {', '.join(sorted(unknown))}; there are {', '.join(RECIPES)}")
    stages = [stage for name in names for stage in RECIPES[name]()]
    sitting = Sitting(stages, settings, Path("runs/logs"))
    done = sitting.run(side_by_side=arguments.side_by_side, seconds=60 * arguments.minutes)
    print("everything is done" if done else "not done yet; the same command goes on")
    sys.exit(0 if done else 1 if "failed" in sitting.outcome.values() else 3)


if __name__ == "__main__":
    main()
