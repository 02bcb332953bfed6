"""Our tokenizers as Hugging Face's tokenizer.json, which AutoTokenizer reads: equal text, equal tokens.

A text for a model of several languages begins with the tag of the one it shall be in, such as "<2de> Good morning.", as
is the custom of OPUS-MT. Two things cannot be said in that format: that no text is ever cut into a special symbol
(theirs are found in the text, as users of it expect), and a ▁ that was typed (it is read as a space).
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tokenizers import AddedToken, Regex, decoders, models, normalizers, processors
from tokenizers import Tokenizer as FastTokenizer

from heedful.errors import UserError
from heedful.interop.sentencepiece import read_sentencepiece
from heedful.text.chinese import PARTICLE
from heedful.text.normalization import CharacterMap, Nfc, Nfkc, Normalization, Simplified, Untouched, full_width_letters
from heedful.text.subwords import Merges, Subwords, word_splitter
from heedful.text.tokenizer import Tokenizer
from heedful.text.words import SPACE_MARK

_WHITE_SPACE = "[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
"""What str.split() splits at."""

_NO_CHARACTER = "[\U0010fffe\U0010ffff]"
_NEVER = -1000.0
"""The log-probability of what no text should be cut into."""


def can_be_fast(tokenizer: Tokenizer) -> bool:
    """Say whether a tokenizer can be written for AutoTokenizer: one vocabulary, every spelling once."""
    vocabulary = tokenizer.source.vocabulary
    known = isinstance(tokenizer.normalization, (Nfc, Nfkc, Untouched, CharacterMap, Simplified))
    return tokenizer.shared and known and len(set(vocabulary)) == len(vocabulary)


def write_fast_tokenizer(tokenizer: Tokenizer, out: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json."""
    make_fast_tokenizer(tokenizer).save(str(out / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": tokenizer.source_piece(tokenizer.pad_id),
        "bos_token": tokenizer.source_piece(tokenizer.bos_id),
        "eos_token": tokenizer.source_piece(tokenizer.eos_id),
        "unk_token": tokenizer.source_piece(tokenizer.unk_id),
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    (out / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def make_fast_tokenizer(tokenizer: Tokenizer) -> FastTokenizer:
    """Return a tokenizer of the library `tokenizers` that gives our tokens."""
    side = tokenizer.source
    fast = FastTokenizer(_model(side, tokenizer))
    fast.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_NO_CHARACTER), "\ufffd"),
            *_normalizers(tokenizer.normalization),
            *_spaces(tokenizer.normalization),
            normalizers.Prepend(SPACE_MARK),
            normalizers.Replace(" ", SPACE_MARK),
        ]
    )
    fast.pre_tokenizer = word_splitter(side.splitting)
    end = tokenizer.source_piece(tokenizer.eos_id)
    fast.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A {end} $B {end}", special_tokens=[(end, tokenizer.eos_id)]
    )
    fast.decoder = decoders.Sequence(
        [
            decoders.Replace(SPACE_MARK, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1, right=0),
        ]
    )
    special = (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id)
    symbols = [AddedToken(side.vocabulary[index], special=True, normalized=False) for index in dict.fromkeys(special)]
    # Whatever stands between a tag and the text is no part of the text.
    tags = [
        AddedToken(side.vocabulary[index], special=True, normalized=False, rstrip=True)
        for index in (
            *tokenizer.language_ids.values(),
            *(tag for tags_of in tokenizer.register_ids.values() for tag in tags_of.values()),
        )
    ]
    fast.add_special_tokens([*symbols, *tags])
    return fast


def _model(side: Subwords, tokenizer: Tokenizer) -> models.Model:
    has_bytes = bool(side.byte_ids)
    if isinstance(side.segmentation, Merges):
        return models.BPE(
            {piece: index for index, piece in enumerate(side.vocabulary)},
            list(side.segmentation.pairs),
            unk_token=side.vocabulary[tokenizer.unk_id],
            fuse_unk=False,
            byte_fallback=has_bytes,
        )
    scores = dict(side.segmentation.pieces)
    pieces = [(piece, scores.get(piece, _NEVER)) for piece in side.vocabulary]
    return models.Unigram(pieces, unk_id=tokenizer.unk_id, byte_fallback=has_bytes)


def _normalizers(normalization: Normalization) -> Iterator[normalizers.Normalizer]:
    match normalization:
        case Nfkc():
            yield normalizers.NFKC()
        case Nfc():
            yield normalizers.Precompiled(_charsmap(full_width_letters()))
            yield normalizers.NFC()
        case CharacterMap():
            yield normalizers.Precompiled(normalization.charsmap)
        case Simplified():
            yield from _normalizers(normalization.before)
            table = normalization.table
            yield normalizers.Precompiled(_charsmap(dict(zip(table.traditional, table.simplified, strict=True))))
            yield normalizers.Replace("妳", "你")
            yield normalizers.Replace(Regex(PARTICLE.pattern), "着")


def _spaces(normalization: Normalization) -> Iterator[normalizers.Normalizer]:
    if normalization.collapses_spaces:
        yield normalizers.Replace(Regex(_WHITE_SPACE), " ")
        yield normalizers.Strip()


def _charsmap(mapping: Mapping[str, str]) -> bytes:
    """Let SentencePiece compile a table of characters."""
    try:
        import sentencepiece
    except ImportError:
        raise UserError(
            "Writing this tokenizer needs the package sentencepiece, but it is not installed. "
            "Install it with: pip install 'heedful[interop]'"
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules.tsv")
        rules.write_text("".join(f"{ord(before):X}\t{ord(after):X}\n" for before, after in mapping.items()))
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d"]),
            model_prefix=str(Path(folder, "rules")),
            model_type="unigram",
            vocab_size=8,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(rules),
            minloglevel=2,
            num_threads=1,
        )
        return read_sentencepiece(Path(folder, "rules.model")).charsmap
