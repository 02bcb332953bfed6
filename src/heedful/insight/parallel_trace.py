"""How a model that writes all positions at once came to a translation: what every position says, layer by layer.

The pass is the one that translates, with a listener at each layer of the decoder: what a layer hands on is projected to
tokens as the last one's is. Which positions are blank, or repeat the one before, is decided where outputs are collapsed
(decoding/parallel.py).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from heedful.decoding import Parallel
from heedful.decoding.parallel import Fate, fates_of
from heedful.errors import UserError
from heedful.insight.trace import Choice, read_unit
from heedful.insight.wire import to_json
from heedful.models.nonautoregressive import CtcModel
from heedful.tasks.translation.doubts import OutputWarning
from heedful.tasks.translation.plan import TextPlan
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line
from heedful.text.tokens import Token, target_tokens

_TOP = 5  # tokens listed for each position


@dataclass(frozen=True)
class Position:
    """One place that was written."""

    source: int
    """Which source token it was made of."""

    fate: Fate
    output: int | None
    """Which target token it belongs to; None where it writes nothing."""

    by_layer: tuple[Choice, ...]
    """The most probable token after each layer of the decoder; the last is what it says."""

    top: tuple[Choice, ...]
    """What else it could have said, best first."""


@dataclass(frozen=True)
class Side:
    """A text and its tokens."""

    text: str
    language: str | None
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class ParallelTrace:
    """A translation that was written in one pass."""

    source: Side
    target: Side
    upsampling: int
    positions: tuple[Position, ...]
    token_log_probs: tuple[float, ...]
    """One for each target token: of its own positions and of the blanks before it."""

    log_prob: float
    finish_reason: Literal["eos", "length", "error"]
    warnings: tuple[OutputWarning, ...]
    sentences: tuple[str, ...]
    sentence: int

    @property
    def text(self) -> str:
        """The translation."""
        return self.target.text


def writes_at_once(translator: Translator) -> bool:
    """Say whether a translator is one that `trace_parallel` looks into."""
    return isinstance(translator.generator, Parallel)


def trace_parallel(translator: Translator, plan: TextPlan, *, sentence: int = 0) -> ParallelTrace:
    """Translate one sentence of a planned text and keep what every position said."""
    generator, tokenizer = translator.generator, translator.tokenizer
    assert isinstance(generator, Parallel), "see `writes_at_once`"
    model = generator.model
    assert isinstance(model, CtcModel), "the one that is written so"
    reading = read_unit(translator, plan, sentence, None)
    unit = reading.unit
    if unit.wishes.terms:
        raise UserError("Terms must be left out to look into a model that writes all at once: they need steps.")
    found = translator.search_units([unit], TranslationRequest(beam_size=1))[0][0]
    forbidden = [tokenizer.bos_id, tokenizer.unk_id]
    by_layer = _said(model, torch.tensor([list(unit.source_ids)], device=translator.device), forbidden)
    ids = by_layer[-1].argmax(dim=-1).tolist()
    cap = len(found.token_ids) if found.finish_reason == "length" else len(ids)
    output_ids = [*found.token_ids, tokenizer.eos_id][: len(found.token_log_probs)]
    return ParallelTrace(
        Side(unit.text, reading.source_language, reading.tokens),
        Side(
            one_line(tokenizer.decode_target(found.token_ids)),
            reading.target_language,
            tuple(target_tokens(tokenizer, output_ids)),
        ),
        model.upsampling,
        tuple(_positions(translator, model, by_layer, fates_of(ids, model.blank_id, tokenizer.eos_id, cap))),
        tuple(found.token_log_probs),
        found.log_prob,
        found.finish_reason,
        reading.warnings + translator.translated(unit, [found]).warnings,
        reading.sentences,
        reading.sentence,
    )


def _positions(
    translator: Translator, model: CtcModel, by_layer: Sequence[Tensor], fates: Sequence[Fate]
) -> Iterator[Position]:
    """Describe every position of log-probabilities [length, vocab], one for each layer."""
    bests = [layer.max(dim=-1) for layer in by_layer]
    top = by_layer[-1].topk(min(_TOP, by_layer[-1].size(-1)), dim=-1)
    values, ids = top.values.tolist(), top.indices.tolist()

    def choice(token_id: int, log_prob: float) -> Choice:
        text = "" if token_id == model.blank_id else translator.tokenizer.target_piece(token_id)
        return Choice(text, token_id, log_prob)

    output = -1
    for number, fate in enumerate(fates):
        output += fate == "written"
        yield Position(
            number // model.upsampling,
            fate,
            output if fate in ("written", "repeat") else None,
            tuple(choice(int(best.indices[number]), float(best.values[number])) for best in bests),
            tuple(choice(*pair) for pair in zip(ids[number], values[number], strict=True)),
        )


@torch.inference_mode()
def _said(model: CtcModel, source_ids: Tensor, forbidden_ids: Sequence[int]) -> list[Tensor]:
    """Return what each layer of the decoder would have its positions say, [length, vocab] each; source_ids [batch, source_len]."""
    with _states_of(model) as states:
        model.hidden(source_ids, None)
    found = []
    for state in states:
        normed = state if model.decoder_norm is None else model.decoder_norm(state)
        log_probs = model.project(normed).float().log_softmax(dim=-1)[0]
        log_probs[:, list(forbidden_ids)] = -torch.inf
        found.append(log_probs)
    return found


@contextmanager
def _states_of(model: CtcModel) -> Iterator[list[Tensor]]:
    """Keep what the layers of the decoder return, for the time of a block."""
    states: list[Tensor] = []
    handles = [layer.register_forward_hook(lambda _, __, state: states.append(state)) for layer in model.decoder]
    try:
        yield states
    finally:
        for handle in handles:
            handle.remove()


def parallel_payload(trace: ParallelTrace) -> dict[str, Any]:
    """Describe it in what JSON can say."""
    found: dict[str, Any] = to_json(trace)
    return {"format": "heedful-parallel", "attention": [], **found}
