"""`evaluate` and `tune` as processes, on the small model."""

import json
import shutil
from pathlib import Path

import pytest

from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import load_model_folder
from tests.support.commands import Command
from tests.support.small_run import SmallRun


@pytest.fixture
def copied_run(small_run: SmallRun, tmp_path: Path) -> Path:
    """The small run, for a test that changes it; its corpora are named from the folder above."""
    shutil.copytree(small_run.root, tmp_path / "root", ignore=shutil.ignore_patterns("checkpoints", "cache"))
    return tmp_path / "root" / "runs" / "small"


def test_evaluate_prints_scores_with_intervals_and_signatures(
    heedful: Command, small_run: SmallRun, tmp_path: Path
) -> None:
    alone = shutil.copytree(small_run.run / "model", tmp_path / "alone")
    options = ("--config", small_run.config, "--beam", "1", "--without-seen")
    result = heedful("evaluate", alone, *options, cwd=small_run.root)
    assert result.returncode == 0, result.stderr.decode()
    lines = result.stdout.decode().split("\n")
    assert lines[0].startswith("unseen en→de: 60 lines in ")
    assert lines[0].endswith(", a single reference each; 0 pairs seen in training left out")
    assert [line.split()[0] for line in lines[1:4]] == ["BLEU", "chrF2", "TER"]
    assert all("95 % [" in line and "|version:" in line for line in lines[1:4])


def test_evaluate_scores_any_files_and_agrees_with_translate(
    heedful: Command, small_run: SmallRun, tmp_path: Path
) -> None:
    out = tmp_path / "out.de"
    files = (small_run.root / "test.en", small_run.root / "test.de")
    result = heedful("evaluate", small_run.run / "model", "--data", *files, "--json", "--beam", "1", "--out", out)
    assert result.returncode == 0, result.stderr.decode()
    report = json.loads(result.stdout)
    assert (report["lines"], report["references"], report["left_out"]) == (60, 60, None)
    bleu = report["scores"][0]
    assert bleu["low"] <= bleu["value"] <= bleu["high"]
    translated = heedful("translate", "-m", small_run.run, "--beam", "1", stdin=files[0].read_bytes())
    assert out.read_bytes() == translated.stdout


def test_several_references_against_another_model(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    sources = (small_run.root / "test.en").read_text().splitlines()
    targets = (small_run.root / "test.de").read_text().splitlines()
    pairs = [*zip(sources, targets, strict=True), *((source, "etwas anderes") for source in sources[:10])]
    for side, name in enumerate(("data.en", "data.de")):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in pairs))
    result = heedful(
        *("evaluate", small_run.run, "--data", tmp_path / "data.en", tmp_path / "data.de", "--references", "all"),
        *("--against", small_run.run / "model", "--quantize", "none", "--beam", "1", "--json"),
    )
    assert result.returncode == 0, result.stderr.decode()
    report = json.loads(result.stdout)
    assert (report["lines"], report["references"]) == (60, 70)
    assert "nrefs:var" in report["scores"][0]["signature"]
    assert report["against"] == str(small_run.run / "model")
    for comparison, score in zip(report["comparisons"], report["scores"], strict=True):
        assert comparison["baseline"] == score
        assert (comparison["difference"], comparison["low"], comparison["high"]) == (0, 0, 0)
        assert comparison["p_value"] == 1


def test_several_test_sets_end_with_a_table_and_an_ensemble_scores_like_its_equal_members(
    heedful: Command, copied_run: Path
) -> None:
    root = copied_run.parents[1]
    config = copied_run / "config.toml"
    more = '\n[data.test.again]\nkind = "lines"\nsource = "validation.en"\ntarget = "validation.de"\n'
    config.write_text(config.read_text() + more)
    options = ("--beam", "1", "--quantize", "none")
    alone = heedful("evaluate", copied_run, *options, cwd=root)
    assert alone.returncode == 0, alone.stderr.decode()
    table = alone.stdout.decode().rstrip("\n").split("\n")[-4:]
    assert table[0].split() == ["lines", "BLEU", "chrF2", "TER"]
    first, second, mean = ([float(cell) for cell in row.split()[-3:]] for row in table[1:])
    assert table[3].startswith("mean")
    assert mean == pytest.approx([(one + other) / 2 for one, other in zip(first, second, strict=True)], abs=0.011)
    ensemble = heedful("evaluate", copied_run, "-m", copied_run, *options, "--json", cwd=root)
    assert ensemble.returncode == 0, ensemble.stderr.decode()
    [*_, summary] = [json.loads(line) for line in ensemble.stdout.decode().splitlines()]
    assert list(summary["mean"].values()) == pytest.approx(mean, abs=0.011)


def test_tune_prints_the_grid_and_writes_what_is_best(heedful: Command, copied_run: Path) -> None:
    root = copied_run.parents[1]
    grid = ("--beams", "2,1,2", "--length-penalties", "0,3")
    shown = heedful("tune", copied_run, *grid, cwd=root)
    assert shown.returncode == 0, shown.stderr.decode()
    assert [line.split()[0] for line in shown.stdout.decode().split("\n")[:5]] == ["BLEU", "beam", "1", "2", "Best:"]
    before = load_model_folder(copied_run / "model", TranslatorDescription).description
    result = heedful("tune", copied_run, *grid, "--write", "--json", cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    report = json.loads(result.stdout)
    assert [(it["beam_size"], it["length_penalty"]) for it in report["cells"]] == [(1, 0), (1, 3), (2, 0), (2, 3)]
    assert report["cells"][0]["bleu"] == report["cells"][1]["bleu"]
    chosen = report["chosen"]
    assert chosen["bleu"] == max(it["bleu"] for it in report["cells"])
    after = load_model_folder(copied_run / "model", TranslatorDescription).description
    assert (after.decoding.beam_size, after.decoding.length_penalty) == (
        chosen["beam_size"],
        chosen["length_penalty"],
    )
    assert after.decoding.model_copy(update={"beam_size": 4, "length_penalty": 0.6}) == before.decoding
    assert after.facts["low_confidence"] == round(chosen["low_confidence"], 3) < 0
    assert {entry.name for entry in copied_run.iterdir()} >= {"config.toml", "model"}
    assert not [entry for entry in copied_run.iterdir() if "partial" in entry.name]
    files = (root / "validation.en", root / "validation.de")
    scored = json.loads(heedful("evaluate", copied_run, "--data", *files, "--json", cwd=root).stdout)
    assert scored["scores"][0]["value"] == pytest.approx(chosen["bleu"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["evaluate", "--split", "x"],
            "A test set must be named, because the model is not in the folder of a run. Give files,",
        ),
        (
            ["tune", "runs", "--beams", "0,1"],
            '`--beams` must be numbers from 1 to 256, separated by commas, but is "0,1".',
        ),
        (
            ["tune", "--length-penalties", "nan"],
            "`--length-penalties` must be numbers from 0 to 10, separated by commas,",
        ),
        (["tune", "--write"], "`--write` must be used with one MODEL, the folder the choice is stored in."),
        (
            ["evaluate", "--without-seen", "--data", "a", "b"],
            "The training text must be known, but the model is not in the folder of a run.",
        ),
    ],
)
def test_what_cannot_be_done_gets_a_sentence(
    heedful: Command, arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    result = heedful(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert f"error: {sentence}" in result.stderr.decode()
    assert result.stdout == b""
