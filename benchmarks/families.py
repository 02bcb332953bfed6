"""The families on Multi30k: what came before the Transformer and the Transformer, tuned alike and compared.

    python benchmarks/families.py --out runs/families [--processes N] [--seeds 1,2,3] [SECTION.KEY=VALUE ...]

Every family gets the same number of trials on the validation set, over its width, its depth or cell, its learning rate
and its dropout; the best of each is then trained with every seed and compared on the test sets, as `heedful compare`
does. Data, tokenizer, batches, steps and schedule are the same for all. What is done is not done again, and what was
stopped goes on: the same command. With `--tuning-minutes M` no trial begins after so long, and only as many count for
each family as all have finished. Settings at the end go to every training. The report is OUT/compared/report.html, what
was tried OUT/tried.json, the best config of each family OUT/tuned/FAMILY.toml.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from heedful.comparisons.candidates import Candidate, Field, read_field, with_shared_tokenizer
from heedful.comparisons.comparison import Wanted, compare
from heedful.comparisons.reporting import report_of, summary_of
from heedful.comparisons.trials import NOT_BEGUN, Outcome, Trial, run_trials
from heedful.config.load import AnyRun, dump_toml, load_config
from heedful.files import write_atomic
from heedful.reports.rendering import to_lines, write_report

CONFIGS = Path(__file__).parents[1] / "configs"
RECIPE = (
    "training.precision=bf16",
    "training.batch_tokens=16384",
    "training.average.count=1",
    "training.log_every=100",
    "validation.every_steps=1200",
)
"""What all families are trained with, beside their configs: half of the updates on twice the tokens, and a learning
rate that ends at nothing, after which there is nothing left to average."""

SMALL, WIDE = "model.dim=256", "model.dim=512"
GRU, LSTM = "model.cell=gru", "model.cell=lstm"
TINY = ("model.dim=128", "model.num_heads=4", "model.hidden_dim=256")
NARROW = (SMALL, "model.num_heads=4", "model.hidden_dim=1024")
DEEP = ("model.num_encoder_layers=8", "model.num_decoder_layers=5")

Variant = tuple[float, float, tuple[str, ...]]
"""Peak of the learning rate, dropout, shape."""

_RECURRENT: tuple[Variant, ...] = (
    (2e-3, 0.3, (SMALL, LSTM)),
    (1.5e-3, 0.4, (WIDE, GRU)),
    (1.5e-3, 0.5, (WIDE, LSTM)),
    (1.5e-3, 0.5, (WIDE, GRU)),
    (1.5e-3, 0.4, (WIDE, LSTM)),
    (2e-3, 0.3, (SMALL, GRU)),
)
FAMILIES: dict[str, tuple[str, tuple[str, ...], tuple[Variant, ...]]] = {
    "transformer": (
        "multi30k_ende.toml",
        (),
        (
            (4e-3, 0.2, TINY),
            (2e-3, 0.3, NARROW),
            (2e-3, 0.4, NARROW),
            (4e-3, 0.3, TINY),
            (2e-3, 0.5, NARROW),
            (2e-3, 0.2, NARROW),
        ),
    ),
    "rnn_none": ("multi30k_gru.toml", ("model.attention=none",), _RECURRENT),
    "rnn_additive": ("multi30k_gru.toml", ("model.attention=additive",), _RECURRENT),
    "rnn_dot": ("multi30k_gru.toml", ("model.attention=dot",), _RECURRENT),
    "rnn_general": ("multi30k_gru.toml", ("model.attention=general",), _RECURRENT),
    "convolutional": (
        "multi30k_conv.toml",
        (),
        (
            (2e-3, 0.3, (SMALL,)),
            (1e-3, 0.4, (WIDE,)),
            (1.5e-3, 0.3, (SMALL, *DEEP)),
            (2e-3, 0.2, (SMALL,)),
            (1e-3, 0.5, (WIDE,)),
            (1e-3, 0.3, (WIDE,)),
        ),
    ),
}
"""The config of each family, what makes it that family, and what is tried; as many variants for each."""


def schedule(peak: float, steps: int) -> tuple[str, ...]:
    """Return the settings of so many steps with a learning rate up to `peak`."""
    warmup = max(1, min(400, steps // 4))
    return (
        f"training.max_steps={steps}",
        f'training.schedule={{kind = "cosine", peak = {peak}, warmup_steps = {warmup}}}',
        f"training.checkpoint.every_steps={steps}",
    )


def variants(name: str, steps: int, settings: Sequence[str] = ()) -> list[AnyRun]:
    """Return all that is tried of a family."""
    config, own, tried = FAMILIES[name]
    return [
        load_config(
            CONFIGS / config,
            [*own, *RECIPE, *schedule(peak, steps), *shape, f"model.dropout={dropout}", *settings],
        )
        for peak, dropout, shape in tried
    ]


def on_validation(run: AnyRun) -> AnyRun:
    """Return a run that names no test set, and is therefore judged on its validation set."""
    return run.model_copy(update={"data": run.data.model_copy(update={"test": {}})})


def sharing_tokenizer(runs: Mapping[str, AnyRun], folder: Path) -> dict[str, AnyRun]:
    """Return the runs with one tokenizer, which is learned once."""
    entered = Field([Candidate(label, run) for label, run in runs.items()], [], [])
    return {it.label: it.config for it in with_shared_tokenizer(entered, folder, say)}


def equally_many(outcomes: Mapping[str, Outcome], labels: Mapping[str, Sequence[str]]) -> dict[str, list[Outcome]]:
    """Return the trials that count, by family: of each the first that were tried, as many as of any other."""
    tried = {
        name: [outcomes[label] for label in its if outcomes[label].failure != NOT_BEGUN] for name, its in labels.items()
    }
    count = min(map(len, tried.values()))
    if not count:
        raise SystemExit("No variant has been tried of some family. Give it more time.")
    return {name: its[:count] for name, its in tried.items()}


def best_of(outcomes: Sequence[Outcome]) -> str:
    """Return the label of the trial with the highest score on its set."""
    sound = [it for it in outcomes if it.failure is None]
    if not sound:
        raise SystemExit("\n".join(f"{it.label}: {it.failure}" for it in outcomes))
    return max(sound, key=lambda it: it.scores[0].metrics[0].value).label


def tune(out: Path, options: argparse.Namespace) -> list[Path]:
    """Try all variants of all families, and write the best config of each for as many steps as are wanted."""
    tried = {
        f"{name} {number}": run
        for name in FAMILIES
        for number, run in enumerate(variants(name, options.trial_steps, options.settings), start=1)
    }
    tried = sharing_tokenizer(tried, out / "tuned")
    in_turns = sorted(tried, key=lambda label: int(label.split()[1]))
    trials = [Trial(label, on_validation(tried[label])) for label in in_turns]
    found = run_trials(
        trials,
        out / "tuned",
        processes=options.processes,
        minutes=options.tuning_minutes,
        device=options.device,
        say=say,
    )
    outcomes = {it.label: it for it in found}
    labels = {name: [label for label in tried if label.startswith(f"{name} ")] for name in FAMILIES}
    counted = equally_many(outcomes, labels)
    told: dict[str, object] = {"trials_for_each": len(next(iter(counted.values())))}
    for label, it in outcomes.items():
        name, number = label.split()
        peak, dropout, shape = FAMILIES[name][2][int(number) - 1]
        score = it.failure or round(it.scores[0].metrics[0].value, 3)
        told[label] = {"validation": score, "peak": peak, "dropout": dropout, "shape": shape}
    write_atomic(out / "tried.json", json.dumps(told, indent=1).encode() + b"\n")
    chosen = []
    for name in FAMILIES:
        best = best_of(counted[name])
        say(f"{best} of {len(counted[name])}: {told[best]}.")
        place = int(best.split()[1]) - 1
        run = variants(name, options.steps, options.settings)[place]
        path = out / "tuned" / f"{name}.toml"
        write_atomic(path, dump_toml(run.model_copy(update={"name": name})).encode())
        chosen.append(path)
    return chosen


def say(sentence: str) -> None:
    """Tell what happens."""
    print(sentence, file=sys.stderr, flush=True)


def main() -> None:
    """Tune, then compare; a first report without speeds is there when the scores are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/families"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--device")
    parser.add_argument("--trial-steps", type=int, default=1200)
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--tuning-minutes", type=float)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--tune-only", action="store_true")
    parser.add_argument("settings", nargs="*")
    options = parser.parse_args()
    chosen = tune(options.out, options)
    if options.tune_only:
        return
    field = read_field(chosen)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for measure in (False,) if options.no_speed else (False, True):
        wanted = Wanted(
            seeds, processes=options.processes, device=options.device, measure=measure, minutes=options.minutes
        )
        report = report_of(compare(field, options.out / "compared", wanted, say=say))
        write_report(options.out / "compared", report)
    print("\n".join(to_lines(summary_of(report))))


if __name__ == "__main__":
    main()
