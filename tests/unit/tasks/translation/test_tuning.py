"""Choosing among cells, and what a choice is made on. The grid itself is tested with a real model, end to end."""

from pathlib import Path

import pytest

from heedful.config.data import LineCorpus
from heedful.config.training import DecodingConfig
from heedful.errors import UserError
from heedful.tasks.translation.test_sets import TestSet
from heedful.tasks.translation.translated import Alternative, Translation
from heedful.tasks.translation.tune import Cell, best_cell, confidence_threshold, read_directions

PRESENT = DecodingConfig(beam_size=4, length_penalty=0.6)


def cell(beam_size: int, length_penalty: float, *values: float) -> Cell:
    return Cell(beam_size, length_penalty, {str(number): value for number, value in enumerate(values)})


def test_the_best_mean_over_directions_wins() -> None:
    assert best_cell([cell(1, 0, 10, 30), cell(2, 0, 30, 12), cell(4, 0, 20, 20)], PRESENT).beam_size == 2


def test_of_equals_the_smallest_beam_then_the_least_change() -> None:
    cells = [cell(5, 0.6, 20.0), cell(2, 0.0, 20.001), cell(2, 1.0, 20.0), cell(2, 1.4, 20.004), cell(1, 0.6, 19.9)]
    chosen = best_cell(cells, PRESENT)
    assert (chosen.beam_size, chosen.length_penalty) == (2, 1.0)


def test_the_threshold_of_doubt_is_a_quantile_of_the_mean_log_probability() -> None:
    def translation(*log_probs: float) -> Translation:
        return Translation("x", (Alternative("y", 0.0, sum(log_probs), "eos", ("t",) * len(log_probs), log_probs),))

    lines = [translation(-0.01 * number, -0.03 * number) for number in range(1, 101)] + [translation()]
    assert confidence_threshold(lines) == pytest.approx(-1.96)  # two of the hundred, -1.98 and -2.00, are below
    assert confidence_threshold(lines, share=0.001) == pytest.approx(-2.0)
    assert confidence_threshold([translation()]) == 0.0


def test_corpora_of_one_direction_are_one(tmp_path: Path) -> None:
    def test_set(name: str, sources: str, targets: str, language: str) -> TestSet:
        paths = tmp_path / f"{name}.source", tmp_path / f"{name}.target"
        for path, text in zip(paths, (sources, targets), strict=True):
            path.write_text(text)
        return TestSet("validation", LineCorpus(source=str(paths[0]), target=str(paths[1])), "13a", "en", language)

    one = test_set("one", "a\n\nb\n", "A\nE\nB\n", "de")
    other = test_set("other", "c\n", "C\n", "fr")
    third = test_set("third", "d\nx\n", "D\n \n", "de")
    german, french = read_directions([one, other, third])
    assert (german.title, german.sources, german.references) == ("validation en→de", ["a", "b", "d"], ["A", "B", "D"])
    assert (french.title, french.sources) == ("validation en→fr", ["c"])
    empty = test_set("empty", "\n", "x\n", "de")
    with pytest.raises(UserError, match="validation en→de must have at least one pair without an empty side"):
        read_directions([empty])
