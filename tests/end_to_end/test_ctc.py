"""The CTC family goes every way: trained with glancing, resumed, scored, served; refused in sentences."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.parallel_decoding import main as compare_with_teacher

from heedful.decoding import Parallel
from heedful.models.nonautoregressive import CtcModel, Written
from heedful.tasks.translation.load import load_translator
from tests.support.commands import Command
from tests.support.family_run import (
    TEXT,
    ask_about_text,
    expect_a_line_for_any_line,
    expect_alternatives_prefixes_and_terms,
)
from tests.support.forked_server import ForkedServer
from tests.support.numbers_and_things import CONFIG, write_pairs


@pytest.fixture(scope="module")
def run(heedful: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned numbers and things, but has never seen a seventh of them together."""
    root = tmp_path_factory.mktemp("ctc")
    write_pairs(root)
    (root / "ctc.toml").write_text(CONFIG)
    result = heedful("train", "ctc.toml", cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    return root / "runs" / "ctc"


def test_it_translates_what_it_has_learned_in_one_pass(
    heedful: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = heedful("translate", "--model", run, TEXT)
    assert (result.returncode, result.stdout) == (0, "zehn häuser\n".encode())
    translator = load_translator(run)
    assert isinstance(translator.generator, Parallel)
    whole, calls = CtcModel.write, []

    def counted(*some: Any, **more: Any) -> Written:
        calls.append(some)
        return whole(*some, **more)

    monkeypatch.setattr(CtcModel, "write", counted)
    assert translator.translate(TEXT) == "zehn häuser"
    assert len(calls) == 1


def test_a_search_step_by_step_agrees_and_gives_alternatives_prefixes_and_terms(
    heedful: Command, run: Path, tmp_path: Path
) -> None:
    expect_alternatives_prefixes_and_terms(heedful, run, tmp_path)


def test_any_line_is_a_line_and_the_same_in_any_batch(heedful: Command, run: Path) -> None:
    expect_a_line_for_any_line(heedful, run)


def test_padding_and_neighbours_change_nothing(run: Path) -> None:
    generator = load_translator(run).generator
    assert isinstance(generator, Parallel)
    rows = torch.tensor([[20, 21, 22, 2], [23, 2, 0, 0]])
    together = generator.model.write(rows, rows != 0, forbidden_ids=(0,))
    alone = generator.model.write(rows[1:, :2], rows[1:, :2] != 0, forbidden_ids=(0,))
    length = alone[0].size(1)
    assert torch.equal(together[0][1, :length], alone[0][0])
    torch.testing.assert_close(together[1][1, :length], alone[1][0])
    assert not together[2][1, length:].any()


def test_it_is_scored(heedful: Command, run: Path) -> None:
    result = heedful("evaluate", run, "--json", cwd=run.parents[1])
    assert result.returncode == 0, result.stderr.decode()
    assert "BLEU" in result.stdout.decode()


def test_the_benchmark_sets_it_beside_a_teacher(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = run.parents[1]
    files = (
        "--source",
        str(root / "test.en"),
        "--reference",
        str(root / "test.de"),
        "--latency",
        "3",
        "--device",
        "cpu",
    )
    systems = compare_with_teacher([*files, "--teacher", str(run), "--student", str(run), "--tokenize", "none"])
    assert [system.name for system in systems] == ["teacher, greedy", "teacher, beam", "ctc"]
    assert systems[0].texts == systems[2].texts
    assert len(systems[2].alone) == 3
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_a_resumed_run_is_the_uninterrupted_one(heedful: Command, run: Path) -> None:
    root = run.parents[1]
    arguments = (
        "name=halves", "training.max_steps=20", "model.dropout=0.1",
        "training.schedule.kind=inverse_sqrt", "validation.every_steps=20",
    )  # fmt: skip
    for changes in (("name=whole",), ("training.max_steps=10",), ("--resume",)):
        result = heedful("train", "ctc.toml", *arguments, *changes, cwd=root)
        assert result.returncode == 0, result.stderr.decode()
    weights = [root / "runs" / name / "model" / "model.safetensors" for name in ("whole", "halves")]
    assert len({sha256(path.read_bytes()).hexdigest() for path in weights}) == 1


def test_what_it_cannot_do_is_refused_in_a_sentence(heedful: Command, run: Path, tmp_path: Path) -> None:
    result = heedful("explain", TEXT, "--model", run, "--hypothesis", "zehn", "--out", tmp_path / "page.html")
    assert result.returncode == 2
    assert "this model writes all positions at once" in result.stderr.decode()
    result = heedful("translate", "--model", run, "--quantize", "int8", TEXT)
    assert result.returncode == 2
    assert "for a CTC model" in result.stderr.decode()
    result = heedful("train", "ctc.toml", "name=other", "training.regularizer.kind=r_drop", cwd=run.parents[1])
    assert result.returncode == 2
    assert '"none" or "glancing"' in result.stderr.decode()


def test_a_server_translates_with_it(run: Path) -> None:
    with ForkedServer("--model", str(run)) as server:
        assert ask_about_text(server, "/translate")["translatedText"] == "zehn häuser"
        found = ask_about_text(server, "/translate", alternatives=2)
        assert found["translatedText"] == "zehn häuser"
        assert len(found["alternatives"]) == 2
