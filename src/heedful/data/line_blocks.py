"""Files in blocks of whole lines, as bytes: a corpus is cut once, by one process, and can be read by many.

Where a block ends depends on the files alone. What a line is, text/lines.py says. This file knows no columns and no
pairs.
"""

from typing import BinaryIO

import numpy as np

from heedful.text.lines import BYTE_ORDER_MARK, MAX_LINE_BYTES, line_too_long

_BYTES_AT_ONCE = 1 << 20


class LineBlocks:
    """The lines of a byte stream, some thousand at a time. `num_lines` counts those that were taken."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.num_lines = 0
        self._stream, self._name = stream, name
        self._rest = b""
        self._is_begun = False

    def take(self, most_lines: int, most_bytes: int | None = None) -> bytes:
        """Return the next lines: fewer at the end of the file, or where these are more than so many bytes."""
        parts, num_lines, num_bytes = [self._rest], self._rest.count(b"\n"), len(self._rest)
        pending = num_bytes - self._rest.rfind(b"\n") - 1
        while num_lines < most_lines and (most_bytes is None or not num_lines or num_bytes < most_bytes):
            part = self._read()
            if not part:  # the last line may have no end
                num_lines += pending > 0
                break
            parts.append(part)
            num_lines += part.count(b"\n")
            num_bytes += len(part)
            pending = len(part) - part.rfind(b"\n") - 1 if b"\n" in part else pending + len(part)
            if pending > MAX_LINE_BYTES:
                raise line_too_long(self._name, self.num_lines + num_lines + 1)
        taken = min(num_lines, most_lines)
        whole, self._rest = _cut(b"".join(parts), taken)
        self.num_lines += taken
        return whole

    def _read(self) -> bytes:
        if self._is_begun:
            return self._stream.read(_BYTES_AT_ONCE)
        self._is_begun = True
        return self._stream.read(_BYTES_AT_ONCE).removeprefix(BYTE_ORDER_MARK) or self._stream.read(_BYTES_AT_ONCE)


def _cut(whole: bytes, num_lines: int) -> tuple[bytes, bytes]:
    """Return that many lines, and the rest."""
    ends = np.flatnonzero(np.frombuffer(whole, dtype=np.uint8) == ord("\n"))
    end = int(ends[num_lines - 1]) + 1 if 0 < num_lines <= len(ends) else len(whole)
    return (whole[:end], whole[end:]) if num_lines else (b"", whole)


def lines_of(block: bytes, name: str, first_line: int) -> tuple[list[str], list[int]]:
    """Return the text of each line without its end, and the numbers of those that were not valid UTF-8."""
    if not block:
        return [], []
    raw = block.removesuffix(b"\n")
    if len(raw) > MAX_LINE_BYTES:
        for number, line in enumerate(raw.split(b"\n"), first_line):
            if len(line) > MAX_LINE_BYTES:
                raise line_too_long(name, number)
    bad = []
    try:
        lines = raw.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = []
        for number, line in enumerate(raw.split(b"\n"), first_line):
            lines.append(line.decode("utf-8", errors="replace"))
            if not _is_utf8(line):
                bad.append(number)
    return [line.removesuffix("\r") for line in lines] if b"\r" in raw else lines, bad


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
