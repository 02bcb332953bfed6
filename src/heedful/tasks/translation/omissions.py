"""Translations with something left out on purpose, to see whether it is noticed: a clause, or a sentence of several.

Clauses end at commas and the like and begin at conjunctions; what is left gets its first capital and its last mark
back, so that it looks like a whole sentence. Chosen with a seed. Knows texts; knows no model.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from heedful.tasks.translation.plan import join_parts
from heedful.text.words import HAN, UNSPACED, WORD

TextPair = tuple[str, str]
_MARK = re.compile(rf"[,;:—–](?=\s)[”\"'’»]?\s*|[，；：]+[”\"]?\s*|(?<=[^{UNSPACED}]\s)[—–]\s+")
_CONJUNCTION = re.compile(
    r"(?<=[^\s,;] )(?:and|but|or|because|if|when|while|although|though|since|before|after|until|unless|so that"
    r"|und|aber|oder|sondern|denn"
    r"|et|mais|ou|parce que|puisque|quand|lorsque|bien que|avant que|après que|pour que|afin que)\b"
)
_END = re.compile(r"[.!?。！？…”\"»\s]+$")
_LEFT_OVER = re.compile(r"[\s,;:，；：、—–]+$")
_LEAST_WORDS, _LEAST_CHARACTERS = 3, 4
"""Of a clause; the latter of scripts without spaces."""


@dataclass(frozen=True)
class Examples:
    """Good pairs, and pairs of which one side lacks something."""

    good: list[TextPair]
    lacking: list[TextPair]

    @property
    def both(self) -> tuple[list[TextPair], list[TextPair]]:
        """The good ones, and those that lack something."""
        return self.good, self.lacking


def clauses(text: str) -> list[str]:
    """Cut a sentence into clauses, which joined are the sentence; most have one."""
    cuts = {match.end() for match in _MARK.finditer(text)} | {match.start() for match in _CONJUNCTION.finditer(text)}
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    found: list[str] = []
    for start, end in pairwise(places):
        if found and not (_is_clause(text[start:end]) and _is_clause(found[-1])):
            found[-1] += text[start:end]
        else:
            found.append(text[start:end])
    return found


def without_clause(parts: Sequence[str], number: int) -> str:
    """Leave one of several clauses out."""
    text = "".join(part for place, part in enumerate(parts) if place != number).strip()
    if number == len(parts) - 1:
        end = _END.search(parts[-1])
        text = _LEFT_OVER.sub("", text) + (end.group().rstrip() if end else "")
    return text[:1].upper() + text[1:] if number == 0 else text


def lacking_clauses(pairs: Sequence[TextPair], generator: random.Random) -> Examples:
    """Leave the third clause of each translation out, or one of the only two; those with one clause are passed over."""
    examples = Examples([], [])
    for source, target in pairs:
        parts = clauses(target)
        if len(parts) > 1:
            number = 2 if len(parts) > 2 else generator.randrange(2)
            examples.good.append((source, target))
            examples.lacking.append((source, without_clause(parts, number)))
    return examples


def lacking_sentences(pairs: Sequence[TextPair], size: int, generator: random.Random, *, most: int) -> Examples:
    """Join as many pairs as `size` to a text, at most so many texts, and leave a sentence of each translation out."""
    examples = Examples([], [])
    order = list(range(len(pairs)))
    generator.shuffle(order)
    for start in range(0, len(order) - size + 1, size):
        chosen = [pairs[number] for number in order[start : start + size]]
        targets = [target for _, target in chosen]
        source = join_parts([source for source, _ in chosen])
        left_out = generator.randrange(size)
        examples.good.append((source, join_parts(targets)))
        examples.lacking.append((source, join_parts([*targets[:left_out], *targets[left_out + 1 :]])))
        if len(examples.good) == most:
            break
    return examples


def _is_clause(text: str) -> bool:
    return len(WORD.findall(text)) >= _LEAST_WORDS or len(re.findall(f"[{HAN}]", text)) >= _LEAST_CHARACTERS
