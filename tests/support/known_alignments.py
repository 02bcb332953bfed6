"""Sentences that are made word by word, so that it is known which words belong together."""

from dataclasses import dataclass

import numpy as np

Link = tuple[int, int]


@dataclass(frozen=True)
class Known:
    """A sentence, its translation, and the words that belong together."""

    source: list[str]
    target: list[str]
    links: set[Link]


def known_alignments(count: int, *, seed: int = 0, num_words: int = 400) -> list[Known]:
    """Make sentences of words that are frequent and rare as those of a language are.

    A tenth of the words become two, a tenth nothing; fillers are written for none; neighbours change places. No word is
    twice in a sentence: nobody could tell which of its translations is whose.
    """
    drawn = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, num_words + 1)
    frequency /= frequency.sum()
    translations = [
        [] if number % 10 == 7 else [f"t{number}", f"t{number}b"] if number % 10 == 3 else [f"t{number}"]
        for number in range(num_words)
    ]
    made: list[Known] = []
    while len(made) < count:
        words = drawn.choice(num_words, size=int(drawn.integers(4, 16)), replace=False, p=frequency)
        places = np.argsort(np.arange(len(words)) + drawn.uniform(0, 2.5, size=len(words)))
        target: list[str] = []
        links: set[Link] = set()
        for place in places:
            if drawn.random() < 0.08:
                target.append(f"filler{drawn.integers(3)}")
            for translated in translations[words[place]]:
                links.add((int(place), len(target)))
                target.append(translated)
        if links:
            made.append(Known([f"s{word}" for word in words], target, links))
    return made


def scores(found: list[set[Link]], known: list[Known]) -> tuple[float, float]:
    """Return precision and recall of links."""
    right = sum(len(links & pair.links) for links, pair in zip(found, known, strict=True))
    return right / sum(map(len, found)), right / sum(len(pair.links) for pair in known)
