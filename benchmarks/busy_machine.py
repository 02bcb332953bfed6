"""How much slower work becomes beside other programs, with and without what Heedful does about it.

    python benchmarks/busy_machine.py [--rounds N] [--loops 0 1 4] [--json FILE]

Three kinds of work: a training step of a small Transformer on all threads, `heedful translate` of 300 lines, and
`heedful explain` of a sentence. Each is timed on the machine as it is and beside one and four loops that never rest
(`while True: pass`), with threads that spin briefly at barriers (heedful.waiting) and, in the same round, with those of
OpenMP's own setting. The training step is timed inside its process and the commands from outside; of several rounds the
shortest counts, since others on the machine can only add to it. Ratios are to the idle time without the remedy. Leave
the machine to it: programs that are not ours make every figure worse, and the last column says how many there were.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LOOP = "while True: pass"
LINES = b"The old man walked slowly along the river and looked at the boats.\n" * 300
SENTENCE = "The old man walked slowly along the river and looked at the boats."
OPENMP_DEFAULT = "300000"  # what GNU's OpenMP takes when nothing is said
VOCAB, ROWS, LENGTH = 10_000, 32, 24


def time_training_steps(count: int) -> float:
    """Return the median seconds of a training step, after two that warm up."""
    from heedful.waiting import spin_briefly

    spin_briefly()
    import torch

    from heedful.config.models import TransformerConfig
    from heedful.config.training import NoRegularizer, TrainingConfig
    from heedful.data.batch import collate
    from heedful.models.build import build_model
    from heedful.training.loop import start_state
    from heedful.training.losses.sequence import SequenceLoss
    from heedful.training.step import StepSettings, train_step

    shape = TransformerConfig(dim=256, num_heads=4, hidden_dim=1024, num_encoder_layers=4, num_decoder_layers=2)
    model = build_model(shape, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=0).train()
    loss = SequenceLoss(model, label_smoothing=0.1, regularizer=NoRegularizer())
    state = start_state(model, TrainingConfig())
    source, target = torch.randint(4, VOCAB, (2, ROWS, LENGTH), generator=torch.Generator().manual_seed(0)).numpy()
    batch = collate(list(source), list(target), bos_id=1, pad_id=0)
    seconds = []
    for _ in range(count + 2):
        began = time.perf_counter()
        train_step(state, loss, [batch], StepSettings(), learning_rate=1e-4)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[2:])


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep the machine busy with so many endless loops."""
    running = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


def seconds_of(work: str, environment: dict[str, str], workplace: Path) -> float:
    """Do one kind of work once in a process of its own."""
    if work == "training step":
        command = [sys.executable, __file__, "--train-only"]
        return float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    out = workplace / "explained.html"
    out.unlink(missing_ok=True)
    arguments = (
        ["translate", "--to", "de"] if work == "translate" else ["explain", SENTENCE, "--to", "de", "--out", out]
    )
    began = time.perf_counter()
    command = [sys.executable, "-m", "heedful", *map(str, arguments)]
    subprocess.run(command, env=environment, input=LINES, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Time everything in turn and print a line for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loops", type=int, nargs="+", default=[0, 1, 4])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--train-only", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train_only:
        print(time_training_steps(9))
        return
    plain = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    ways = {"with": plain, "without": {**plain, "GOMP_SPINCOUNT": OPENMP_DEFAULT}}
    rows = []
    with tempfile.TemporaryDirectory() as workplace:
        for work in ("training step", "translate", "explain"):
            idle = 0.0
            for loops in given.loops:
                found: dict[str, list[float]] = {way: [] for way in ways}
                others = os.getloadavg()[0]
                with busy(loops):
                    for _ in range(given.rounds):
                        for way, environment in ways.items():
                            found[way].append(seconds_of(work, environment, Path(workplace)))
                best = {way: min(seconds) for way, seconds in found.items()}
                idle = idle or best["without"]
                told = "   ".join(f"{way} {best[way]:7.3f} s ({best[way] / idle:5.2f}x)" for way in ways)
                print(f"{work:14} beside {loops} loops: {told}   load before: {others:.1f}", flush=True)
                rows.append({"work": work, "loops": loops, "seconds": found, "load_before": others})
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
