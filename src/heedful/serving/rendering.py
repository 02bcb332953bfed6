"""Results as LibreTranslate's clients expect them. Pure functions from what was found to what is sent."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from heedful.insight.wire import to_json
from heedful.serving.answers import TranslateRequest
from heedful.serving.translating import SentenceDone, Written
from heedful.serving.wanted import glossary_of
from heedful.serving.writing import Piece
from heedful.tasks.classification.classifier import Classification
from heedful.tasks.translation.glossary import NO_TERMS, Glossary
from heedful.tasks.translation.translated import TranslatedUnit, Translation
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.word_alignment import alignment_of
from heedful.text.language_names import language_name
from heedful.text.scripts import UNDETERMINED


def answer_of(asked: TranslateRequest, done: Sequence[Translation]) -> dict[str, Any]:
    """Write the answer of `/translate`: what was asked for and nothing else; a list for a list."""
    answer: dict[str, Any] = {"translatedText": [one.text for one in done]}
    if asked.alternatives or asked.diverse:
        answer["alternatives"] = [[other.text for other in one.alternatives[1:]] for one in done]
    if asked.source == "auto":
        answer["detectedLanguage"] = [_detected(one) for one in done]
    if asked.details:
        glossary = glossary_of(asked.glossary)
        answer["details"] = [[_details(unit, glossary) for unit in one.units] for one in done]
    if asked.details or asked.check:
        answer["warnings"] = [to_json(one.warnings) for one in done]
    if asked.alignment:
        answer["alignment"] = [_alignment(one) for one in done]
    return {name: values[0] for name, values in answer.items()} if isinstance(asked.q, str) else answer


def stream_event(event: Written | SentenceDone, number: int, glossary: Glossary = NO_TERMS) -> bytes:
    """Write one event of a stream; `number` counts the sentences, `glossary` is what was asked for."""
    if isinstance(event, Written):
        return server_sent("token", {"sentence": number, "token": event.token, "text": event.text})
    content = {
        "sentence": number,
        "before": event.before,
        "text": event.unit.text,
        "warnings": to_json(event.unit.warnings),
    }
    if glossary.entries:
        content["terms"] = to_json(glossary.places_in(event.unit.source, event.unit.text))
    return server_sent("sentence", content)


def server_sent(name: str, content: dict[str, Any]) -> bytes:
    """Write a server-sent event. JSON in ASCII has no line breaks of any kind, which would end the event."""
    return f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()


def piece_of(piece: Piece) -> dict[str, Any]:
    """Write what a language model has written; choices only where they were asked for."""
    if not piece.choices:
        return {"text": piece.text}
    return {
        "text": piece.text,
        "probability": to_json(piece.probability or 0.0, digits=None),
        "choices": [{"text": text, "probability": to_json(share, digits=None)} for text, share in piece.choices],
    }


def reliability_of(translator: Translator) -> dict[str, list[dict[str, float]]]:
    """Write how far the words of each direction can be relied on, as the model folder has it."""
    return {
        direction: [
            {"words": row.num_words, "probability": row.probability, "confidence": row.confidence, "right": row.share}
            for row in found.reliability
        ]
        for direction, found in translator.traits.calibration.directions.items()
    }


def languages_of(pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """List the languages with what each can be translated into."""
    sources = [source for source, _ in pairs]
    targets = [into for _, into in pairs]
    return [
        {
            "code": code,
            "name": language_name(code),
            "targets": list(dict.fromkeys(into for origin, into in pairs if origin == code)),
        }
        for code in dict.fromkeys(sources + targets)  # clients look for both in this list
    ]


def percent(share: float) -> float:
    """Write a probability as LibreTranslate does, from 0 to 100."""
    return round(100 * share, 1)


def label_of(found: Classification, *, explain: bool) -> Any:
    """Write what a classifier found out about one text."""
    answer = SimpleNamespace(label=found.label, probabilities=found.probabilities, unread_tokens=found.num_unread)
    if explain:
        answer.words = found.words
    return to_json(answer, digits=None)


def _detected(one: Translation) -> dict[str, Any]:
    confidence = one.source_confidence
    # A text without letters is in no language; one the model knows only one language for is in that.
    known = 100.0 if one.source_language else 0.0
    unnamed = UNDETERMINED if any(warning.code == "unknown_language" for warning in one.warnings) else "en"
    language = one.source_language or unnamed
    return {"language": language, "confidence": known if confidence is None else percent(confidence)}


def _alignment(one: Translation) -> Any:
    return to_json(SimpleNamespace(**alignment_of(one).as_dict()), digits=None)


def _details(unit: TranslatedUnit, glossary: Glossary) -> Any:
    best = unit.alternatives[0]
    details = SimpleNamespace(
        source=unit.source,
        text=best.text,
        score=best.score,
        tokens=best.tokens,
        token_log_probs=best.token_log_probs,
        word_confidences=_word_confidences(unit),
        finish_reason=best.finish_reason,
        warnings=unit.warnings,
        terms=glossary.places_in(unit.source, best.text),
    )
    return to_json(details, digits=None)


def _word_confidences(unit: TranslatedUnit) -> list[float] | None:
    """Return how often words like these are right, one by one; None where that was not found out."""
    if unit.word_calibration is None:
        return None
    return [round(word.confidence or 0.0, 4) for word in unit.words()]
