"""Training text as users write it, made of pairs that are there: paragraphs, context, copies, capitals, typing errors.

A pure function of the pairs and of the generator that is given. What cannot be made of a pair is not made. This file
knows text and the codes of its languages; it knows no tokens and no files.
"""

import random
import re
from collections.abc import Callable, Sequence

from heedful.config.data import AugmentationConfig
from heedful.data.made_up_parts import BESIDE_TEXT, FOR_NAMES, FOR_NUMBERS, TAGS, name
from heedful.text.words import is_unspaced

Pair = tuple[str, str]

CONTEXT_MARK = "␞"
"""Ends what is read before a sentence and is not translated with it. No piece of a vocabulary need have it: it is then
read as its bytes."""

_MOST_JOINED = 6
_LONGEST_CHANGED = 300
_LATIN = "A-Za-zÀ-ɏ"
_NAME = re.compile(rf"(?<![{_LATIN}\d'’-])[A-ZÀ-Þ][a-zß-ɏ]{{2,}}(?![{_LATIN}\d'’-])")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?![\w%°]|[.,:/-]\d)")
_FULL_STOPS = (".", "。")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LETTERS_AN_ERROR = 40


class Augmentation:
    """Makes pairs of others; `source_language` and `target_language` decide on spaces and signs."""

    def __init__(self, config: AugmentationConfig, source_language: str, target_language: str) -> None:
        self._languages = source_language, target_language
        self._ways: list[tuple[float, Callable[[Pair, random.Random], Pair | None]]] = [
            (config.copies, self._with_copy),
            (config.capitals, _in_capitals),
            (config.no_full_stop, _without_full_stop),
            (config.typing_errors, _with_typing_errors),
        ]
        self._joined_share = config.joined
        self._context_share, self._context_sentences = config.context, config.context_sentences

    def of(self, sources: Sequence[str], targets: Sequence[str], chance: random.Random) -> list[Pair]:
        """Return the pairs that are made of these."""
        made: list[Pair] = []
        usable = [pair for pair in zip(sources, targets, strict=True) if pair[0].strip() and pair[1].strip()]
        for _ in range(_count(self._joined_share, len(usable), chance) if len(usable) > 1 else 0):
            some = chance.sample(usable, min(len(usable), chance.randint(2, _MOST_JOINED)))
            made.append((joined([pair[0] for pair in some]), joined([pair[1] for pair in some])))
        made += self._in_context(sources, targets, chance)
        for share, make in self._ways:
            for pair in chance.sample(usable, _count(share, len(usable), chance)):
                if max(len(pair[0]), len(pair[1])) <= _LONGEST_CHANGED and (new := make(pair, chance)) is not None:
                    made.append(new)
        return made

    def _in_context(self, sources: Sequence[str], targets: Sequence[str], chance: random.Random) -> list[Pair]:
        """Put the lines before some pairs in front of their sources; a blank line ends what belongs together."""
        if not self._context_share:
            return []
        found: list[Pair] = []
        before: list[str] = []
        for source, target in zip(sources, targets, strict=True):
            if not source.strip():
                before = []
                continue
            if before and target.strip() and chance.random() < self._context_share:
                last = before[-chance.randint(1, self._context_sentences) :]
                found.append((" ".join([*last, CONTEXT_MARK, source.strip()]), target))
            before = [*before, source.strip()][-self._context_sentences :]
        return found

    def _with_copy(self, pair: Pair, chance: random.Random) -> Pair | None:
        """Put something that stays as it is into both sides."""
        source, target = pair
        for pattern, makers in ((_NAME, FOR_NAMES), (_NUMBER, FOR_NUMBERS)):
            shared = [found for found in pattern.finditer(source) if found.start() and _once(found[0], pair)]
            if shared:
                old, new = chance.choice(shared)[0], chance.choice(makers)(chance)
                return source.replace(old, new), target.replace(old, new)
        return self._beside(source, target, chance)

    def _beside(self, source: str, target: str, chance: random.Random) -> Pair | None:
        """Put it around, before or after the text, or into brackets before its last sign."""
        way = chance.randrange(4)
        if way == 0:
            tag = chance.choice(TAGS)
            return f"<{tag}>{source}</{tag}>", f"<{tag}>{target}</{tag}>"
        if way == 1:
            part = chance.choice((name, *BESIDE_TEXT))(chance)
            first, second = (f"{part}{_colon(language)}" for language in self._languages)
            return first + source, second + target
        part = chance.choice(BESIDE_TEXT)(chance)
        if way == 2:
            return f"{source} {part}", f"{target} {part}"
        if source[-1] in ".!?。！？" and target[-1] in ".!?。！？":
            return tuple(f"{side[:-1]} ({part}){side[-1]}" for side in (source, target))  # type: ignore[return-value]
        return f"{source} ({part})", f"{target} ({part})"


def joined(sentences: Sequence[str]) -> str:
    """Put sentences one after the other, with a space where the script has them."""
    text = ""
    for sentence in (one.strip() for one in sentences):
        text += ("" if not text or is_unspaced(text[-1]) or is_unspaced(sentence[0]) else " ") + sentence
    return text


def _count(share: float, size: int, chance: random.Random) -> int:
    """Return how many of `size` are a share, rounded up or down so that many blocks come out even."""
    return min(size, int(share * size + chance.random()))


def _once(part: str, pair: Pair) -> bool:
    """Say whether a part stands once on either side, as a word of its own."""
    whole = re.compile(rf"(?<![{_LATIN}\d]){part}(?![{_LATIN}\d])")
    return all(len(whole.findall(side)) == 1 and side.count(part) == 1 for side in pair)


def _colon(language: str) -> str:
    return {"zh": "：", "fr": " : "}.get(language, ": ")


def _in_capitals(pair: Pair, _: random.Random) -> Pair | None:
    source, target = pair[0].upper(), pair[1].upper()
    return None if source == pair[0] else (source, target)


def _without_full_stop(pair: Pair, _: random.Random) -> Pair | None:
    if not all(side.endswith(_FULL_STOPS) and len(side) > 1 and not side.endswith("..") for side in pair):
        return None
    return pair[0][:-1].rstrip(), pair[1][:-1].rstrip()


def _with_typing_errors(pair: Pair, chance: random.Random) -> Pair | None:
    """Mistype some letters of the source: exchanged, left out, doubled, or another in their place."""
    letters = list(pair[0])
    if any(is_unspaced(letter) for letter in letters):
        return None
    for _ in range(1 + len(letters) // _LETTERS_AN_ERROR):
        place = chance.randrange(len(letters))
        if not letters[place].isalpha():
            continue
        match chance.randrange(5):
            case 0 if place + 1 < len(letters):
                letters[place], letters[place + 1] = letters[place + 1], letters[place]
            case 1:
                letters[place] = ""
            case 2:
                letters[place] *= 2
            case 3:
                letters[place] = chance.choice(_LETTERS)
            case _:
                letters[place] = letters[place].swapcase()
        letters = list("".join(letters))
        if not letters:
            return None
    text = "".join(letters)
    return None if text == pair[0] or not text.strip() else (text, pair[1])
