"""Our reader and writer of .spm files against the SentencePiece library, and against damage."""

import io
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from heedful.errors import UserError
from heedful.interop.sentencepiece import read_sentencepiece, write_sentencepiece


def learn(path: Path, **options: Any) -> sentencepiece.SentencePieceProcessor:
    words = ["kalo", "miter", "ansch", "ßøn", "zirobel", "quka", "löwe"]
    rng = random.Random(1)
    sentences = [" ".join(rng.choices(words, k=6)) for _ in range(200)]
    stream = io.BytesIO()
    settings = {"vocab_size": 30, "model_type": "unigram", "minloglevel": 2, **options}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=stream, **settings)
    path.write_bytes(stream.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def test_pieces_and_scores_are_those_of_the_library(tmp_path: Path) -> None:
    theirs = learn(tmp_path / "x.spm", user_defined_symbols=["<sep>"])
    expected: list[tuple[str, Any]] = [
        (theirs.id_to_piece(i), pytest.approx(theirs.get_score(i)))
        for i in range(len(theirs))
        if not theirs.is_control(i) and not theirs.is_unknown(i)
    ]
    model = read_sentencepiece(tmp_path / "x.spm")
    assert list(model.pieces) == expected
    assert len(model.charsmap) > 10_000


def test_what_we_write_cuts_as_before_in_the_library(tmp_path: Path) -> None:
    theirs = learn(tmp_path / "x.spm")
    model = read_sentencepiece(tmp_path / "x.spm")
    (tmp_path / "y.spm").write_bytes(write_sentencepiece(model))
    assert read_sentencepiece(tmp_path / "y.spm") == model
    again = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "y.spm"))
    for text in ["kalo miter", "  ﬁ ßøn  ", "unseen Ж", "", "löwe① quka"]:
        assert again.encode(text, out_type=str) == theirs.encode(text, out_type=str)


def test_byte_pair_models_are_refused(tmp_path: Path) -> None:
    learn(tmp_path / "x.spm", model_type="bpe")
    with pytest.raises(UserError, match=r"must be a SentencePiece model of the unigram kind, but is of kind 2\.$"):
        read_sentencepiece(tmp_path / "x.spm")


def test_missing_file_has_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"x\.spm must exist, but does not\.$"):
        read_sentencepiece(tmp_path / "x.spm")


def test_damaged_files_are_refused_or_read_but_never_crash(tmp_path: Path) -> None:
    learn(tmp_path / "x.spm")
    whole = (tmp_path / "x.spm").read_bytes()
    rng = random.Random(2)
    sentences = []
    for _ in range(300):
        data = bytearray(whole[: rng.randint(0, 700)])
        for _ in range(rng.randint(0, 3)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / "bad.spm").write_bytes(data)
        try:
            read_sentencepiece(tmp_path / "bad.spm")
        except UserError as error:
            sentences.append(str(error))
    assert len(sentences) > 100
    assert all(sentence.startswith(str(tmp_path / "bad.spm")) for sentence in sentences)
