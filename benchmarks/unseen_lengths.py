"""Lengths never seen: models trained on the short half of Multi30k, scored on sentences of every length.

    python -m benchmarks.unseen_lengths --out runs/unseen_lengths [--processes N] [--seeds 1,2] [SECTION.KEY=VALUE ...]

The Transformer with sinusoidal, learned and no positions, a recurrent and a convolutional network, all with the recipe
of `benchmarks/families.py`; no pair with more than `LONGEST` tokens on either side is trained on. The report is that of
`heedful study length`: OUT/report.html.
"""

import argparse
from pathlib import Path

from benchmarks.families import CONFIGS, RECIPE, SMALL, TINY, WIDE, say, schedule, sharing_tokenizer

from heedful.comparisons.trials import run_trials, trials_of
from heedful.config.load import AnyRun, load_config
from heedful.reports.rendering import to_lines, write_report
from heedful.studies.length import length_report

LONGEST = 14
EDGES = (10, 12, 15, 17, 20, 24)
CANDIDATES: dict[str, tuple[str, float, tuple[str, ...]]] = {
    "sinusoidal": ("multi30k_ende.toml", 4e-3, (*TINY, "model.dropout=0.3")),
    "learned": ("multi30k_ende.toml", 4e-3, (*TINY, "model.dropout=0.3", 'model.positions={kind = "learned"}')),
    "no positions": ("multi30k_ende.toml", 4e-3, (*TINY, "model.dropout=0.3", 'model.positions={kind = "none"}')),
    "recurrent": ("multi30k_gru.toml", 1.5e-3, (WIDE, "model.attention=additive", "model.dropout=0.4")),
    "one vector": ("multi30k_gru.toml", 1.5e-3, (WIDE, "model.attention=none", "model.dropout=0.4")),
    "convolutional": ("multi30k_conv.toml", 2e-3, (SMALL, "model.dropout=0.3")),
}
"""Config, peak of the learning rate and shape of each."""


def configs_of(steps: int, longest: int | None, settings: list[str]) -> dict[str, AnyRun]:
    """Return what is trained, by label; all pairs are trained on when `longest` is None."""
    filters = [] if longest is None else [f"data.filters.max_tokens={longest}"]
    return {
        label: load_config(CONFIGS / config, [*RECIPE, *schedule(peak, steps), *shape, *filters, *settings])
        for label, (config, peak, shape) in CANDIDATES.items()
    }


def main() -> None:
    """Train, score, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/unseen_lengths"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--device")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("settings", nargs="*")
    options = parser.parse_args()
    whole = sharing_tokenizer(configs_of(options.steps, None, options.settings), options.out)
    taken = f"tokenizer.take_from={next(iter(whole.values())).tokenizer.take_from}"
    configs = configs_of(options.steps, LONGEST, [*options.settings, taken])
    trials = sorted(trials_of(configs, [int(seed) for seed in options.seeds.split(",")]), key=lambda it: it.seed)
    outcomes = run_trials(
        trials, options.out, processes=options.processes, device=options.device, minutes=options.minutes, say=say
    )
    report = length_report(outcomes, configs, EDGES)
    write_report(options.out, report)
    print("\n".join(to_lines(report)))


if __name__ == "__main__":
    main()
