"""What the wrappers for many GPUs cost on one: DDP and FSDP2 beside the plain loop, and a large model's memory.

    python benchmarks/train_group_gpu.py [--toy] [--json FILE]

One process, one rank of a process group. The plain step, the step inside DDP and the step inside FSDP2 train the same
model on the same batches, in turns; where steps are recorded the three are recorded. Then a model of 1.5 billion
parameters trains sharded, its layers recomputed, and its memory stands beside what `training/step_model.py` predicts.
With --toy all is small and a CPU will do.
"""

import argparse
import gc
import json
import os
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from heedful.config.models import TransformerConfig
from heedful.config.training import NoRegularizer, Replicated, Sharded, TrainingConfig
from heedful.data.batch import Batch, collate
from heedful.models.build import build_model, count_parameters
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.training.compilation import recompute_layers
from heedful.training.distribution.ranks import GroupRanks, Ranks
from heedful.training.distribution.wrapping import make_team
from heedful.training.loop import start_state
from heedful.training.losses.sequence import SequenceLoss
from heedful.training.recorded_step import StepRecorder
from heedful.training.step import StepSettings, train_step
from heedful.training.step_model import H200, StepShape, step_memory, step_time

LAYERS = (EncoderLayer, DecoderLayer)
PAD, BOS = 0, 1


@dataclass(frozen=True)
class Size:
    """A model and its batches."""

    shape: TransformerConfig
    rows: int
    length: int
    vocab: int
    steps: int
    rounds: int = 5


@dataclass
class Variant:
    """One way to do a step."""

    name: str
    step: Callable[[Batch], None]
    seconds: list[float] = field(default_factory=list)


def draw(size: Size, count: int = 4) -> list[Batch]:
    """Draw pairs without padding."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(4, size.vocab, (count, 2, size.rows, size.length), generator=generator)
    batches = [collate(list(pair[0]), list(pair[1]), bos_id=BOS, pad_id=PAD) for pair in tokens.numpy()]
    return [batch.pin_memory() for batch in batches] if torch.cuda.is_available() else batches


def make_step(
    size: Size, ranks: Ranks, distribution: Replicated | Sharded, *, recorded: bool, recompute: bool = False
) -> Callable[[Batch], None]:
    """Build a model, wrapped as asked, and return its step."""
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    model = build_model(
        size.shape,
        source_vocab_size=size.vocab,
        target_vocab_size=size.vocab,
        pad_id=PAD,
        generator=torch.Generator().manual_seed(1),
    )
    loss = SequenceLoss(model.to(device).train(), label_smoothing=0.1, regularizer=NoRegularizer())
    print(f"    {count_parameters(model):,} parameters", flush=True)
    team = make_team(ranks, loss, distribution, LAYERS)
    if recompute:
        recompute_layers(model, LAYERS)
    state = start_state(model, TrainingConfig())
    settings = StepSettings(bf16=device.type == "cuda", seed=1, report=print, team=team)
    team.settle(draw(size, 1)[0].to(device))
    state.zero_grad()
    if recorded and device.type == "cuda":
        recorder = StepRecorder(state, team.wrapped(loss), settings)
        return lambda batch: recorder.step([batch], learning_rate=1e-4)
    return lambda batch: train_step(state, team.wrapped(loss), [batch], settings, learning_rate=1e-4)


def synchronize() -> None:
    """Wait for the GPU where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def compare(name: str, size: Size, group: Ranks) -> dict[str, object]:
    """Time all variants in turns; what cannot be done is told, not hidden."""
    batches, variants, failures = draw(size), [], {}
    wanted = {
        "plain recorded": (Ranks(), Replicated(), True),
        "DDP recorded": (group, Replicated(), True),
        "FSDP2 recorded": (group, Sharded(kind="sharded"), True),
        "plain": (Ranks(), Replicated(), False),
        "DDP": (group, Replicated(), False),
        "FSDP2": (group, Sharded(kind="sharded"), False),
    }
    for label, (ranks, distribution, recorded) in wanted.items():
        print(f"  {name}: {label}", flush=True)
        try:
            variant = Variant(label, make_step(size, ranks, distribution, recorded=recorded))
            for index in range(6):
                variant.step(batches[index % len(batches)])
            synchronize()
            variants.append(variant)
        except Exception as error:
            traceback.print_exc()
            failures[label] = f"{type(error).__name__}: {str(error)[:300]}"
    for _ in range(size.rounds):
        for variant in variants:
            synchronize()
            began = time.perf_counter()
            for index in range(size.steps):
                variant.step(batches[index % len(batches)])
            synchronize()
            variant.seconds.append((time.perf_counter() - began) / size.steps)
    medians = {variant.name: statistics.median(variant.seconds) for variant in variants}
    base = medians["plain recorded"]
    for label, median in medians.items():
        print(f"  {name:6} {label:16} {median * 1e3:9.3f} ms  {median / base - 1:+7.2%} of plain recorded", flush=True)
    all_seconds = {variant.name: variant.seconds for variant in variants}
    return {"size": name, "medians": medians, "seconds": all_seconds, "failures": failures}


def paper_shape(size: Size, num_parameters: int, *, recompute: bool) -> StepShape:
    """Describe a step to the model on paper."""
    config, tokens = size.shape, size.rows * size.length
    return StepShape(
        num_parameters=num_parameters,
        layer_parameters=num_parameters - size.vocab * config.dim,
        num_layers=config.depth,
        dim=config.dim,
        vocab_size=size.vocab,
        tokens=tokens,
        layer_tokens=tokens * config.depth,
        attended=1.5 * size.length,
        recompute=recompute,
    )


def large(size: Size, group: Ranks) -> dict[str, object]:
    """Train the large model sharded and recomputed; memory and time beside the prediction."""
    is_gpu = torch.cuda.is_available()
    if is_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if is_gpu else 0
    step = make_step(size, group, Sharded(kind="sharded"), recorded=False, recompute=True)
    batches = draw(size, 2)
    step(batches[0])
    synchronize()
    began = time.perf_counter()
    for index in range(size.steps):
        step(batches[index % 2])
    synchronize()
    seconds = (time.perf_counter() - began) / size.steps
    with torch.device("meta"):
        bare = build_model(size.shape, source_vocab_size=size.vocab, target_vocab_size=size.vocab, pad_id=PAD)
    shape = paper_shape(size, count_parameters(bare), recompute=True)
    kept = 3.0 * size.rows * size.shape.num_kept(size.length, size.length)
    found = {
        "parameters": shape.num_parameters,
        "predicted_bytes": step_memory(shape, 1, kept, sharded=True),
        "measured_bytes": (torch.cuda.max_memory_allocated() if is_gpu else 0) - before,
        "reserved_bytes": torch.cuda.max_memory_reserved() if is_gpu else 0,
        "predicted_seconds": step_time(shape, H200, 1, sharded=True).total,
        "measured_seconds": seconds,
    }
    print(json.dumps(found), flush=True)
    return found


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.environ |= {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29517",
    }
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    group = GroupRanks(device)
    narrow = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=2, num_decoder_layers=2)
    tiny = TransformerConfig(dim=128, num_heads=4, hidden_dim=256, num_encoder_layers=4, num_decoder_layers=4)
    wide = TransformerConfig(
        dim=2048, num_heads=16, hidden_dim=8192, num_encoder_layers=12, num_decoder_layers=12, norm="pre"
    )
    sizes = {
        "tiny": Size(tiny, 341, 24, 8000, 60),
        "base": Size(TransformerConfig(), 1024, 32, 32_000, 12),
    }
    big = Size(wide, 128, 64, 40_000, 5)
    if arguments.toy:
        sizes, big = {"toy": Size(narrow, 8, 6, 100, 3, 2)}, Size(narrow, 8, 6, 100, 2)
    results: dict[str, object] = {"torch": torch.__version__}
    try:
        results["large"] = large(big, group)
    except Exception as error:
        traceback.print_exc()
        results["large"] = f"{type(error).__name__}: {str(error)[:300]}"
    _write(arguments.json, results)
    gc.collect()
    for name, size in sizes.items():
        results[name] = compare(name, size, group)
        _write(arguments.json, results)
    group.close()


def _write(path: Path | None, results: dict[str, object]) -> None:
    if path is not None:
        path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
