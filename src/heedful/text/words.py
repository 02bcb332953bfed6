"""What a word is, in any script, and where words begin in a row of pieces: the only definition of either.

Scripts with spaces have their words between them. Chinese and Japanese write none: there every character stands for
itself, and so do their punctuation and the full-width forms beside them. Korean writes spaces and is like the others.
The page has the same rules in serving/web/word_bounds.js, and a test holds the two equal. Which language a script
speaks for is the business of text/scripts.py; this file knows no language, no tokenizer and no model.
"""

import re

SPACE_MARK = "▁"
"""Stands for a space inside pieces, and opens the first word of every text."""

HAN = "\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
"""Chinese characters, as the inside of a character class: the unified ideographs with all extensions, present and
planned (planes 2 and 3 are theirs), the compatibility ideographs, and the signs 々, 〇, 〡 to 〩 and 〸 to 〻."""

UNSPACED = (
    "\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff9f\uffe0-\uffef"
    "\U0001aff0-\U0001b16f\U0001f200-\U0001f2ff\U00020000-\U0003fffd"
)
"""All that is written without spaces, as the inside of a character class: Chinese characters and their radicals, kana,
bopomofo, the punctuation of Chinese and Japanese, full-width forms. Hangul is not among it."""

LETTER = rf"[^\W\d_{UNSPACED}]"
"""A letter of a script that has spaces, as a regular expression."""

WORD = re.compile(rf"{LETTER}+(?:['’]{LETTER}+)*")
"""A word of a script that has spaces; an apostrophe inside belongs to it."""

UNIT = re.compile(rf"(?=\w)[{UNSPACED}]|{WORD.pattern}|\d+")
"""What a text is counted in: a word, a number, or a character of a script without spaces."""

_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def is_unspaced(character: str) -> bool:
    """Say whether a character is of a script that writes no spaces between words."""
    return _UNSPACED_CHARACTER.match(character) is not None


def begins_word(before: str, piece: str) -> bool:
    """Say whether a piece begins a word after the piece `before`.

    A word begins at a space mark, at every piece of a script without spaces, and where punctuation begins or ends. A
    space mark alone has only opened the word, and the bytes of a character stay together.
    """
    if before == SPACE_MARK or (_BYTE.fullmatch(before) and _BYTE.fullmatch(piece)):
        return False
    if piece.startswith(SPACE_MARK):
        return True
    return is_unspaced(piece[:1]) or is_unspaced(before[-1:]) or _is_mark(piece) != _is_mark(before)


def _is_mark(piece: str) -> bool:
    return not any(character.isalnum() for character in piece)
