"""A run folder is made once and goes on only as it began."""

import json
import re
from pathlib import Path

import pytest

from heedful.config import TranslationRun, load_config, parse_config
from heedful.errors import UserError
from heedful.tasks.run_folder import check_run_folder, run_folder_of, write_run_folder

TEXT = """
name = "x"
[data]
train = [{ source = "a", target = "b" }]
validation = [{ source = "a", target = "b" }]
"""


def config_in(tmp_path: Path, *overrides: str) -> TranslationRun:
    return parse_config(TEXT, [f'runs_folder="{tmp_path}"', *overrides])


def begin(tmp_path: Path) -> TranslationRun:
    config = config_in(tmp_path)
    write_run_folder(run_folder_of(config), config, "{}", {"torch": "2"})
    return config


def said_by(tmp_path: Path, *overrides: str, resume: bool = True) -> list[str]:
    said: list[str] = []
    config = config_in(tmp_path, *overrides)
    check_run_folder(run_folder_of(config), config, resume=resume, say=said.append)
    return said


def test_the_folder_holds_the_resolved_settings_and_the_environment(tmp_path: Path) -> None:
    config = begin(tmp_path)
    folder = tmp_path / "x"
    assert load_config(folder / "config.toml") == config
    assert json.loads((folder / "environment.json").read_text())["torch"] == "2"
    assert (folder / "tokenizer.json").read_text() == "{}"


def test_what_exists_is_not_overwritten(tmp_path: Path) -> None:
    begin(tmp_path)
    with pytest.raises(
        UserError, match=r"^The run folder .*/x must not exist yet, but does\. Go on with it by --resume"
    ):
        said_by(tmp_path, resume=False)


def test_a_folder_of_something_else_is_not_taken_either(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.txt").touch()
    with pytest.raises(UserError, match="must not exist yet"):
        said_by(tmp_path, resume=False)


def test_a_lock_left_by_a_run_that_never_began_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / ".lock").touch()
    assert said_by(tmp_path, resume=False) == []


def test_a_tokenizer_left_by_a_run_that_never_began_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "tokenizer.json").write_text('{"of": "other data"}')
    begin(tmp_path)
    assert (tmp_path / "x" / "tokenizer.json").read_text() == "{}"


def test_resuming_nothing_begins_and_says_so(tmp_path: Path) -> None:
    assert said_by(tmp_path) == [f"There is no run in {tmp_path}/x to go on with: beginning it."]


def test_more_steps_are_allowed_and_said(tmp_path: Path) -> None:
    begin(tmp_path)
    assert said_by(tmp_path) == []
    assert said_by(tmp_path, "training.max_steps=7") == [
        "Changed since the run began: `training.max_steps` was 100000 and is 7."
    ]


def test_another_model_is_refused_with_every_difference(tmp_path: Path) -> None:
    begin(tmp_path)
    with pytest.raises(UserError) as caught:
        said_by(tmp_path, "model.dim=256", "training.clip_norm=1.0")
    assert str(caught.value).split("\n")[1:] == [
        "  - `model.dim` was 512 and is 256",
        "  - `training.clip_norm` was not set and is 1.0",
    ]


def test_a_run_goes_on_though_its_settings_were_laid_out_otherwise_on_disk(tmp_path: Path) -> None:
    config = begin(tmp_path)
    path = tmp_path / "x" / "config.toml"
    in_one_line = re.sub(r"\[\s+0\.9,\s+0\.98,?\s+\]", "[0.9, 0.98]", path.read_text())
    assert "betas = [0.9, 0.98]\n" in in_one_line
    path.write_text(f"# written by an earlier version\n{in_one_line}")
    assert load_config(path) == config
    said_by(tmp_path)
    with pytest.raises(UserError, match=r"`training\.batch_tokens` was "):
        said_by(tmp_path, "training.batch_tokens=77")
