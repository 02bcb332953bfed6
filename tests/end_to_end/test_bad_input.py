"""Whatever a user gets wrong: a sentence, the right exit code, never a traceback."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from heedful import load
from heedful.errors import ModelFolderError, UserError
from heedful.files import write_manifest
from tests.support.commands import Command
from tests.support.small_run import SmallRun


def refused(result: "subprocess.CompletedProcess[bytes]", code: int = 2) -> str:
    """Return the sentence of a command that must have failed with `code` and printed nothing else."""
    message = result.stderr.decode()
    assert result.returncode == code, message
    assert "Traceback" not in message
    assert result.stdout == b""
    assert message.rstrip().rsplit("\n", 1)[-1] != ""
    return message


def test_a_config_that_does_not_exist(heedful: Command, corpus_folder: Path) -> None:
    message = refused(heedful("train", "smal.toml", cwd=corpus_folder))
    assert message == (
        "error: The configuration smal.toml must exist, but there is no such file. Did you mean small.toml?\n"
    )


def test_every_wrong_setting_at_once(heedful: Command, corpus_folder: Path) -> None:
    result = heedful(
        "train", "small.toml", "training.max_stepz=3", 'training.batch_tokens="many"', "decoding.beam_size=0",
        cwd=corpus_folder,
    )  # fmt: skip
    assert refused(result) == (
        "error: small.toml has 3 problems:\n"
        '  - `training.batch_tokens` must be a whole number, but is "many".\n'
        "  - `training.max_stepz` is not a setting. Did you mean `training.max_steps`?\n"
        "  - `decoding.beam_size` must be at least 1, but is 0.\n"
    )
    assert not (corpus_folder / "runs").exists()


def test_a_beam_that_no_memory_would_hold_is_refused_wherever_it_is_said(heedful: Command, corpus_folder: Path) -> None:
    said = refused(heedful("translate", "--beam", "1000000", "--to", "de", "Hello."))
    assert said == "error: `--beam` must be at most 256, but is 1000000.\n"
    said = refused(heedful("tune", "--beams", "1,257"))
    assert said == 'error: `--beams` must be numbers from 1 to 256, separated by commas, but is "1,257".\n'
    said = refused(heedful("train", "small.toml", "decoding.beam_size=257", cwd=corpus_folder))
    assert said == "error: small.toml has 1 problem:\n  - `decoding.beam_size` must be at most 256, but is 257.\n"
    with pytest.raises(UserError, match="`beam_size` must be at most 256, but is 257"):
        load(device="cpu").translate("Hello.", to="de", beam_size=257)


def test_a_corpus_that_does_not_exist(heedful: Command, corpus_folder: Path) -> None:
    (corpus_folder / "train.de").unlink()
    message = refused(heedful("train", "small.toml", cwd=corpus_folder))
    assert message == (
        "error: The file train.de must exist, but does not. Check the path, and HEEDFUL_DATA if it is set.\n"
    )
    assert not (corpus_folder / "runs").exists()


def test_corpora_of_unequal_length(heedful: Command, corpus_folder: Path) -> None:
    with (corpus_folder / "train.de").open("a") as stream:
        stream.write("eine zeile zu viel\n")
    sentence = (
        "The two files of a corpus must have equally many lines, but train.en has 3,000 and train.de has 3,001: "
        "train.en ends after line 3,000, train.de goes on for 1 line."
    )
    assert refused(heedful("train", "small.toml", cwd=corpus_folder)).endswith(f"error: {sentence}\n")
    checked = heedful("check", "small.toml", cwd=corpus_folder)
    assert checked.returncode == 2
    assert sentence in checked.stdout.decode()


@pytest.mark.parametrize("content", [b"", b"\n\n\n"])
def test_a_corpus_with_nothing_in_it(heedful: Command, corpus_folder: Path, content: bytes) -> None:
    for side in ("en", "de"):
        (corpus_folder / f"train.{side}").write_bytes(content)
    assert "train.en" in refused(heedful("train", "small.toml", cwd=corpus_folder))


def test_a_corpus_that_is_a_folder_or_not_compressed(heedful: Command, corpus_folder: Path) -> None:
    shutil.copy(corpus_folder / "train.en", corpus_folder / "fake.en.gz")
    (corpus_folder / "folder.en").mkdir()
    for name in ("fake.en.gz", "folder.en"):
        result = heedful("train", "small.toml", f"data.train.0.source={name}", cwd=corpus_folder)
        assert name in refused(result, result.returncode or 2)
        assert result.returncode in (1, 2)


def test_a_run_is_never_overwritten(heedful: Command, small_run: SmallRun) -> None:
    before = (small_run.run / "config.toml").read_bytes()
    message = refused(heedful("train", "small.toml", cwd=small_run.root))
    assert message == (
        "error: The run folder runs/small must not exist yet, but does. "
        "Go on with it by --resume, or give the new run another name: name=...\n"
    )
    assert (small_run.run / "config.toml").read_bytes() == before


def test_a_run_does_not_go_on_as_something_else(heedful: Command, small_run: SmallRun) -> None:
    result = heedful("train", "small.toml", "--resume", "training.batch_tokens=999", cwd=small_run.root)
    assert refused(result) == (
        "error: The run runs/small can only go on with the settings it began with, but these have changed:\n"
        "  - `training.batch_tokens` was 2048 and is 999\n"
    )


def test_a_model_that_does_not_exist(heedful: Command, tmp_path: Path) -> None:
    message = refused(heedful("translate", "-m", tmp_path / "nowhere", "hello"))
    assert message == f"error: The model folder {tmp_path}/nowhere must exist, but does not.\n"
    assert str(tmp_path) in refused(heedful("translate", "-m", tmp_path, "hello"))


def damage(part: Path, harm: str) -> None:
    content = part.read_bytes()
    middle = len(content) // 2
    match harm:
        case "missing":
            part.unlink()
        case "altered":
            part.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        case "truncated":
            part.write_bytes(content[:middle])


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "README.md", "manifest.json"])
@pytest.mark.parametrize("harm", ["missing", "altered", "truncated"])
def test_a_model_folder_with_a_damaged_part(small_run: SmallRun, tmp_path: Path, name: str, harm: str) -> None:
    model = tmp_path / "model"
    shutil.copytree(small_run.run / "model", model)
    damage(model / name, harm)
    with pytest.raises(ModelFolderError, match=name):
        load(model)


def test_a_damaged_model_folder_through_the_command(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(small_run.run / "model", model)
    damage(model / "model.safetensors", "altered")
    assert "model.safetensors" in refused(heedful("translate", "-m", model, "ten houses"))


def test_a_tokenizer_of_another_model(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    """A tokenizer of the right size and a manifest that fits it: only its hash in config.json gives it away."""
    model = tmp_path / "model"
    shutil.copytree(small_run.run / "model", model)
    manifest = json.loads((model / "manifest.json").read_bytes())
    (model / "manifest.json").unlink()
    tokenizer = (model / "tokenizer.json").read_text(encoding="utf-8")
    (model / "tokenizer.json").write_text(tokenizer + "\n", encoding="utf-8")
    facts = {key: value for key, value in manifest.items() if key not in ("files", "format_version", "manifest_sha256")}
    write_manifest(model, facts)
    message = refused(heedful("translate", "-m", model, "ten houses"))
    assert "tokenizer.json must be the tokenizer this model was trained with" in message


def test_a_split_or_file_that_does_not_exist(heedful: Command, small_run: SmallRun) -> None:
    message = refused(heedful("evaluate", small_run.run, "--split", "unsen", cwd=small_run.root))
    assert '"unseen"' in message
    assert "gone.en" in refused(heedful("evaluate", small_run.run, "--data", "gone.en", "gone.de", cwd=small_run.root))


def test_an_output_folder_that_exists(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    message = refused(heedful("export", small_run.run, "--format", "huggingface", "--out", tmp_path))
    assert message == f"error: The folder {tmp_path} must not exist yet, but does. Choose another, or remove it.\n"


def test_a_folder_that_is_no_model_cannot_be_imported(heedful: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "empty" in refused(heedful("import", tmp_path / "empty", "--out", tmp_path / "out"))
    assert not (tmp_path / "out").exists()
