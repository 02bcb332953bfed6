"""How well a model knows what is wrong with a translation: omission, addition, negation, and how sure its words are.

    python benchmarks/doubt.py [--config configs/tatoeba.toml] [--model DIR] [--lines 1000] [--news DIR] [--json FILE]

On the test sets of the config, in each direction, beside good translations: references, and the model's own that are
like their reference (chrF2 from 60, into Chinese from 40). Something is then left out of them: the third clause, or one
of the only two; a sentence of texts of three. A clause is left out of sources, to see additions. The model also
translates five sentences as one line without cutting them, which loses much. "Free" are the flags every translation
gets, "asked" those of `heedful review`, which asks the model. A negation is taken away word by word, by rules that know
nothing of those that look for it. With --news, a folder of PUD's pairs, the same on text the model was not made for.
"""

import argparse
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from heedful import load
from heedful.config.data import TsvCorpus
from heedful.config.load import load_config
from heedful.data.readers import read_pairs
from heedful.evaluation.classification import calibration_error, wilson_interval
from heedful.tasks.translation.calibrating import is_good, judge_words
from heedful.tasks.translation.omissions import Examples, TextPair, lacking_clauses, lacking_sentences
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.test_sets import TestSet, find_test_sets
from heedful.tasks.translation.translated import Translation
from heedful.tasks.translation.translator import Translator
from heedful.text.negation import negation_difference

NEGATED = {
    "en": r"\b(?:not|no|never|nothing|nobody|none|nowhere|cannot|\w+n['’]t)\b",
    "de": r"\b(?:nicht|nichts|nie|niemals|niemand\w*|kein\w*|nirgend\w*)\b",
    "fr": r"\b(?:ne|pas|jamais|rien|personne|aucun\w*)\b|\bn['’]",
    "zh": r"[不没无别未]",
}
AFFIRMED: dict[str, list[tuple[str, str]]] = {
    "en": [
        (r"\b(c)an(?:no|['’])t\b", r"\1an"), (r"\b(w)on['’]t\b", r"\1ill"), (r"n['’]t\b", ""),
        (r"\bnothing\b", "something"),
        (r"\b(?:nobody|no one)\b", "somebody"), (r"\bnever\b", "always"), (r"\bnone\b", "all"),
        (r"\bnowhere\b", "somewhere"),
        (r"\bno\b", "some"), (r"\bnot\b ?", ""),
    ],
    "de": [
        (r"\bnichts\b", "etwas"), (r"\bnie(?:mals)?\b", "immer"), (r"\bniemand", "jemand"), (r"\bkein", "ein"),
        (r"\bnirgend\w*", "irgendwo"), (r" nicht\b", ""),
    ],
    "fr": [
        (r"\bn(?:e |['’])", ""), (r" pas\b", ""), (r"\bjamais\b", "toujours"), (r"\brien\b", "quelque chose"),
        (r"\bpersonne\b", "quelqu'un"), (r"\baucun", "un"),
    ],
    "zh": [(r"没有|[不没无别未]", "")],
}  # fmt: skip


@dataclass(frozen=True)
class Share:
    """How many of some pairs were flagged."""

    flagged: int
    all: int

    def __str__(self) -> str:
        low, high = wilson_interval(self.flagged, self.all)
        share = self.flagged / max(self.all, 1)
        return f"{share:6.1%} [{low:.1%}, {high:.1%}] of {self.all:,}"


def main() -> None:
    """Print the figures of every direction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/tatoeba.toml", help="the run whose test sets are used")
    parser.add_argument("--model", help="a model folder; else the bundled one")
    parser.add_argument("--lines", type=int, default=1000, help="pairs of each kind and direction, at most")
    parser.add_argument("--news", type=Path, help="a folder with pud.en-de.tsv.gz and the like")
    parser.add_argument("--directions", nargs="*", help="only these, as in en-de")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    translator = load(options.model, device="cpu")
    assert isinstance(translator, Translator)
    found: dict[str, dict[str, str]] = {}
    for test_set in find_test_sets(load_config(options.config)):
        source, target = str(test_set.source_language), str(test_set.target_language)
        if options.directions and f"{source}-{target}" not in options.directions:
            continue
        bench = Bench(translator, source, target, options.lines)
        rows = bench.rows(some(read_pairs_of(test_set), 4 * options.lines))
        if options.news is not None:
            rows |= bench.news_rows(options.news)
        found[f"{source}-{target}"] = rows
        print(f"\n{source} → {target}")
        for name, text in rows.items():
            print(f"  {name:<44} {text}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_pairs_of(test_set: TestSet) -> list[TextPair]:
    """Read the pairs of a test set that have two sides."""
    return [
        (pair.source, pair.target)
        for pair in read_pairs(test_set.corpus)
        if pair.source.strip() and pair.target.strip()
    ]


def some(pairs: Sequence[TextPair], most: int) -> list[TextPair]:
    """Draw some pairs, always the same."""
    return random.Random(11).sample(list(pairs), min(most, len(pairs)))


@dataclass(frozen=True)
class Bench:
    """One direction of a model."""

    translator: Translator
    source: str
    target: str
    lines: int

    def rows(self, pairs: Sequence[TextPair]) -> dict[str, str]:
        """Return all figures by what they are of."""
        started = time.process_time()
        made = self.translator.translate_detailed([source for source, _ in pairs], from_=self.source, to=self.target)
        seconds = time.process_time() - started
        own = [
            (source, one.text)
            for (source, reference), one in zip(pairs, made, strict=True)
            if is_good(one.text, reference)
        ]
        generator = random.Random(12)
        rows: dict[str, str] = {}
        for kind, good in (("own", own), ("references", list(pairs))):
            clauses = lacking_clauses(good, generator)
            texts = lacking_sentences(good, 3, generator, most=self.lines // 3)
            rows |= self._omission_rows(kind, Examples(good[: self.lines], []), clauses, texts)
            exchanged = lacking_clauses([(target, source) for source, target in good], generator)
            added = [(source, target) for target, source in exchanged.lacking[: self.lines]]
            rows[f"free, {kind}: a clause added, flagged"] = str(self.by_shape(added, "addition"))
            rows[f"asked, {kind}: a clause added, flagged"] = str(self.by_asking(added, "addition"))
        rows |= self._whole_rows([source for source, _ in pairs])
        rows |= self._negation_rows(pairs)
        rows |= self._word_rows(pairs, made)
        rows["processor time of translating a line"] = f"{1e3 * seconds / len(pairs):.2f} ms"
        return rows

    def _omission_rows(self, kind: str, good: Examples, clauses: Examples, texts: Examples) -> dict[str, str]:
        rows = {}
        for name, flag in (("free", self.by_shape), ("asked", self.by_asking)):
            rows[f"{name}, {kind}: good flagged for omission"] = str(flag(good.good, "omission"))
            rows[f"{name}, {kind}: good flagged for addition"] = str(flag(good.good, "addition"))
            rows[f"{name}, {kind}: texts of three, good, flagged"] = str(flag(texts.good, "omission"))
            rows[f"{name}, {kind}: a clause left out, flagged"] = str(flag(clauses.lacking[: self.lines], "omission"))
            rows[f"{name}, {kind}: a sentence of three left out"] = str(flag(texts.lacking, "omission"))
        return rows

    def _whole_rows(self, sources: Sequence[str]) -> dict[str, str]:
        """Translate five sentences as one line, whole and cut."""
        lines = [join_parts(sources[start : start + 5]) for start in range(0, min(len(sources), self.lines) - 4, 5)]
        traits = replace(self.translator.traits, joined_tokens=self.translator.max_source_tokens())
        whole = replace(self.translator, traits=traits)
        rows = {}
        cut = self.translator.translate_detailed(lines, from_=self.source, to=self.target)
        together = whole.translate_detailed(lines, from_=self.source, to=self.target)
        lost = [len(one.text) < 0.85 * len(other.text) for one, other in zip(together, cut, strict=True)]
        flagged = [is_flagged(one, "omission") for one in together]
        rows["five in a line, whole: a seventh or more lost"] = str(Share(sum(lost), len(lost)))
        of_lost = [flag for flag, is_lost in zip(flagged, lost, strict=True) if is_lost]
        rows["five in a line, whole: of these flagged, free"] = str(Share(sum(of_lost), len(of_lost)))
        units = [unit for one in cut for unit in one.units]
        rows["five in a line, cut: sentences flagged, free"] = str(
            Share(sum(any(w.code == "omission" for w in unit.warnings) for unit in units), len(units))
        )
        return rows

    def _negation_rows(self, pairs: Sequence[TextPair]) -> dict[str, str]:
        """Take negations away from references, and count what the good ones set off."""
        negated = [
            (source, affirmed(target, self.target))
            for source, target in pairs
            if re.search(NEGATED[self.source], source, re.IGNORECASE)
            and re.search(NEGATED[self.target], target, re.IGNORECASE)
            and affirmed(target, self.target) != target
        ]
        return {
            "negation: references flagged": str(self.by_words(pairs)),
            "negation: taken away, flagged": str(self.by_words(negated)),
        }

    def _word_rows(self, pairs: Sequence[TextPair], made: Sequence[Translation]) -> dict[str, str]:
        """Hold probabilities and confidences of words against whether a reference has them."""
        references: dict[str, list[str]] = {}
        for source, reference in pairs:
            references.setdefault(source, []).append(reference)
        judged = []
        for one in {one.source: one for one in made}.values():
            if len(one.units) == 1:
                judged += judge_words(one.units[0].words(), references[one.source])
        right = np.array([is_right for _, is_right in judged])
        probability = np.array([word.probability for word, _ in judged])
        confidence = np.array([word.confidence or 0.0 for word, _ in judged])
        return {
            "words: right": f"{right.mean():.1%} of {len(right):,}",
            "words: calibration error of probability": f"{calibration_error(probability, right):.2%}",
            "words: calibration error of confidence": f"{calibration_error(confidence, right):.2%}",
        }

    def news_rows(self, folder: Path) -> dict[str, str]:
        """Look at references of news and encyclopedia text."""
        other = self.target if self.source == "en" else self.source
        corpus = TsvCorpus(kind="tsv", path=str(folder / f"pud.en-{other}.tsv.gz"))
        pairs = [(pair.source, pair.target) for pair in read_pairs(corpus)]
        pairs = some(pairs if self.source == "en" else [(second, first) for first, second in pairs], self.lines // 2)
        clauses = lacking_clauses(pairs, random.Random(13))
        rows = {}
        for name, flag in (("free", self.by_shape), ("asked", self.by_asking)):
            rows[f"{name}, news: good flagged for omission"] = str(flag(pairs, "omission"))
            rows[f"{name}, news: a clause left out, flagged"] = str(flag(clauses.lacking, "omission"))
        rows["negation, news: references flagged"] = str(self.by_words(pairs))
        return rows

    def by_shape(self, pairs: Sequence[TextPair], code: str) -> Share:
        """Count what the free flags find."""
        calibration = self.translator.traits.calibration.of(f"{self.source}-{self.target}")
        place = ("omission", "addition").index(code)
        sides = self.translator.scorer.counted(pairs)
        return Share(sum(calibration.missing_by_shape(*pair)[place] for pair in sides), len(pairs))

    def by_asking(self, pairs: Sequence[TextPair], code: str) -> Share:
        """Count what `heedful review` finds."""
        return self._reviewed(pairs, lambda codes: code in codes)

    def by_words(self, pairs: Sequence[TextPair]) -> Share:
        """Count differences in negation, which need no model."""
        found = [negation_difference(*pair, self.source, self.target) for pair in pairs]
        return Share(sum(one is not None for one in found), len(found))

    def _reviewed(self, pairs: Sequence[TextPair], is_found: Callable[[set[str]], bool]) -> Share:
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
        found = self.translator.review(sources, targets, from_=self.source, to=self.target)
        return Share(sum(is_found({warning.code for warning in one}) for one in found), len(pairs))


def affirmed(text: str, language: str) -> str:
    """Take the negations of a text away."""
    for pattern, instead in AFFIRMED[language]:
        text = re.sub(pattern, instead, text, flags=re.IGNORECASE)
    return text


def is_flagged(translation: Translation, code: str) -> bool:
    """Say whether a translation has a warning."""
    return any(warning.code == code for warning in translation.warnings)


if __name__ == "__main__":
    main()
