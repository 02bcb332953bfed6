"""What ships, as processes: int8 folders, languages left open, several models as one."""

import json
import stat
from pathlib import Path

import pytest

from heedful import load
from heedful.engines.int8.library import is_available, open_library
from tests.support.commands import Command
from tests.support.tiny_models import save_model

needs_compiler = pytest.mark.skipif(not is_available(), reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def floats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("shipped") / "floats", languages=("de", "en", "fr", "zh"))


@pytest.fixture(scope="module")
def int8(heedful: Command, floats: Path) -> Path:
    out = floats.with_name("int8")
    result = heedful("export", floats, "--format", "int8", "--out", out, "--low-confidence", "-0.01")
    assert (result.returncode, result.stderr.decode()) == (0, f"The int8 model is in {out}.\n")
    return out


def test_an_int8_folder_takes_the_card_it_is_given(heedful: Command, floats: Path, tmp_path: Path) -> None:
    card = tmp_path / "card.md"
    card.write_text("# A model\n\nGood for a test: 好.\n", encoding="utf-8")
    result = heedful("export", floats, "--format", "int8", "--out", tmp_path / "int8", "--card", card)
    assert result.returncode == 0, result.stderr.decode()
    assert (tmp_path / "int8" / "README.md").read_bytes() == card.read_bytes()
    load(tmp_path / "int8", device="cpu")  # its manifest agrees
    refused = heedful("export", floats, "--format", "huggingface", "--out", tmp_path / "hf", "--card", card)
    assert refused.returncode == 2
    assert refused.stderr.decode() == (
        "error: `--card` must go with --format int8: other formats have no place for it.\n"
    )
    missing = heedful("export", floats, "--format", "int8", "--out", tmp_path / "x", "--card", tmp_path / "none.md")
    assert missing.returncode == 1
    assert "none.md cannot be read" in missing.stderr.decode()


@needs_compiler
def test_an_int8_folder_is_small_and_says_the_same(heedful: Command, floats: Path, int8: Path) -> None:
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (int8, floats)]
    assert sizes[0] < 0.5 * sizes[1]  # of a tiny model the scales are a large part
    arguments = ("--to", "fr", "--json", "where is the station")
    ours, theirs = (heedful("translate", "-m", folder, *arguments) for folder in (int8, floats))
    assert ours.returncode == 0
    assert ours.stdout == theirs.stdout


def test_json_names_languages_tokens_and_codes(heedful: Command, int8: Path) -> None:
    result = heedful("translate", "-m", int8, "--json", "--n-best", "2", stdin=b"Wo ist der Bahnhof, bitte?\n\n")
    first, empty = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert (first["from"], first["to"]) == ("de", "en")
    assert 0.5 < first["from_confidence"] <= 1
    assert (empty["from"], empty["to"], empty["warning_codes"]) == (None, None, [])
    for alternative in first["alternatives"]:
        assert len(alternative["tokens"]) == len(alternative["token_log_probs"]) > 0
        assert sum(alternative["token_log_probs"]) == pytest.approx(alternative["log_prob"], abs=1e-4)
    assert len(first["warnings"]) == len(first["warning_codes"])
    assert "low_confidence" in first["warning_codes"], "of these the folder itself says below what it is"
    said = result.stderr.decode()
    assert all(f"warning: line 1: {warning}\n" in said for warning in first["warnings"])


def test_english_needs_a_target_and_the_choices_are_named(heedful: Command, int8: Path) -> None:
    result = heedful("translate", "-m", int8, "Where is the nearest station?")
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.decode() == (
        'error: The target language must be said, because this model translates from "en" into "de", "fr", "zh". '
        "Say which with --to.\n"
    )


def test_many_doubtful_lines_are_counted(heedful: Command, int8: Path) -> None:
    result = heedful("translate", "-m", int8, "--to", "en", stdin=b"Where is the nearest station?\n" * 30)
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 21
    assert lines[-1] == "warning: 10 further lines with warnings; --json has them all."


def test_several_models_are_one(heedful: Command, int8: Path, tmp_path: Path) -> None:
    other = save_model(tmp_path / "other", languages=("de", "en", "fr", "zh"), seed=1)
    result = heedful("translate", "--model", int8, "-m", other, "--to", "de", "--json", "where is the station")
    assert result.returncode == 0, result.stderr.decode()
    found = json.loads(result.stdout)
    [expected] = load([int8, other], device="cpu").translate_detailed(["where is the station"], to="de")
    [alone] = load(int8, device="cpu").translate_detailed(["where is the station"], to="de")
    assert (found["translation"], found["score"]) == (expected.text, pytest.approx(expected.score, abs=1e-5))
    assert found["score"] != pytest.approx(alone.score, abs=1e-2)


def test_without_a_compiler_an_int8_folder_runs_in_fp32(heedful: Command, int8: Path, tmp_path: Path) -> None:
    bare = {"PATH": str(tmp_path), "CXX": "", "HEEDFUL_CACHE": str(tmp_path)}
    result = heedful("translate", "-m", int8, "--to", "fr", "--json", "where is the station", **bare)
    assert result.returncode == 0
    expected = heedful("translate", "-m", int8, "--to", "fr", "--json", "--quantize", "none", "where is the station")
    assert result.stdout == expected.stdout


def test_without_a_cache_folder_the_model_runs_in_fp32(heedful: Command, int8: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = str(tmp_path / "file" / "cache")
    result = heedful("translate", "-m", int8, "--to", "fr", "where is the station", HEEDFUL_CACHE=cache)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.strip()


@needs_compiler
def test_who_waits_for_the_compiler_is_told_once(heedful: Command, int8: Path, tmp_path: Path) -> None:
    """A compiler that has its answer ready: the real one would take most of the time of this file."""
    compiler = tmp_path / "compiler"
    compiler.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo 1; exit; fi\nwhile [ "$1" != -o ]; do shift; done\n'
        f'cp "{open_library()._name}" "$2"\n'
    )
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    environment = {"CXX": str(compiler), "HEEDFUL_CACHE": str(tmp_path / "cache")}
    sentence = "Compiling the int8 engine for this processor: once, some ten seconds (--quantize none does without).\n"
    for times in (1, 0):
        result = heedful("translate", "-m", int8, "--to", "fr", "where is the station", **environment)
        assert result.returncode == 0
        assert result.stderr.decode().count(sentence) == times
    assert len(list((tmp_path / "cache" / "native").iterdir())) == 1
