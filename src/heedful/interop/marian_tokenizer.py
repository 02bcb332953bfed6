"""Marian's tokenizers: two SentencePiece models that cut, and a vocab.json that numbers.

The ids come from vocab.json alone; a piece that it lacks is unknown. Symbols like ">>deu<<" in it are language tags.
"""

import json
from pathlib import Path
from typing import Any

from heedful.errors import UserError
from heedful.interop.sentencepiece import SentencePieceModel, read_sentencepiece, write_sentencepiece
from heedful.text.normalization import CharacterMap
from heedful.text.subwords import Scores, Subwords
from heedful.text.tokenizer import SpecialIds, Tokenizer

_END, _UNKNOWN = "</s>", "<unk>"


def read_marian_tokenizer(
    path: Path, *, pad_id: int, start_id: int, source_vocab_size: int, target_vocab_size: int
) -> Tokenizer:
    """Read source.spm, target.spm and vocab.json (target_vocab.json when the target has its own)."""
    source_model, target_model = read_sentencepiece(path / "source.spm"), read_sentencepiece(path / "target.spm")
    if not source_model.charsmap or source_model.charsmap != target_model.charsmap:
        raise UserError(f"{path}: source.spm and target.spm must have one and the same normalisation, but do not.")
    source_vocabulary = _read_vocabulary(path / "vocab.json", source_vocab_size)
    has_target_vocabulary = (path / "target_vocab.json").is_file()
    target_vocabulary = (
        _read_vocabulary(path / "target_vocab.json", target_vocab_size) if has_target_vocabulary else source_vocabulary
    )
    for name, symbol in (("end", _END), ("unknown", _UNKNOWN)):
        places = {v.index(symbol) if symbol in v else None for v in (source_vocabulary, target_vocabulary)}
        if None in places or len(places) > 1:
            raise UserError(
                f"{path}: the {name} symbol {symbol} must have one and the same id on both sides, but has not."
            )
    special = SpecialIds(
        pad=pad_id, bos=start_id, eos=source_vocabulary.index(_END), unk=source_vocabulary.index(_UNKNOWN)
    )
    languages = {
        piece[2:-2]: index
        for index, piece in enumerate(source_vocabulary)
        if piece.startswith(">>") and piece.endswith("<<") and len(piece) > 4
    }
    return Tokenizer(
        source=_subwords(source_vocabulary, source_model, special, languages),
        target=_subwords(target_vocabulary, target_model, special, {} if has_target_vocabulary else languages),
        normalization=CharacterMap(source_model.charsmap),
        special_ids=special,
        language_ids=languages,
    )


def can_be_sentencepiece(tokenizer: Tokenizer) -> bool:
    """Say whether Marian's tokenizer can be told to give our tokens, as it can for one that was imported."""
    sides = tokenizer.source, tokenizer.target
    return isinstance(tokenizer.normalization, CharacterMap) and all(
        isinstance(side.segmentation, Scores) and not side.byte_ids for side in sides
    )


def write_marian_tokenizer(tokenizer: Tokenizer, out: Path, source_language: str, target_language: str) -> None:
    """Write what Marian's tokenizer reads; only for one that SentencePiece can express."""
    _write_vocabulary(out / "vocab.json", tokenizer.source.vocabulary)
    if not tokenizer.shared:
        _write_vocabulary(out / "target_vocab.json", tokenizer.target.vocabulary)
    normalization = tokenizer.normalization
    for name, side in (("source.spm", tokenizer.source), ("target.spm", tokenizer.target)):
        if isinstance(normalization, CharacterMap) and isinstance(side.segmentation, Scores):
            model = SentencePieceModel(side.segmentation.pieces, normalization.charsmap)
            (out / name).write_bytes(write_sentencepiece(model))
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": source_language,
        "target_lang": target_language,
        "unk_token": tokenizer.source_piece(tokenizer.unk_id),
        "eos_token": tokenizer.source_piece(tokenizer.eos_id),
        "pad_token": tokenizer.source_piece(tokenizer.pad_id),
        "separate_vocabs": not tokenizer.shared,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def read_marian_json(path: Path) -> Any:
    """Read a file that a Marian folder must have; None when it is no JSON."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path} must exist in a Marian folder, but does not.") from None
    except (ValueError, RecursionError):
        return None


def _read_vocabulary(path: Path, size: int) -> list[str]:
    """Return the piece of each id; ids that vocab.json does not name get a name that no text can have."""
    content = read_marian_json(path)
    if not isinstance(content, dict) or not all(isinstance(index, int) for index in content.values()):
        raise UserError(f"{path} must map pieces to ids, but does not.")
    vocabulary = [f"<unused {index}>" for index in range(size)]
    for piece, index in content.items():
        if not 0 <= index < size or not piece:
            raise UserError(
                f"{path}: the id of {piece!r} must be below the model's vocabulary of {size:,}, but is {index}."
            )
        vocabulary[index] = piece
    return vocabulary


def _write_vocabulary(path: Path, vocabulary: tuple[str, ...]) -> None:
    numbered = {piece: index for index, piece in enumerate(vocabulary)}
    path.write_text(json.dumps(numbered, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _subwords(
    vocabulary: list[str], model: SentencePieceModel, special: SpecialIds, languages: dict[str, int]
) -> Subwords:
    return Subwords(
        vocabulary,
        unk_id=special.unk,
        reserved_ids={special.pad, special.bos, special.eos, special.unk, *languages.values()},
        byte_ids=(),
        segmentation=Scores(model.pieces),
        splitting="spaces",
    )
