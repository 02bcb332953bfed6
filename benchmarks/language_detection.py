"""Language detection on the test sentences of Tatoeba: how often right, how honest, how fast; and learning it anew.

    python benchmarks/language_detection.py            measure the table that ships with the package
    python benchmarks/language_detection.py --learn    first learn it from the training sentences and write it there

Reads data/tatoeba/ (or the folder named in HEEDFUL_DATA). Learning takes a few minutes on one core and always gives the
same table. A sentence that occurs in several pairs counts once. The calibration error is the mean distance between the
confidence of the first answer and the share of right ones, over eleven bins of confidence.
"""

import argparse
import random
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from heedful.config.data import TsvCorpus
from heedful.data.readers import read_parallel
from heedful.text.language_detection import detect, write_table
from heedful.text.language_learning import learn_ngram_table

CORPORA = {"de": "eng-deu", "fr": "eng-fra", "zh": "eng-cmn"}
NUM_SENTENCES = 80_000
NUM_NGRAMS = 16_000
SHORT = 3


@dataclass(frozen=True)
class Answer:
    """What was said of a text of a known language."""

    is_right: bool
    confidence: float


def main() -> None:
    """Learn the table if asked to, then measure it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learn", action="store_true", help="learn the table from the training sentences first")
    if parser.parse_args().learn:
        learn()
    measure()


def sentences(split: str) -> dict[str, list[str]]:
    """Return the different sentences of every language, English those of all corpora together."""
    found: dict[str, set[str]] = {"en": set()}
    for language, name in CORPORA.items():
        english, others = read_parallel(TsvCorpus(kind="tsv", path=f"data/tatoeba/{name}.{split}.tsv.gz"))
        found["en"].update(english)
        found[language] = set(others)
    return {language: sorted(lines) for language, lines in found.items()}


def learn() -> None:
    """Write the table of the languages with Latin letters: Chinese is known by its script."""
    generator = random.Random(0)
    texts = {
        language: generator.sample(lines, NUM_SENTENCES)
        for language, lines in sentences("train").items()
        if language != "zh"
    }
    table = learn_ngram_table(texts, num_ngrams=NUM_NGRAMS)
    path = Path(str(resources.files("heedful"))) / "assets" / "language_detection" / "ngrams.tsv"
    path.write_text(write_table(table), encoding="utf-8")
    print(f"Wrote {path}: {len(table.weights):,} n-grams, {path.stat().st_size:,} bytes.")


def measure() -> None:
    """Print a table: languages, then pieces of few words, with accuracy and calibration; then the speed."""
    tests = sentences("test")
    print(f"{'texts':<24} {'number':>7} {'right %':>8} {'calibration error %':>20}")
    everything: list[Answer] = []
    for language, lines in tests.items():
        answers = [ask(line, language) for line in lines]
        everything += answers
        report(language, answers)
        # Chinese has no spaces to count words by.
        few = [a for a, line in zip(answers, lines, strict=True) if len(line.split()) <= SHORT and language != "zh"]
        if few:
            report(f"{language}, up to {SHORT} words", few)
    report("all", everything)
    generator = random.Random(0)
    for length in range(1, SHORT + 1):
        pieces = [
            ask(piece, language)
            for language in ("en", "de", "fr")
            for line in tests[language]
            if (piece := cut(line, length, generator))
        ]
        report(f"pieces of {length} word{'s' if length > 1 else ''}", pieces)
    lines = [line for some in tests.values() for line in some]
    start = time.perf_counter()
    for line in lines:
        detect(line)
    print(f"{(time.perf_counter() - start) / len(lines) * 1e6:.0f} µs a sentence")


def ask(text: str, language: str) -> Answer:
    """Detect a text's language, and say whether that is right."""
    best = detect(text)[0]
    return Answer(best.language == language, best.confidence)


def cut(line: str, length: int, generator: random.Random) -> str:
    """Return some neighbouring words of a line; nothing when it has no more than those."""
    words = line.split()
    if len(words) <= length:
        return ""
    start = generator.randrange(len(words) - length + 1)
    return " ".join(words[start : start + length])


def report(name: str, answers: list[Answer]) -> None:
    """Print one row."""
    confidences = np.array([answer.confidence for answer in answers])
    is_right = np.array([answer.is_right for answer in answers])
    bins = np.digitize(confidences, [*np.arange(0.1, 1.0, 0.1), 0.99])
    error = np.abs(np.bincount(bins, confidences - is_right)).sum() / len(answers)
    print(f"{name:<24} {len(answers):>7,} {100 * is_right.mean():>8.2f} {100 * error:>20.2f}")


if __name__ == "__main__":
    main()
