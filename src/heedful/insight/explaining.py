"""How an answer came about, whatever the task: one table of what looks into which model.

An explanation is the same thing three times: as JSON, as lines for a terminal, and, by html.py, as a page.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heedful.errors import UserError
from heedful.insight.ablation import head_changes
from heedful.insight.attribution import attribute
from heedful.insight.classification_trace import trace_classification
from heedful.insight.parallel_trace import has_steps, parallel_lines, parallel_payload, refinement_payload
from heedful.insight.payload import to_payload
from heedful.insight.terminal import label_lines, reading_lines, translation_lines
from heedful.insight.text_trace import trace_text
from heedful.insight.trace import trace_translation
from heedful.insight.view_payloads import classification_payload, text_payload
from heedful.tasks.classification.classifier import Classifier
from heedful.tasks.language_modeling.model import TextModel
from heedful.tasks.translation.glossary import NO_TERMS, Glossary
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator


@dataclass(frozen=True)
class ExplainRequest:
    """What is asked beside the text; each task reads what says something to it."""

    source_language: str | None = None
    target_language: str | None = None
    beam_size: int | None = None
    sentence: int = 0
    """Which sentence of the text is looked into, from 0."""

    hypothesis: str | None = None
    """What a translator is made to write, in the place of a search."""

    glossary: Glossary = NO_TERMS
    """What terms of the text become in a translation."""

    num_read: int = 64
    """How many symbols at the end of the text a language model is looked at while it reads them."""


@dataclass(frozen=True)
class Explanation:
    """An answer and how it came about."""

    answer: str
    """In one line: the translation, the label with its probability, or how well a text was expected."""

    payload: dict[str, Any]
    """All of it, as JSON."""

    lines: list[str]
    """What of it fits on a terminal."""

    warnings: tuple[str, ...] = ()


def _explain_translation(translator: Translator, text: str, request: ExplainRequest) -> Explanation:
    asked = TranslationRequest(request.source_language, request.target_language, glossary=request.glossary)
    (plan,) = translator.plan([text], asked)
    if not has_steps(translator):
        if request.hypothesis is not None:
            raise UserError("A hypothesis must be left out: this model writes all positions at once.")
        payload = parallel_payload(translator, plan, sentence=request.sentence)
        told = tuple(warning["message"] for warning in payload["warnings"])
        return Explanation(payload["target"]["text"], payload, parallel_lines(payload), told)
    trace = trace_translation(
        translator, plan, beam_size=request.beam_size, sentence=request.sentence, hypothesis=request.hypothesis
    )
    attribution = attribute(translator.readable_model, trace)
    changes = head_changes(translator, trace)
    payload = to_payload(trace, attribution=attribution, changes=changes)
    return Explanation(
        trace.text,
        {**payload, "refinement": refinement_payload(translator, plan, sentence=request.sentence)},
        translation_lines(trace, attribution, changes),
        tuple(str(warning) for warning in trace.warnings),
    )


def _explain_label(classifier: Classifier, text: str, _: ExplainRequest) -> Explanation:
    trace = trace_classification(classifier, text, any_length=True)
    decision, warnings = trace.decision, []
    if decision.num_unread:
        warnings.append(f"The model does not read all of the text: {decision.num_unread:,} tokens were left out.")
    if trace.weights is None:
        warnings.append("The text is too long for its attention to be shown; what its words did is complete.")
    return Explanation(
        f"{decision.label} {decision.probability:.4f}",
        classification_payload(trace),
        label_lines(trace),
        tuple(warnings),
    )


def _explain_reading(model: TextModel, text: str, request: ExplainRequest) -> Explanation:
    trace = trace_text(model, text, num_read=request.num_read)
    return Explanation(f"{trace.bits_per_symbol:.3f} bits per symbol", text_payload(trace), reading_lines(trace))


EXPLAINERS: dict[str, Callable[[Any, str, ExplainRequest], Explanation]] = {
    "translation": _explain_translation,
    "classification": _explain_label,
    "language_modeling": _explain_reading,
}
"""What looks into the model of each task of `tasks.table.TASKS`."""
