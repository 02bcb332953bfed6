"""Lines in, lines out, exactly: what comes in as line i leaves as line i.

A line ends at the byte 0x0A and nowhere else. Python's own text mode also splits at a lone carriage return, and
`str.splitlines` at U+2028, U+0085 and six more, which breaks the alignment of parallel files. This file knows bytes
and characters; it knows nothing of languages, tokens or compression.
"""

from collections.abc import Iterator
from typing import BinaryIO

from heedful.errors import DataError

MAX_LINE_BYTES = 1 << 24
"""Longer lines are refused: a few kilobytes of compressed data can be one line of gigabytes."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_LINE_NUMBERS = 10
_LINE_BREAKS = dict.fromkeys(map(ord, "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), " ")


class LineReader:
    """The lines of a byte stream, each as soon as it is complete, so that a pipe can be answered while it is open.

    One carriage return before the newline is dropped (files from Windows), a byte order mark at the very start too.
    Bytes that are not UTF-8 become U+FFFD and are counted, never an end of the run.

    Attributes:
        num_lines: lines read so far.
        num_bad: lines so far that were not valid UTF-8.
        bad_lines: numbers of the first such lines, from 1.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.num_lines = 0
        self.num_bad = 0
        self.bad_lines: list[int] = []
        self._stream = stream
        self._name = name

    def __iter__(self) -> Iterator[str]:
        """Yield the text of each remaining line, without its end."""
        # `readline` returns at the newline; iterating over the stream would wait for a full buffer on some streams.
        while raw := self._stream.readline(MAX_LINE_BYTES + 1):
            self.num_lines += 1
            if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
                raise line_too_long(self._name, self.num_lines)
            if self.num_lines == 1:
                raw = raw.removeprefix(BYTE_ORDER_MARK)
                if not raw:  # a file that holds nothing but its mark has no line
                    self.num_lines = 0
                    return
            yield self._decode(raw.removesuffix(b"\n").removesuffix(b"\r"))

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.num_bad += 1
            if len(self.bad_lines) < MAX_LINE_NUMBERS:
                self.bad_lines.append(self.num_lines)
            return raw.decode("utf-8", errors="replace")


def line_too_long(name: str, number: int) -> DataError:
    """Say that a line is longer than any sentence or document."""
    return DataError(
        f"{name}:{number}: a line must have at most {MAX_LINE_BYTES:,} bytes, but has more. "
        "Check that the file is text with line ends, one sentence or document a line."
    )


def read_lines(stream: BinaryIO, name: str = "The input") -> LineReader:
    """Read a byte stream line by line; see `LineReader` for what counts as a line. `name` is for error messages."""
    return LineReader(stream, name)


def one_line(text: str) -> str:
    """Make text safe to be written as one line: everything some reader takes for a line end becomes a space."""
    return text.translate(_LINE_BREAKS) if not text.isprintable() else text
