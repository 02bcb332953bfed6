"""The demonstration of training: everything from raw text to a translation, in about a minute, without any download.

Writes the corpus of demo_corpus.py to files, trains a small model on it exactly as `heedful train` would, and
translates lines it has never seen. Returns what happened; the command line shows it.
"""

from dataclasses import dataclass
from pathlib import Path

from heedful.config.load import parse_config
from heedful.config.translation import TranslationRun
from heedful.demo.corpus import DemoCorpus, make_corpus
from heedful.files import write_atomic
from heedful.tasks.runs import run_training
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.train import TranslationJob
from heedful.training.display import Display

SETTINGS = """
name = "demo"
runs_folder = "runs"
seed = 1

[data]
source_language = "en"
target_language = "de"
train = [{ source = "runs/demo-corpus/train.en", target = "runs/demo-corpus/train.de" }]
validation = [{ source = "runs/demo-corpus/validation.en", target = "runs/demo-corpus/validation.de" }]
test = { unseen = { source = "runs/demo-corpus/unseen.en", target = "runs/demo-corpus/unseen.de" } }

[tokenizer]
vocab_size = 750

[model]
dim = 64
num_heads = 4
hidden_dim = 128
num_encoder_layers = 2
num_decoder_layers = 2
dropout = 0.0

[training]
max_steps = 800
batch_tokens = 1024
clip_norm = 1.0
schedule = { kind = "cosine", peak = 6e-3, warmup_steps = 100 }
checkpoint = { every_steps = 400, keep_last = 1 }
average = { count = 1 }
log_every = 20

[validation]
every_steps = 200
max_sentences = 100

[decoding]
beam_size = 1
"""
"""The demo's run; configs/demo.toml says the same, for those who want to change it."""

CORPUS = "demo-corpus"


@dataclass(frozen=True)
class DemoPair:
    """A held-out line with what the model made of it."""

    source: str
    translation: str
    reference: str

    @property
    def is_exact(self) -> bool:
        """Whether the translation is exactly what the rules say."""
        return self.translation == self.reference


@dataclass(frozen=True)
class DemoResult:
    """What the demo did."""

    run_folder: Path
    pairs: list[DemoPair]

    @property
    def num_exact(self) -> int:
        """How many held-out lines were translated exactly as the rules have it."""
        return sum(pair.is_exact for pair in self.pairs)


def demo_config(runs_folder: Path, max_steps: int | None = None) -> TranslationRun:
    """Return the demo's run: its folder is the first of `demo`, `demo-2`, `demo-3` ... that does not exist yet."""
    name, number = "demo", 1
    while (runs_folder / name).exists():
        number += 1
        name = f"demo-{number}"
    settings = SETTINGS.replace('"runs', f'"{runs_folder.as_posix()}')
    overrides = [f"name={name}"] + ([] if max_steps is None else [f"training.max_steps={max_steps}"])
    return parse_config(settings, overrides, origin="The demo")


def run_demo(config: TranslationRun, *, display: Display) -> DemoResult:
    """Make the corpus, train, and translate what was held out."""
    corpus = make_corpus()
    _write_corpus(Path(config.runs_folder) / CORPUS, corpus)
    result = run_training(config, TranslationJob.prepare, display=display, device="cpu")
    translations = load_translator(result.model_folder, device="cpu").translate([source for source, _ in corpus.test])
    pairs = [
        DemoPair(source, ours, reference) for (source, reference), ours in zip(corpus.test, translations, strict=True)
    ]
    return DemoResult(result.run_folder, pairs)


def _write_corpus(folder: Path, corpus: DemoCorpus) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("train", corpus.train), ("validation", corpus.validation), ("unseen", corpus.test)):
        for side, language in enumerate(("en", "de")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            write_atomic(folder / f"{name}.{language}", text.encode())
