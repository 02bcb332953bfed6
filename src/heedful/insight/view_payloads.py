"""What is asked for beside the trace of a translation, as JSON: a cell, positions, an ablation, other tasks' traces.

Arrays travel as in payload.py; positions have signs, so they travel in half precision.
"""

import math
from typing import Any

import numpy as np

from heedful.insight.ablation import Ablation
from heedful.insight.classification_trace import ClassificationTrace
from heedful.insight.payload import choice_payload, rounded, to_array, tokens_payload
from heedful.insight.position_table import position_kind, position_table, similarity
from heedful.insight.text_trace import TextTrace
from heedful.models.attention_weights import Floats, reach
from heedful.models.interfaces import EncoderDecoder, Side
from heedful.nn.attention import ScoreExplanation


def cell_payload(cell: ScoreExplanation) -> dict[str, Any]:
    """Describe one cell; what the mask hides has no score."""
    return {
        "formula": cell.formula,
        "query": rounded(cell.query.numpy()),
        "key": rounded(cell.key.numpy()),
        "terms": rounded(cell.terms.numpy()),
        "total": number(cell.total),
        "divisor": number(cell.divisor),
        "scaled": number(cell.total / cell.divisor),
        "dim": len(cell.query),
        "rowScores": [number(score) for score in cell.row_scores.tolist()],
        "rowWeights": [number(weight) for weight in cell.row_weights.tolist()],
        "weight": number(cell.weight),
    }


def positions_payload(model: EncoderDecoder, length: int, side: Side) -> dict[str, Any]:
    """Describe the first positions of one side of a model; a learned table may have fewer than are asked for."""
    kind = position_kind(model, side)
    if kind == "sequential":
        return {"kind": kind}
    table = position_table(model, length, side)
    return {
        "kind": kind,
        "length": table.shape[0],
        "dim": table.shape[1],
        "table": to_array(table, "f2"),
        "similarity": to_array(similarity(table), "f2"),
    }


def ablation_payload(ablation: Ablation) -> dict[str, Any]:
    """Describe what a model does without some of its heads."""
    return {
        "text": ablation.text,
        "log_prob": number(ablation.log_prob),
        "score": number(ablation.score),
        "old_log_prob": number(ablation.old_log_prob),
        "change": number(ablation.change),
    }


def classification_payload(trace: ClassificationTrace) -> dict[str, Any]:
    """Describe a decision: the words that moved it, and where the heads look."""
    decision = trace.decision
    return {
        "label": decision.label,
        "probabilities": decision.probabilities,
        "words": [
            {"word": word.word, "start": word.start, "end": word.end, "influence": number(word.influence)}
            for word in decision.words
        ],
        "tokens": tokens_payload(trace.tokens),
        "attention": [to_array(layer) for layer in trace.weights],
    }


def text_payload(trace: TextTrace) -> dict[str, Any]:
    """Describe how a language model read the end of a text, and how far back each of its heads looks."""
    num_remembered = len(trace.remembered)
    in_memory: Floats = trace.weights[..., :num_remembered].sum(axis=-1).mean(axis=-1)  # [layers, heads]
    return {
        "remembered": list(trace.remembered),
        "read": list(trace.read),
        "logProbs": [number(value) for value in trace.log_probs],
        "expected": [[choice_payload(choice) for choice in choices] for choices in trace.expected],
        "attention": [to_array(layer) for layer in trace.weights],
        "reach": [
            [{"distance": number(distance), "memory": number(share)} for distance, share in zip(*layer, strict=True)]
            for layer in zip(reach(trace.weights).tolist(), np.asarray(in_memory).tolist(), strict=True)
        ],
    }


def number(value: float) -> float | None:
    """Round a number for the eye; JSON has no NaN and no infinity."""
    return round(value, 6) if math.isfinite(value) else None
