"""Numbers and things in two languages, of which a seventh has never been seen together, and a run that learns them."""

from pathlib import Path

from tests.support.family_run import TEXT

NUMBERS = [("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"), ("six", "sechs"),
           ("seven", "sieben"), ("eight", "acht"), ("nine", "neun"), ("ten", "zehn"), ("eleven", "elf"),
           ("twelve", "zwölf")]  # fmt: skip
THINGS = [("houses", "häuser"), ("books", "bücher"), ("dogs", "hunde"), ("cats", "katzen"), ("trees", "bäume"),
          ("roads", "straßen"), ("ships", "schiffe"), ("birds", "vögel"), ("stars", "sterne"), ("cups", "tassen"),
          ("doors", "türen"), ("hats", "hüte")]  # fmt: skip
CONFIG = """
name = "ctc"
[data]
source_language = "en"
target_language = "de"
train = [{ source = "train.en", target = "train.de" }]
validation = [{ source = "test.en", target = "test.de" }]
test = { unseen = { source = "test.en", target = "test.de" } }
[tokenizer]
vocab_size = 400
[model]
kind = "ctc"
upsampling = 3
dim = 64
num_heads = 4
hidden_dim = 128
num_encoder_layers = 1
num_decoder_layers = 1
dropout = 0.0
[training]
max_steps = 240
batch_tokens = 384
schedule = { kind = "cosine", peak = 4e-3, warmup_steps = 40 }
regularizer = { kind = "glancing" }
checkpoint = { every_steps = 240, keep_last = 1 }
average = { count = 1 }
[validation]
every_steps = 120
bleu_tokenize = "none"
"""


def write_pairs(root: Path) -> None:
    """Write train.en, train.de, test.en and test.de into a folder."""
    pairs = [(f"{a} {c}", f"{b} {d}") for a, b in NUMBERS for c, d in THINGS]
    unseen = {pair for number, pair in enumerate(pairs) if number % 7 == 4 or pair[0] == TEXT}
    for name, some in (("train", [pair for pair in pairs if pair not in unseen] * 3), ("test", sorted(unseen))):
        for side, lines in zip(("en", "de"), zip(*some, strict=True), strict=True):
            (root / f"{name}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
