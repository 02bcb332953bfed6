"""Make a small copy of a run to ship or to show: its journals whole, of its checkpoints the weights in half precision.

    python benchmarks/example_run.py RUN OUT --steps 250 500 1000

What the copy is for: curves, samples, and the checkpoints looked into one after the other. Training cannot go on from
it. Half precision changes a log-probability in the third digit and no translation one would notice.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save

from heedful.errors import UserError
from heedful.files import publish_folder, verify_manifest, write_manifest, write_new
from heedful.tasks.run_folder import CONFIG, TOKENIZER, has_begun
from heedful.training.durability.averaging import average_checkpoints
from heedful.training.durability.checkpoint import WEIGHTS, list_checkpoints

JOURNALS = ("metrics.jsonl", "samples.jsonl")


def make_example(run: Path, out: Path, steps: Sequence[int]) -> None:
    """Copy a run folder to `out`, which must not exist yet, with slimmed checkpoints of these steps."""
    if not has_begun(run):
        raise UserError(f"{run} must be the folder of a run, but has no {CONFIG}.")
    checkpoints = list_checkpoints(run / "checkpoints")
    if missing := sorted(set(steps) - set(checkpoints)):
        raise UserError(f"The run {run} has no checkpoint of step {missing[0]}.")

    def fill(partial: Path) -> None:
        for name in (CONFIG, TOKENIZER, *JOURNALS):
            shutil.copyfile(run / name, partial / name)
        for step in steps:
            folder = partial / "checkpoints" / checkpoints[step].name
            folder.mkdir(parents=True)
            _slim(checkpoints[step], folder)

    publish_folder(out, fill)


def _slim(checkpoint: Path, folder: Path) -> None:
    """Write the weights of a checkpoint in half precision, with a manifest of their own."""
    manifest = verify_manifest(checkpoint)
    weights = {name: tensor.to(torch.float16) for name, tensor in average_checkpoints([checkpoint]).items()}
    write_new(folder / WEIGHTS, save(weights))
    write_manifest(folder, {name: manifest[name] for name in ("step", "tokenizer_sha256") if name in manifest})


def main() -> None:
    """Read the command line and make the copy."""
    parser = argparse.ArgumentParser(description="Make a small copy of a run.")
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, nargs="+", required=True)
    arguments = parser.parse_args()
    make_example(arguments.run, arguments.out, arguments.steps)
    size = sum(path.stat().st_size for path in arguments.out.rglob("*") if path.is_file())
    print(f"{arguments.out}: {len(arguments.steps)} checkpoints, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
