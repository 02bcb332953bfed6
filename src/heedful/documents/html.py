"""HTML and XHTML: paragraphs, headings, cells and items are passages; tags stay where they stand.

Translated are texts, and the attributes people read (`alt`, `title` and the like); never code, scripts, styles, or what
says `translate="no"`. `lang` of the page becomes the language it is translated into.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape, unescape

from heedful.documents.document import LINE_BREAK, Document, Marks, Passage, Segments, decode_text
from heedful.documents.markup import Piece, attributes, scan
from heedful.documents.safeguard import is_translatable

_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "mark",
        "nobr",
        "q",
        "ruby",
        "rb",
        "rp",
        "rt",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "svg",
        "math",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "br",
    ]
)
_UNTRANSLATED = frozenset(["code", "kbd", "samp", "var", "pre", "svg", "math"])
_ALONE = frozenset(
    ["img", "br", "wbr", "input", "hr", "meta", "link", "area", "base", "col", "embed", "source", "track", "param"]
)
_READ = frozenset({"alt", "title", "placeholder", "aria-label"})


@dataclass
class _Slot:
    """A part of the source that is text."""

    start: int
    end: int
    is_attribute: bool = False


@dataclass
class _Reader:
    """Collects passages from the pieces of a source."""

    source: str
    target: str
    passages: list[Passage] = field(default_factory=list)
    slots: list[list[_Slot]] = field(default_factory=list)
    """For each passage one slot a segment."""

    fixed: list[tuple[int, int, str]] = field(default_factory=list)
    """What changes without being translated: start, end, and what is put there."""

    _parts: list[Piece] = field(default_factory=list)
    """Texts and tags since the last end of a paragraph."""

    _hidden: list[str] = field(default_factory=list)
    """Elements one is in whose text is not translated, the outermost first."""

    def take(self, piece: Piece) -> None:
        """Look at the next piece."""
        if piece.kind in ("text", "other"):
            if not self._hidden:
                self._parts.append(piece)
        elif piece.kind == "close":
            self._close(piece)
        elif self._hidden:
            if piece.kind == "open" and piece.name not in _ALONE:
                self._hidden.append(piece.name)
        else:
            self._open(piece)

    def flush(self) -> None:
        """End a passage."""
        parts, self._parts = self._parts, []
        words = [
            number
            for number, piece in enumerate(parts)
            if piece.kind == "text" and not self.source[piece.start : piece.end].isspace()
        ]
        if not words:
            return
        first, last = parts[words[0]], parts[words[-1]]
        start, end = self._inside(first).start, self._inside(last).end
        segments, marks, slots, numbering = [""], [], [_Slot(start, start)], Marks()
        for piece in parts[words[0] : words[-1] + 1]:
            if piece.kind == "text":
                slots[-1].end = min(piece.end, end)
                segments[-1] += self._text(max(piece.start, start), slots[-1].end)
                continue
            tag = {"open": numbering.opening, "close": numbering.closing}.get(piece.kind, numbering.single)
            marks.append(LINE_BREAK if piece.name == "br" else tag())
            segments.append("")
            slots.append(_Slot(piece.end, piece.end))
        passage = Passage(tuple(segments), tuple(marks))
        if is_translatable(passage.text):
            self.passages.append(passage)
            self.slots.append(slots)

    def _inside(self, piece: Piece) -> _Slot:
        """Return where a text begins and ends, without white space."""
        text = self.source[piece.start : piece.end]
        start = piece.start + len(text) - len(text.lstrip())
        return _Slot(start, start + len(text.strip()))

    def _text(self, start: int, end: int) -> str:
        """Read a text as browsers do: one space for any white space."""
        raw = unescape(self.source[start:end])
        words = " ".join(raw.split())
        return (" " if raw[:1].isspace() else "") + words + (" " if words and raw[-1:].isspace() else "")

    def _open(self, piece: Piece) -> None:
        tag = self.source[piece.start : piece.end]
        values = {name: (start, end) for name, start, end in attributes(tag)} if "=" in tag else {}
        says_no = _value(tag, values, "translate") == "no" or "notranslate" in _value(tag, values, "class").split()
        is_alone = piece.kind == "single" or piece.name in _ALONE
        is_hidden = piece.name in _UNTRANSLATED or says_no
        if piece.name not in _INLINE:
            self.flush()
        else:
            kind = "single" if is_alone or is_hidden else "open"
            self._parts.append(Piece(piece.start, piece.end, kind, piece.name))
        if is_hidden and not is_alone:
            self._hidden = [piece.name]
        if not is_hidden:
            self._read_attributes(piece, tag, values)

    def _close(self, piece: Piece) -> None:
        if not self._hidden:
            if piece.name in _INLINE:
                self._parts.append(piece)
            else:
                self.flush()
            return
        if piece.name not in self._hidden:
            return
        while self._hidden.pop() != piece.name:
            pass
        if not self._hidden and self._parts:  # all that was hidden inside a paragraph stands for one mark
            self._parts.append(Piece(self._parts.pop().start, piece.end, "single"))

    def _read_attributes(self, piece: Piece, tag: str, values: dict[str, tuple[int, int]]) -> None:
        for name, (start, end) in values.items():
            slot = _Slot(piece.start + start, piece.start + end, is_attribute=True)
            if piece.name == "html" and name in ("lang", "xml:lang"):
                self.fixed.append((slot.start, slot.end, escape(self.target)))
            elif name in _READ and is_translatable(value := unescape(tag[start:end])):
                self.passages.append(Passage((value,)))
                self.slots.append([slot])


def read(data: bytes, target: str) -> Document:
    """Read a page."""
    source, encoding = decode_text(data, "An HTML file")
    return read_source(source, target, encoding)


def read_source(source: str, target: str, encoding: str = "utf-8") -> Document:
    """Read a page that is text already."""
    reader = _Reader(source, target)
    for piece in scan(source):
        reader.take(piece)
    reader.flush()

    def write(translations: Sequence[Segments]) -> bytes:
        changes = list(reader.fixed)
        for slots, segments in zip(reader.slots, translations, strict=True):
            changes += [
                (slot.start, slot.end, escape(text, quote=slot.is_attribute))
                for slot, text in zip(slots, segments, strict=True)
            ]
        written, position = [], 0
        for start, end, text in sorted(changes):
            written += [source[position:start], text]
            position = end
        return "".join([*written, source[position:]]).encode(encoding, "xmlcharrefreplace")

    return Document(tuple(reader.passages), write)


def _value(tag: str, values: dict[str, tuple[int, int]], name: str) -> str:
    start, end = values.get(name, (0, 0))
    return tag[start:end].lower()
