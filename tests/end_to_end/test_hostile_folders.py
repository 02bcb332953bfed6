"""Model folders made to do harm, given to the real commands: a sentence and exit code 2, in little memory."""

import json
import resource
import subprocess
from pathlib import Path
from shutil import copytree

import pytest

from tests.support.command_server import command_server
from tests.support.sound_folders import KINDS, altered_config, replace_tokenizer

VERBS = {"fp32": "translate", "int8": "translate", "labels": "classify", "xl": "generate", "plain": "generate"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("sound")
    for kind, (save, _) in KINDS.items():
        save(root / kind)
    return {kind: root / kind for kind in KINDS}


def use(kind: str, path: Path) -> "subprocess.CompletedProcess[bytes]":
    """Use a model in a process that may ask for 6 GB of addresses."""
    limits = {resource.RLIMIT_AS: 6 << 30}
    return command_server().run(VERBS[kind], "where is the station", "--model", path, limits=limits)


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("fp32", "source_vocab_size target_vocab_size", 10**9),
        ("int8", "model.num_encoder_layers", 20_000),
        ("int8", "decoding.beam_size", 10**6),
        ("labels", "model.naive_bayes.num_buckets", 10**9),
        ("xl", "memory_len", 10**9),
        ("plain", "model.dim", 10**9),
    ],
)
def test_an_absurd_number_is_a_sentence(
    sound: dict[str, Path], tmp_path: Path, kind: str, place: str, value: int
) -> None:
    result = use(kind, altered_config(sound[kind], tmp_path, place, value))
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.startswith(b"error: ")
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("kind", ["fp32", "labels"])
def test_a_tokenizer_larger_than_its_model_is_a_sentence(sound: dict[str, Path], tmp_path: Path, kind: str) -> None:
    tokenizer = json.loads((sound[kind] / "tokenizer.json").read_bytes())
    size = len(tokenizer["source"]["vocabulary"])
    tokenizer["source"]["vocabulary"] += [f"piece{n}" for n in range(500)]
    result = use(kind, replace_tokenizer(sound[kind], tmp_path, json.dumps(tokenizer).encode()))
    assert result.returncode == 2
    assert result.stderr.decode() == (
        f"error: The tokenizer of a model must have as many entries as the model, {size}, but has {size + 500}. "
        "Copy the whole folder again from where it came, or use another one.\n"
    )


def test_a_sound_folder_is_used_in_as_little_memory(sound: dict[str, Path], tmp_path: Path) -> None:
    result = use("labels", copytree(sound["labels"], tmp_path / "model"))
    assert result.returncode == 0, result.stderr
