"""From what a search found for a unit to its text, with warnings where that is doubtful."""

from collections.abc import Sequence

from heedful.decoding import Hypothesis
from heedful.tasks.translation.calibration import DirectionCalibration
from heedful.tasks.translation.coverage import Side
from heedful.tasks.translation.doubts import Output, OutputWarning, find_warnings
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.review import coverage_warnings
from heedful.tasks.translation.translated import Alternative, TranslatedUnit
from heedful.text.lines import one_line
from heedful.text.tokenizer import Tokenizer


def spelled(
    unit: Unit,
    hypotheses: Sequence[Hypothesis],
    tokenizer: Tokenizer,
    calibration: DirectionCalibration,
    low_confidence: float,
) -> TranslatedUnit:
    """Spell what was found for a unit, the best first, and look whether that is doubtful.

    A mean log-probability below `low_confidence` is, where the calibration of the direction has no bound of its own.
    """
    alternatives = tuple(
        Alternative(
            text=one_line(tokenizer.decode_target(hypothesis.token_ids)),
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            finish_reason=hypothesis.finish_reason,
            tokens=tuple(_pieces(hypothesis, tokenizer)),
            token_log_probs=tuple(hypothesis.token_log_probs),
        )
        for hypothesis in hypotheses
    )
    num_source_tokens = len(unit.source_ids) - int(bool(tokenizer.languages))
    output = Output(
        source=unit.text,
        text=alternatives[0].text,
        source_language=unit.language,
        target_language=unit.steps[0],
        token_log_probs=alternatives[0].token_log_probs,
        finish_reason=alternatives[0].finish_reason,
        num_source_tokens=num_source_tokens,
        num_unknown=tokenizer.num_unknown(unit.source_ids),
        letters_per_piece=calibration.letters_per_piece or 0.0,
    )
    source = Side(output.source, num_source_tokens)
    is_off = calibration.missing_by_shape(source, Side(output.text, len(output.token_log_probs)))
    least = calibration.low_confidence
    doubts = find_warnings(output, low_confidence=low_confidence if least is None else least)
    warnings = (*doubts, *coverage_warnings(*is_off))
    if unit.wishes.terms and len(unit.steps) == 1 and (missing := unit.wishes.missing_in(output.text)):
        message = f"the translation lacks terms of the glossary: {', '.join(missing)}."
        warnings = (*warnings, OutputWarning("missing_term", message))
    return TranslatedUnit(unit.text, alternatives, warnings, word_calibration=calibration.words)


def _pieces(hypothesis: Hypothesis, tokenizer: Tokenizer) -> list[str]:
    """Spell what was written, the end symbol included: it was chosen like every other token."""
    ids = [*hypothesis.token_ids, tokenizer.eos_id][: len(hypothesis.token_log_probs)]
    return tokenizer.target_pieces(ids)
