"""A trace as JSON: what the server sends and what a page is made of.

Attention travels as a list of what the model attends for, each use with its name, the sides it looks from and at,
whether it is causal, and its layers, an array each. Where half precision would be too much, they are bytes: 60 × 60
tokens with 6 layers of 8 heads are 0.7 MB so, where numbers in text would be 4.
Text is data here; whoever shows it must not take it for markup.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from heedful.insight.alignment import align
from heedful.insight.attribution import Attribution
from heedful.insight.trace import Trace
from heedful.insight.wire import Packed, Precision, to_json
from heedful.models.attention_weights import Floats, entropy

VERSION = 3
_MAX_HALVES = 150_000  # 0.4 MB: six layers of eight heads over some 30 tokens on each side


def to_payload(
    trace: Trace,
    *,
    attribution: Attribution | None = None,
    changes: Mapping[str, Floats] | None = None,
    precision: Precision | None = None,
) -> dict[str, Any]:
    """Describe a trace in what JSON can say; `attribution` and `changes` (of `ablation.head_changes`) where given.

    `precision` None takes half precision as long as there are few weights.
    """
    if precision is None:
        precision = "f2" if sum(weights.size for weights in trace.weights.values()) <= _MAX_HALVES else "u1"
    alignment = align(trace)
    payload = SimpleNamespace(
        format="heedful-trace",
        version=VERSION,
        source=SimpleNamespace(text=trace.source, language=trace.source_language, tokens=trace.source_tokens),
        target=SimpleNamespace(text=trace.text, language=trace.target_language, tokens=trace.target_tokens),
        inputs=trace.input_tokens,
        fertilities=trace.fertilities,
        log_prob=trace.log_prob,
        forced_log_prob=trace.forced_log_prob,
        score=trace.score,
        finish_reason=trace.finish_reason,
        prefix=trace.num_forced,
        engine=trace.engine,
        sentences=trace.sentences,
        sentence=trace.sentence,
        warnings=trace.warnings,
        steps=trace.steps,
        beam=trace.beam,
        guesses=trace.guesses,
        attention=[
            SimpleNamespace(
                name=use.name,
                from_=use.looks_from,
                at=use.looks_at,
                causal=use.causal,
                layers=[Packed(layer, precision) for layer in trace.weights[use.name]],
            )
            for use in trace.uses
        ],
        entropy={name: entropy(weights) for name, weights in trace.weights.items()},
        alignment=SimpleNamespace(
            source=alignment.source_words,
            target=alignment.target_words,
            weights=alignment.weights,
            links=alignment.links,
        ),
    )
    if attribution is not None:
        payload.attribution = attribution.by_token
    if changes is not None:
        payload.head_changes = changes
    found: dict[str, Any] = to_json(payload)
    return found
