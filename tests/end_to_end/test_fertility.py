"""The family with fertilities goes every way: distilled in one config, resumed, chosen by a teacher, seen, served."""

import json
import signal
import subprocess
import sys
import time
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from benchmarks.load import ServerProcess
from benchmarks.parallel_decoding import main as compare_with_teacher

import heedful as package
from heedful.decoding import Fertile
from heedful.errors import UserError
from heedful.insight.refinement import trace_refinement
from heedful.tasks.translation.load import load_translator
from tests.support.commands import Command, environment_of
from tests.support.family_run import (
    HOSTILE,
    TEXT,
    ask_about_text,
    expect_a_line_for_any_line,
    expect_alternatives_prefixes_and_terms,
)
from tests.support.numbers_and_things import CONFIG, write_pairs

TEACHER = (
    CONFIG.replace('name = "ctc"', 'name = "teacher"')
    .replace('kind = "ctc"\nupsampling = 3\n', "")
    .replace('regularizer = { kind = "glancing" }\n', "")
    .replace("max_steps = 240", "max_steps = 150")
    .replace("every_steps = 240", "every_steps = 50")
)
STUDENT = (
    TEACHER.replace('name = "teacher"', 'name = "student"')
    .replace("[data]\n", '[data]\ndistillation = { kind = "teacher", teacher = "teacher.toml", beam_size = 2 }\n')
    .replace("vocab_size = 400", 'take_from = "runs/teacher"')
    .replace("[model]\n", '[model]\nkind = "fertility"\nmax_fertility = 8\n')
    .replace(
        "[training]\n", '[training]\nregularizer = { kind = "teacher", model = "runs/teacher", after_steps = 130 }\n'
    )
)


def write_files(root: Path) -> None:
    write_pairs(root)
    (root / "teacher.toml").write_text(TEACHER)
    (root / "student.toml").write_text(STUDENT)


@pytest.fixture(scope="module")
def run(heedful: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher, what it makes of the training set, and a student with fertilities, from one command."""
    root = tmp_path_factory.mktemp("fertility")
    write_files(root)
    result = heedful("train", "student.toml", cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    return root / "runs" / "student"


@pytest.fixture
def teacher(run: Path) -> Path:
    """Who it has learned from."""
    return run.with_name("teacher")


def test_it_translates_what_it_has_learned_at_once(heedful: Command, run: Path) -> None:
    result = heedful("translate", "--model", run, TEXT)
    assert (result.returncode, result.stdout) == (0, "zehn häuser\n".encode())
    assert isinstance(load_translator(run).generator, Fertile)


def test_a_teacher_chooses_among_draws(heedful: Command, run: Path, teacher: Path) -> None:
    result = heedful("translate", "--model", run, "--rescore-with", teacher, "--samples", "5", TEXT)
    assert (result.returncode, result.stdout) == (0, "zehn häuser\n".encode())
    texts = [*HOSTILE, TEXT, "eleven stars and ships"]
    scores = []
    for samples in (1, 8, 40):
        translator = package.load(run, rescore_with=teacher, samples=samples)
        detailed = translator.translate_detailed(texts)
        assert [one.text for one in detailed] == [translator.translate(text) for text in texts]
        scores.append([one.score for one in detailed])
    for fewer, more in pairwise(scores):
        assert all(one <= other + 1e-4 for one, other in zip(fewer, more, strict=True))


def test_what_does_not_go_together_is_refused_in_a_sentence(heedful: Command, run: Path, teacher: Path) -> None:
    for words, said in (
        (("--model", teacher, "--rescore-with", teacher), "for a model with fertilities"),
        (("--model", run, "--rescore-with", run), "must write step by step"),
        (("--model", run, "--samples", "3"), "--rescore-with DIR"),
        (("--model", run, "--fast"), "writes without steps"),
    ):
        result = heedful("translate", *words, TEXT)
        assert result.returncode == 2
        assert said in result.stderr.decode()
    for changes, said in (
        (('training.regularizer={kind="r_drop"}',), '"none" or "teacher"'),
        (("tokenizer.dropout=0.1",), "`tokenizer.dropout` must be 0"),
        (("name=teacher",), "must be another run"),
    ):
        result = heedful("train", "student.toml", *changes, cwd=run.parents[1])
        assert result.returncode == 2
        assert said in result.stderr.decode()


def test_alternatives_prefixes_and_terms_are_searched_for(heedful: Command, run: Path, tmp_path: Path) -> None:
    expect_alternatives_prefixes_and_terms(heedful, run, tmp_path)


def test_any_line_is_a_line_and_the_same_in_any_batch(heedful: Command, run: Path) -> None:
    expect_a_line_for_any_line(heedful, run)


def test_a_trace_shows_copies_fertilities_and_four_attentions(heedful: Command, run: Path, tmp_path: Path) -> None:
    trace = package.load(run).translate(TEXT, trace=True)
    assert trace.text == "zehn häuser"
    assert {use.name for use in trace.uses} == {"encoder", "decoder", "position", "cross"}
    assert sum(trace.fertilities) == len(trace.target_tokens) == len(trace.input_tokens)
    copies = [token for token, count in zip(trace.source_tokens, trace.fertilities, strict=True) for _ in range(count)]
    assert list(trace.input_tokens) == copies
    assert trace.log_prob == pytest.approx(trace.forced_log_prob, abs=1e-3)
    result = heedful("explain", TEXT, "--model", run, "--out", tmp_path / "page.html")
    assert result.returncode == 0, result.stderr.decode()
    assert '"fertilities"' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_refinement_ends_with_the_translation(run: Path, teacher: Path) -> None:
    translator = package.load(run, rescore_with=teacher, samples=20)
    [plan] = translator.plan([TEXT])
    found = trace_refinement(translator, plan)
    assert found.layers[-1].text == "zehn häuser" == found.candidates[0].text
    assert [found.copies.count(place) for place in range(len(found.source_tokens))] == list(found.fertilities or ())
    assert [one.score for one in found.candidates] == sorted((one.score for one in found.candidates), reverse=True)
    with pytest.raises(UserError, match="writes step by step"):
        trace_refinement(load_translator(teacher, quantize="none"), plan)


def test_it_is_scored_and_set_beside_its_teacher(heedful: Command, run: Path, teacher: Path, tmp_path: Path) -> None:
    result = heedful("evaluate", run, "--json", cwd=run.parents[1])
    assert result.returncode == 0, result.stderr.decode()
    root, table = run.parents[1], tmp_path / "table.json"
    files = ("--source", str(root / "test.en"), "--reference", str(root / "test.de"), "--tokenize", "none")
    models = ("--teacher", str(teacher), "--student", str(run), "--samples", "3")
    systems = compare_with_teacher([*files, *models, "--latency", "2", "--device", "cpu", "--json", str(table)])
    assert [one.name for one in systems] == ["teacher, greedy", "teacher, beam", "student", "student, best of 3"]
    assert [row["system"] for row in json.loads(table.read_text())] == [one.name for one in systems]


def test_stopped_at_any_stage_it_ends_the_same(heedful: Command, run: Path, tmp_path: Path) -> None:
    """Killed while the teacher learns, while it translates and while the student learns; each time begun again."""
    write_files(tmp_path)
    command = [sys.executable, "-m", "heedful", "train", "student.toml", "--resume"]
    runs = tmp_path / "runs"
    for reached in ("teacher/checkpoints/step-*", "teacher/model", "student/checkpoints/step-*"):
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, env=environment_of()) as process:
            until = time.monotonic() + 120
            while not any(runs.glob(reached)) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        assert any(runs.glob(reached))
    result = heedful("train", "student.toml", "--resume", cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    for name in ("teacher", "student"):
        weights = [root / "runs" / name / "model" / "model.safetensors" for root in (tmp_path, run.parents[1])]
        assert len({sha256(path.read_bytes()).hexdigest() for path in weights}) == 1


def test_a_server_translates_and_shows_it(run: Path) -> None:
    with ServerProcess("--model", str(run)) as server:
        assert ask_about_text(server, "/translate")["translatedText"] == "zehn häuser"
        assert len(ask_about_text(server, "/translate", alternatives=2)["alternatives"]) == 2
        trace = ask_about_text(server, "/api/trace")
        assert [use["name"] for use in trace["attention"]] == ["encoder", "decoder", "position", "cross"]
        assert sum(trace["fertilities"]) == len(trace["target"]["tokens"])
