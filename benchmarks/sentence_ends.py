"""Where sentences end: `split_sentences` beside other libraries, on joined lines of corpora and on hand-written text.

    python benchmarks/sentence_ends.py [--per-text 5] [--lines 2000] [--classes]

The hard paragraphs are those of tests/unit/text/sentence_ends/, about a hundred sentences in each language. The others
are lines of corpora in data/ (or the folder named in HEEDFUL_DATA), joined some at a time: Tatoeba's test sentences,
drawn with a seed, Europarl, PUD, news and TICO-19 in their order. Each line that begins and ends like a sentence counts
as one. Some hold two; whoever cuts them is charged for it, all alike. F1 is that of the ends inside a text. Libraries
that are not installed are left out: pip install pysbd sentencex syntok blingfire nltk, none of which Heedful needs.
Punkt learns from Europarl and Tatoeba's training sentences first; it has no rules for Chinese.
"""

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path

from heedful.config.data import TsvCorpus
from heedful.data.readers import read_pairs
from heedful.text.sentences import split_sentences

LANGUAGES = ("en", "de", "fr", "zh")
HARD = Path(__file__).parents[1] / "tests" / "unit" / "text" / "sentence_ends"
TATOEBA = {"en": "eng-deu", "de": "eng-deu", "fr": "eng-fra", "zh": "eng-cmn"}
CORPORA = {
    "pud": {"en": "pud.en-de", "de": "pud.en-de", "fr": "pud.en-fr", "zh": "pud.en-zh"},
    "news": {"en": "newstest2021.en-de.refA", "de": "newstest2021.en-de.refA", "zh": "newstest2021.en-zh.refA"},
    "tico-19": {"en": "tico19.en-fr", "fr": "tico19.en-fr", "zh": "tico19.en-zh"},
}
MARKS = ".!?…。！？"
CLOSING = "\"'”“’»«)）」』 \u00a0\u202f"

Split = Callable[[str], list[str]]


@dataclass
class Tally:
    """Ends that were found, missed and made up, and the time it took."""

    right: int = 0
    missed: int = 0
    wrong: int = 0
    seconds: float = 0.0
    characters: int = 0
    by_class: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in percent."""
        return 200 * self.right / max(2 * self.right + self.missed + self.wrong, 1)


def main() -> None:
    """Print a row for each set, a column for each splitter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-text", type=int, default=5, help="sentences joined to a text")
    parser.add_argument("--lines", type=int, default=2000, help="of each corpus and language")
    parser.add_argument("--classes", action="store_true", help="also the wrong ends of each class of hard paragraphs")
    options = parser.parse_args()
    totals: dict[str, Tally] = defaultdict(Tally)
    names: list[str] = []
    for language in LANGUAGES:
        splitters = _splitters(language)
        if not names:
            names = list(splitters)
            print(f"{'F1, %':<14}" + "".join(f"{name:>11}" for name in names))
        for set_name, texts in _sets(language, options.lines, options.per_text):
            tallies = {name: _measure(split, texts) for name, split in splitters.items()}
            row = "".join(f"{tallies[name].f1:>11.2f}" if name in tallies else f"{'-':>11}" for name in names)
            print(f"{set_name + ' ' + language:<14}{row}", flush=True)
            for name, tally in tallies.items():
                totals[name].seconds += tally.seconds
                totals[name].characters += tally.characters
            if options.classes and set_name == "hard":
                for name, tally in tallies.items():
                    print(f"    {name}: " + ", ".join(f"{key} {count}" for key, count in tally.by_class.items()))
    speeds = "".join(f"{1e6 * totals[name].seconds / totals[name].characters:>11.2f}" for name in names)
    print(f"{'µs a character':<14}{speeds}")


def read_hard(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the paragraphs of a file, each with its class: one sentence a line, blank lines between paragraphs."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        title, *sentences = block.split("\n")
        yield title.removeprefix("# "), sentences


def _sets(language: str, num_lines: int, per_text: int) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """Yield the sets of a language: their names, and texts as a class and sentences."""
    yield "hard", list(read_hard(HARD / f"{language}.txt"))
    column = 0 if language == "en" else 1
    tatoeba = _column(f"data/tatoeba/{TATOEBA[language]}.test.tsv.gz", column)
    random.Random(1).shuffle(tatoeba)
    lines_of = {"tatoeba": tatoeba}
    if language != "zh":
        partner = "de" if language == "en" else language
        lines_of["europarl"] = _column(f"data/general/europarl.en-{partner}.tsv.xz", column, most=num_lines)
    for name, files in CORPORA.items():
        if language in files:
            lines_of[name] = _column(f"data/general/news/{files[language]}.tsv.gz", column)
    for name, lines in lines_of.items():
        whole = [line for line in lines if _is_sentence(line)][:num_lines]
        yield name, [("", whole[start : start + per_text]) for start in range(0, len(whole), per_text)]


def _is_sentence(line: str) -> bool:
    """Say whether a line is one: it does not begin small, as remarks in Europarl do ("in writing . − …"), and ends."""
    return line.rstrip(CLOSING).endswith(tuple(MARKS)) and not line[0].islower() and " . " not in line


def _column(path: str, column: int, most: int | None = None) -> list[str]:
    pairs = read_pairs(TsvCorpus(kind="tsv", path=path))
    return [(pair.target if column else pair.source).strip() for pair in islice(pairs, most)]


def _measure(split: Split, texts: Iterable[tuple[str, Sequence[str]]]) -> Tally:
    tally = Tally()
    for name, sentences in texts:
        gap = "" if _is_chinese(sentences[0]) else " "
        text = gap.join(sentences)
        started = time.process_time()
        found = split(text)
        tally.seconds += time.process_time() - started
        tally.characters += len(text)
        ends, wanted = _ends(found), _ends(sentences)
        tally.right += len(ends & wanted)
        tally.missed += len(wanted - ends)
        tally.wrong += len(ends - wanted)
        if ends != wanted:
            tally.by_class[name] += len(ends ^ wanted)
    return tally


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def _ends(sentences: Iterable[str]) -> set[int]:
    """Return how many characters that are no white space stand before each end but the last."""
    ends, count = set(), 0
    for sentence in sentences:
        ends.add(count)
        count += sum(not character.isspace() for character in sentence)
    return ends - {0, count}


def _splitters(language: str) -> dict[str, Split]:
    """Return what can be compared here, ours first."""
    found: dict[str, Split] = {"heedful": split_sentences}
    for make in (_pysbd, _sentencex, _syntok, _blingfire, _punkt):
        try:
            splitter = make(language)
        except ImportError:
            continue
        if splitter is not None:
            found[make.__name__.removeprefix("_")] = splitter
    return found


def _pysbd(language: str) -> Split:
    segmenter = import_module("pysbd").Segmenter(language=language, clean=False)
    return lambda text: list(segmenter.segment(text))


def _sentencex(language: str) -> Split:
    segment = import_module("sentencex").segment
    return lambda text: list(segment(language, text))


def _syntok(_: str) -> Split:
    segmenter = import_module("syntok.segmenter")
    return lambda text: [
        "".join(token.spacing + token.value for token in sentence)
        for paragraph in segmenter.process(text)
        for sentence in paragraph
    ]


def _blingfire(_: str) -> Split:
    blingfire = import_module("blingfire")
    return lambda text: blingfire.text_to_sentences(text).split("\n")


def _punkt(language: str) -> Split | None:
    punkt = import_module("nltk.tokenize.punkt")
    if language == "zh":
        return None
    column = 0 if language == "en" else 1
    partner = "de" if language == "en" else language
    lines = _column(f"data/tatoeba/{TATOEBA[language]}.train.tsv.gz", column, most=20_000)
    # Other lines of Europarl than those that are measured, which are its first.
    lines += _column(f"data/general/europarl.en-{partner}.tsv.xz", column, most=30_000)[10_000:]
    tokenizer = punkt.PunktSentenceTokenizer(" ".join(lines))
    return lambda text: list(tokenizer.tokenize(text))


if __name__ == "__main__":
    main()
