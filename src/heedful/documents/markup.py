"""Text with tags in it, cut into tags and text by position, so that only the text changes and every other byte stays.

HTML as browsers take it and XHTML alike: nothing has to be well-formed, nothing is resolved or loaded, and the time is
linear in the text. Which tags mean what is the business of html.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SIMPLE_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)([^>]*+)>")
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:\"[^\"]*\"|'[^']*'|[^'\">])*+)>")
_ATTRIBUTE = re.compile(r"(?<![^\s\"'])([^\s=\"'<>/]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')")
_RAW = frozenset({"script", "style", "textarea", "xmp", "noscript", "iframe"})
"""Elements whose content is no markup; the last two are left alone for what they are for."""


@dataclass(frozen=True)
class Piece:
    """A part of the source: text, a tag, or anything else between < and >."""

    start: int
    end: int
    kind: str
    """"text", "open", "close", "single" or "other"."""

    name: str = ""
    """Of a tag, in small letters."""


def scan(source: str) -> Iterator[Piece]:
    """Cut a source into pieces, one after the other."""
    position, size = 0, len(source)
    raw: str | None = None
    tag = _TAG
    while position < size:
        if raw is not None:
            end = _end_of_raw(source, position, raw)
            if end > position:
                yield Piece(position, end, "other")
            position, raw = end, None
            continue
        start = source.find("<", position)
        if start < 0:
            yield Piece(position, size, "text")
            return
        piece = _markup(source, start, tag)
        if piece is None and tag is _TAG and _begins_tag(source, start):
            tag = _SIMPLE_TAG  # a quotation mark that is never closed: it is none, and is not looked for again
            piece = _markup(source, start, tag)
        if piece is None:  # a lone "<"
            start = source.find("<", start + 1)
            start = size if start < 0 else start
            yield Piece(position, start, "text")
            position = start
            continue
        if start > position:
            yield Piece(position, start, "text")
        yield piece
        position = piece.end
        if piece.kind == "open" and piece.name in _RAW:
            raw = piece.name


def attributes(tag: str) -> Iterator[tuple[str, int, int]]:
    """Give the attributes of a tag that have a quoted value: name, start and end of the value."""
    for match in _ATTRIBUTE.finditer(tag):
        group = 2 if match[2] is not None else 3
        yield match[1].lower(), match.start(group), match.end(group)


def _markup(source: str, start: int, tag: re.Pattern[str]) -> Piece | None:
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", ">"), ("<!", ">")):
        if source.startswith(opening, start):
            end = source.find(closing, start + len(opening))
            return Piece(start, len(source) if end < 0 else end + len(closing), "other")
    match = tag.match(source, start)
    if match is None:
        # A tag that is never closed swallows the rest, as it does in a browser.
        is_endless = tag is _SIMPLE_TAG and _begins_tag(source, start)
        return Piece(start, len(source), "other") if is_endless else None
    kind = "close" if match[1] else "single" if match[3].endswith("/") else "open"
    return Piece(start, match.end(), kind, match[2].lower())


def _begins_tag(source: str, start: int) -> bool:
    following = source[start + 1 : start + 3].removeprefix("/")[:1]
    return following.isalpha() and following.isascii()


def _end_of_raw(source: str, position: int, name: str) -> int:
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(source, position)
    return found.start() if found else len(source)
