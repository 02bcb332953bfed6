"""Translated documentation as pairs of plain sentences: what PO files hold, without its markup.

A PO file has a message for each paragraph, in English and translated. Markup of reStructuredText, XML and BBCode goes,
what it marks stays. A paragraph is cut where both sides have equally many sentences, and is left whole otherwise. What
is not prose (no letters, left as it was, far too long or uneven) is passed over. This file knows no corpus.
"""

import html
import re
from collections.abc import Iterator

from heedful.text.sentences import split_sentences

_STRING = re.compile(r'(msgid_plural|msgid|msgstr(?:\[\d\])?|msgctxt)?\s*"((?:[^"\\]|\\.)*)"\s*')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r":[\w:+-]+:`[~!]?([^`<]+?)\s*<[^`>]*>`"), r"\1"),  # :ref:`what is shown <where>`
    (re.compile(r":[\w:+-]+:`[~!]?([^`]+)`"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*<[^`>]*>`__?"), r"\1"),
    (re.compile(r"``([^`]+)``"), r"\1"),
    (re.compile(r"`([^`]+)`_{0,2}"), r"\1"),
    (re.compile(r"\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"\1\2"),
    (re.compile(r"\[(/?)(?:b|i|u|s|code|codeblock|kbd|url|center)(?:=[^\]]*)?\]"), ""),
    (re.compile(r"<[/!?]?[A-Za-z][^<>]*>"), ""),
)
_UNRESOLVED = re.compile(r"\|[\w -]+\||::|`|\*\*|<_?[\w:]+")
_LETTER = re.compile(r"[^\W\d_]")
_SPACES = re.compile(r"\s+")
_WIDE = re.compile(r"[\u3400-\u9fff]")
_MAX_LENGTH = 400
_MAX_RATIO = 3.0


def pairs_of_po(text: str) -> Iterator[tuple[str, str]]:
    """Yield English and translation of each sentence of a PO file; what is fuzzy, empty or obsolete is passed over."""
    for english, translation in _messages(text):
        sides = [_plain(english), _plain(translation)]
        sentences = [[part.strip() for part in split_sentences(side)] for side in sides]
        if len(sentences[0]) != len(sentences[1]):
            sentences = [[side] for side in sides]
        for pair in zip(*sentences, strict=True):
            if _is_prose(*pair):
                yield pair


def _messages(text: str) -> Iterator[tuple[str, str]]:
    """Yield msgid and msgstr of each message that has one of each."""
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        if any(line.startswith("#,") and "fuzzy" in line for line in lines):
            continue
        fields: dict[str, str] = {}
        key = ""
        for line in lines:
            if (found := _STRING.fullmatch(line)) is not None:
                key = found[1] or key
                fields[key] = fields.get(key, "") + _unescaped(found[2])
        if fields.get("msgid") and fields.get("msgstr"):
            yield fields["msgid"], fields["msgstr"]


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)


def _plain(text: str) -> str:
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    return _SPACES.sub(" ", html.unescape(text).replace("\\ ", "")).strip()


def _is_prose(english: str, translation: str) -> bool:
    if english == translation or max(len(english), len(translation)) > _MAX_LENGTH:
        return False
    if any(_LETTER.search(side) is None or _UNRESOLVED.search(side) is not None for side in (english, translation)):
        return False
    shorter, longer = sorted((_width(english), _width(translation)))
    return longer <= _MAX_RATIO * shorter + 10


def _width(text: str) -> int:
    """Count characters, a Chinese one as three: about as much as it says."""
    return len(text) + 2 * len(_WIDE.findall(text))
