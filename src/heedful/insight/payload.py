"""A trace as JSON: what the server sends and what a page is made of.

Attention travels as a list of what the model attends for, each use with its name, the sides it looks from and at,
whether it is causal, and its layers. A layer is base64 of one array: `{"dtype": "f2", "shape": [heads, rows, columns],
"scale": 1, "data": "..."}` in half precision, which is exact to three digits. Where that would be too much it travels
as bytes, `dtype` "u1", and a weight is byte · scale: 60 × 60 tokens with 6 layers of 8 heads are 0.7 MB so, where
numbers in text would be 4.
Text is data here; whoever shows it must not take it for markup.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from heedful.insight.alignment import Alignment, align
from heedful.insight.attribution import Attribution
from heedful.insight.beam_tree import BeamTree
from heedful.insight.trace import Choice, Trace
from heedful.models.attention_weights import Floats, entropy
from heedful.text.tokens import Token, Word

VERSION = 2
_DIGITS = 4  # of scores and log-probabilities
_MAX_HALVES = 150_000  # 0.4 MB: six layers of eight heads over some 30 tokens on each side


def to_payload(
    trace: Trace,
    *,
    attribution: Attribution | None = None,
    changes: Mapping[str, Floats] | None = None,
    precision: Literal["u1", "f2"] | None = None,
) -> dict[str, Any]:
    """Describe a trace in what JSON can say; `attribution` and `changes` (of `ablation.head_changes`) where given.

    `precision` None takes half precision as long as there are few weights.
    """
    if precision is None:
        precision = "f2" if sum(weights.size for weights in trace.weights.values()) <= _MAX_HALVES else "u1"
    payload: dict[str, Any] = {
        "format": "heedful-trace",
        "version": VERSION,
        "source": {
            "text": trace.source,
            "language": trace.source_language,
            "tokens": tokens_payload(trace.source_tokens),
        },
        "target": {
            "text": trace.text,
            "language": trace.target_language,
            "tokens": tokens_payload(trace.target_tokens),
        },
        "inputs": tokens_payload(trace.input_tokens),
        "log_prob": _round(trace.log_prob),
        "forced_log_prob": _round(trace.forced_log_prob),
        "score": _round(trace.score),
        "finish_reason": trace.finish_reason,
        "prefix": trace.num_forced,
        "engine": trace.engine,
        "sentences": list(trace.sentences),
        "sentence": trace.sentence,
        "warnings": [{"code": warning.code, "message": warning.message} for warning in trace.warnings],
        "steps": [
            {
                "log_prob": _round(step.log_prob),
                "rank": step.rank,
                "top": [choice_payload(choice) for choice in step.top],
            }
            for step in trace.steps
        ],
        "beam": None if trace.beam is None else _beam(trace.beam),
        "attention": [
            {
                "name": use.name,
                "from": use.looks_from,
                "at": use.looks_at,
                "causal": use.causal,
                "layers": [to_array(layer, precision) for layer in trace.weights[use.name]],
            }
            for use in trace.uses
        ],
        "entropy": {name: rounded(entropy(weights)) for name, weights in trace.weights.items()},
        "alignment": _alignment(align(trace)),
    }
    if attribution is not None:
        payload["attribution"] = rounded(attribution.by_token)
    if changes is not None:
        payload["head_changes"] = {name: rounded(values) for name, values in changes.items()}
    return payload


def to_array(values: Floats, precision: Literal["u1", "f2"] = "u1") -> dict[str, Any]:
    """Pack an array; "u1" is for values from 0 up, keeps the largest exactly and errs by at most half a step of it."""
    if precision == "f2":
        packed, scale = values.astype("<f2").tobytes(), 1.0
    else:
        scale = float(values.max(initial=0.0)) / 255 or 1.0
        packed = np.rint(values / scale).astype(np.uint8).tobytes()
    return {
        "dtype": precision,
        "shape": list(values.shape),
        "scale": scale,
        "data": base64.b64encode(packed).decode("ascii"),
    }


def from_array(packed: Mapping[str, Any]) -> Floats:
    """Read what `to_array` wrote."""
    raw = np.frombuffer(base64.b64decode(packed["data"]), dtype=np.uint8 if packed["dtype"] == "u1" else "<f2")
    values: Floats = raw.astype(np.float32).reshape(packed["shape"]) * np.float32(packed["scale"])
    return values


def tokens_payload(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    """Describe tokens with the characters they stand for."""
    return [
        {"text": token.text, "id": token.id, "start": token.start, "end": token.end, "special": token.is_special}
        for token in tokens
    ]


def choice_payload(choice: Choice) -> dict[str, Any]:
    """Describe a token that could have been written."""
    return {"text": choice.text, "id": choice.id, "log_prob": _round(choice.log_prob)}


def _beam(tree: BeamTree) -> dict[str, Any]:
    return {
        "size": tree.beam_size,
        "length_penalty": tree.length_penalty,
        "chosen": tree.chosen,
        "nodes": [
            {
                "id": node.id,
                "parent": node.parent,
                "step": node.step,
                "text": node.text,
                "token_id": node.token_id,
                "token_log_prob": _round(node.token_log_prob),
                "log_prob": _round(node.log_prob),
                "score": _round(node.score),
                "fate": node.fate,
                "ended_at": node.ended_at,
                "is_end": node.is_end,
            }
            for node in tree.nodes
        ],
    }


def _alignment(alignment: Alignment) -> dict[str, Any]:
    return {
        "source": [_word(word) for word in alignment.source_words],
        "target": [_word(word) for word in alignment.target_words],
        "weights": rounded(alignment.weights),
        "links": [list(link) for link in alignment.links],
    }


def _word(word: Word) -> dict[str, Any]:
    return {"text": word.text, "first": word.first, "end": word.end}


def rounded(values: Floats) -> Any:
    """Write an array as lists, in as many digits as an eye can use."""
    return np.round(values.astype(np.float64), _DIGITS).tolist()


def _round(value: float) -> float:
    return round(value, _DIGITS)
