"""How good word alignments are: error rate against sentences that were aligned by hand, and against known ones.

    python benchmarks/alignment.py [--model bundled]

benchmarks/aligned_sentences.txt has English and German sentences; words with the same number belong together, those
with a question mark possibly. The alignment error rate (Och and Ney, 2003) counts sure and possible links; precision is
that of all links against possible ones, recall that of sure ones. "one way" looks from the translation at the text
only, as for a model that does not translate back. "exchanged" are the same sentences from German into English. Texts
with known alignments are made of pairs of sentences: no link may leave its own sentence.
"""

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful import load
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.word_alignment import alignment_of, link_words, word_spans

SENTENCES = Path(__file__).parent / "aligned_sentences.txt"
_MARKED = re.compile(r"(?P<word>\S+?)(?:/(?P<numbers>[\d,?]+))?(?=\s|$)")

Pairs = set[tuple[int, int]]


@dataclass(frozen=True)
class Aligned:
    """A sentence, its translation, and which words belong together, surely and possibly."""

    source: str
    target: str
    sure: Pairs
    possible: Pairs
    """The sure ones are among them."""

    def exchanged(self) -> "Aligned":
        """Return it with its sides exchanged."""
        sure, possible = ({(target, source) for source, target in pairs} for pairs in (self.sure, self.possible))
        return Aligned(self.target, self.source, sure, possible)


def read_aligned(path: Path = SENTENCES) -> Iterator[Aligned]:
    """Yield the sentences of the file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        source, target = ([match.groupdict() for match in _MARKED.finditer(side)] for side in line.split(" ||| "))
        numbers = [[set((word["numbers"] or "").split(",")) - {""} for word in side] for side in (source, target)]
        sure, possible = set(), set()
        for row, ours in enumerate(numbers[0]):
            for column, theirs in enumerate(numbers[1]):
                if ours & theirs - {one for one in ours | theirs if one.endswith("?")}:
                    sure.add((row, column))
                if {one.rstrip("?") for one in ours} & {one.rstrip("?") for one in theirs}:
                    possible.add((row, column))
        yield Aligned(" ".join(one["word"] for one in source), " ".join(one["word"] for one in target), sure, possible)


def links_of(translator: Translator, pair: Aligned, languages: tuple[str, str | None]) -> Pairs:
    """Return the links between a text and a given translation, by the numbers of their words."""
    found = link_words(translator.readable_model, translator.tokenizer, pair.source, pair.target, languages)
    rows, columns = ({span: place for place, span in enumerate(word_spans(it))} for it in (pair.source, pair.target))
    return {(rows[link.source], columns[link.target]) for link in found}


def scores(pairs: list[Aligned], found: list[Pairs]) -> tuple[float, float, float, float]:
    """Return the alignment error rate, precision, recall and F1, in percent."""
    all_ = sum(map(len, found))
    sure = sum(len(pair.sure) for pair in pairs)
    hit_sure = sum(len(pair.sure & links) for pair, links in zip(pairs, found, strict=True))
    hit = sum(len(pair.possible & links) for pair, links in zip(pairs, found, strict=True))
    precision, recall = hit / all_, hit_sure / sure
    f1 = 2 * precision * recall / (precision + recall)
    return tuple(100 * value for value in (1 - (hit + hit_sure) / (all_ + sure), precision, recall, f1))  # type: ignore[return-value]


def main() -> None:
    """Print a row for each way to align, and how many links leave their sentence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="model folder; by default the bundled one")
    translator = load(parser.parse_args().model, device="cpu")
    pairs = list(read_aligned())
    turned = [pair.exchanged() for pair in pairs]
    print(f"{len(pairs)} sentences      error rate  precision  recall     F1")
    for name, some, languages in (
        ("both ways", pairs, ("de", "en")),
        ("one way", pairs, ("de", None)),
        ("exchanged, both ways", turned, ("en", "de")),
        ("exchanged, one way", turned, ("en", None)),
    ):
        values = scores(some, [links_of(translator, pair, languages) for pair in some])
        print(f"{name:<22}" + "  ".join(f"{value:>8.1f}" for value in values), flush=True)
    print(f"links that leave their sentence: {_strays(translator, pairs)}")


def _strays(translator: Translator, pairs: list[Aligned]) -> str:
    """Translate sentences two at a time, and count links between one and the translation of the other."""
    wrong = total = 0
    for first, second in zip(pairs[::2], pairs[1::2], strict=False):
        text = f"{first.source} {second.source}"
        [done] = translator.translate_detailed([text], request=TranslationRequest("en", "de", alignment=True))
        border = len(first.source), len(done.units[0].text)
        links = alignment_of(done).links
        total += len(links)
        wrong += sum((link.source[0] < border[0]) != (link.target[0] < border[1]) for link in links)
    return f"{wrong} of {total}"


if __name__ == "__main__":
    main()
