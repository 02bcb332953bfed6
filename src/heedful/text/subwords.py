"""One vocabulary, and how words are cut into its pieces: merges of frequent pairs, or a unigram language model.

Pieces are known by id, never by their spelling: the special symbols and the 256 bytes have names to be shown, but the
segmentation does not know them, so no text can be cut into them. A character without a piece is written as its
UTF-8 bytes. This file works on *marked* text (`mark`); it knows nothing of normalisation, sentences or special symbols'
meaning.

BPE: Sennrich et al., 2016. Unigram: Kudo, 2018. Byte fallback: as in SentencePiece.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tokenizers import Regex, models, pre_tokenizers
from tokenizers import Tokenizer as Segmenter

from heedful.text.words import SPACE_MARK

_TYPED_MARK = "\U0010fffe"
"""Stands for a mark that was typed: a noncharacter without a piece, so that it is written as bytes."""

_UNKNOWN = "\U0010ffff"
"""The segmenter's name for what has no piece; it never occurs in marked text (normalization.py sees to that)."""

_LONGEST_WORD = 128
"""The time of merging grows faster than the length of a word; longer runs of characters are several words."""

Splitting = Literal["words", "spaces"]

_SPLITTERS: dict[Splitting, str] = {
    # Letters, digits and the rest are not mixed in a piece ("word" and "word." share one, and none is spelled like a
    # special symbol); numbers go digit by digit, so that an unseen one is made of seen pieces; Han stands apart.
    "words": (
        rf"▁?\p{{Han}}{{1,{_LONGEST_WORD}}}|▁?[\p{{L}}\p{{M}}&&[^\p{{Han}}]]{{1,{_LONGEST_WORD}}}"
        rf"|▁?\p{{N}}|▁?[^▁\p{{L}}\p{{M}}\p{{N}}]{{1,{_LONGEST_WORD}}}|▁"
    ),
    # What SentencePiece does when it applies a model.
    "spaces": "▁?[^▁]+|▁",
}


def mark(text: str) -> str:
    """Open each word with the space mark. Position i of the text is position i + 1 of the result."""
    if not text:
        return ""
    if not text.isascii():
        text = text.replace(SPACE_MARK, _TYPED_MARK)
    return SPACE_MARK + text.replace(" ", SPACE_MARK)


def is_ordinary(character: str) -> bool:
    """Say whether a character of marked text may be part of a piece."""
    return character != _TYPED_MARK


def word_splitter(splitting: Splitting) -> pre_tokenizers.PreTokenizer:
    """Return what cuts marked text into words, the units in which pieces are learned and found."""
    return pre_tokenizers.Split(Regex(_SPLITTERS[splitting]), "isolated")


@dataclass(frozen=True)
class Merges:
    """Byte-pair encoding: pairs of pieces in the order in which they are joined."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scores:
    """A unigram language model: pieces with their log-probabilities; the most probable cut is taken."""

    pieces: tuple[tuple[str, float], ...]


class Subwords:
    """A vocabulary with its segmentation. Everything here takes or gives marked text.

    Attributes:
        vocabulary: the piece of each id.
        byte_ids: the ids of the bytes 0 to 255; empty when unknown characters are `unk_id` instead.
        reserved_ids: the ids of symbols that are no text: special symbols and language tags.
        segmentation: how words are cut.
        splitting: what a word is.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        unk_id: int,
        reserved_ids: Iterable[int],
        byte_ids: Sequence[int],
        segmentation: Merges | Scores,
        splitting: Splitting,
    ) -> None:
        self.vocabulary = tuple(vocabulary)
        self.unk_id = unk_id
        self.byte_ids = tuple(byte_ids)
        self.reserved_ids = frozenset(reserved_ids)
        self.segmentation = segmentation
        self.splitting = splitting
        self._byte_values = {piece_id: value for value, piece_id in enumerate(self.byte_ids)}
        no_text = self.reserved_ids | self._byte_values.keys()
        self.ids_of_pieces = {p: i for i, p in enumerate(self.vocabulary) if i not in no_text}
        self._surfaces = [
            None if i in no_text else piece.replace(SPACE_MARK, " ") for i, piece in enumerate(self.vocabulary)
        ]
        pieces = [_UNKNOWN, *self._segmented_pieces()]
        self._ids = [self.ids_of_pieces.get(piece, unk_id) for piece in pieces]
        self.segmenter = Segmenter(_segmentation_model(pieces, segmentation))
        self.segmenter.pre_tokenizer = word_splitter(splitting)

    def _segmented_pieces(self) -> Iterable[str]:
        if isinstance(self.segmentation, Scores):
            return [piece for piece, _ in self.segmentation.pieces]
        return self.ids_of_pieces

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode_batch(self, marked: Sequence[str]) -> list[list[int]]:
        """Cut several texts into the ids of their pieces."""
        encodings = self.segmenter.encode_batch_fast(list(marked), add_special_tokens=False)
        ids = self._ids
        results = []
        for text, encoding in zip(marked, encodings, strict=True):
            found = encoding.ids
            if self.byte_ids and 0 in found:
                results.append(self._encode_with_bytes(text))
            else:
                results.append([ids[index] for index in found])
        return results

    def _encode_with_bytes(self, marked: str) -> list[int]:
        """Cut one text that has characters no piece has: they become bytes."""
        encoding = self.segmenter.encode(marked, add_special_tokens=False)
        found: list[int] = []
        for index, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if index:
                found.append(self._ids[index])
            else:
                found.extend([self.byte_ids[byte] for byte in unmark(marked[start:end])])
        return found

    def trace(self, marked: str) -> list[tuple[int, int, int]]:
        """Cut one text; return for each piece its id, and start and end in the marked text."""
        encoding = self.segmenter.encode(marked, add_special_tokens=False)
        traced: list[tuple[int, int, int]] = []
        for index, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if index or not self.byte_ids:
                traced.append((self._ids[index], start, end))
                continue
            for position in range(start, end):
                traced.extend((self.byte_ids[byte], position, position + 1) for byte in unmark(marked[position]))
        return traced

    def words(self, marked: str) -> list[str]:
        """Cut one text into words; pieces never reach from one word into the next."""
        return [word for word, _ in self.segmenter.pre_tokenizer.pre_tokenize_str(marked)]

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces into text. Reserved symbols are passed over, broken byte sequences become U+FFFD."""
        parts: list[str] = []
        pending = bytearray()
        first_is_piece = False
        for piece_id in ids:
            value = self._byte_values.get(piece_id)
            if value is not None:
                pending.append(value)
                continue
            surface = self._surfaces[piece_id]
            if surface is None:
                continue
            if pending:
                parts.append(pending.decode("utf-8", errors="replace"))
                pending.clear()
            first_is_piece = first_is_piece or not parts
            parts.append(surface)
        parts.append(pending.decode("utf-8", errors="replace"))
        text = "".join(parts)
        return text.removeprefix(" ") if first_is_piece else text


def unmark(marked: str) -> bytes:
    """Return the UTF-8 bytes of characters of marked text as they were typed."""
    return marked.replace(_TYPED_MARK, SPACE_MARK).encode()


def _segmentation_model(pieces: list[str], segmentation: Merges | Scores) -> models.Model:
    if isinstance(segmentation, Scores):
        return models.Unigram([(_UNKNOWN, 0.0), *segmentation.pieces], unk_id=0, byte_fallback=False)
    indices = {piece: index for index, piece in enumerate(pieces)}
    return models.BPE(indices, list(segmentation.pairs), unk_token=_UNKNOWN, fuse_unk=False)
