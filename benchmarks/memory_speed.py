"""Reading with a memory against reading a full window again for every symbol: the same Transformer-XL, the same text.

    python benchmarks/memory_speed.py [--attention-len 800 3800] [--model DIR | --small] [--device D] [--json FILE]

Dai et al. (2019), table 9, say 363 times faster at attention length 800 and 1,874 times at 3,800. What is compared:
each symbol predicted from the `attention-len` positions before it, by computing all of them anew (what a model with
absolute positions has to do), and by reading on in segments beside the memory of as many positions, as evaluation does.
A third row reads on symbol by symbol, as generation does. Without --model the weights are random: their values do not
matter to time.
"""

import argparse
import time
from pathlib import Path

import torch

from heedful.config.language_modeling import TransformerXLConfig
from heedful.models.build import build_language_model, count_parameters
from heedful.models.transformer_xl import TransformerXL
from heedful.tasks.language_modeling.model import load_text_model
from table import Row, report

SMALL = TransformerXLConfig(dim=128, num_heads=4, hidden_dim=512, num_layers=4, dropout=0.0)
PAPER = TransformerXLConfig(dropout=0.0)


def synchronize(device: torch.device) -> None:
    """Wait for what has been launched."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def recomputing_rate(model: TransformerXL, ids: torch.Tensor, attention_len: int, count: int) -> float:
    """Symbols a second when the whole window is computed for each of them."""

    def predict(end: int) -> None:
        hidden, _ = model(ids[:, end - attention_len : end], model.empty_memory(1, 0))
        model.project(hidden[:, -1:])

    predict(attention_len)
    synchronize(ids.device)
    started = time.perf_counter()
    for number in range(count):
        predict(attention_len + number)
    synchronize(ids.device)
    return count / (time.perf_counter() - started)


def reading_rate(model: TransformerXL, ids: torch.Tensor, attention_len: int, segment_len: int) -> float:
    """Symbols a second when reading on beside a full memory, in segments."""
    reader = model.reader(1, memory_len=attention_len, segment_len=max(segment_len, 256))
    for start in range(0, attention_len, 256):  # fill the memory first
        reader.read(ids[:, start : start + 256])
    parts = ids[:, attention_len:].split(segment_len, dim=1)
    reader.read(parts[0])
    synchronize(ids.device)
    started, num_read = time.perf_counter(), 0
    for part in parts[1:]:
        reader.read(part)
        num_read += part.size(1)
    synchronize(ids.device)
    return num_read / (time.perf_counter() - started)


@torch.no_grad()
def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention-len", type=int, nargs="+", default=[800, 3800])
    parser.add_argument("--segment-len", type=int, default=128, help="symbols read at once beside the memory")
    parser.add_argument("--count", type=int, default=20, help="symbols for which the window is computed")
    parser.add_argument("--model", type=Path, help="a model folder; by default random weights of the paper's shape")
    parser.add_argument("--small", action="store_true", help="4 layers of width 128 instead of 12 of 512")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = torch.device(options.device)
    if options.model:
        loaded = load_text_model(options.model, device=options.device).model
        assert isinstance(loaded, TransformerXL), "the comparison is about Transformer-XL"
        model = loaded
    else:
        built = build_language_model(SMALL if options.small else PAPER, vocab_size=256)
        assert isinstance(built, TransformerXL)
        model = built.to(device).eval()
    print(f"{count_parameters(model):,} parameters on {device}, {torch.get_num_threads()} threads")
    rows = []
    for attention_len in options.attention_len:
        ids = torch.randint(256, (1, attention_len + 9 * options.segment_len), device=device)
        again = recomputing_rate(model, ids, attention_len, options.count)
        for name, segment_len in ((f"segments of {options.segment_len}", options.segment_len), ("symbol by symbol", 1)):
            length = attention_len + (9 * segment_len if segment_len > 1 else 100)
            rate = reading_rate(model, ids[:, :length], attention_len, segment_len)
            rows.append(Row("window per symbol", f"{attention_len}, {name}", 60 * rate, 60 * again, rate / again))
    report(rows, "symbols/min", options.json)


if __name__ == "__main__":
    main()
