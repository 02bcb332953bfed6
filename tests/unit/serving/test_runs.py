"""Runs are found by id, and their journals are read as they grow."""

import subprocess
import sys
from pathlib import Path

import pytest

from heedful.serving.bodies import BadRequestError
from heedful.serving.limits import Limits
from heedful.serving.runs import JournalReader, Run, Runs
from tests.support.run_folders import make_run, write


def runs_of(tmp_path: Path, *models: Path, example: Path | None = None) -> Runs:
    return Runs(models, tmp_path / "runs", Limits(), example or tmp_path / "no example")


def test_runs_come_from_the_package_the_models_and_the_folder_of_runs(tmp_path: Path) -> None:
    example = make_run(tmp_path / "assets" / "example_run", rows=7)
    served = make_run(tmp_path / "runs" / "Served_One")
    make_run(tmp_path / "runs" / "example", "classification")
    make_run(tmp_path / "runs" / "text", "language_modeling")
    (tmp_path / "runs" / "no run").mkdir()
    make_run(tmp_path / "runs" / "broken")
    (tmp_path / "runs" / "broken" / "config.toml").write_text("task = 5")
    for model in (served, served / "model"):
        runs = runs_of(tmp_path, model, example=example)
        assert [(run.id, run.config.task) for run in runs.all()] == [
            ("example", "translation"),
            ("served_one", "translation"),
            ("example-2", "classification"),
            ("text", "language_modeling"),
        ]
        assert runs.of_model("served_one") == "served_one"
    assert runs.of_model("nobody") is None
    assert runs.find("example").facts() == {
        "id": "example",
        "name": "example_run",
        "task": "translation",
        "steps": 7,
        "maxSteps": 99,
        "isRunning": False,
        "checkpoints": [],
        "source": "en",
        "target": "de",
    }
    assert runs.find("text").facts()["source"] is None


@pytest.mark.parametrize("name", ["../runs/one", "ONE", "one/", "", "one\0", ".", "%2e%2e"])
def test_an_id_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    make_run(tmp_path / "runs" / "one")
    with pytest.raises(BadRequestError, match="There is no run of that id") as refused:
        runs_of(tmp_path).find(name)
    assert refused.value.status == 404


def test_a_server_without_runs_has_none(tmp_path: Path) -> None:
    assert runs_of(tmp_path).all() == []


def test_a_run_is_running_while_a_process_holds_its_lock(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs" / "one")
    run = runs_of(tmp_path).find("one")
    assert not run.is_running
    assert not (folder / ".lock").exists()  # who looks writes nothing
    program = (
        "import sys; from pathlib import Path; from heedful.training.durability.run_lock import RunLock\n"
        "with RunLock(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as trainer:
        assert trainer.stdin is not None
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == b"in\n"
        assert run.is_running
        trainer.stdin.close()
    assert not run.is_running


def reader_of(run: Run, after: int = 0, after_samples: int = 0, max_rows: int = 100) -> JournalReader:
    return JournalReader(run, after, after_samples, Limits(max_journal_rows=max_rows))


def test_a_journal_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs" / "one", rows=5)
    run = runs_of(tmp_path).find("one")
    write(folder, "samples.jsonl", [{"step": 5, "source": "a"}])
    news = reader_of(run, after=3).read()
    assert ([row["step"] for row in news["metrics"]], news["from"], news["next"]) == ([4, 5], 3, 5)
    assert (len(news["samples"]), news["nextSamples"]) == (1, 1)
    reader = reader_of(run, after=5, after_samples=1, max_rows=2)
    assert reader.read_news() is not None  # the state of the run
    assert reader.read_news() is None
    with (folder / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 6}\n{"step": NaN}\nno JSON\n{"st')
    later = reader.read_news()
    assert later is not None
    assert (later["metrics"], later["from"], later["next"]) == ([{"step": 6}, {"step": None}], 5, 7)
    with (folder / "metrics.jsonl").open("a") as stream:
        stream.write('ep": 9}\n')
    later = reader.read_news()
    assert later is not None
    assert (later["metrics"], later["next"]) == ([{"step": 9}], 9)
    assert run.facts()["steps"] == 9


def test_a_journal_that_was_cut_back_is_told_anew(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs" / "one", rows=5)
    run = runs_of(tmp_path).find("one")
    following = reader_of(run)
    assert len(following.read()["metrics"]) == 5
    (folder / "metrics.jsonl").write_text('{"step": 1}\n')
    for reader in (following, reader_of(run, after=5)):
        news = reader.read()
        assert (news["from"], news["metrics"], news["next"]) == (0, [{"step": 1}], 1)
    (folder / "metrics.jsonl").unlink()
    assert following.read()["next"] == 0
