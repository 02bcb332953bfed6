"""Signals of what is missing, and calibrations as model folders keep them."""

import json
import math

import pytest

from heedful.tasks.translation.calibration import (
    CALIBRATION,
    NO_CALIBRATION,
    Calibration,
    DirectionCalibration,
    ReliabilityBin,
    WordCalibration,
    calibration_of,
)
from heedful.tasks.translation.coverage import (
    NUM_COMPARED,
    NUM_FORCED,
    NUM_SHAPE,
    Detector,
    Side,
    compared_signals,
    forced_signals,
    shape_signals,
)


def test_the_shape_of_a_pair_is_lengths_sentences_and_clauses() -> None:
    whole = Side("He came, but late. It rained.", 12)
    part = Side("他来了。", 6)
    signals = shape_signals(whole, part)
    assert len(signals) == NUM_SHAPE
    assert signals == pytest.approx([math.log(0.5), math.log(12), math.log(0.5) * math.log(12), -1, -1])
    assert shape_signals(Side("", 0), Side("", 0)) == [0, 0, 0, 0, 0]


def test_forced_signals_see_a_run_of_surprises_and_not_a_single_odd_word() -> None:
    def signals(*surprises: float) -> list[float]:
        target = Side("c d e", 4, [-0.1, -0.1, -0.1, -0.1])
        return forced_signals(Side("a b", 8, [-value for value in surprises]), target)

    run = signals(0.1, 0.1, 5, 5, 5, 0.1, 0.1, 0.1)
    odd = signals(0.1, 0.1, 5, 0.1, 5, 0.1, 5, 0.1)
    assert len(run) == NUM_FORCED
    tolerating_two = 5 + 2
    assert run[tolerating_two] == pytest.approx(math.log1p(9))
    assert odd[tolerating_two] == pytest.approx(math.log1p(3 + 3 + 3 - 1.9 - 1.9))
    assert len(forced_signals(Side("a", 1, [-1.0]), Side("b", 1, [-1.0]))) == NUM_FORCED


def test_a_detector_flags_what_is_above_zero_and_nothing_that_is_no_number() -> None:
    detector = Detector((-1.0, 2.0, 0.5))
    assert detector.score([1.0, 2.0]) == 2.0
    assert detector.finds([1.0, 0.0])
    assert not detector.finds([0.5, 0.0])
    assert not detector.finds([math.nan, 0.0])


def test_words_are_calibrated_along_straight_lines() -> None:
    words = WordCalibration((0.2, 0.6, 0.9), (0.1, 0.5, 0.8))
    assert [words(value) for value in (0.0, 0.2, 0.4, 0.6, 0.75, 0.9, 1.0)] == pytest.approx(
        [0.1, 0.1, 0.3, 0.5, 0.65, 0.8, 0.8]
    )
    assert words(math.nan) == 0.1


def test_compared_signals_see_what_the_models_own_translation_explains() -> None:
    own = Side("a b c", 4, [-6.0, -0.2, -0.2, -0.1]), Side("d e f", 4, [-0.5] * 4)
    same = compared_signals(own, own)
    assert len(same) == NUM_COMPARED
    assert same[:18] == forced_signals(*own)
    assert same[18:20] == [0, 0]
    assert same[21:] == [0] * 11  # a rare word, the first, surprises after any translation
    lacking = compared_signals((Side("a b c", 4, [-6.0, -4.2, -3.2, -0.1]), Side("d", 2, [-0.5] * 2)), own)
    assert lacking[18] == pytest.approx(math.log(0.5))
    assert lacking[23:27] == pytest.approx([math.log1p(7 - 2 * tolerated) for tolerated in (0.0, 0.5, 1.0, 2.0)])
    assert lacking[27] == pytest.approx(4)


def test_a_model_folder_keeps_a_calibration() -> None:
    found = Calibration(
        {
            "en-de": DirectionCalibration(
                omission=Detector((1.0, *[0.5] * NUM_SHAPE)),
                addition_forced=Detector((-1.0, *[0.25] * NUM_FORCED)),
                omission_compared=Detector((-1.0, *[0.25] * NUM_COMPARED)),
                low_confidence=-0.5,
                letters_per_piece=1.5,
                words=WordCalibration((0.25, 0.5), (0.5, 0.75)),
                reliability=(ReliabilityBin(12, 0.5, 0.25, 0.75),),
            )
        }
    )
    again = calibration_of(json.loads(json.dumps({CALIBRATION: found.as_fact()})))
    assert again == found
    assert again.of("de-en") == again.of(None) == DirectionCalibration()


@pytest.mark.parametrize(
    "fact",
    [
        None,
        7,
        "en-de",
        [],
        {"en-de": 1},
        {"en-de": {"omission": [1.0]}},
        {"en-de": {"omission": [1.0, 2, 3, 4, 5, "6"]}},
        {"en-de": {"omission": [True, 2, 3, 4, 5, 6]}},
        {"en-de": {"omission": [float("inf"), 2, 3, 4, 5, 6]}},
        {"en-de": {"words": [[0.5, 0.5], [0.4, 0.6]]}},
        {"en-de": {"words": [[0.5, 1.5]]}},
        {"en-de": {"low_confidence": "low", "letters_per_piece": True}},
        {"en-de": {"words": [0.5, 0.5]}},
        {"en-de": {"reliability": [[0, 2, 0.5, 0.5]]}},
        {"en-de": {"reliability": {}}},
    ],
)
def test_a_calibration_that_makes_no_sense_is_none(fact: object) -> None:
    assert calibration_of({CALIBRATION: fact}).of("en-de") == DirectionCalibration()  # type: ignore[dict-item]
    assert calibration_of({}) == NO_CALIBRATION
