"""The tokenizer file: one JSON object that a person can read and that is checked before it is believed.

    {"format": "heedful-tokenizer", "version": 1,
     "special_ids": {"pad": 0, "bos": 1, "eos": 2, "unk": 3},
     "language_ids": {"de": 4, "fr": 5},
     "register_ids": {"formal": {"de": 6}},          only in version 2
     "normalization": {"kind": "nfkc"},
     "source": {"vocabulary": ["<pad>", ...],        piece of each id
                "byte_ids": [6, ..., 261],           ids of the bytes 0..255, or []
                "splitting": "words",                what a word is (subwords.py)
                "segmentation": {"kind": "bpe", "merges": [["a", "b"], ...]}
                             or {"kind": "unigram", "pieces": [["a", -3.2], ...]}},
     "target": {...} or null}                        null: the same as the source

This file knows the format; what its parts mean is said where they are defined.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heedful.errors import UserError
from heedful.text.normalization import Normalization, normalization_from_dict
from heedful.text.subwords import Merges, Scores, Splitting, Subwords

FORMAT = "heedful-tokenizer"
VERSION = 2


@dataclass(frozen=True)
class SpecialIds:
    """Ids of the symbols that are no text."""

    pad: int
    bos: int
    eos: int
    unk: int


@dataclass(frozen=True)
class TokenizerParts:
    """What a tokenizer is made of."""

    source: Subwords
    target: Subwords
    normalization: Normalization
    special_ids: SpecialIds
    language_ids: dict[str, int]
    register_ids: dict[str, dict[str, int]]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _BpePart(_Part):
    kind: Literal["bpe"]
    merges: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class _UnigramPart(_Part):
    kind: Literal["unigram"]
    pieces: list[tuple[str, Annotated[float, Field(allow_inf_nan=False)]]]


class _SidePart(_Part):
    vocabulary: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1)
    byte_ids: list[Annotated[int, Field(ge=0)]]
    splitting: Splitting
    segmentation: Annotated[_BpePart | _UnigramPart, Field(discriminator="kind")]


class _SpecialPart(_Part):
    pad: int = Field(ge=0)
    bos: int = Field(ge=0)
    eos: int = Field(ge=0)
    unk: int = Field(ge=0)


class _File(_Part):
    format: Literal["heedful-tokenizer"]
    version: Literal[1, 2]
    special_ids: _SpecialPart
    language_ids: dict[str, Annotated[int, Field(ge=0)]]
    register_ids: dict[str, dict[str, Annotated[int, Field(ge=0)]]] = {}
    normalization: dict[str, str]
    source: _SidePart
    target: _SidePart | None


def write_tokenizer(parts: TokenizerParts) -> str:
    """Describe a tokenizer. The same tokenizer always gives the same characters.

    One without registers is written as version 1, which has none, so that every Heedful can read it.
    """
    special = parts.special_ids
    registers = {"register_ids": parts.register_ids} if parts.register_ids else {}
    description = {
        "format": FORMAT,
        "version": VERSION if registers else 1,
        "special_ids": {"pad": special.pad, "bos": special.bos, "eos": special.eos, "unk": special.unk},
        "language_ids": parts.language_ids,
        **registers,
        "normalization": parts.normalization.to_dict(),
        "source": _describe_side(parts.source),
        "target": None if parts.target is parts.source else _describe_side(parts.target),
    }
    return json.dumps(description, ensure_ascii=False)


def _describe_side(side: Subwords) -> dict[str, object]:
    segmentation: dict[str, object]
    if isinstance(side.segmentation, Merges):
        segmentation = {"kind": "bpe", "merges": side.segmentation.pairs}
    else:
        segmentation = {"kind": "unigram", "pieces": side.segmentation.pieces}
    return {
        "vocabulary": side.vocabulary,
        "byte_ids": side.byte_ids,
        "splitting": side.splitting,
        "segmentation": segmentation,
    }


def parse_tokenizer(text: str) -> TokenizerParts:
    """Read a tokenizer file's text, or say in a sentence what is wrong with it."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"The tokenizer must be JSON, but is not: {error}.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(f'The tokenizer must be a JSON object with "format": "{FORMAT}", but is something else.')
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        raise UserError(
            f"The tokenizer has format version {version}, but this Heedful reads up to {VERSION}. Update it."
        )
    try:
        file = _File.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(f"The tokenizer is damaged at `{place}`: {first['msg']}.") from error
    return _build(file)


def _build(file: _File) -> TokenizerParts:
    special = file.special_ids
    special_ids = SpecialIds(pad=special.pad, bos=special.bos, eos=special.eos, unk=special.unk)
    tag_ids = {*file.language_ids.values(), *(tag for tags in file.register_ids.values() for tag in tags.values())}
    source = _build_side("source", file.source, special_ids, tag_ids)
    if file.target is None:
        target = source
    else:  # with a vocabulary of its own the target has no tags: they are read by the encoder
        tags = tag_ids if file.target.vocabulary == file.source.vocabulary else set()
        target = _build_side("target", file.target, special_ids, tags)
    normalization = normalization_from_dict(file.normalization)
    return TokenizerParts(source, target, normalization, special_ids, file.language_ids, file.register_ids)


def _build_side(name: str, part: _SidePart, special: SpecialIds, tag_ids: set[int]) -> Subwords:
    reserved = {special.pad, special.bos, special.eos, special.unk, *tag_ids}
    size = len(part.vocabulary)
    if max(reserved | set(part.byte_ids)) >= size:
        raise UserError(f"The tokenizer is damaged at `{name}`: an id is not below the vocabulary's {size:,} pieces.")
    if part.byte_ids and (len(set(part.byte_ids)) != 256 or len(part.byte_ids) != 256):
        raise UserError(f"The tokenizer is damaged at `{name}.byte_ids`: there must be 256 different ids, or none.")
    segmentation: Merges | Scores
    if isinstance(part.segmentation, _BpePart):
        no_text = reserved | set(part.byte_ids)
        pieces = {piece for i, piece in enumerate(part.vocabulary) if i not in no_text}
        for left, right in part.segmentation.merges:
            if not {left, right, left + right} <= pieces:
                raise UserError(
                    f"The tokenizer is damaged at `{name}.segmentation`: {left!r} + {right!r} has no piece."
                )
        segmentation = Merges(tuple((left, right) for left, right in part.segmentation.merges))
    else:
        segmentation = Scores(tuple(part.segmentation.pieces))
    return Subwords(
        part.vocabulary,
        unk_id=special.unk,
        reserved_ids=reserved,
        byte_ids=part.byte_ids,
        segmentation=segmentation,
        splitting=part.splitting,
    )
