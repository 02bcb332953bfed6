"""Training on a GPU: our step and Hugging Face's Marian compiled, the same shapes in the same run.

    python benchmarks/train_gpu.py [--model base|big ...] [--steps N] [--json FILE]

Both train a model of the paper's shape in bf16 on batches of 1,024 pairs of 32 + 32 tokens from 32,000, padding mask
included, with dropout, fused AdamW, and everything a step of ours does in a real run: batches come from the host, the
loss is smoothed, the gradient's norm is taken, a step that is not finite would be skipped. The peer gets the plainest
loop around its compiled model. Beside tokens a second stands the share of what this GPU reaches in one large product.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import MarianConfig, MarianMTModel

from heedful.config.models import TransformerConfig
from heedful.config.presets import transformer_base, transformer_big
from heedful.config.training import NoRegularizer, TrainingConfig
from heedful.data.batch import Batch, collate
from heedful.models.build import build_model
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.training.compilation import compile_layers
from heedful.training.loop import start_state
from heedful.training.losses.sequence import SequenceLoss
from heedful.training.recorded_step import StepRecorder
from heedful.training.step import StepSettings
from table import Row, compare, report

ROWS, LENGTH, VOCAB, PAD, BOS = 1024, 32, 32_000, 0, 1
OURS = "Heedful compiled"
PRESETS = {"base": transformer_base, "big": transformer_big}

Step = Callable[[Batch], None]


def draw_batches(count: int) -> list[Batch]:
    """Draw random pairs; every row is full, so that no padding is counted as work."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(4, VOCAB, (count, 2, ROWS, LENGTH), generator=generator).numpy()
    return [collate(list(pair[0]), list(pair[1]), bos_id=BOS, pad_id=PAD).pin_memory() for pair in tokens]


def heedful_step(config: TransformerConfig, *, compiled: bool) -> Step:
    """The step of `heedful train` with `training.precision=bf16` and `training.compile`."""
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=PAD).cuda().train()
    if compiled:
        compile_layers(model, (EncoderLayer, DecoderLayer))
    loss = SequenceLoss(model, label_smoothing=0.1, regularizer=NoRegularizer())
    state = start_state(model, TrainingConfig())
    recorder = StepRecorder(state, loss, StepSettings(bf16=True, report=print))

    def step(batch: Batch) -> None:
        recorder.step([batch], learning_rate=1e-4)

    return step


def hugging_face_step(config: TransformerConfig) -> Step:
    """A plain loop around the compiled `MarianMTModel`."""
    marian = MarianConfig(
        vocab_size=VOCAB,
        d_model=config.dim,
        encoder_layers=config.num_encoder_layers,
        decoder_layers=config.num_decoder_layers,
        encoder_attention_heads=config.num_heads,
        decoder_attention_heads=config.num_heads,
        encoder_ffn_dim=config.hidden_dim,
        decoder_ffn_dim=config.hidden_dim,
        activation_function="relu",
        dropout=config.dropout,
        scale_embedding=True,
        pad_token_id=PAD,
        decoder_start_token_id=BOS,
        use_cache=False,
    )
    model = MarianMTModel(marian).cuda().train()
    run = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step(batch: Batch) -> None:
        here = batch.to(torch.device("cuda"), non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = run(
                input_ids=here.source_ids,
                attention_mask=here.source_mask.long(),
                decoder_input_ids=here.target_input_ids,
                labels=here.target_output_ids,
            ).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def tokens_per_second(step: Step, batches: list[Batch], steps: int) -> float:
    """Time `steps` steps after ten that compile and warm up."""
    for index in range(10):
        step(batches[index % len(batches)])
    torch.cuda.synchronize()
    began = time.perf_counter()
    for index in range(steps):
        step(batches[index % len(batches)])
    torch.cuda.synchronize()
    return steps * ROWS * LENGTH / (time.perf_counter() - began)


def flops_per_token(config: TransformerConfig) -> float:
    """Count the operations of the products, forward and backward, for one target token and one source token."""
    dim, hidden = config.dim, config.hidden_dim
    encoder = config.num_encoder_layers * (4 * dim**2 + 2 * dim * hidden + 2 * LENGTH * dim)
    decoder = config.num_decoder_layers * (8 * dim**2 + 2 * dim * hidden + 3 * LENGTH * dim)
    return 6.0 * (encoder + decoder + VOCAB * dim)


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


def main() -> None:
    """Time every model in turn, one engine after the other, each alone on the GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=PRESETS, action="append")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("This benchmark needs a CUDA device, and there is none.")
    torch.set_float32_matmul_precision("high")
    peak = measure_peak()
    batches = draw_batches(4)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {peak / 1e12:.0f} TFLOP/s in one bf16 product")
    rows: list[Row] = []
    for name in options.model or PRESETS:
        config = PRESETS[name]()
        makers = {
            "Hugging Face Marian compiled": lambda config=config: hugging_face_step(config),
            "Heedful eager": lambda config=config: heedful_step(config, compiled=False),
            OURS: lambda config=config: heedful_step(config, compiled=True),
        }
        rates = {}
        for engine, make in makers.items():
            torch.compiler.reset()
            torch.cuda.empty_cache()
            rates[engine] = tokens_per_second(make(), batches, options.steps)
            share = rates[engine] * flops_per_token(config) / peak
            memory = torch.cuda.max_memory_allocated() / 2**30
            torch.cuda.reset_peak_memory_stats()
            print(f"{name}: {engine}: {rates[engine]:,.0f} target tokens/s, {share:.0%} of the peak, {memory:.1f} GiB")
        rows += compare(name, rates, OURS)
    report(rows, "target tokens/s", options.json)


if __name__ == "__main__":
    main()
