"""Sentences to token ids and back: normalisation, subwords, special symbols and language tags as one whole.

A `Tokenizer` is what a model folder carries. Whatever a user types, the ids of special symbols come only from the
methods that say so: `encode_source` adds the language tag and the end, `encode_target` the end. This file knows
nothing of how vocabularies are learned (learning.py) or stored on disk (its JSON is text).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from heedful.errors import UserError, nearest
from heedful.text.normalization import Normalization, normalize, normalize_aligned
from heedful.text.subwords import Subwords, mark
from heedful.text.tokenizer_json import SpecialIds, TokenizerParts, parse_tokenizer, write_tokenizer

PAD_ID = 0
BOS_ID = 1
EOS_ID = 2
UNK_ID = 3
"""Ids in the tokenizers we learn. Imported ones have others: ask the tokenizer, not these constants."""


@dataclass(frozen=True)
class Encoding:
    """A text cut into pieces, without special symbols."""

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]
    """For each piece, start and end in the original string (in characters)."""


class Tokenizer:
    """Text to ids and ids to text, for both sides of a translation.

    Attributes:
        pad_id, bos_id, eos_id, unk_id: the special symbols, the same on both sides.
        languages: codes of the languages that can be asked for; empty when there is only one.
        registers: kinds of language, such as "formal", that can be asked for as well; `in_register` asks.
        shared: whether an id means the same piece on both sides.
    """

    def __init__(
        self,
        *,
        source: Subwords,
        target: Subwords,
        normalization: Normalization,
        special_ids: SpecialIds,
        language_ids: dict[str, int] | None = None,
        register_ids: dict[str, dict[str, int]] | None = None,
    ) -> None:
        self.source = source
        self.target = target
        self.normalization = normalization
        self.pad_id, self.bos_id = special_ids.pad, special_ids.bos
        self.eos_id, self.unk_id = special_ids.eos, special_ids.unk
        self.language_ids = dict(language_ids or {})
        self.register_ids = {name: dict(tags) for name, tags in (register_ids or {}).items()}
        self.shared = source.vocabulary == target.vocabulary

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the target languages that have a tag."""
        return tuple(self.language_ids)

    @property
    def registers(self) -> tuple[str, ...]:
        """Names of the registers that have tags."""
        return tuple(self.register_ids)

    def in_register(self, register: str, target_language: str | None = None) -> "Tokenizer":
        """Return the tokenizer whose language tags ask for a register, too, where it was learned.

        A tag says both: what a source begins with is one symbol, with a register and without. `target_language` must
        have the register; None asks nothing of it.
        """
        tags = self.register_ids.get(register)
        if tags is None:
            known = f"one of {', '.join(self.registers)}" if self.registers else "left out: this model knows none"
            guess = nearest(register, self.registers)
            hint = f' Did you mean "{guess}"?' if guess else ""
            raise UserError(f'The register must be {known}, but is "{register}".{hint}')
        if target_language is not None and target_language in self.language_ids and target_language not in tags:
            raise UserError(
                f'The register "{register}" must go with a language for which this model has learned it, '
                f'{_listed(tags)}, but was asked for with "{target_language}".'
            )
        return Tokenizer(
            source=self.source,
            target=self.target,
            normalization=self.normalization,
            special_ids=self._special_ids,
            language_ids=self.language_ids | tags,
        )

    @property
    def _special_ids(self) -> SpecialIds:
        return SpecialIds(pad=self.pad_id, bos=self.bos_id, eos=self.eos_id, unk=self.unk_id)

    @property
    def source_vocab_size(self) -> int:
        """Number of source ids."""
        return len(self.source)

    @property
    def target_vocab_size(self) -> int:
        """Number of target ids."""
        return len(self.target)

    def normalize(self, text: str) -> str:
        """Return the text as `encode` sees it; decoding what was encoded gives exactly this."""
        return normalize(text, self.normalization)

    def encode_source(self, text: str, target_language: str | None = None) -> list[int]:
        """Return the language tag, if there are languages, the ids of the text, and the end symbol."""
        return self.encode_source_batch([text], None if target_language is None else [target_language])[0]

    def encode_target(self, text: str) -> list[int]:
        """Return the ids of the text and the end symbol (no start symbol: batches shift right themselves)."""
        return self.encode_target_batch([text])[0]

    def encode_source_batch(
        self, texts: Sequence[str], target_languages: Sequence[str] | None = None
    ) -> list[list[int]]:
        """Do what `encode_source` does for many texts at once, on all cores."""
        if target_languages is None and not self.language_ids:
            return [[*ids, self.eos_id] for ids in self._encode_batch(self.source, texts)]
        if target_languages is None:
            known = ", ".join(self.languages)
            raise UserError(f"The target language must be said, because this model knows several: {known}.")
        tags = [self.tag_of(language) for language in target_languages]
        encoded = self._encode_batch(self.source, texts)
        return [[tag, *ids, self.eos_id] for tag, ids in zip(tags, encoded, strict=True)]

    def encode_target_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Do what `encode_target` does for many texts at once, on all cores."""
        return [[*ids, self.eos_id] for ids in self._encode_batch(self.target, texts)]

    def trace_source(self, text: str) -> Encoding:
        """Cut a source text and say where each piece comes from."""
        return self._trace(self.source, text)

    def trace_target(self, text: str) -> Encoding:
        """Cut a target text and say where each piece comes from."""
        return self._trace(self.target, text)

    def decode_source(self, ids: Iterable[int]) -> str:
        """Return the text of source ids up to the end symbol; other special symbols are passed over."""
        return self.source.decode(self._until_end(ids))

    def decode_target(self, ids: Iterable[int]) -> str:
        """Return the text of target ids up to the end symbol; other special symbols are passed over."""
        return self.target.decode(self._until_end(ids))

    def source_piece(self, piece_id: int) -> str:
        """Return the spelling of a source id, to be shown."""
        return self.source.vocabulary[piece_id]

    def target_piece(self, piece_id: int) -> str:
        """Return the spelling of a target id, to be shown."""
        return self.target.vocabulary[piece_id]

    def target_pieces(self, piece_ids: Iterable[int]) -> list[str]:
        """Return the spellings of target ids, to be shown."""
        vocabulary = self.target.vocabulary
        return [vocabulary[piece_id] for piece_id in piece_ids]

    def num_unknown(self, source_ids: Sequence[int]) -> int:
        """Return how many characters of a source have no piece: its unknown symbols, and first bytes of characters."""
        if self._unknown_ids.isdisjoint(source_ids):
            return 0
        return sum(piece_id in self._unknown_ids for piece_id in source_ids)

    @cached_property
    def _unknown_ids(self) -> frozenset[int]:
        first_bytes = [id_ for value, id_ in enumerate(self.source.byte_ids) if not 0x80 <= value < 0xC0]
        return frozenset({self.unk_id, *first_bytes})

    def to_json(self) -> str:
        """Write everything down; see tokenizer_json.py for the format."""
        return write_tokenizer(
            TokenizerParts(
                self.source,
                self.target,
                self.normalization,
                self._special_ids,
                self.language_ids,
                self.register_ids,
            )
        )

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Read what `to_json` wrote. Anything else is refused with a `UserError`."""
        parts = parse_tokenizer(text)
        return cls(
            source=parts.source,
            target=parts.target,
            normalization=parts.normalization,
            special_ids=parts.special_ids,
            language_ids=parts.language_ids,
            register_ids=parts.register_ids,
        )

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the JSON: equal fingerprints, equal tokens."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def _encode_batch(self, side: Subwords, texts: Sequence[str]) -> list[list[int]]:
        return side.encode_batch([mark(self.normalize(text)) for text in texts])

    def _trace(self, side: Subwords, text: str) -> Encoding:
        aligned = normalize_aligned(text, self.normalization)
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for piece_id, start, end in side.trace(mark(aligned.text)):
            ids.append(piece_id)
            # Marked positions are one ahead of the text's: the first word is opened by a mark nobody typed.
            spans = aligned.spans[max(start - 1, 0) : end - 1]
            offsets.append((spans[0][0], spans[-1][1]) if spans else (0, 0))
        return Encoding(ids, [side.vocabulary[piece_id] for piece_id in ids], offsets)

    def tag_of(self, language: str) -> int:
        """Return the id that asks for a target language."""
        tag = self.language_ids.get(language)
        if tag is not None:
            return tag
        if not self.language_ids:
            raise UserError(f'This model has one target language and takes no tag, but was asked for "{language}".')
        guess = nearest(language, self.languages)
        hint = f' Did you mean "{guess}"?' if guess else ""
        raise UserError(f'The target language must be one of {", ".join(self.languages)}, but is "{language}".{hint}')

    def _until_end(self, ids: Iterable[int]) -> list[int]:
        kept: list[int] = []
        for piece_id in ids:
            if piece_id == self.eos_id:
                break
            kept.append(int(piece_id))
        return kept


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


__all__ = ["BOS_ID", "EOS_ID", "PAD_ID", "UNK_ID", "Encoding", "SpecialIds", "Tokenizer"]
