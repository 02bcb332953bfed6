"""What is asked for beside the trace of a translation, as JSON: a cell, positions, other tasks' traces.

Positions have signs, so they travel in half precision.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from heedful.insight.classification_trace import ClassificationTrace
from heedful.insight.position_table import position_kind, position_table, similarity
from heedful.insight.text_trace import TextTrace
from heedful.insight.wire import Packed, to_json
from heedful.models.attention_weights import Floats, reach
from heedful.models.interfaces import EncoderDecoder, Side
from heedful.nn.attention import ScoreExplanation


def cell_payload(cell: ScoreExplanation) -> Any:
    """Describe one cell; what the mask hides has no score."""
    return to_json(
        SimpleNamespace(
            formula=cell.formula,
            query=cell.query.numpy(),
            key=cell.key.numpy(),
            terms=cell.terms.numpy(),
            total=cell.total,
            divisor=cell.divisor,
            scaled=cell.total / cell.divisor,
            dim=len(cell.query),
            row_scores=cell.row_scores.numpy(),
            row_weights=cell.row_weights.numpy(),
            weight=cell.weight,
        )
    )


def positions_payload(model: EncoderDecoder, length: int, side: Side) -> Any:
    """Describe the first positions of one side of a model; a learned table may have fewer than are asked for."""
    kind = position_kind(model, side)
    if kind == "sequential":
        return to_json(SimpleNamespace(kind=kind))
    table = position_table(model, length, side)
    return to_json(
        SimpleNamespace(
            kind=kind,
            length=table.shape[0],
            dim=table.shape[1],
            table=Packed(table, "f2"),
            similarity=Packed(similarity(table), "f2"),
        )
    )


def classification_payload(trace: ClassificationTrace) -> Any:
    """Describe a decision: the words that moved it, and where the heads look, None where that is not known."""
    decision = trace.decision
    return to_json(
        SimpleNamespace(
            format="heedful-classification",
            text=decision.text,
            label=decision.label,
            probabilities=decision.probabilities,
            words=decision.words,
            unread_tokens=decision.num_unread,
            tokens=trace.tokens,
            attention=None if trace.weights is None else [Packed(layer) for layer in trace.weights],
        )
    )


def text_payload(trace: TextTrace) -> Any:
    """Describe how a language model read the end of a text, and how far back each of its heads looks."""
    num_remembered = len(trace.remembered)
    in_memory: Floats = trace.weights[..., :num_remembered].sum(axis=-1).mean(axis=-1)  # [layers, heads]
    return to_json(
        SimpleNamespace(
            format="heedful-reading",
            remembered=trace.remembered,
            read=trace.read,
            log_probs=trace.log_probs,
            expected=trace.expected,
            attention=[Packed(layer) for layer in trace.weights],
            reach=[
                [SimpleNamespace(distance=distance, memory=share) for distance, share in zip(*layer, strict=True)]
                for layer in zip(reach(trace.weights).tolist(), np.asarray(in_memory).tolist(), strict=True)
            ],
        )
    )
