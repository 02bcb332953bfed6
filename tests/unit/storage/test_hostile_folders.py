"""Model folders made to do harm, their manifests sealed again: each is refused with a sentence, at once, unbuilt.

Every case alters one thing of a folder that is in order. Translation models are altered in fp32 and in int8.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from shutil import copytree

import pytest
import torch
from safetensors.torch import load_file, save_file

from heedful.config.data import TokenizerConfig
from heedful.errors import HeedfulError
from heedful.tasks.translation.load import load_translator
from heedful.text.learning import learn_tokenizer
from tests.support.sound_folders import (
    KINDS,
    altered_config,
    replace_tokenizer,
    seal_again,
)
from tests.support.tiny_models import LINES

CPU_SECONDS = 2.0
HUGE = (10**9, 10**12, 2**62, 10**30)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders that are in order, one of each kind."""
    root = tmp_path_factory.mktemp("sound")
    for kind, (save, _) in KINDS.items():
        save(root / kind)
    return {kind: root / kind for kind in KINDS}


def refusal(path: Path, kind: str) -> str:
    """Use the model of a folder; return the sentence it is refused with, having seen that it came soon."""
    started = time.process_time()
    with pytest.raises(HeedfulError) as caught:
        KINDS[kind][1](path)
    assert time.process_time() - started < CPU_SECONDS
    assert caught.value.exit_code == 2
    message = str(caught.value)
    assert message.endswith("."), message
    assert any(word in message for word in (" must ", " has format version ", " holds ", " is damaged at "))
    return message


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_in_order_is_used(sound: dict[str, Path], kind: str) -> None:
    assert KINDS[kind][1](sound[kind])


def numbers() -> Iterator[tuple[str, str, object]]:
    """Yield kind of folder, place in config.json, and a value that is absurd there."""
    translation = [
        *(("source_vocab_size target_vocab_size", value) for value in HUGE),
        ("source_vocab_size", 10**9),
        ("target_vocab_size", 0),
        *(("model.dim", value) for value in (*HUGE, 2**20, 0, -2)),
        *(("model.hidden_dim", value) for value in (10**10, *HUGE, -1)),
        *(("model.num_heads", value) for value in (*HUGE, 0)),
        *(("model.num_encoder_layers", value) for value in (900, 20_000, 10**7, *HUGE)),
        *(("model.num_decoder_layers", value) for value in (900, 20_000, 10**7, *HUGE)),
        ("model.positions", {"kind": "learned", "max_len": 10**9}),
        ("model.positions", {"kind": "learned", "max_len": 60_000}),
        *(("decoding.beam_size", value) for value in (10**6, *HUGE)),
        *(("decoding.length_penalty", value) for value in (10**9, 1e308, float("inf"), 10**400)),
        *(("decoding.extra_tokens", value) for value in HUGE),
        *(("decoding.max_source_tokens", value) for value in HUGE),
        *(("decoding.batch_tokens", value) for value in HUGE),
        *(
            (f"special_ids.{name}", value)
            for name in ("pad", "bos", "eos", "unk")
            for value in (10**6, 10**12, 320, -1)
        ),
        ("special_ids.eos", 1),
        ("weights", "int4"),
        ("model", None),
        ("model.kind", "mamba"),
        ("directions", [["en"]]),
    ]
    labels = [
        *(("vocab_size", value) for value in (*HUGE, 0)),
        *(("model.dim", value) for value in (*HUGE, 2**20)),
        *(("model.num_layers", value) for value in (900, 20_000, 10**7, *HUGE)),
        *(("model.attention.num_heads", value) for value in HUGE),
        *(("model.layer.hidden_dim", value) for value in HUGE),
        *(("model.long_documents.length", value) for value in HUGE),
        ("model.positions", {"kind": "learned", "max_len": 10**12}),
        *(("model.ngram_embedding.num_buckets", value) for value in (10**9, *HUGE)),
        *(("model.naive_bayes.num_buckets", value) for value in (10**9, *HUGE)),
        ("model.ngram_embedding.up_to", 10**9),
        *((f"special_ids.{name}", value) for name in ("pad", "bos", "eos", "unk") for value in (10**6, 320)),
        ("labels", ["one", "two", "three"]),
        ("labels", ["same", "same"]),
        ("labels", []),
        # Layers without weights: nothing in the file says how many there are.
        ("model.num_layers model.layer model.attention", (10**7, {"kind": "attention"}, {"kind": "basic"})),
    ]
    text = [
        *(("vocab_size", value) for value in (*HUGE, 257, 0)),
        *(("model.dim", value) for value in (*HUGE, 2**20)),
        *(("model.hidden_dim", value) for value in HUGE),
        *(("model.num_heads", value) for value in HUGE),
        *(("model.num_layers", value) for value in (900, 20_000, 10**7, *HUGE)),
        *(("segment_len", value) for value in HUGE),
        *(("memory_len", value) for value in HUGE),
    ]
    xl = [*text, *(("model.clamp_len", value) for value in HUGE)]
    plain = [
        *text,
        *(("model.context_len", value) for value in HUGE),
        ("model.positions", {"kind": "learned", "max_len": 10**9}),
    ]
    cases: dict[str, Iterable[tuple[str, object]]] = {
        "fp32": translation,
        "int8": translation,
        "labels": labels,
        "xl": xl,
        "plain": plain,
    }
    for kind, found in cases.items():
        yield from ((kind, place, value) for place, value in found)


@pytest.mark.parametrize(("kind", "place", "value"), list(numbers()))
def test_an_absurd_number_is_refused_before_anything_is_built(
    sound: dict[str, Path], tmp_path: Path, kind: str, place: str, value: object
) -> None:
    path = altered_config(sound[kind], tmp_path, place, value)
    refusal(path, kind)


@pytest.mark.parametrize("threshold", [10**400, float("nan"), "-1", True, [1]])
def test_a_threshold_that_is_no_number_is_passed_over(
    sound: dict[str, Path], tmp_path: Path, threshold: object
) -> None:
    """Facts are for people; nothing in them keeps a model from being used."""
    path = altered_config(sound["fp32"], tmp_path, "facts.low_confidence", threshold)
    assert isinstance(load_translator(path, device="cpu").translate("where is the station"), str)


Tensors = dict[str, torch.Tensor]


def _first(tensors: Tensors) -> str:
    return next(name for name in sorted(tensors) if "embedding" in name and not name.endswith(".scales"))


WEIGHTS: dict[str, Callable[[Tensors], object]] = {
    "whole numbers": lambda held: held.update({name: tensor.to(torch.int32) for name, tensor in held.items()}),
    "half": lambda held: held.update({_first(held): held[_first(held)].to(torch.float16)}),
    "double": lambda held: held.update({_first(held): held[_first(held)].to(torch.float64)}),
    "truth values": lambda held: held.update({_first(held): held[_first(held)].to(torch.bool)}),
    "one row more": lambda held: held.update({_first(held): torch.cat([held[_first(held)], held[_first(held)][:1]])}),
    "flat": lambda held: held.update({_first(held): held[_first(held)].flatten()}),
    "empty": lambda held: held.update({_first(held): torch.zeros(0)}),
    "without one": lambda held: held.pop(_first(held)),
    "one more": lambda held: held.update({"extra": torch.zeros(1)}),
    "scales of nothing": lambda held: held.update({"extra.scales": torch.zeros(1)}),
    "none": lambda held: held.clear(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", WEIGHTS)
def test_other_weights_are_refused(sound: dict[str, Path], tmp_path: Path, kind: str, case: str) -> None:
    path = copytree(sound[kind], tmp_path / "model")
    weights = load_file(path / "model.safetensors")
    WEIGHTS[case](weights)
    save_file(weights, path / "model.safetensors")
    seal_again(path)
    assert "model.safetensors" in refusal(path, kind)


@pytest.mark.parametrize("kind", ["fp32", "int8"])
def test_weights_of_the_other_precision_are_refused(sound: dict[str, Path], tmp_path: Path, kind: str) -> None:
    path = altered_config(sound[kind], tmp_path, "weights", {"fp32": "int8", "int8": "float32"}[kind])
    assert "model.safetensors" in refusal(path, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"\xff" * 64, (2**63).to_bytes(8, "little"), b"PK\x03\x04pickle"])
def test_what_is_no_safetensors_file_is_refused(
    sound: dict[str, Path], tmp_path: Path, kind: str, content: bytes
) -> None:
    path = copytree(sound[kind], tmp_path / "model")
    (path / "model.safetensors").write_bytes(content)
    seal_again(path)
    assert "model.safetensors must be a safetensors file" in refusal(path, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe{}", b"[" * 100_000, b"{}", b"null", b'{"format": "heedful-symbols"}']
)
def test_what_is_no_tokenizer_is_refused(sound: dict[str, Path], tmp_path: Path, kind: str, content: bytes) -> None:
    refusal(replace_tokenizer(sound[kind], tmp_path, content), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [500, 1, -1, "special"])
def test_a_tokenizer_of_another_size_than_the_model_is_refused(
    sound: dict[str, Path], tmp_path: Path, kind: str, change: int | str
) -> None:
    tokenizer = json.loads(learn_tokenizer(TokenizerConfig(vocab_size=320), LINES, ()).to_json())
    vocabulary = tokenizer["source"]["vocabulary"]
    if change == "special":
        tokenizer["special_ids"] |= {"bos": tokenizer["special_ids"]["eos"]}
    elif change == -1:
        merged = "".join(tokenizer["source"]["segmentation"]["merges"].pop())
        assert vocabulary[-1] == merged
        vocabulary.pop()
    else:
        vocabulary += [f"piece{n}" for n in range(int(change))]
    content = json.dumps(tokenizer, ensure_ascii=False).encode()
    assert "okenizer" in refusal(replace_tokenizer(sound[kind], tmp_path, content), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b""),
        ("config.json", b"\xff\xfe{}"),
        ("config.json", b"[" * 100_000),
        ("config.json", b"[]"),
        ("config.json", b"9" * 10_000),
        ("README.md", b"caf\xe9"),
    ],
)
def test_other_files_that_cannot_be_read_are_named(
    sound: dict[str, Path], tmp_path: Path, kind: str, name: str, content: bytes
) -> None:
    path = copytree(sound[kind], tmp_path / "model")
    (path / name).write_bytes(content)
    seal_again(path)
    assert name in refusal(path, kind)
