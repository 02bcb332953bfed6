"""Train the two small networks of the chapters on recurrent networks: digits are read, then written again in order.

Both are one gated recurrent unit that reads and one that writes. The first has nothing but the reader's last state; the
second also looks back at all of its states, by a dot product with a learned matrix between (Luong et al., 2015). Data,
steps and seed are the same for both. Writes their weights, in half precision, and how many unseen sequences of each
length they write exactly, as one JSON file that the page runs by itself:

    python -m benchmarks.digit_networks src/heedful/serving/web/chapters/digits.json
"""

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.insight.wire import Packed, to_json

DIM, LONGEST, START, END, VOCAB = 32, 12, 10, 11, 12
STEPS, ROWS, SEED = 4000, 128, 1


class DigitNetwork(nn.Module):
    """Reads digits and writes them again; with `looks_back`, attention lets it see every state of the reader."""

    def __init__(self, *, looks_back: bool) -> None:
        super().__init__()
        self.looks_back = looks_back
        self.embedding = nn.Embedding(VOCAB, DIM)
        self.reader = nn.GRU(DIM, DIM, batch_first=True)
        self.writer = nn.GRU(DIM, DIM, batch_first=True)
        self.between = nn.Linear(DIM, DIM, bias=False)
        self.output = nn.Linear(2 * DIM, VOCAB)

    def forward(self, digits: Tensor, written: Tensor) -> Tensor:
        """Read digits [batch, source_len] and give logits after each token of written [batch, target_len]."""
        states, last = self.reader(self.embedding(digits))
        asked, _ = self.writer(self.embedding(written), last)
        if self.looks_back:
            weights = (self.between(asked) @ states.transpose(1, 2)).softmax(dim=-1)
            found = weights @ states
        else:
            found = torch.zeros_like(asked)
        logits: Tensor = self.output(torch.cat([asked, found], dim=-1))
        return logits


def draw(length: int, rows: int, generator: torch.Generator) -> Tensor:
    """Draw sequences of digits, [rows, length]."""
    return torch.randint(10, (rows, length), generator=generator)


def shifted(digits: Tensor) -> tuple[Tensor, Tensor]:
    """Return what a network is shown while it writes digits [rows, length], and what it shall write."""
    start, end = (digits.new_full((digits.size(0), 1), symbol) for symbol in (START, END))
    return torch.cat([start, digits], dim=1), torch.cat([digits, end], dim=1)


def train(*, looks_back: bool) -> DigitNetwork:
    """Train one of the two."""
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    model = DigitNetwork(looks_back=looks_back)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=STEPS, pct_start=0.05)
    for _ in range(STEPS):
        length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
        digits = draw(length, ROWS, generator)
        written, wanted = shifted(digits)
        loss = functional.cross_entropy(model(digits, written).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.half().float().eval()


@torch.no_grad()
def exact(model: DigitNetwork, length: int, rows: int = 500) -> float:
    """Return the share of unseen sequences of a length that a network writes exactly, by its own hand."""
    digits = draw(length, rows, torch.Generator().manual_seed(SEED + 1000 + length))
    written = digits.new_full((rows, 1), START)
    for _ in range(length + 1):
        written = torch.cat([written, model(digits, written)[:, -1:].argmax(dim=-1)], dim=1)
    return float((written[:, 1:] == shifted(digits)[1]).all(dim=1).float().mean())


def main() -> None:
    """Train both, measure them and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    found = {}
    for name, looks_back in (("vector", False), ("attention", True)):
        model = train(looks_back=looks_back)
        shares = [exact(model, length) for length in range(1, LONGEST + 1)]
        print(name, [round(share, 3) for share in shares])
        weights = {key: Packed(tensor.numpy(), "f2") for key, tensor in model.state_dict().items()}
        found[name] = {
            "looksBack": looks_back,
            "exact": shares,
            "weights": {key: to_json(packed) for key, packed in weights.items()},
        }
    out.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
