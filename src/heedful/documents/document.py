"""What a document is to a translator: passages in order, and a way to write the file again with other words in them.

A passage is a paragraph, a cue, a message or a cell. Formatting inside it cuts it into segments, with a mark between
each and the next ("This is <g1>very</g1> good." has three segments and two marks), so that a translator may see the
whole sentence, and a format never sees more than plain segments. Knows no format and no model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heedful.errors import UserError

Segments = tuple[str, ...]


class DocumentError(UserError):
    """A file that is not what its name says, is damaged, or holds what no document needs."""


@dataclass(frozen=True)
class Passage:
    """A piece of text that is translated together."""

    segments: Segments
    marks: Segments = ()
    """What stands between the segments, one fewer than these: tags such as "<g1>", "</g1>" and "<x2/>", and a newline
    where a line ends, which translators keep by themselves."""

    def __post_init__(self) -> None:
        assert len(self.segments) == len(self.marks) + 1

    @property
    def text(self) -> str:
        """The passage in one piece."""
        return join(self.segments, self.marks)


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    passages: tuple[Passage, ...]
    write: Callable[[Sequence[Segments]], bytes]
    """Makes the file with other segments in it, as many for each passage as it has."""


Read = Callable[[bytes, str], Document]
"""Reads a file that is to be translated into a language; raises `DocumentError`."""


def join(segments: Sequence[str], marks: Sequence[str]) -> str:
    """Put segments together, with a mark between each and the next."""
    return segments[0] + "".join(mark + segment for mark, segment in zip(marks, segments[1:], strict=True))


def split(text: str, marks: Sequence[str]) -> Segments | None:
    """Cut a text at its marks; None where they do not stand in it in this order, each once."""
    segments = []
    for mark in marks:
        before, found, text = text.partition(mark)
        if not found:
            return None
        segments.append(before)
    segments.append(text)
    return tuple(segments) if not any(mark in segment for mark in set(marks) for segment in segments) else None


LINE_BREAK = "\n"


class Marks:
    """Numbers the marks of one passage: a tag that opens, the same that closes, and one that stands alone."""

    def __init__(self) -> None:
        self._last = 0
        self._open: list[int] = []

    def opening(self) -> str:
        """Open a tag."""
        self._last += 1
        self._open.append(self._last)
        return f"<g{self._last}>"

    def closing(self) -> str:
        """Close the tag that was opened last; where none is open, stand alone."""
        return f"</g{self._open.pop()}>" if self._open else self.single()

    def single(self) -> str:
        """Stand alone."""
        self._last += 1
        return f"<x{self._last}/>"


def decode_text(data: bytes, name: str) -> tuple[str, str]:
    """Read bytes as text; return it and its encoding: UTF-8, or UTF-16 where a byte order mark says so."""
    encoding = "utf-8"
    if data.startswith(b"\xef\xbb\xbf"):
        encoding = "utf-8-sig"
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        remedy = "Save it as UTF-8 and try again."
        raise DocumentError(f"{name} must be text in UTF-8, but is not at byte {error.start:,}. {remedy}") from None
    if "\0" in text:
        raise DocumentError(f"{name} must be text, but has a zero byte.")
    return text, encoding
