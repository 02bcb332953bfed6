"""Terms of a glossary: how many translations contain them, what it costs in BLEU, and in time.

    python benchmarks/glossary.py eng-deu.test.tsv.gz [--sentences 500] [--beam 4]

The file has lines SOURCE, tab, REFERENCE. Of each sentence one word of the reference is the term, which is put on
the sentence directly: how a glossary is matched against a text is not measured here. Free search and search with the
terms translate the same sentences, in turn; the time is that of the processor.
"""

import argparse
import gzip
import random
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import heedful
from heedful.evaluation.scores import bleu
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.wishes import Wishes


def read_pairs(path: Path, count: int) -> list[tuple[str, str, str]]:
    """Return sources, references and terms: a word of at least five letters each."""
    draw = random.Random(1)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in lines]
    draw.shuffle(pairs)
    found, seen = [], set()
    for source, reference in pairs:
        words = re.findall(r"\b[^\W\d_]{5,}\b", reference)
        if source in seen or not words or len(source.split()) < 5:
            continue
        seen.add(source)
        found.append((source, reference, draw.choice(words)))
    return found[:count]


def translate(model: Translator, kinds: Sequence[Sequence[Unit]], beam: int) -> list[tuple[list[str], float]]:
    """Translate each kind of units several times in turn, because others work as well; the shortest times."""
    request = TranslationRequest(beam_size=beam)
    texts: list[list[str]] = [[] for _ in kinds]
    times = [float("inf")] * len(kinds)
    for _ in range(3):
        for number, units in enumerate(kinds):
            start = time.process_time()
            texts[number] = [unit.text for unit in model.translate_units(units, request)]
            times[number] = min(times[number], time.process_time() - start)
    return list(zip(texts, times, strict=True))


def main() -> None:
    """Measure, and print one line for each beam."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--beam", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--to", default="de")
    options = parser.parse_args()
    model = heedful.load(device="cpu")
    pairs = read_pairs(options.file, options.sentences)
    plans = model.plan([source for source, _, _ in pairs], TranslationRequest("en", options.to))
    plain = [(plan.units, pair) for plan, pair in zip(plans, pairs, strict=True) if len(plan.units) == 1]
    units = [units[0] for units, _ in plain]
    bound = [
        replace(unit, wishes=Wishes(terms=((term,),))) for unit, (_, (_, _, term)) in zip(units, plain, strict=True)
    ]
    references = [reference for _, (_, reference, _) in plain]
    terms = [term for _, (_, _, term) in plain]
    for beam in options.beam:
        for name, (texts, seconds) in zip(("free", "terms"), translate(model, (units, bound), beam), strict=True):
            kept = sum(
                re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE) is not None
                for term, text in zip(terms, texts, strict=True)
            )
            share = 100 * kept / len(terms)
            print(f"beam {beam} {name:5}: {len(texts)} sentences, {share:.1f} % with the term, "
                  f"BLEU {bleu(texts, references):.2f}, {seconds:.2f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
