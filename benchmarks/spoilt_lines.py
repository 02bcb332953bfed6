"""How many spoilt lines the doctor finds, and how many sound ones it accuses: 1,000 of each, made from Multi30k.

    HEEDFUL_DATA=data .venv/bin/python benchmarks/spoilt_lines.py

Precision and recall of each rule on a thousand lines spoilt one way beside a thousand sound ones; what each finds in
Tatoeba, which is sound, line by line; and for shifts a thousand lines in a piece of five thousand.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from heedful.config.data import Corpus, LineCorpus, TsvCorpus
from heedful.data.line_faults import Languages, pair_faults
from heedful.data.near_duplicates import NearDuplicates
from heedful.data.readers import Pair, read_pairs
from heedful.data.shifted_lines import find_shifts
from heedful.text.markup import has_markup
from heedful.text.mojibake import has_mojibake

NUMBER = 1000
Pairs = list[tuple[str, str]]
Rule = Callable[[str, str], bool]


def pairs_of(corpus: Corpus, count: int | None = None) -> Pairs:
    """Read a corpus, or its beginning."""
    return [(pair.source, pair.target) for pair in islice(read_pairs(corpus), count)]


def multi30k(language: str) -> Pairs:
    """Read English with another language."""
    return pairs_of(LineCorpus(source="data/multi30k/train.en.gz", target=f"data/multi30k/train.{language}.gz"))


def tatoeba(code: str) -> Pairs:
    """Draw sound pairs."""
    pairs = pairs_of(TsvCorpus(kind="tsv", path=f"data/tatoeba/eng-{code}.train.tsv.gz"))
    return random.Random(1).sample(pairs, NUMBER)


def misread(text: str, encoding: str) -> str:
    """Read UTF-8 in another encoding."""
    return text.encode().decode(encoding)


def changed(text: str, draw: random.Random) -> str:
    """The same text in other case, with a word less."""
    words = text.lower().split()
    del words[draw.randrange(len(words))]
    return " ".join(words)


def of_languages(fault: str, language: str) -> Rule:
    """Make a rule of one fault."""
    return lambda source, target: fault in {one.fault for one in pair_faults(source, target, Languages("en", language))}


def report(name: str, rule: Rule, spoilt: Iterable[tuple[str, str]], sound: Sequence[tuple[str, str]]) -> None:
    """Print a row of the table."""
    found, wrong = sum(rule(*pair) for pair in spoilt), sum(rule(*pair) for pair in sound)
    precision = found / max(1, found + wrong)
    others = [
        sum(of_languages(name, language)(*pair) if name in LANGUAGE_RULES else rule(*pair) for pair in pairs)
        for language, pairs in TATOEBA.items()
    ]
    print(f"| {name} | {precision:.3f} | {found / NUMBER:.3f} | {wrong} | {' '.join(map(str, others))} |", flush=True)


LANGUAGE_RULES = ("copy", "exchanged", "other_language")
TATOEBA = {language: tatoeba(code) for language, code in (("de", "deu"), ("fr", "fra"), ("zh", "cmn"))}


def main() -> None:
    """Print the table."""
    draw = random.Random(1)
    everything = multi30k("de")
    german = draw.sample([pair for pair in everything if not pair[1].isascii()], 2 * NUMBER)
    first, sound = german[:NUMBER], german[NUMBER:]
    french = dict(multi30k("fr"))
    print("| rule | precision | recall | of 1,000 sound | of 1,000 of Tatoeba de, fr, zh |\n|---|---|---|---|---|")
    encodings = ("latin-1", "mac_roman", "cp437", "cp1251")
    spoilt = [(source, misread(target, encodings[n % 4])) for n, (source, target) in enumerate(first)]
    report("mojibake", lambda source, target: has_mojibake(source) or has_mojibake(target), spoilt, sound)
    marks = ("<b>{}</b>", "{}<br />", '<a href="x.html">{}</a>', "{}&nbsp;", "&#8222;{}")
    spoilt = [(source, marks[n % 5].format(target)) for n, (source, target) in enumerate(first)]
    report("markup", lambda source, target: has_markup(source) or has_markup(target), spoilt, sound)
    report("copy", of_languages("copy", "de"), [(source, source) for source, _ in first], sound)
    report("exchanged", of_languages("exchanged", "de"), [(target, source) for source, target in first], sound)
    spoilt = [(source, french[source]) for source, _ in first]
    report("other_language", of_languages("other_language", "de"), spoilt, sound)
    held_out = NearDuplicates()
    for number, (source, target) in enumerate(first):
        held_out.note(f"{source} {target}", number)
    spoilt = [(changed(source, draw), target.lower()) for source, target in first]
    near: Rule = lambda source, target: held_out.find(f"{source} {target}") is not None  # noqa: E731
    report("near duplicates", near, spoilt, sound)
    shifted(everything)


def shifted(pairs: Pairs) -> None:
    """Shift lines 2,001 to 3,000 of several pieces, by up to three lines."""
    right = wrong = total = 0
    for number, offset in enumerate((-3, -2, -1, 1, 2, 3) * 2):
        piece = pairs[number * 2400 % 20_000 :][:5000]
        targets = [target for _, target in piece]
        moved = range(2000 + max(0, offset), 3000 + min(0, offset))
        lines = [
            Pair(source, targets[n - offset] if n in moved else targets[n], n + 1)
            for n, (source, _) in enumerate(piece)
        ]
        found = find_shifts(lambda lines=lines: iter(lines))
        told = {n for n in range(5000) for shift in found if shift.covers(n + 1) and shift.offset == offset}
        true = {n - offset for n in moved}
        right, wrong, total = right + len(told & true), wrong + len(told - true), total + len(true)
    print(f"| shifted | {right / max(1, right + wrong):.3f} | {right / total:.3f} | | |")


if __name__ == "__main__":
    main()
