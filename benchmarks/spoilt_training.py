"""What a model learns from corpora that were spoilt and cleaned, beside the sound corpus: Multi30k, five ways.

    HEEDFUL_DATA=data .venv/bin/python benchmarks/spoilt_training.py make FOLDER
    cd FOLDER && python .../benchmarks/spoilt_training.py train [--seeds 1 2] [--side-by-side 3] [SECTION.KEY=VALUE ...]

`make` writes the corpora and lets `heedful clean` clean them; paths in the configs are relative to FOLDER. `train`
trains and scores on each what was cleaned, and on the sound corpus; what is done is not done again. Nothing sound is
taken away when a corpus is spoilt: copies and other languages come on top of it, the rest can be put right.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

Pairs = list[tuple[str, str]]
SOUND = "sound"
TEST = "test_2016_flickr"
HEEDFUL = (sys.executable, "-m", "heedful")

CONFIG = """\
name = "{name}"

[data]
source_language = "en"
target_language = "de"
train = [{{ source = "{train}.en", target = "{train}.de" }}]
validation = [{{ source = "given/val.en", target = "given/val.de" }}]
test = {{ {test} = {{ source = "given/{test}.en", target = "given/{test}.de" }} }}

[tokenizer]
vocab_size = 8000

[model]
preset = "transformer_tiny"

[training]
max_steps = 6000
batch_tokens = 8192
label_smoothing = 0.1
schedule = {{ kind = "inverse_sqrt", peak = 5e-3, warmup_steps = 2000 }}
checkpoint = {{ every_steps = 100, keep_last = 10 }}
average = {{ which = "last", count = 10 }}

[validation]
every_steps = 6000

[decoding]
beam_size = 5
"""


def misread(text: str) -> str:
    """Read UTF-8 as Windows-1252, and the five bytes that it does not have as Latin-1."""
    return "".join(_character(byte) for byte in text.encode())


def _character(byte: int) -> str:
    return bytes([byte]).decode("latin-1" if byte in b"\x81\x8d\x8f\x90\x9d" else "cp1252")


def shifted(pairs: Pairs, _: Pairs) -> Pairs:
    """The second half lost a line on one side."""
    middle = len(pairs) // 2
    sources = [source for source, _ in pairs]
    return list(zip(sources[:middle] + sources[middle + 1 :], [target for _, target in pairs[:-1]], strict=True))


def exchanged(pairs: Pairs, _: Pairs) -> Pairs:
    """Every other pair has its sides exchanged."""
    return [pair[::-1] if number % 2 else pair for number, pair in enumerate(pairs)]


def copied(pairs: Pairs, _: Pairs) -> Pairs:
    """Half of the lines are copies of their source."""
    return _mixed(pairs, [(source, source) for source, _ in pairs])


def foreign(pairs: Pairs, french: Pairs) -> Pairs:
    """Half of the lines are French."""
    return _mixed(pairs, french)


def mojibake(pairs: Pairs, _: Pairs) -> Pairs:
    """The target side was read in the wrong encoding."""
    return [(source, misread(target)) for source, target in pairs]


def _mixed(pairs: Pairs, others: Pairs) -> Pairs:
    both = [*pairs, *others]
    random.Random(1).shuffle(both)
    return both


SPOIL: dict[str, Callable[[Pairs, Pairs], Pairs]] = {
    spoil.__name__: spoil for spoil in (shifted, exchanged, copied, foreign, mojibake)
}


def multi30k(name: str, language: str) -> Pairs:
    """Read English with another language."""
    from heedful.config.data import LineCorpus
    from heedful.data.readers import read_pairs

    corpus = LineCorpus(source=f"data/multi30k/{name}.en.gz", target=f"data/multi30k/{name}.{language}.gz")
    return [(pair.source, pair.target) for pair in read_pairs(corpus)]


def write(stem: Path, pairs: Pairs) -> None:
    """Write the two sides."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("en", "de")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        stem.with_suffix(f".{language}").write_text(text, encoding="utf-8", newline="")


def make(folder: Path) -> None:
    """Write the sound corpus, the spoilt ones, and what `heedful clean` makes of them."""
    sound, french = multi30k("train", "de"), multi30k("train", "fr")
    for name in ("val", TEST):
        write(folder / "given" / name, multi30k(name, "de"))
    write(folder / SOUND / "train-0", sound)
    (folder / SOUND / "config.toml").write_text(CONFIG.format(name=SOUND, train=f"{SOUND}/train-0", test=TEST))
    for name, spoil in SPOIL.items():
        write(folder / "spoilt" / name, spoil(sound, french))
        config = Path("spoilt") / f"{name}.toml"
        (folder / config).write_text(CONFIG.format(name=name, train=f"spoilt/{name}", test=TEST))
        subprocess.run([*HEEDFUL, "clean", str(config), "--out", f"{name}_clean"], cwd=folder, check=True)
        print(f"{name}: {same(folder / f'{name}_clean' / 'train-0', sound):.2%} of the lines of the sound corpus")


def same(stem: Path, sound: Pairs) -> float:
    """Return how much of the sound corpus a cleaned one has, line for line in any order."""
    sides = [stem.with_suffix(f".{language}").read_text(encoding="utf-8").split("\n") for language in ("en", "de")]
    return len(set(zip(*sides, strict=True)) & set(sound)) / len(set(sound))


def learn(name: str, seed: int, settings: Sequence[str]) -> float:
    """Train on one corpus and score it, unless that was done; return BLEU on the test set."""
    run = Path("runs") / f"{name}_seed{seed}"
    scores = run / "scores.json"
    if not (run / "model" / "manifest.json").exists():
        words = ["train", f"{name}/config.toml", f"name={run.name}", f"seed={seed}", *settings]
        with Path(f"{run.name}.log").open("w") as log:
            resume = ["--resume"] if run.exists() else []
            subprocess.run([*HEEDFUL, *words, *resume], stdout=log, stderr=log, check=True)
    if not scores.exists():
        told = subprocess.run([*HEEDFUL, "evaluate", str(run), "--json"], stdout=subprocess.PIPE, check=True)
        scores.write_bytes(told.stdout)
    [bleu] = [score["value"] for score in json.loads(scores.read_bytes())["scores"] if score["name"] == "BLEU"]
    return float(bleu)


def train(seeds: Sequence[int], side_by_side: int, settings: Sequence[str]) -> None:
    """Train on all corpora of the working folder and print a table."""
    names = [SOUND, *(f"{name}_clean" for name in SPOIL)]
    tasks = [(name, seed) for seed in seeds for name in names]
    with ThreadPoolExecutor(side_by_side) as pool:
        found = dict(zip(tasks, pool.map(lambda task: learn(*task, settings), tasks), strict=True))
    print(f"| corpus | pairs | {' | '.join(f'seed {seed}' for seed in seeds)} | mean | above the sound one |")
    print("|---" * (len(seeds) + 4) + "|")
    means = {name: sum(found[name, seed] for seed in seeds) / len(seeds) for name in names}
    for name in names:
        with Path(name, "train-0.en").open("rb") as lines:
            pairs = sum(1 for _ in lines)
        scores = " | ".join(f"{found[name, seed]:.2f}" for seed in seeds)
        print(f"| {name} | {pairs:,} | {scores} | {means[name]:.2f} | {means[name] - means[SOUND]:+.2f} |")


def main() -> None:
    """Parse and do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make").add_argument("folder", type=Path)
    training = commands.add_parser("train")
    training.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    training.add_argument("--side-by-side", type=int, default=1)
    training.add_argument("settings", nargs="*", metavar="SECTION.KEY=VALUE")
    asked = parser.parse_args()
    if asked.command == "make":
        make(asked.folder)
    else:
        train(asked.seeds, asked.side_by_side, asked.settings)


if __name__ == "__main__":
    main()
