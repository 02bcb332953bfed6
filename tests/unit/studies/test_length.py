"""Buckets by length: each sentence in one of them, scored as sacreBLEU scores that part alone."""

from pathlib import Path

import pytest
import sacrebleu

from heedful.comparisons.judging import SetScores
from heedful.comparisons.trials import Outcome
from heedful.errors import UserError
from heedful.evaluation.case_statistics import translation_statistics
from heedful.studies.length import buckets_of, length_report

REFERENCES = ["a b c d e f"] * 10 + ["a b c d e f g h i j k l m n"] * 10
OUTPUTS = ["a b c d e f"] * 10 + ["a b c d x f g h i j k l"] * 5 + ["a b c d e f g h i j k l m n"] * 5
LENGTHS = [6] * 10 + [14] * 10


def outcome(label: str, failure: str | None = None) -> Outcome:
    metrics = tuple(translation_statistics(OUTPUTS, [[text] for text in REFERENCES]))
    scores = () if failure else (SetScores("test en → de", "0", metrics, tuple(LENGTHS), tuple(OUTPUTS)),)
    return Outcome(label, 1, Path("run"), failure, scores)


def test_every_bucket_is_scored_as_its_part_alone() -> None:
    metric = outcome("a").scores[0].metrics[0]
    short, long = buckets_of(metric, LENGTHS, [8, 30])
    assert (short.name, short.count, long.name, long.count) == ("0–7", 10, "8–29", 10)
    assert short.score.value == pytest.approx(100.0)
    assert long.score.value == pytest.approx(sacrebleu.corpus_bleu(OUTPUTS[10:], [REFERENCES[10:]]).score)
    assert long.score.low < long.score.value < long.score.high
    assert short.score.low == short.score.high == pytest.approx(100.0)


def test_the_report_has_every_candidate_and_says_what_failed() -> None:
    report = length_report([outcome("one"), outcome("two"), outcome("three", "It diverged.")], {}, [8])
    assert report.data["candidates"].keys() == {"one", "two"}
    told = [block for block in report.blocks if isinstance(block, str)]
    assert "three failed: It diverged." in told
    assert told[0].startswith("one: BLEU 100.0 at 0–7 tokens, ")
    with pytest.raises(UserError, match="none is: It diverged"):
        length_report([outcome("three", "It diverged.")], {}, [8])
