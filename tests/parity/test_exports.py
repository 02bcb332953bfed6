"""Our models, exported, compute the same thing in other people's engines."""

from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from heedful.interop import export_ctranslate2, export_huggingface, import_marian
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import ModelFolder, restore_model
from heedful.text.tokenizer import Tokenizer
from tests.support.marian_folder import make_sentences, write_marian_folder
from tests.support.own_model import make_own_model
from tests.support.searches import search


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"positions": {"kind": "sinusoidal", "layout": "halves"}, "output_bias": True, "activation": "gelu"},
        {"activation": "swish"},
        {"tying": "two_way", "shared": False},
        {"tying": "none", "shared": False, "output_bias": True},
    ],
    ids=["interleaved", "halves", "swish", "two_way", "untied"],
)
def test_a_hugging_face_export_has_our_logits(norm: str, shape: dict[str, Any], tmp_path: Path) -> None:
    folder = make_own_model(norm=norm, **shape)
    export_huggingface(folder, tmp_path / "theirs")
    theirs, found = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "theirs", output_loading_info=True)
    theirs.eval()
    assert not found["unexpected_keys"]
    assert not found["missing_keys"]
    generator = torch.Generator().manual_seed(1)
    source_ids = torch.randint(4, folder.description.source_vocab_size, (5, 9), generator=generator)
    source_mask = torch.arange(9) < torch.tensor([[9], [1], [4], [6], [8]])
    target_ids = torch.randint(4, folder.description.target_vocab_size, (5, 7), generator=generator)

    with torch.no_grad():
        logits = restore_model(folder)(source_ids, source_mask, target_ids)
        expected = theirs(input_ids=source_ids, attention_mask=source_mask.long(), decoder_input_ids=target_ids).logits

    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


def greedy_pieces(folder: ModelFolder[TranslatorDescription], texts: list[str]) -> list[list[str]]:
    model, tokenizer = restore_model(folder), Tokenizer.from_json(folder.tokenizer_json)
    rows = [torch.tensor(ids) for ids in tokenizer.encode_source_batch(texts)]
    source_ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=tokenizer.pad_id)
    found = search(
        model,
        source_ids,
        source_ids != tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
        max_lengths=[15] * len(texts),
        beam_size=1,
        forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id),
    )
    return [[tokenizer.target_piece(i) for i in hypotheses[0].token_ids] for hypotheses in found]


def assert_ctranslate2_agrees(folder: ModelFolder[TranslatorDescription], out: Path) -> None:
    texts = make_sentences(30, seed=5)
    export_ctranslate2(folder, out)
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    engine = ctranslate2.Translator(str(out), device="cpu", compute_type="float32", intra_threads=1)
    results = engine.translate_batch(
        [tokenizer.trace_source(text).pieces for text in texts],
        beam_size=1,
        max_decoding_length=15,
        disable_unk=True,
    )
    ours = greedy_pieces(folder, texts)
    assert [result.hypotheses[0] for result in results] == ours
    assert len({tuple(pieces) for pieces in ours}) > 5, "outputs should differ, or the test says little"


@pytest.mark.parametrize(
    "shape",
    [
        {"norm": "post"},
        {"norm": "pre", "activation": "gelu", "output_bias": True},
        {"positions": {"kind": "learned", "max_len": 256}, "tying": "two_way", "shared": False},
    ],
    ids=["post", "pre", "learned"],
)
def test_ctranslate2_writes_our_greedy_tokens(shape: dict[str, Any], tmp_path: Path) -> None:
    assert_ctranslate2_agrees(make_own_model(**shape), tmp_path / "ct2")


def test_ctranslate2_writes_the_tokens_of_an_imported_model(tmp_path: Path) -> None:
    write_marian_folder(tmp_path / "opus")
    assert_ctranslate2_agrees(import_marian(tmp_path / "opus"), tmp_path / "ct2")


def test_ctranslate2_takes_an_int8_export(tmp_path: Path) -> None:
    export_ctranslate2(make_own_model(), tmp_path / "float")
    export_ctranslate2(make_own_model(), tmp_path / "int8", quantization="int8")
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("int8", "float")]
    assert sizes[0] < sizes[1] * 0.75  # the table of positions, which stays in fp32, is half of so small a model
    engine = ctranslate2.Translator(str(tmp_path / "int8"), device="cpu", intra_threads=1)
    assert len(engine.translate_batch([["▁", "k", "a"]], max_decoding_length=5)[0].hypotheses) == 1
