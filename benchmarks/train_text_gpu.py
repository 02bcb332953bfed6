"""Training a Transformer-XL on a GPU: bytes a second, and the share of what this GPU reaches in one large product.

    python benchmarks/train_text_gpu.py [--streams 64] [--segment 512] [--memory 512] [--steps 40] [--json FILE]
    python benchmarks/train_text_gpu.py --large --streams 32 --segment 768 --memory 768

A model of the paper's shape (12 layers of width 512; the large one has 24 of width 1,024) in bf16 on random bytes, with
everything a step of `heedful train` does. Its attention runs in nn/kernels/relative_attention.py and, for comparison
(unless `--alone`), in PyTorch's own with the shifted scores as a bias. Counted are the products of the layers,
projections of the memory included, and of the attention what a query may see; the embedding, the softmax and all that
is no product count for nothing.
"""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from heedful.config.language_modeling import TransformerXLConfig
from heedful.config.training import TrainingConfig
from heedful.data.text_stream import TextStream
from heedful.models.build import build_language_model
from heedful.models.transformer_xl import RelativeLayer
from heedful.nn import relative_attention
from heedful.training.compilation import compile_layers
from heedful.training.loop import start_state
from heedful.training.losses.segment import SegmentLoss
from heedful.training.recorded_step import StepRecorder
from heedful.training.step import StepSettings
from table import compare, report

if TYPE_CHECKING:
    from heedful.nn.kernels.relative_attention import Tile

VOCAB = 256
OURS = "Heedful compiled"
LARGE = TransformerXLConfig(num_layers=24, dim=1024, num_heads=8, hidden_dim=3072)


def bytes_per_second(
    config: TransformerXLConfig, streams: int, segment: int, memory_len: int, steps: int, compiled: bool
) -> float:
    """Time `steps` steps after ten that compile, record and warm up."""
    model = build_language_model(config, vocab_size=VOCAB).cuda().train()
    if compiled:
        compile_layers(model, (RelativeLayer,))
    memory = model.empty_memory(streams, memory_len, dtype=torch.bfloat16)
    loss = SegmentLoss(model, memory)
    state = start_state(model, TrainingConfig(), loss.carried)
    recorder = StepRecorder(state, loss, StepSettings(clip_norm=0.25, bf16=True, report=print))
    ids = np.random.default_rng(0).integers(0, VOCAB, streams * segment * 60)
    batches = TextStream(ids, num_streams=streams, segment_len=segment, seed=0).batches_from(0, pin_memory=True)
    for _ in range(10):
        recorder.step([next(batches)], learning_rate=1e-4)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(steps):
        recorder.step([next(batches)], learning_rate=1e-4)
    torch.cuda.synchronize()
    return steps * streams * segment / (time.perf_counter() - began)


def flops_per_byte(config: TransformerXLConfig, segment: int, memory_len: int) -> float:
    """Count the operations of the products, forward and backward, for one byte."""
    dim, hidden = config.dim, config.hidden_dim
    visible = memory_len + (segment + 1) / 2  # keys of a query, on average
    weights = 4 * dim**2 + 2 * dim * hidden + 2 * dim**2 * memory_len / segment
    attention = 3 * visible * dim  # content, distances, values
    return 6.0 * (config.num_layers * (weights + attention) + VOCAB * dim)


def measure_peak() -> float:
    """Return the operations a second of a bf16 product of 8,192 squared."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        a @ b
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(30):
        a @ b
    torch.cuda.synchronize()
    return 30 * 2 * 8192**3 / (time.perf_counter() - began)


def tile(written: str) -> "Tile":
    """Read 128,64,8,3."""
    from heedful.nn.kernels.relative_attention import Tile

    return Tile(*map(int, written.split(",")))


def main() -> None:
    """Time each way in turn, alone on the GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--segment", type=int, default=512)
    parser.add_argument("--memory", type=int, default=512)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--alone", action="store_true", help="time only the fastest way")
    parser.add_argument("--forward", type=tile, help="QUERIES,KEYS,WARPS,STAGES of the kernel, to try others")
    parser.add_argument("--backward-queries", type=tile)
    parser.add_argument("--backward-keys", type=tile)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("This benchmark needs a CUDA device, and there is none.")
    from heedful.nn.kernels import relative_attention as relative_kernel

    relative_kernel.FORWARD = options.forward or relative_kernel.FORWARD
    relative_kernel.BACKWARD_QUERIES = options.backward_queries or relative_kernel.BACKWARD_QUERIES
    relative_kernel.BACKWARD_KEYS = options.backward_keys or relative_kernel.BACKWARD_KEYS
    torch.set_float32_matmul_precision("high")
    config, peak = LARGE if options.large else TransformerXLConfig(), measure_peak()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {peak / 1e12:.0f} TFLOP/s in one bf16 product")
    has_kernel = relative_attention._has_kernel
    ways = {"scores as a bias, eager": (False, False), "Heedful eager": (True, False), OURS: (True, True)}
    rates = {}
    for name, (kernel, compiled) in ways.items():
        if options.alone and name != OURS:
            continue
        relative_attention._has_kernel = has_kernel if kernel else lambda *_: False
        torch.compiler.reset()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        rates[name] = bytes_per_second(
            config, options.streams, options.segment, options.memory, options.steps, compiled
        )
        share = rates[name] * flops_per_byte(config, options.segment, options.memory) / peak
        memory = torch.cuda.max_memory_allocated() / 2**30
        print(f"{name}: {rates[name]:,.0f} bytes/s, {share:.0%} of the peak, {memory:.1f} GiB", flush=True)
    report(compare(f"{options.streams} x {options.segment}", rates, OURS), "bytes/s", options.json)


if __name__ == "__main__":
    main()
