"""A corpus and a config that train in seconds, the run that comes of them, and a lock for who trains it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heedful.demo.corpus import make_corpus

CONFIG = """
name = "small"
runs_folder = "runs"

[data]
source_language = "en"
target_language = "de"
train = [{ source = "train.en", target = "train.de" }]
validation = [{ source = "validation.en", target = "validation.de" }]
test = { unseen = { source = "test.en", target = "test.de" } }

[tokenizer]
vocab_size = 400

[model]
dim = 64
num_heads = 4
hidden_dim = 128
num_encoder_layers = 1
num_decoder_layers = 1
dropout = 0.0

[training]
max_steps = 240
batch_tokens = 2048
schedule = { kind = "cosine", peak = 6e-3, warmup_steps = 30 }
checkpoint = { every_steps = 120, keep_last = 2 }
average = { count = 1 }
log_every = 20

[validation]
every_steps = 120
max_sentences = 20
"""


@dataclass(frozen=True)
class SmallRun:
    """A folder with a corpus, a config and a finished run."""

    root: Path
    config: Path
    run: Path
    stderr: str


def write_corpus(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    corpus = make_corpus(num_train=3000, num_validation=40, num_test=60)
    parts = {"train": corpus.train, "validation": corpus.validation, "test": corpus.test}
    for name, pairs in parts.items():
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in pairs)
            (root / f"{name}.{language}").write_bytes(text.encode())
    (root / "small.toml").write_text(CONFIG)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
