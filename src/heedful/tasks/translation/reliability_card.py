"""How reliable a model's words are, for people: a table for the terminal, and the section of the model card.

Pure functions from a calibration to text.
"""

import re
from collections.abc import Sequence

from heedful.tasks.translation.calibration import Calibration, ReliabilityBin

_TITLE = "## How far its words can be relied on"
_SECTION = re.compile(rf"\n{re.escape(_TITLE)}\n.*?(?=\n## |\Z)", re.DOTALL)


def calibration_errors(bins: Sequence[ReliabilityBin]) -> tuple[float, float]:
    """Return the expected calibration error of the bare probabilities and of the confidences (Guo et al., 2017).

    The bins are those of the confidences; within one, bare probabilities may err in both ways and seem better.
    """
    num_words = max(sum(one.num_words for one in bins), 1)
    before = sum(one.num_words * abs(one.share - one.probability) for one in bins) / num_words
    after = sum(one.num_words * abs(one.share - one.confidence) for one in bins) / num_words
    return before, after


def reliability_table(calibration: Calibration) -> list[str]:
    """Write a line for each direction whose words were judged: how far their numbers are from the truth."""
    rows = []
    for direction, found in calibration.directions.items():
        if found.reliability:
            before, after = calibration_errors(found.reliability)
            num_words = sum(one.num_words for one in found.reliability)
            rows.append(f"{direction:<8} {num_words:>7,}   {before:>11.1%}   {after:>10.1%}")
    return ["", "words      judged   probability   confidence   (calibration error)", *rows] if rows else []


def with_reliability(card: str, calibration: Calibration) -> str:
    """Put the reliability of words into a model card, in place of what it said before."""
    tables = [
        f"| {direction} | {row.num_words:,} | {row.probability:.0%} | {row.confidence:.0%} | {row.share:.0%} |"
        for direction, found in calibration.directions.items()
        for row in found.reliability
    ]
    if not tables:
        return card
    errors = [
        f"{direction} {before:.1%} → {after:.1%}"
        for direction, found in calibration.directions.items()
        if found.reliability
        for before, after in [calibration_errors(found.reliability)]
    ]
    section = "\n".join(
        [
            "",
            _TITLE,
            "",
            "Words of translations of the validation set, by confidence. A word is right when a reference has it.",
            f"Expected calibration error of probability and confidence: {', '.join(errors)}.",
            "",
            "| direction | words | probability | confidence | right |",
            "|---|---|---|---|---|",
            *tables,
            "",
        ]
    )
    if _SECTION.search(card):
        return _SECTION.sub(lambda _: section, card)
    return card.rstrip("\n") + "\n" + section if card else card
