"""How a model that writes all positions at once comes to its output: what it would write after each layer.

What the positions know is projected to tokens after every layer of the decoder, as if it were the last. Of a model with
fertilities also how often each source token is copied and, where a teacher chooses, what it chose from. The data of a
picture; nothing here draws.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.decoding import Fertile, Parallel, SearchRequest
from heedful.errors import UserError
from heedful.insight.forced_pair import read_tokens
from heedful.models.fertilities import copied_places
from heedful.models.fertility import FertilityModel
from heedful.models.nonautoregressive import CtcModel
from heedful.tasks.device import on_one_thread
from heedful.tasks.translation.plan import TextPlan
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line
from heedful.text.tokens import Token


@dataclass(frozen=True)
class Guess:
    """What a position would write after a layer; None where it would write nothing (a blank)."""

    text: str | None
    id: int
    log_prob: float


@dataclass(frozen=True)
class LayerReading:
    """What all positions would write after a layer, and the output that would be."""

    guesses: tuple[Guess, ...]
    text: str


@dataclass(frozen=True)
class FertilityCandidate:
    """An output by one set of fertilities, and the teacher's score of it."""

    fertilities: tuple[int, ...]
    text: str
    score: float


@dataclass(frozen=True)
class Refinement:
    """A translation that was written at once, layer by layer."""

    source_tokens: tuple[Token, ...]
    copies: tuple[int, ...]
    """For every position of the decoder, which of `source_tokens` it reads."""

    layers: tuple[LayerReading, ...]
    """First layer first; the last one's text is the translation."""

    fertilities: tuple[int, ...] | None = None
    """How often each source token is read, where the model decides that."""

    fertility_probabilities: tuple[tuple[float, ...], ...] | None = None
    """For every source token, how probable fertilities from 0 on are."""

    candidates: tuple[FertilityCandidate, ...] = ()
    """Outputs that a teacher chose from, best first."""


@on_one_thread()
@torch.inference_mode()
def trace_refinement(translator: Translator, plan: TextPlan, *, sentence: int = 0) -> Refinement:
    """Show how one sentence of a planned text is written; refuse a model that writes step by step."""
    generator = translator.generator
    if not isinstance(generator, Parallel | Fertile):
        raise UserError(
            "Only a model that writes all positions at once refines them, but this one writes step by step."
        )
    if not 0 <= sentence < len(plan.units) or plan.route.target is None:
        raise UserError(f"`sentence` must be below {len(plan.units)}, the sentences of the text, but is {sentence}.")
    unit = plan.units[sentence]
    tokens = read_tokens(translator, unit.text, plan.route.target)
    source_ids = torch.tensor([[token.id for token in tokens]], device=translator.device)
    if isinstance(generator, Fertile):
        return _by_fertilities(translator, generator, tokens, source_ids)
    return _by_ctc(translator, generator, tokens, source_ids)


def _by_ctc(translator: Translator, generator: Parallel, tokens: tuple[Token, ...], source_ids: Tensor) -> Refinement:
    """Read a CTC model layer by layer, source_ids [1, source_len]."""
    model = generator.model
    assert isinstance(model, CtcModel), "what a folder holds"
    inputs, _ = model.positions_of(source_ids, None)
    states = model.refine(inputs, None, model.encode(source_ids, None), None)
    copies = tuple(place for place in range(len(tokens)) for _ in range(model.upsampling))
    return Refinement(tokens, copies, tuple(_reading(translator, model, one, model.blank_id) for one in states))


def _by_fertilities(
    translator: Translator, generator: Fertile, tokens: tuple[Token, ...], source_ids: Tensor
) -> Refinement:
    """Read a model with fertilities layer by layer, source_ids [1, source_len], and what a teacher chooses from."""
    model = generator.model
    assert isinstance(model, FertilityModel), "what a folder holds"
    memory, log_probs = model.read(source_ids, None)
    tried = generator.candidates(source_ids, torch.ones_like(source_ids, dtype=torch.bool), _rules(translator, tokens))[
        0
    ]
    chosen = torch.tensor([tried[0].fertilities], device=source_ids.device)
    length = max(int(chosen.sum()), 1)
    places, real = copied_places(chosen, length)
    states = model.refine(memory, None, places, real)
    candidates = tuple(
        FertilityCandidate(tuple(one.fertilities), _spelled(translator, one.hypothesis.token_ids), one.hypothesis.score)
        for one in tried
    )
    return Refinement(
        tokens,
        tuple(places[0].tolist()),
        tuple(_reading(translator, model, one, None) for one in states),
        tuple(chosen[0].tolist()),
        tuple(map(tuple, log_probs[0].exp().tolist())),
        candidates if generator.teacher is not None else (),
    )


def _rules(translator: Translator, tokens: tuple[Token, ...]) -> SearchRequest:
    tokenizer, decoding = translator.tokenizer, translator.decoding
    return SearchRequest(
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
        max_lengths=[len(tokens) + decoding.extra_tokens],
        length_penalty=decoding.length_penalty,
        forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id),
    )


def _reading(
    translator: Translator, model: CtcModel | FertilityModel, states: Tensor, blank_id: int | None
) -> LayerReading:
    """Say what states [1, length, dim] would write."""
    tokenizer = translator.tokenizer
    log_probs = model.project(states).float().log_softmax(dim=-1)[0]  # [length, vocab]
    log_probs[:, [tokenizer.bos_id, tokenizer.unk_id, *([] if blank_id is not None else [tokenizer.pad_id])]] = -1e9
    best, ids = (part.tolist() for part in log_probs.max(dim=-1))
    guesses = tuple(
        Guess(None if id_ == blank_id else tokenizer.target_piece(id_), id_, value)
        for id_, value in zip(ids, best, strict=True)
    )
    if blank_id is None:
        return LayerReading(guesses, _spelled(translator, ids))
    before = [blank_id, *ids[:-1]]
    written = [id_ for id_, last in zip(ids, before, strict=True) if id_ not in (last, blank_id)]
    return LayerReading(guesses, _spelled(translator, written))


def _spelled(translator: Translator, ids: list[int]) -> str:
    tokenizer = translator.tokenizer
    end = ids.index(tokenizer.eos_id) if tokenizer.eos_id in ids else len(ids)
    return one_line(tokenizer.decode_target(ids[:end]))
