"""Lines that were broken to a width, made whole for the translator and broken again.

A sentence that runs over three lines has to be seen whole. Lines count as wrapped where all but the last are about as
long as each other and none ends where a writer would end one. Knows characters only.
"""

import textwrap
from collections.abc import Sequence

from heedful.text.words import is_unspaced

_NARROWEST, _WIDEST = 45, 120
_ENDS = (".", "!", "?", ":", "…", "。", "！", "？", "  ", "\\")


def is_wrapped(lines: Sequence[str]) -> bool:
    """Say whether neighbouring lines are one paragraph that was broken to a width."""
    *before, _ = lines
    width = max((len(line) for line in lines), default=0)
    return (
        bool(before)
        and _NARROWEST <= width <= _WIDEST
        and all(len(line) >= 0.6 * width for line in before)
        and any(not line.endswith(_ENDS) for line in before)
    )


def unwrap(lines: Sequence[str]) -> str:
    """Put lines together, with a space between words that have one."""
    whole = ""
    for line in lines:
        line = line.strip()
        gap = "" if not whole or not line or is_unspaced(whole[-1]) or is_unspaced(line[0]) else " "
        whole += gap + line
    return whole


def rewrap(text: str, width: int) -> list[str]:
    """Break a paragraph to a width; words stay whole, also where they are longer."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [text]


def break_into(text: str, num_lines: int) -> list[str]:
    """Break a text into at most so many lines of about the same length."""
    if num_lines <= 1 or len(text) < 2:
        return [text]
    if any(map(is_unspaced, text)) and "<" not in text:
        width = -(-len(text) // num_lines)
        return [text[start : start + width] for start in range(0, len(text), width)]
    lines, words = [""], text.split()
    for word in words:
        left = num_lines - len(lines)
        is_full = len(lines[-1]) + len(word) / 2 > len(text) / num_lines
        if lines[-1] and left and is_full:
            lines.append(word)
        else:
            lines[-1] += (" " if lines[-1] else "") + word
    return lines
