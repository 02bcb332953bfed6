"""Our scores are those that the `sacrebleu` command prints, intervals and p-values included."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heedful.evaluation import compare_systems, score_corpus

WORDS = ["the", "a", "small", "cat", "river", "ran", "knows", "on", "and", ",", ".", "Berlin", "naïve", "12.5", "“so”"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """A reference and two noisy copies of it, as files and as lists."""
    draw = random.Random(7)
    reference = [[draw.choice(WORDS) for _ in range(draw.randint(3, 20))] for _ in range(120)]

    def noisy(rate: float) -> list[list[str]]:
        return [[word if draw.random() > rate else draw.choice(WORDS) for word in line] for line in reference]

    lines = [[" ".join(words) for words in system] for system in (reference, noisy(0.3), noisy(0.22))]
    folder = tmp_path_factory.mktemp("scores")
    for name, system in zip(("reference", "baseline", "system"), lines, strict=True):
        (folder / name).write_text("\n".join(system) + "\n", encoding="utf-8")
    return folder, lines


def sacrebleu(*arguments: str) -> str:
    """Run the command and return what it prints."""
    command = [sys.executable, "-m", "sacrebleu", *arguments, "-m", "bleu", "chrf", "ter"]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout


def test_values_and_intervals(corpus):
    folder, [reference, baseline, _] = corpus
    files = (str(folder / "reference"), "-i", str(folder / "baseline"))
    answer = json.loads(sacrebleu(*files, "--confidence", "-w", "4", "-f", "json"))
    ours = score_corpus(baseline, reference)
    assert [score.name for score in ours] == [entry["name"] for entry in answer]
    for score, entry in zip(ours, answer, strict=True):
        assert score.value == pytest.approx(entry["score"], abs=1e-3)
        # It prints the mean and half the width; the interval itself need not have the mean in its middle.
        assert (score.high - score.low) / 2 == pytest.approx(entry["confidence_var"], abs=1e-3)
        assert score.low < entry["confidence_mean"] < score.high
        assert score.signature == entry["signature"]


def test_p_values(corpus):
    folder, [reference, baseline, system] = corpus
    files = (str(folder / "reference"), "-i", str(folder / "baseline"), str(folder / "system"))
    # Its JSON of a paired test cannot be written (a float32 is in it), so the printed table is read.
    table = sacrebleu(*files, "--paired-bs", "-w", "4", "-f", "text")
    p_values = [float(number) for number in re.findall(r"\(p = ([0-9.]+)\)", table)]
    ours = compare_systems(baseline, system, reference)
    assert [comparison.p_value for comparison in ours] == pytest.approx(p_values, abs=1e-4)
    for comparison in ours:
        assert f"{comparison.baseline.value:.4f}" in table
        assert f"{comparison.system.value:.4f}" in table
