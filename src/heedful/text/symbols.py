"""A text as one long sequence of symbols, and back: what a language model reads and writes.

Symbols are the bytes of the text, or learned pieces with a symbol for the line end. Both give every text back exactly
(pieces: every text that is UTF-8), so that a probability of symbols is a probability of text. This file knows nothing
of where text comes from and how it is cut into segments.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from heedful.errors import UserError
from heedful.text.tokenizer import Tokenizer

Ids = npt.NDArray[np.integer]
_FORMAT = "heedful-symbols"
_LINES_AT_ONCE = 10_000


class Symbols(Protocol):
    """A way to write a text as ids."""

    @property
    def vocab_size(self) -> int:
        """Symbols there are."""

    @property
    def start_id(self) -> int:
        """The symbol that a text is taken to follow: the end of a line."""

    @property
    def fingerprint(self) -> str:
        """Equal fingerprints, equal symbols."""

    def encode(self, text: bytes) -> Ids:
        """Return the ids of a text."""

    def writer(self) -> "Writer":
        """Begin to write ids as text."""

    def to_json(self) -> str:
        """Write everything down, for `symbols_from_json`."""


class Writer(Protocol):
    """Turns ids into text while they come."""

    def follow(self, ids: Sequence[int]) -> None:
        """Go on after these ids, whose text is there already."""

    def write(self, symbol_id: int) -> bytes:
        """Return the text that is certain now and was not before."""

    def close(self) -> bytes:
        """Return what is left."""


def decode(symbols: Symbols, ids: Iterable[int]) -> bytes:
    """Return the text of some ids."""
    writer = symbols.writer()
    return b"".join([*(writer.write(int(symbol_id)) for symbol_id in ids), writer.close()])


def symbols_from_json(text: str) -> Symbols:
    """Read what `to_json` of either kind wrote. Anything else is refused with a `UserError`."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError("The symbols of a language model must be described in JSON, but are not.") from None
    if isinstance(content, dict) and content.get("format") == _FORMAT:
        if content != json.loads(ByteSymbols().to_json()):
            raise UserError("The symbols of a language model must be of a kind this Heedful knows, but are not.")
        return ByteSymbols()
    return SubwordSymbols(Tokenizer.from_json(text))


class ByteSymbols:
    """Every byte is a symbol, and its own id."""

    vocab_size = 256
    start_id = ord("\n")

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the JSON."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def encode(self, text: bytes) -> Ids:
        """Return the bytes of a text, without copying them."""
        return np.frombuffer(text, dtype=np.uint8)

    def writer(self) -> "ByteWriter":
        """Begin to write ids as text."""
        return ByteWriter()

    def to_json(self) -> str:
        """Write everything down."""
        return json.dumps({"format": _FORMAT, "version": 1, "kind": "bytes"})


class ByteWriter:
    """Every id is a byte of the text."""

    def follow(self, ids: Sequence[int]) -> None:
        """Do nothing: a byte is the same after any other."""

    def write(self, symbol_id: int) -> bytes:
        """Return the byte."""
        return bytes([symbol_id])

    def close(self) -> bytes:
        """Return nothing: nothing was held back."""
        return b""


class SubwordSymbols:
    """Pieces of a tokenizer that keeps every character; its end symbol stands for the line end."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @property
    def vocab_size(self) -> int:
        """Symbols there are."""
        return self.tokenizer.target_vocab_size

    @property
    def start_id(self) -> int:
        """The line end."""
        return self.tokenizer.eos_id

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the tokenizer."""
        return self.tokenizer.fingerprint

    def encode(self, text: bytes) -> Ids:
        """Return the pieces of all lines with an end symbol between each two; bytes that are no UTF-8 become U+FFFD."""
        lines = text.decode("utf-8", errors="replace").split("\n")
        parts = [
            np.asarray(ids, dtype=np.int32)
            for start in range(0, len(lines), _LINES_AT_ONCE)
            for ids in self.tokenizer.encode_target_batch(lines[start : start + _LINES_AT_ONCE])
        ]
        return np.concatenate(parts)[:-1]  # the last line has no end

    def writer(self) -> "SubwordWriter":
        """Begin to write ids as text."""
        return SubwordWriter(self.tokenizer)

    def to_json(self) -> str:
        """Write everything down: the tokenizer is all there is."""
        return self.tokenizer.to_json()


class SubwordWriter:
    """Decodes the line being written anew with each piece, and holds back characters whose bytes are still coming."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._line: list[int] = []
        self._written = ""

    def follow(self, ids: Sequence[int]) -> None:
        """Take these ids for the text so far: a piece that begins a word adds a space, unless it begins a line."""
        ends = [place for place, symbol_id in enumerate(ids) if symbol_id == self._tokenizer.eos_id]
        self._line = [int(symbol_id) for symbol_id in ids[ends[-1] + 1 if ends else 0 :]]
        self._written = self._text(self._line)

    def write(self, symbol_id: int) -> bytes:
        """Return what the piece adds to the line."""
        if symbol_id == self._tokenizer.eos_id:
            return self.close() + b"\n"
        self._line.append(symbol_id)
        return self._added(self._text(self._line).rstrip("\ufffd"))

    def close(self) -> bytes:
        """Return what is left of the line, and begin another."""
        added = self._added(self._text(self._line))
        self._line, self._written = [], ""
        return added

    def _text(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode_target(ids)

    def _added(self, text: str) -> bytes:
        if not text.startswith(self._written):
            return b""
        added, self._written = text[len(self._written) :], text
        return added.encode("utf-8", errors="replace")
