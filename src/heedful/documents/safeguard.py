"""What must survive a translation survives it: marks, placeholders, tags, addresses; checked, and repaired.

A passage is first translated whole. Where a mark or a placeholder is then missing, it is translated again in pieces,
between what must not change, and the pieces are put together as they were. What is asked of the translator is asked in
rounds by a generator, so that callers that wait and callers that do not share this file. Knows no format and no model.
"""

import re
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from heedful.documents.document import Passage, Segments, split
from heedful.text.words import is_unspaced

Translate = Callable[[list[str]], list[str]]
Rounds = Generator[list[str], list[str], "list[Translated]"]
"""Gives texts, wants their translations, and so on; returns what became of the passages."""

KEPT = re.compile(
    r"https?://[^\s<>\"]+|www\.[^\s<>\"]+|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"  # addresses
    r"|\{\{[^{}]*\}\}|\$\{[^{}]*\}|\{%[^{}]*%\}"  # of templates
    r"|\{\s*\w+\s*,(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"  # of ICU messages, with all their forms
    r"|\{[^{}\s]*\}"  # of str.format and many others
    r"|%\([^()\s]*\)[-+#0]*\d*(?:\.\d+)?[a-zA-Z]"  # of Python
    r"|%(?:\d+\$)?[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|j|z|t|L|q)?[diouxXeEfFgGaAcCsSpn@%]"  # of printf
    r"|[%$]\d+"  # of Qt, and of Chrome's messages
    r"|</?[A-Za-z][^<>]*>|&(?:[A-Za-z]\w*|#\w+);"  # tags, entities
)
"""What is the same in every language."""


@dataclass(frozen=True)
class Translated:
    """What became of a passage."""

    segments: Segments
    sources: tuple[str, ...]
    """The texts whose translations it is made of."""


def is_translatable(text: str) -> bool:
    """Say whether there are words in a text, beside what is kept as it is."""
    return any(character.isalpha() for character in KEPT.sub(" ", text))


def in_rounds(passages: Sequence[Passage]) -> Rounds:
    """Translate passages: yields texts, none twice in a round, and wants their translations in the same order."""
    whole = yield from _ask([text for passage in passages if is_translatable(text := _core(passage.text)[1])])
    done: dict[int, Translated] = {}
    broken: list[int] = []
    for number, passage in enumerate(passages):
        before, text, after = _core(passage.text)
        if text not in whole:
            done[number] = Translated(passage.segments, ())
            continue
        found = split(before + whole[text] + after, passage.marks)
        if found is not None and _kept(passage.segments) == _kept(found):
            done[number] = Translated(found, (text,))
        else:
            broken.append(number)
    pieces_of = {number: [_pieces(segment) for segment in passages[number].segments] for number in broken}
    asked = [text for cut in pieces_of.values() for pieces in cut for piece in pieces if (text := _word_core(piece))]
    parts = yield from _ask(asked)
    for number, cut in pieces_of.items():
        segments = _joined([[_in_place(piece, parts) for piece in pieces] for pieces in cut], cut)
        used = tuple(text for pieces in cut for piece in pieces if (text := _word_core(piece)))
        done[number] = Translated(segments, used)
    return [done[number] for number in range(len(passages))]


def run_rounds(rounds: Rounds, translate: Translate) -> "list[Translated]":
    """Answer all rounds by one function."""
    try:
        texts = next(rounds)
        while True:
            texts = rounds.send(translate(texts))
    except StopIteration as end:
        translated: list[Translated] = end.value
        return translated


def _ask(texts: Sequence[str]) -> Generator[list[str], list[str], dict[str, str]]:
    once = list(dict.fromkeys(texts))
    if not once:
        return {}
    return dict(zip(once, (yield once), strict=True))


def _core(text: str) -> tuple[str, str, str]:
    """Cut the white space off both ends, which a translator does not keep."""
    core = text.strip()
    start = len(text) - len(text.lstrip()) if core else len(text)
    return text[:start], core, text[start + len(core) :]


def _word_core(piece: str) -> str:
    """Return what is translated of a piece, nothing where it has no words."""
    return _core(piece)[1] if is_translatable(piece) else ""


def _kept(segments: Sequence[str]) -> Counter[str]:
    return Counter(KEPT.findall(" ".join(segments)))


def _pieces(segment: str) -> list[str]:
    """Cut a segment at what is kept; every second piece is such."""
    pieces, start = [], 0
    for match in KEPT.finditer(segment):
        pieces += [segment[start : match.start()], match[0]]
        start = match.end()
    return [*pieces, segment[start:]]


def _in_place(piece: str, parts: dict[str, str]) -> str:
    """Return a piece with the translation of its words, or as it is where that would bring what must not be there."""
    before, text, after = _core(piece)
    translation = parts.get(text) if is_translatable(piece) else None
    return piece if translation is None or KEPT.search(translation) else before + translation + after


def _joined(translations: Sequence[Sequence[str]], sources: Sequence[Sequence[str]]) -> Segments:
    """Join pieces to segments, with spaces where the script of the translation wants them and that of the source not.

    The other way round a space that is not wanted is taken away.
    """
    flat = [
        (number, piece, source)
        for number, (pieces, own) in enumerate(zip(translations, sources, strict=True))
        for piece, source in zip(pieces, own, strict=True)
        if piece
    ]
    texts = [piece for _, piece, _ in flat]
    for number in range(1, len(flat)):
        before, piece = texts[number - 1], texts[number]
        was_unspaced = _is_unspaced(flat[number - 1][2][-1:]) or _is_unspaced(flat[number][2][:1])
        if _is_unspaced(before.rstrip(" ")[-1:]) and _is_unspaced(piece.lstrip(" ")[:1]):
            texts[number - 1], texts[number] = before.rstrip(" "), piece.lstrip(" ")
        elif was_unspaced and _is_spaced_letter(before[-1:]) and _is_spaced_letter(piece[:1]):
            texts[number] = " " + piece
    segments = [""] * len(translations)
    for (number, _, _), text in zip(flat, texts, strict=True):
        segments[number] += text
    return tuple(segments)


def _is_unspaced(character: str) -> bool:
    return bool(character) and is_unspaced(character)


def _is_spaced_letter(character: str) -> bool:
    return character.isalnum() and not is_unspaced(character)
