"""Our scores are those that the `sacrebleu` command prints, intervals and p-values included."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

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


def test_values_and_intervals(corpus: tuple[Path, list[list[str]]]) -> None:
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


def test_p_values(corpus: tuple[Path, list[list[str]]]) -> None:
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


def test_a_paired_test_with_several_references(corpus: tuple[Path, list[list[str]]]) -> None:
    _, [reference, baseline, system] = corpus
    # Two of three lines have a second reference: the first with its words exchanged pairwise.
    second = [_exchanged(line) if number % 3 else None for number, line in enumerate(reference)]
    systems = [("baseline", baseline), ("system", system)]
    metrics = {"BLEU": BLEU(force=True), "chrF2": CHRF(), "TER": TER()}
    references: list[Any] = [reference, second]
    signatures, results = PairedTest(systems, metrics, references, test_type="bs")()
    grouped = [[first] if other is None else [first, other] for first, other in zip(reference, second, strict=True)]
    for comparison in compare_systems(baseline, system, grouped):
        name = comparison.system.name
        first, other = results[name]
        assert comparison.baseline.value == pytest.approx(first.score)
        assert comparison.system.value == pytest.approx(other.score)
        assert comparison.p_value == pytest.approx(other.p_value)
        for score, result in ((comparison.baseline, first), (comparison.system, other)):
            assert (score.high - score.low) / 2 == pytest.approx(result.ci, abs=1e-3)
            assert score.signature == str(signatures[name])
            assert "nrefs:var" in score.signature


def _exchanged(line: str) -> str:
    words = line.split()
    return " ".join(word for at in range(0, len(words), 2) for word in reversed(words[at : at + 2]))
