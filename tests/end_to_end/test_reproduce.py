"""The runner of recipes, with real commands."""

from pathlib import Path

import pytest
from benchmarks.reproduce import RECIPES, Sitting, Stage


def told(name: str, folder: Path, command: tuple[str, ...] = ("--version",), needs: tuple[str, ...] = ()) -> Stage:
    return Stage(name, command, folder / f"{name}.txt", needs, folder / f"{name}.txt")


def test_stages_run_after_what_they_need_and_only_once(tmp_path: Path) -> None:
    stages = [told("second", tmp_path, needs=("first",)), told("first", tmp_path)]
    assert Sitting(stages, [], tmp_path / "logs").run(side_by_side=2, seconds=60)
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    assert first.stat().st_mtime_ns < second.stat().st_mtime_ns
    assert "heedful" in second.read_text().lower()
    first.write_text("kept")
    second.unlink()
    assert Sitting(stages, [], tmp_path / "logs").run(side_by_side=2, seconds=60)
    assert first.read_text() == "kept"


def test_what_needs_a_failed_stage_does_not_run(tmp_path: Path) -> None:
    stages = [told("bad", tmp_path, ("evaluate", "no-such-run")), told("after", tmp_path, needs=("bad",))]
    sitting = Sitting(stages, [], tmp_path / "logs")
    assert not sitting.run(side_by_side=2, seconds=60)
    assert sitting.outcome == {"bad": "failed"}
    assert not list(tmp_path.glob("*.txt"))
    assert "no-such-run" in (tmp_path / "logs" / "bad.log").read_text()


def test_when_the_time_is_up_stages_are_told_to_stop(tmp_path: Path) -> None:
    waiting = told("waiting", tmp_path, ("serve", "--port", "0"))
    sitting = Sitting([waiting], [], tmp_path / "logs")
    assert not sitting.run(side_by_side=1, seconds=8)
    assert sitting.outcome == {"waiting": "interrupted"}
    assert not waiting.done.exists()


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_name_configs_that_exist_and_stages_they_have(name: str) -> None:
    stages = {stage.name: stage for stage in RECIPES[name]()}
    for stage in stages.values():
        assert set(stage.needs) <= set(stages)
        for word in stage.command:
            assert not word.startswith("configs/") or (Path(__file__).parents[2] / word).is_file()
