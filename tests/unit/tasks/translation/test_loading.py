"""Which folder, which device and which engine are meant."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from heedful.config.data import TokenizerConfig
from heedful.config.models import TransformerConfig
from heedful.engines.int8.engine import Int8Transformer
from heedful.engines.int8.library import NativeUnavailableError
from heedful.errors import UserError
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.locate import find_model_folder, refuse_existing
from heedful.storage.model_folder import ModelFolder, save_model_folder, weights_of
from heedful.tasks.device import choose_device
from heedful.tasks.translation.load import load_translator
from heedful.text.learning import learn_tokenizer


def test_a_run_folder_stands_for_its_model(tmp_path: Path) -> None:
    assert find_model_folder(tmp_path) == tmp_path
    (tmp_path / "model").mkdir()
    assert find_model_folder(tmp_path) == tmp_path / "model"


def test_a_run_that_has_no_model_yet_says_so(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(UserError, match=r"has no model yet\. Let its training end: heedful train CONFIG --resume\.$"):
        find_model_folder(tmp_path)


def test_what_exists_is_refused_as_a_place_for_output(tmp_path: Path) -> None:
    refuse_existing(tmp_path / "new")
    with pytest.raises(UserError, match=r"must not exist yet, but does\. Choose another, or remove it\.$"):
        refuse_existing(tmp_path)


def test_the_cpu_is_always_there() -> None:
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["tpu", "", "mps", "cuda:x"])
def test_a_device_of_another_kind_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=rf'^The device must be cpu, cuda or cuda:N, but is "{name}"\.$'):
        choose_device(name)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match=r'^The device "cuda:99" must be there, but PyTorch sees \d+ GPUs\.'):
        choose_device("cuda:99")


@pytest.fixture
def narrow_model(tmp_path: Path) -> Path:
    """A model whose width is no multiple of any processor's registers."""
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=300), ["a b"], ["b a"])
    size = tokenizer.source_vocab_size
    config = TransformerConfig(dim=10, num_heads=2, hidden_dim=16, num_encoder_layers=1, num_decoder_layers=1)
    model = build_model(config, source_vocab_size=size, target_vocab_size=size, pad_id=tokenizer.pad_id)
    folder = ModelFolder(
        TranslatorDescription(
            model=config,
            special_ids=SpecialIds.of(tokenizer),
            source_vocab_size=size,
            target_vocab_size=size,
            source_language="en",
            target_language="de",
        ),
        weights_of(model),
        tokenizer.to_json(),
    )
    save_model_folder(tmp_path / "narrow", folder)
    return tmp_path / "narrow"


def test_a_model_the_int8_engine_cannot_hold_runs_in_fp32_unless_int8_was_asked_for(narrow_model: Path) -> None:
    translator = load_translator(narrow_model, device="cpu", quantize="auto")
    assert translator.engine == "float"
    assert isinstance(translator.translate("a b"), str)
    with pytest.raises(NativeUnavailableError, match=r"^The int8 engine needs "):
        load_translator(narrow_model, device="cpu", quantize="int8")


def test_int8_is_for_the_cpu(narrow_model: Path) -> None:
    with pytest.raises(UserError, match=r'^`quantize` must be "auto", "int8" or "none", but is "int4"\.$'):
        load_translator(narrow_model, quantize="int4")
    if torch.cuda.is_available():
        with pytest.raises(UserError, match=r'^`quantize` must be "none" or "auto" on cuda: int8 runs on the CPU\.$'):
            load_translator(narrow_model, device="cuda", quantize="int8")


COUNTING = """
import sys
read = []
sys.addaudithook(lambda event, args: read.append(str(args[0])) if event == "open" else None)
import heedful
assert heedful.load(device="cpu").engine == "int8"
print(sum(path.endswith("transformer.cpp") for path in read))
"""


@pytest.mark.skipif(not Int8Transformer.is_available(), reason="needs a C++ compiler")
def test_the_engine_is_looked_for_once() -> None:
    result = subprocess.run([sys.executable, "-c", COUNTING], capture_output=True, text=True, check=False, timeout=300)
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr[-2000:]
