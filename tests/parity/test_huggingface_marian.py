"""The model, the tokenizer and the search against Hugging Face's Marian with the same weights."""

import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import MarianMTModel, MarianTokenizer

from heedful.interop import export_huggingface, import_marian
from heedful.interop.marian_weights import layers_from_marian
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import ModelFolder, restore_model
from heedful.text.tokenizer import Tokenizer
from tests.support.marian_folder import make_sentences, write_marian_folder
from tests.support.searches import search


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("marian") / "opus"
    write_marian_folder(path)
    return path


@pytest.fixture(scope="module")
def theirs(folder: Path) -> MarianMTModel:
    return MarianMTModel.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def imported(folder: Path) -> ModelFolder[TranslatorDescription]:
    return import_marian(folder)


def padded(imported: ModelFolder[TranslatorDescription]) -> tuple[Tensor, Tensor]:
    tokenizer = Tokenizer.from_json(imported.tokenizer_json)
    rows = [torch.tensor(ids) for ids in tokenizer.encode_source_batch(make_sentences(12, seed=9))]
    source_ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=tokenizer.pad_id)
    return source_ids, source_ids != tokenizer.pad_id


def test_logits_and_gradients_equal_theirs(theirs: MarianMTModel, imported: ModelFolder[TranslatorDescription]) -> None:
    ours = restore_model(imported)
    source_ids, source_mask = padded(imported)
    target_ids = torch.randint(1, 100, (12, 7), generator=torch.Generator().manual_seed(4))
    target_ids[:, 0] = imported.description.special_ids.bos

    logits = ours(source_ids, source_mask, target_ids)
    expected = theirs(input_ids=source_ids, attention_mask=source_mask.long(), decoder_input_ids=target_ids).logits
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)

    direction = torch.randn(logits.shape, generator=torch.Generator().manual_seed(5)) / logits.numel() ** 0.5
    theirs.zero_grad()
    (logits * direction).sum().backward()
    (expected * direction).sum().backward()
    gradients = layers_from_marian({name: p.grad for name, p in theirs.named_parameters() if p.grad is not None})
    assert len(gradients) == len(layers_from_marian(dict(theirs.named_parameters()))) == 2 * 12 + 3 * 20
    for name, gradient in gradients.items():
        torch.testing.assert_close(ours.get_parameter(name).grad, gradient, atol=1e-5, rtol=1e-5)
    # Their embedding gives no gradient to the padding symbol, even where it is the start symbol that is read.
    rows = torch.arange(imported.description.source_vocab_size) != imported.description.special_ids.pad
    embedding = ours.source_embedding.weight.grad
    torch.testing.assert_close(embedding[rows], theirs.model.shared.weight.grad[rows], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_search_finds_the_tokens_of_generate(
    theirs: MarianMTModel, imported: ModelFolder[TranslatorDescription], beam_size: int
) -> None:
    ours = restore_model(imported)
    source_ids, source_mask = padded(imported)
    special = imported.description.special_ids

    found = search(
        ours,
        source_ids,
        source_mask,
        bos_id=special.bos,
        eos_id=special.eos,
        max_lengths=[20] * 12,
        beam_size=beam_size,
        forbidden_ids=(special.pad,),
        length_penalty=0.0,
    )
    expected = theirs.generate(  # type: ignore[misc]
        input_ids=source_ids,
        attention_mask=source_mask.long(),
        num_beams=beam_size,
        max_new_tokens=20,
        length_penalty=0.0,
        do_sample=False,
        bad_words_ids=[[special.pad]],
        early_stopping=False,
    )

    ours_ids = [hypotheses[0].token_ids for hypotheses in found]
    theirs_ids = [[i for i in row.tolist() if i not in (special.pad, special.eos)] for row in expected]
    assert ours_ids == theirs_ids
    assert len({len(ids) for ids in ours_ids}) > 2, "the sentences should end at various lengths"


HARD_TEXTS = ["", "  two  spaces ", "ﬁne ① Ａ", "unseen Ж漢字 here", "ka\tlo\u00a0mi", "…«»", "KALO 12,5", "mi\u2028ro"]


def test_tokens_are_those_of_the_marian_tokenizer(folder: Path, imported: ModelFolder[TranslatorDescription]) -> None:
    theirs = MarianTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_json(imported.tokenizer_json)
    for text in make_sentences(300, seed=7) + HARD_TEXTS:
        assert ours.encode_source(text) == theirs(text)["input_ids"], text
        assert ours.encode_target(text) == theirs(text_target=text)["input_ids"], text
    for text in make_sentences(50, seed=2):
        ids = ours.encode_target(text)
        if ours.unk_id not in ids:
            assert ours.decode_target(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_exported_folder_is_the_imported_one(
    folder: Path, imported: ModelFolder[TranslatorDescription], tmp_path: Path
) -> None:
    export_huggingface(imported, tmp_path / "back")
    model, original = MarianMTModel.from_pretrained(tmp_path / "back"), MarianMTModel.from_pretrained(folder)
    for name, tensor in original.state_dict().items():
        if "embed_positions" in name:  # ours reach further
            continue
        assert torch.equal(model.state_dict()[name], tensor), name
    assert torch.equal(model.final_logits_bias, original.final_logits_bias)
    back, tokenizer = (MarianTokenizer.from_pretrained(path) for path in (tmp_path / "back", folder))
    for text in make_sentences(100, seed=8) + HARD_TEXTS:
        assert back(text)["input_ids"] == tokenizer(text)["input_ids"]
        assert back(text_target=text)["input_ids"] == tokenizer(text_target=text)["input_ids"]


def test_a_folder_with_pickled_weights_goes_there_and_back(folder: Path, theirs: MarianMTModel, tmp_path: Path) -> None:
    pickled = tmp_path / "pickled"
    shutil.copytree(folder, pickled, ignore=shutil.ignore_patterns("model.safetensors"))
    torch.save(theirs.state_dict(), pickled / "pytorch_model.bin")
    imported = import_marian(pickled)
    export_huggingface(imported, tmp_path / "back")
    back = MarianMTModel.from_pretrained(tmp_path / "back").eval()
    source_ids, source_mask = padded(imported)
    target_ids = torch.randint(1, 100, (12, 7), generator=torch.Generator().manual_seed(4))
    given = {"input_ids": source_ids, "attention_mask": source_mask.long(), "decoder_input_ids": target_ids}
    with torch.no_grad():
        expected = theirs(**given).logits
        assert torch.equal(back(**given).logits, expected)
        torch.testing.assert_close(
            restore_model(imported)(source_ids, source_mask, target_ids), expected, atol=1e-5, rtol=1e-5
        )
    first, second = (MarianTokenizer.from_pretrained(path) for path in (folder, tmp_path / "back"))
    ours = Tokenizer.from_json(imported.tokenizer_json)
    for text in make_sentences(100, seed=11) + HARD_TEXTS:
        assert first(text)["input_ids"] == second(text)["input_ids"] == ours.encode_source(text)
