"""Texts in several languages, and texts that are not in the language they are said to be in: found, and false alarms.

    python benchmarks/mixed_languages.py

Tatoeba's test sentences of four words or more, in the four languages of the bundled model, and those of PUD (news and
Wikipedia), in data/ or the folder named in HEEDFUL_DATA. "said" is the language given with --from. A mixed text has
four sentences of one language and one of another, drawn with a seed; it is named if that sentence, and no other, is
taken for what it is.
"""

import random
from itertools import permutations

from benchmarks.language_detection import DIRECTIONS, tatoeba

from heedful.config.data import TsvCorpus
from heedful.data.readers import read_parallel

LANGUAGES = ("en", "de", "fr", "zh")
LEAST_WORDS = 4
NUM_MIXED = 300
"""Of each ordered pair of languages."""


def main() -> None:
    """Print the shares for both corpora."""
    for name, texts in (("tatoeba", tatoeba()), ("pud", _pud())):
        long = {language: [line for line in lines if _is_long(line, language)] for language, lines in texts.items()}
        short = [(line, language) for language in LANGUAGES for line in texts[language] if line not in long[language]]
        own = [(line, language) for language in LANGUAGES for line in long[language]]
        report(f"{name}: right language said, {LEAST_WORDS} words or more, alarm", [seems(*one) for one in own])
        report(f"{name}: right language said, fewer words, alarm", [seems(*one) for one in short])
        pairs = list(permutations(LANGUAGES, 2))
        wrong = [(line, true, said) for true, said in pairs for line in long[true][:NUM_MIXED]]
        report(f"{name}: wrong language said, alarm", [seems(line, said) == true for line, true, said in wrong])
        generator = random.Random(1)
        plain = [generator.sample(long[language], 5) for language in LANGUAGES for _ in range(NUM_MIXED)]
        report(
            f"{name}: five sentences of one language, called mixed", [len(set(languages_of(it))) > 1 for it in plain]
        )
        named = []
        for main_language, other in pairs:
            for _ in range(NUM_MIXED):
                sentences = generator.sample(long[main_language], 4)
                place = generator.randrange(5)
                sentences.insert(place, generator.choice(long[other]))
                expected = [other if number == place else main_language for number in range(5)]
                named.append(languages_of(sentences) == expected)
        report(f"{name}: one sentence of five in another language, named", named)


def seems(text: str, said: str) -> str | None:
    """Return what a text clearly is in instead of what is said."""
    return DIRECTIONS.route(text, said, "de" if said == "en" else "en").seems


def languages_of(sentences: list[str]) -> list[str | None]:
    """Return the language each sentence of a text is read in."""
    whole = DIRECTIONS.route(" ".join(sentences), None, "en")
    return [route.source for route in DIRECTIONS.within(whole, sentences)]


def report(name: str, found: list[object]) -> None:
    """Print how often something was found."""
    share = 100 * sum(map(bool, found)) / max(len(found), 1)
    print(f"{name:<66} {share:>6.2f} % of {len(found):,}", flush=True)


def _is_long(line: str, language: str) -> bool:
    return len(line) >= LEAST_WORDS if language == "zh" else len(line.split()) >= LEAST_WORDS


def _pud() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language in LANGUAGES[1:]:
        english, others = read_parallel(TsvCorpus(kind="tsv", path=f"data/general/news/pud.en-{language}.tsv.gz"))
        found |= {"en": list(english), language: list(others)}
    return found


if __name__ == "__main__":
    main()
