"""Reading SentencePiece models (.spm) without the SentencePiece library.

The file is one protocol buffer message; the few fields that matter are read here by hand, by the wire format's own
rules (https://protobuf.dev/programming-guides/encoding). What comes out are pieces with scores and the character
map; making a tokenizer of them is the business of whoever imports the model.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from heedful.errors import UserError

_NORMAL, _USER_DEFINED = 1, 4
_UNIGRAM = 1

# Numbers of the fields that are read, from sentencepiece_model.proto.
_MODEL_PIECES, _MODEL_TRAINER, _MODEL_NORMALIZER = 1, 2, 3
_PIECE_TEXT, _PIECE_SCORE, _PIECE_TYPE = 1, 2, 3
_TRAINER_MODEL_TYPE = 3
_NORMALIZER_CHARSMAP = 2


@dataclass(frozen=True)
class SentencePieceModel:
    """The part of a unigram SentencePiece model that decides how text is cut."""

    pieces: tuple[tuple[str, float], ...]
    """Pieces with their log-probabilities, without control symbols."""

    charsmap: bytes
    """The compiled character map of its normalisation; empty when it has none."""


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """Read a unigram SentencePiece model, or say in a sentence why that cannot be done."""
    try:
        return _parse(path.read_bytes(), path)
    except FileNotFoundError:
        raise UserError(f"{path} must exist, but does not.") from None
    except (IndexError, struct.error, UnicodeDecodeError):
        _refuse(path)


def _parse(data: bytes, path: Path) -> SentencePieceModel:
    pieces: list[tuple[str, float]] = []
    charsmap = b""
    model_type = _UNIGRAM
    for number, value in _fields(data, path):
        if number == _MODEL_PIECES and isinstance(value, bytes):
            fields = dict(_fields(value, path))
            text, score, kind = fields.get(_PIECE_TEXT), fields.get(_PIECE_SCORE, 0.0), fields.get(_PIECE_TYPE, _NORMAL)
            if not isinstance(text, bytes) or not isinstance(score, float):
                _refuse(path)
            if kind in (_NORMAL, _USER_DEFINED):
                pieces.append((text.decode(), score))
        elif number == _MODEL_TRAINER and isinstance(value, bytes):
            found = dict(_fields(value, path)).get(_TRAINER_MODEL_TYPE, _UNIGRAM)
            model_type = found if isinstance(found, int) else _refuse(path)
        elif number == _MODEL_NORMALIZER and isinstance(value, bytes):
            found = dict(_fields(value, path)).get(_NORMALIZER_CHARSMAP, b"")
            charsmap = found if isinstance(found, bytes) else _refuse(path)
    if model_type != _UNIGRAM:
        raise UserError(f"{path} must be a SentencePiece model of the unigram kind, but is of kind {model_type}.")
    if not pieces:
        _refuse(path)
    return SentencePieceModel(tuple(pieces), charsmap)


def _fields(data: bytes, path: Path) -> Iterator[tuple[int, int | float | bytes]]:
    """Walk over one message: pairs of a field's number and its value (a varint, a float, or bytes)."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _varint(data, position)
            yield number, value
        elif wire_type == 1:
            (real,) = struct.unpack_from("<d", data, position)
            position += 8
            yield number, float(real)
        elif wire_type == 2:
            size, position = _varint(data, position)
            if position + size > len(data):
                _refuse(path)
            yield number, data[position : position + size]
            position += size
        elif wire_type == 5:
            (real,) = struct.unpack_from("<f", data, position)
            position += 4
            yield number, float(real)
        else:
            _refuse(path)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, lowest first; returns it and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise IndexError("a varint has at most ten bytes")


def _refuse(path: Path) -> NoReturn:
    raise UserError(f"{path} must be a SentencePiece model, but is damaged or something else.")


def write_sentencepiece(model: SentencePieceModel) -> bytes:
    """Write a unigram model in SentencePiece's format; the order of its pieces carries no meaning for Marian."""
    unknown, control = 2, 3
    rows = [("<unk>", 0.0, unknown), ("<s>", 0.0, control), ("</s>", 0.0, control)]
    rows += [(text, score, _NORMAL) for text, score in model.pieces]
    message = bytearray()
    for text, score, kind in rows:
        piece = _bytes_field(_PIECE_TEXT, text.encode())
        piece += _key(_PIECE_SCORE, 5) + struct.pack("<f", score)
        piece += _key(_PIECE_TYPE, 0) + _varint_bytes(kind)
        message += _bytes_field(_MODEL_PIECES, piece)
    message += _bytes_field(_MODEL_TRAINER, _key(_TRAINER_MODEL_TYPE, 0) + _varint_bytes(_UNIGRAM))
    message += _bytes_field(_MODEL_NORMALIZER, _bytes_field(_NORMALIZER_CHARSMAP, model.charsmap))
    return bytes(message)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _key(number, 2) + _varint_bytes(len(value)) + value


def _key(number: int, wire_type: int) -> bytes:
    return _varint_bytes(number << 3 | wire_type)


def _varint_bytes(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
