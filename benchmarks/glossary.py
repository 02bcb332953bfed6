"""Terms of a glossary: how many translations contain them, what it costs in BLEU, and in time.

    python benchmarks/glossary.py eng-deu.test.tsv.gz [--sentences 500] [--beam 4]

The file has lines SOURCE, tab, REFERENCE. Free search and searches with terms translate the same sentences, in turn;
the time is that of the processor. There are two kinds of terms, one of them for each sentence:

"terms": a word of the reference, for the word of the source that the model's attention links it with.
"made up": a word that is in no language, for the word of the source that became a noun of the free translation. Counted
are the translations in which it stands and the noun does not. References that have the noun have the made-up word
instead.
"""

import argparse
import gzip
import random
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import heedful
from heedful.evaluation.scores import bleu
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translated import WordLink
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.wishes import Wishes
from heedful.tasks.translation.word_alignment import link_words

MADE_UP = "Zorblax"


class Case(NamedTuple):
    """A sentence, what must be in its translation, and what must not."""

    unit: Unit
    reference: str
    term: str = ""
    own: str = ""


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


def wanting(unit: Unit, source: str, term: str) -> Unit:
    """Give a unit a term for a word of its text."""
    return replace(unit, wishes=Wishes(terms=((term,),), sources=(source,)))


def of_reference(model: Translator, unit: Unit, reference: str, term: str) -> Case:
    """Make a case of a word of a reference, for the word of the source that it is linked with most."""
    links = link_words(model.readable_model, model.tokenizer, unit.text, reference, (unit.steps[0], "en"))
    linked = [link for link in links if _word(reference, link.target) == term and _word(unit.text, link.source)]
    best = max(linked, key=lambda link: link.weight, default=None)
    if best is None:  # nothing says what it stands for
        return Case(replace(unit, wishes=Wishes(terms=((term,),))), reference, term)
    return Case(wanting(unit, _word(unit.text, best.source).lower(), term), reference, term)


def made_up(unit: Unit, reference: str, translation: str, links: Sequence[WordLink]) -> Case | None:
    """Make a case of the first noun of a translation that the reference has as well."""
    for link in sorted(links, key=lambda link: link.target):
        own, source = _word(translation, link.target), _word(unit.text, link.source)
        is_noun = link.target[0] > 0 and own.istitle() and source.islower() and min(len(own), len(source)) >= 3
        if is_noun and all(len(re.findall(rf"\b{own}\b", text)) == 1 for text in (reference, translation)):
            return Case(wanting(unit, source, MADE_UP), re.sub(rf"\b{own}\b", MADE_UP, reference), MADE_UP, own)
    return None


def _word(text: str, span: tuple[int, int]) -> str:
    return text[slice(*span)].strip(".,;:!?\"'„“”«»()")


def translate(model: Translator, kinds: Sequence[Sequence[Case]], beam: int) -> list[tuple[list[str], float]]:
    """Translate each kind of cases several times in turn, because others work as well; the shortest times."""
    request = TranslationRequest(beam_size=beam)
    texts: list[list[str]] = [[] for _ in kinds]
    times = [float("inf")] * len(kinds)
    for _ in range(3):
        for number, cases in enumerate(kinds):
            start = time.process_time()
            texts[number] = [unit.text for unit in model.translate_units([case.unit for case in cases], request)]
            times[number] = min(times[number], time.process_time() - start)
    return list(zip(texts, times, strict=True))


def is_kept(case: Case, text: str) -> bool:
    """Say whether a translation has what it must, and not what it must not."""
    has_term = re.search(rf"(?<!\w){re.escape(case.term)}(?!\w)", text, re.IGNORECASE) is not None
    return has_term and not (case.own and re.search(rf"\b{re.escape(case.own)}\b", text))


def main() -> None:
    """Measure, and print one line for each beam and kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--beam", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--to", default="de")
    options = parser.parse_args()
    model = heedful.load(device="cpu")
    pairs = read_pairs(options.file, options.sentences)
    plans = model.plan([source for source, _, _ in pairs], TranslationRequest("en", options.to))
    plain = [(plan.units[0], pair) for plan, pair in zip(plans, pairs, strict=True) if len(plan.units) == 1]
    terms = [of_reference(model, unit, reference, term) for unit, (_, reference, term) in plain]
    free = [case._replace(unit=unit) for case, (unit, _) in zip(terms, plain, strict=True)]
    for beam in options.beam:
        aligned = model.translate_units(
            [case.unit for case in free], TranslationRequest(beam_size=beam, alignment=True)
        )
        tried = [
            (case, made_up(case.unit, case.reference, one.text, one.links))
            for case, one in zip(free, aligned, strict=True)
        ]
        kinds = {
            "free": free,
            "terms": terms,
            "free, nouns": [case for case, noun in tried if noun],
            "made up": [noun for _, noun in tried if noun],
        }
        for (name, cases), (texts, seconds) in zip(
            kinds.items(), translate(model, list(kinds.values()), beam), strict=True
        ):
            share = 100 * sum(map(is_kept, cases, texts)) / len(cases)
            print(f"beam {beam} {name:11}: {len(texts)} sentences, {share:.1f} % with the term, "
                  f"BLEU {bleu(texts, [case.reference for case in cases]):.2f}, {seconds:.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
