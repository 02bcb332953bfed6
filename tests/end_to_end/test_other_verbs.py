"""`check`, `info`, `demo`, `import` and `export` as processes."""

import json
import shutil
from pathlib import Path

import pytest

from heedful.config import load_config, parse_config
from heedful.demo.training import SETTINGS
from tests.support.commands import Command
from tests.support.engine_cache import cache_with_engine
from tests.support.small_run import SmallRun


def test_check_counts_and_estimates(heedful: Command, small_run: SmallRun) -> None:
    result = heedful("check", "small.toml", "--tokens-per-second", "1000", cwd=small_run.root)
    assert result.returncode == 0, result.stdout.decode()
    text = result.stdout.decode()
    assert "data.train[0]  3,000 pairs  train.en + train.de" in text
    assert "memory      about" in text
    assert "time        about" in text
    assert text.endswith("Nothing stands in the way.\n")


def test_check_measures_the_speed_of_this_machine(heedful: Command, small_run: SmallRun) -> None:
    told = json.loads(
        heedful("check", "small.toml", "--tokens-per-second", "1000", "--json", cwd=small_run.root).stdout
    )
    measured = json.loads(heedful("check", "small.toml", "--json", cwd=small_run.root).stdout)
    assert told["estimate"]["seconds"] == pytest.approx(told["estimate"]["num_run_tokens"] / 1000)
    assert measured["estimate"]["seconds"] > 0
    assert measured["estimate"]["seconds"] != told["estimate"]["seconds"]


def test_info_can_be_pasted(heedful: Command) -> None:
    text = heedful("info").stdout.decode()
    assert [line.split()[0] for line in text.split("\n")[:3]] == ["heedful", "python", "platform"]
    assert json.loads(heedful("info", "--json").stdout)["torch"] != "not installed"


def test_the_training_demo_trains_translates_and_says_what_next(heedful: Command, tmp_path: Path) -> None:
    cache = str(cache_with_engine(tmp_path / "cache"))
    result = heedful("demo", "--train", "--steps", "5", cwd=tmp_path, HEEDFUL_CACHE=cache)
    assert result.returncode == 0, result.stderr.decode()
    text = result.stdout.decode()
    assert "Exactly right: " in text
    assert "heedful translate --model runs/demo" in text
    assert (tmp_path / "runs" / "demo" / "model" / "model.safetensors").exists()
    again = heedful("translate", "-m", "runs/demo", "ten houses", cwd=tmp_path)
    assert again.returncode == 0


def test_the_training_demo_and_its_config_file_are_the_same_run() -> None:
    path = Path(__file__).parents[2] / "configs" / "demo.toml"
    assert load_config(path) == parse_config(SETTINGS)


def test_export_to_hugging_face_writes_a_marian_folder(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    result = heedful("export", small_run.run, "--format", "huggingface", "--out", tmp_path / "hf")
    assert result.returncode == 0, result.stderr.decode()
    assert json.loads((tmp_path / "hf" / "config.json").read_bytes())["model_type"] == "marian"


def test_export_to_ctranslate2_can_be_opened(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    result = heedful("export", small_run.run, "--format", "ctranslate2", "--out", tmp_path / "ct2")
    assert result.returncode == 0, result.stderr.decode()
    translator = ctranslate2.Translator(str(tmp_path / "ct2"), device="cpu")
    assert translator.translate_batch([["▁ten"]], beam_size=1)[0].hypotheses
    shutil.rmtree(tmp_path / "ct2")
