"""`heedful study` as a process: what it writes, what it refuses, and that an interrupted study goes on."""

import json
from pathlib import Path

from tests.support.commands import Command
from tests.support.small_run import SmallRun, write_corpus

SMALL = ("--lengths", "8,16,32", "--widths", "8,16", "--device", "cpu")


def test_complexity_writes_tables_pictures_and_a_page(heedful: Command, tmp_path: Path) -> None:
    out = tmp_path / "study"
    result = heedful("study", "complexity", *SMALL, "--out", out)
    assert result.returncode == 0, result.stderr
    told = result.stdout.decode()
    assert "Time grows as n^a · d^b" in told
    assert "dilated convolution, k = 3" in told
    names = {path.name for path in out.iterdir()}
    assert names >= {"report.html", "report.md", "report.json", "time_over_n_cpu.svg", "longest_path.svg"}
    assert "<svg " in (out / "report.html").read_text(encoding="utf-8")
    found = json.loads((out / "report.json").read_bytes())
    assert len(found["cells"]) == 3 * 2 * 6
    assert found["longest_path"]["recurrent"] == {str(n): n for n in (8, 16, 32, 64, 128, 256)}


def test_an_interrupted_study_measures_only_what_is_left(heedful: Command, tmp_path: Path) -> None:
    out = tmp_path / "study"
    gradients = ("study", "gradients", "--length", "16", "--width", "8", "--seeds", "1,2", "--out", out)
    whole = heedful(*gradients, "--json")
    assert whole.returncode == 0, whole.stderr
    journal = out / "measurements.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:5]) + lines[5][:20])  # as a kill leaves it
    refused = heedful(*gradients)
    assert refused.returncode == 2
    assert b"Go on with it by --resume" in refused.stderr
    again = heedful(*gradients, "--json", "--resume")
    assert again.returncode == 0, again.stderr
    assert again.stderr.decode().count("nearest") == len(lines) - 5
    assert again.stdout == whole.stdout


def test_wrong_sizes_are_refused_in_sentences(heedful: Command, tmp_path: Path) -> None:
    for words, told in (
        (["--lengths", "16"], "`--lengths` must be at least two numbers"),
        (["--lengths", "16,x"], '`--lengths` must be whole numbers from 4 on, separated by commas, but is "16,x".'),
        (["--widths", "64,100"], "`--widths` above 64 must be multiples of it, the width of a head, but one is 100."),
        (["--device", "tpu"], 'The device must be cpu, cuda or cuda:N, but is "tpu".'),
    ):
        result = heedful("study", "complexity", *words, "--out", tmp_path / "study")
        assert result.returncode == 2
        assert told in result.stderr.decode()
    assert not (tmp_path / "study").exists()


def test_an_ablation_trains_its_rows_and_goes_on(heedful: Command, tmp_path: Path) -> None:
    write_corpus(tmp_path)
    quick = ("training.max_steps=3", "training.checkpoint.every_steps=3", "validation.every_steps=3", "model.dim=32")
    rows = ("--rows", "BatchNorm for LayerNorm", "--seeds", "1", "--out", "out", "--device", "cpu")
    command = ("study", "ablation", "small.toml", *quick, *rows)
    result = heedful(*command, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert [row["label"] for row in found["rows"]] == ["as it is", "BatchNorm for LayerNorm"]
    assert all(row["bleu"].keys() == {"1"} for row in found["rows"])
    assert {path.name for path in (tmp_path / "out").glob("*.svg")} == {"rows.svg", "depth.svg"}
    assert heedful(*command, cwd=tmp_path).returncode == 2
    again = heedful(*command, "--resume", "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == found
    assert b"2 of 2 trials are done already." in again.stderr


def test_a_finished_run_is_scored_by_length(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    command = ("study", "length", small_run.run, "--edges", "18,22", "--out", tmp_path / "out", "--device", "cpu")
    result = heedful(*command, cwd=small_run.root)
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "out" / "report.json").read_bytes())
    (buckets,) = found["candidates"].values()
    assert sum(bucket["count"] for bucket in buckets) <= 60
    assert len(buckets) >= 2
    assert all(bucket["score"]["low"] <= bucket["score"]["value"] <= bucket["score"]["high"] for bucket in buckets)
    assert (tmp_path / "out" / "length.svg").exists()
