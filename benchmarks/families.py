"""The families on Multi30k: what came before the Transformer and the Transformer, tuned alike and compared.

    python benchmarks/families.py --out runs/families [--processes N] [--seeds 1,2,3] [SECTION.KEY=VALUE ...]

Every family gets the same number of trials on the validation set, over its learning rate and its dropout; the best of
each is then trained with every seed and compared on the test sets, as `heedful compare` does. Data, tokenizer, batches
and steps are the same for all. What is done is not done again, and what was stopped goes on: the same command. Settings
at the end go to every training. The report is OUT/compared/report.html, what was tried OUT/tuned/trials.json.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from heedful.comparisons.candidates import read_field
from heedful.comparisons.comparison import Wanted, compare
from heedful.comparisons.reporting import report_of, summary_of
from heedful.comparisons.trials import Outcome, Trial, run_trials
from heedful.config.load import AnyRun, dump_toml, load_config
from heedful.config.translation import TranslationRun
from heedful.files import write_atomic
from heedful.reports.rendering import to_lines, write_report

CONFIGS = Path(__file__).parents[1] / "configs"
DROPOUTS = (0.2, 0.3, 0.4)
FAMILIES: dict[str, tuple[str, tuple[str, ...], tuple[float, float]]] = {
    "transformer": ("multi30k_ende.toml", (), (3e-3, 5e-3)),
    "rnn_none": ("multi30k_gru.toml", ("model.attention=none",), (1e-3, 2e-3)),
    "rnn_additive": ("multi30k_gru.toml", ("model.attention=additive",), (1e-3, 2e-3)),
    "rnn_dot": ("multi30k_gru.toml", ("model.attention=dot",), (1e-3, 2e-3)),
    "rnn_general": ("multi30k_gru.toml", ("model.attention=general",), (1e-3, 2e-3)),
    "convolutional": ("multi30k_conv.toml", (), (1e-3, 2e-3)),
}
"""The config of each family, what makes it that family, and the two learning rates that are tried."""


def variants(name: str, settings: Sequence[str] = ()) -> dict[str, TranslationRun]:
    """Return all that is tried of a family, by label; as many for each."""
    config, own, peaks = FAMILIES[name]
    return {
        f"{name} peak {peak:g} dropout {dropout:g}": load_config(
            CONFIGS / config, [*own, f"training.schedule.peak={peak}", f"model.dropout={dropout}", *settings]
        )
        for peak in peaks
        for dropout in DROPOUTS
    }


def on_validation(run: TranslationRun) -> AnyRun:
    """Return a run that names no test set, and is therefore judged on its validation set."""
    return run.model_copy(update={"data": run.data.model_copy(update={"test": {}})})


def best_of(outcomes: Sequence[Outcome]) -> str:
    """Return the label of the trial with the highest score on its set."""
    sound = [it for it in outcomes if it.failure is None]
    if not sound:
        raise SystemExit("\n".join(f"{it.label}: {it.failure}" for it in outcomes))
    return max(sound, key=lambda it: it.scores[0].metrics[0].value).label


def tune(out: Path, processes: int, settings: Sequence[str]) -> list[Path]:
    """Try all variants of all families, and write the best config of each."""
    tried = {name: variants(name, settings) for name in FAMILIES}
    trials = [Trial(label, on_validation(run)) for runs in tried.values() for label, run in runs.items()]
    outcomes = {it.label: it for it in run_trials(trials, out / "tuned", processes=processes, say=say)}
    told = {label: it.failure or it.scores[0].metrics[0].value for label, it in outcomes.items()}
    write_atomic(out / "tuned" / "trials.json", json.dumps(told, indent=1).encode() + b"\n")
    chosen = []
    for name, runs in tried.items():
        best = best_of([outcomes[label] for label in runs])
        say(f"{name}: {best}, {told[best]:.2f} on validation.")
        path = out / "tuned" / f"{name}.toml"
        write_atomic(path, dump_toml(runs[best].model_copy(update={"name": name})).encode())
        chosen.append(path)
    return chosen


def say(sentence: str) -> None:
    """Tell what happens."""
    print(sentence, file=sys.stderr, flush=True)


def main() -> None:
    """Tune, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/families"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("settings", nargs="*")
    options = parser.parse_args()
    chosen = tune(options.out, options.processes, options.settings)
    wanted = Wanted([int(seed) for seed in options.seeds.split(",")], processes=options.processes)
    report = report_of(compare(read_field(chosen), options.out / "compared", wanted, say=say))
    write_report(options.out / "compared", report)
    print("\n".join(to_lines(summary_of(report))))


if __name__ == "__main__":
    main()
