"""A drafter learns what its model writes, travels in its folder, runs in the engine, and changes no result."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heedful.config.data import DataConfig, TsvCorpus
from heedful.decoding import Speculative, Stepwise, searched_model
from heedful.engines.int8.engine import Int8Transformer
from heedful.errors import HeedfulError, UserError
from heedful.models.drafter import Drafter, DrafterShape
from heedful.models.transformer import Transformer
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.drafters import pack_drafter
from heedful.storage.model_folder import load_model_folder, save_model_folder
from heedful.storage.quantized_weights import QuantizedWeights
from heedful.tasks.translation.drafting import DraftingRules, add_drafter
from heedful.tasks.translation.fast import generator_of
from heedful.tasks.translation.load import load_translator
from tests.support.scripted import ScriptedModel, random_script
from tests.support.tiny_models import LINES, make_model, save_model

pytestmark = pytest.mark.skipif(not Int8Transformer.is_available(), reason="needs a C++ compiler")
HOSTILE = [
    "where is the station",
    "",
    "   ",
    "\u200b\ufeff",
    "🙂" * 30,
    "a" * 300,
    "ünï çødé 车站",
    "\x00\x07",
    "?!" * 20,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model whose drafter has learned from what it writes."""
    place = tmp_path_factory.mktemp("drafting")
    save_model(place / "plain")
    words = " ".join(LINES[:3]).split()
    lines = [f"{a} {b} {c}\tx\n" for a in words[:7] for b in words[3:9] for c in words[:9]]
    (place / "pairs.tsv").write_text("".join(lines))
    corpus = TsvCorpus(kind="tsv", path=str(place / "pairs.tsv"))
    data = DataConfig(source_language="en", target_language="de", train=(corpus,), validation=(corpus,))
    rules = DraftingRules(hidden_dim=32, rank=16, num_tokens=64, epochs=12, peak=2e-2)
    said: list[str] = []
    accuracy = add_drafter(
        data, place / "plain", place / "drafting", sentences=400, rules=rules, device="cpu", say=said.append
    )
    assert len(accuracy.shares) == 3
    assert accuracy.tokens_a_pass > 1.5, "what a tiny model writes repeats itself, and is soon guessed"
    with pytest.raises(UserError, match="must name a new folder"):
        add_drafter(data, place / "plain", place / "drafting", sentences=1, rules=rules, say=said.append)
    return place / "drafting"


def test_what_is_fast_writes_the_same_for_any_line(folder: Path) -> None:
    plain, fast = load_translator(folder, device="cpu"), load_translator(folder, device="cpu", fast=True)
    assert isinstance(plain.generator, Stepwise)
    assert isinstance(fast.generator, Speculative)
    for beam_size in (1, 2):
        for lines in (HOSTILE, HOSTILE[:1]):
            expected = plain.translate_detailed(lines, beam_size=beam_size)
            assert fast.translate_detailed(lines, beam_size=beam_size) == expected
    passes: list[int] = []
    fast = replace(fast, generator=replace(fast.generator, on_round=lambda one: passes.append(len(one.written))))
    hypothesis = plain.hypothesis(plain.plan(["where is the station"])[0].units[0].source_ids, beam_size=1)
    fast.translate("where is the station", beam_size=1)
    assert len(passes) < len(hypothesis.token_log_probs)


def test_the_engine_guesses_what_the_network_says(folder: Path) -> None:
    translator = load_translator(folder, device="cpu")
    engine, model = searched_model(translator.generator), translator.readable_model
    assert isinstance(engine, Int8Transformer)
    assert isinstance(model, Transformer)
    drafter = engine.drafter
    assert drafter is not None
    source = torch.tensor([[7, 9, 30, 2], [40, 2, 0, 0]])
    inputs = torch.tensor([[1, 8, 9], [1, 50, 60]])
    mask, newest = source != 0, torch.tensor([11, 12])
    hidden, memory = engine.states_of(source, mask, inputs)
    expected_hidden = model.decode(inputs, model.encode(source, mask), mask)
    assert torch.allclose(hidden, expected_hidden, atol=0.15)
    state = engine.start(source, mask, max_rows=2, max_len=9)
    engine.extend(state, inputs)
    following = drafter(
        hidden[:, -1:], model.target_embedding(newest).unsqueeze(1), memory, mask[:, None, None, :]
    )  # [batch, 1, dim]
    scores = drafter.scores(following)[:, 0]
    swapped = engine.guess(state, newest.flip(0), torch.tensor([1, 0]), count=1)
    for row, guess in enumerate(engine.guess(state, newest, count=1).tolist()):
        if guess and guess[0] >= 0:
            place = drafter.token_ids.tolist().index(guess[0])
            assert scores[row, place] > scores[row].max() - 0.3  # rounded to bytes, it may take another of the best
            assert swapped[1 - row].tolist() == guess
    # Guessing has changed nothing of what is written.
    again = engine.start(source, mask, max_rows=2, max_len=9)
    engine.extend(again, inputs)
    assert torch.equal(engine.step(state, newest), engine.step(again, newest))


def test_a_folder_keeps_its_drafter_and_refuses_another_model_s(folder: Path, tmp_path: Path) -> None:
    kept = load_model_folder(folder, TranslatorDescription)
    assert kept.drafter is not None
    save_model_folder(tmp_path / "again", kept)
    again = load_model_folder(tmp_path / "again", TranslatorDescription)
    assert again.drafter is not None
    packed, repacked = pack_drafter(kept.drafter), pack_drafter(again.drafter)
    assert all(torch.equal(packed[name], repacked[name]) for name in packed)

    foreign = Drafter(DrafterShape(dim=64, num_heads=2, hidden_dim=32, rank=16, num_tokens=8))
    beyond = Drafter(DrafterShape(dim=32, num_heads=2, hidden_dim=32, rank=16, num_tokens=8))
    beyond.token_ids.fill_(10**6)
    far = Drafter(DrafterShape(dim=32, num_heads=2, hidden_dim=32, rank=16, num_tokens=8, num_guesses=99))
    for number, (wrong, sentence) in enumerate(
        [
            (foreign, "must fit its model, but is for another one"),
            (beyond, "must be tokens of the model, but are not"),
            (far, "`num_guesses` must be between 1 and 32, but is 99"),
        ]
    ):
        save_model_folder(tmp_path / str(number), replace(kept, drafter=wrong))
        with pytest.raises(HeedfulError, match=sentence):
            load_model_folder(tmp_path / str(number), TranslatorDescription)
    shutil.copytree(folder, tmp_path / "spoilt")
    (tmp_path / "spoilt" / "drafter.safetensors").write_bytes(b"no tensors")
    with pytest.raises(HeedfulError, match="has been altered"):
        load_model_folder(tmp_path / "spoilt", TranslatorDescription)


def test_without_a_drafter_guesses_are_looked_up_and_some_models_decline(tmp_path: Path) -> None:
    path = save_model(tmp_path / "plain")
    plain, fast = load_translator(path, device="cpu"), load_translator(path, device="cpu", quantize="none", fast=True)
    reference = load_translator(path, device="cpu", quantize="none")
    assert fast.translate(HOSTILE, beam_size=1) == reference.translate(HOSTILE, beam_size=1)
    assert plain.engine == "int8"
    both = load_translator([path, path], device="cpu")
    assert load_translator([path, path], device="cpu", fast=True).translate(HOSTILE) == both.translate(HOSTILE)
    with pytest.raises(UserError, match="`fast` must be left out with a recurrent model"):
        generator_of(ScriptedModel(random_script(1, 9)), fast=True)
    quantized = replace(make_model(), weights=QuantizedWeights.of(make_model().weights))
    save_model_folder(tmp_path / "bytes", quantized)
    assert load_translator(tmp_path / "bytes", device="cpu", fast=True).translate("where") is not None
