"""The trace of one translation: tokens, attention, what was probable at each step, and the beam as a tree.

The search is the ordinary one, on the ordinary engine, with a recorder beside it. The weights come from one forced pass
of the model over what the search chose. Where the engine is the int8 one, that pass runs on its float reference, with
the same quantized weights: it differs from the engine only in that activations are not rounded (to 8 or 16
bits, as the processor has it), and `Trace.forced_log_prob` beside `Trace.log_prob` says by how much.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from heedful.decoding import BeamStep, Hypothesis, StepList, Term
from heedful.decoding.hypothesis import finish
from heedful.decoding.length_penalty import penalty_of
from heedful.errors import HeedfulError, UserError
from heedful.insight.beam_tree import BeamTree, grow_tree
from heedful.insight.forced_pair import NO_NUMBERS, ForcedPair, check_ids, check_length, read_tokens, written_tokens
from heedful.insight.guesses import Guesses, follow_guesses
from heedful.models.attention_weights import Floats, check_name, check_place, forced_pass, uses_by_name
from heedful.models.interfaces import EncoderDecoder, Side
from heedful.tasks.device import on_one_thread
from heedful.tasks.translation.doubts import OutputWarning
from heedful.tasks.translation.plan import TextPlan, Unit, without_surrogates
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.wishes import NO_WISHES
from heedful.text.fixed_parts import Masked
from heedful.text.lines import one_line
from heedful.text.tokens import Token

_TOP = 8  # tokens listed at each step


@dataclass(frozen=True)
class Choice:
    """A token that could have been written."""

    text: str
    id: int
    log_prob: float


@dataclass(frozen=True)
class Step:
    """What the model thought when it wrote one token."""

    log_prob: float
    """Of the token that was written."""

    rank: int
    """Its place among all tokens, from 0: a search may prefer what is not the most probable next token."""

    top: tuple[Choice, ...]
    """The most probable tokens, best first."""


@dataclass(frozen=True)
class TracedUse:
    """What an attention of the model is for; see `models.interfaces.AttentionUse`."""

    name: str
    looks_from: Side
    looks_at: Side
    causal: bool


@dataclass(frozen=True, kw_only=True)
class Trace(ForcedPair):
    """A translation and how it came about."""

    text: str
    """The translation."""

    source_language: str | None
    target_language: str
    log_prob: float
    score: float
    """Log-probability divided by the length penalty."""

    finish_reason: Literal["eos", "length"]
    steps: tuple[Step, ...]
    beam: BeamTree | None
    """Everything the search considered; None for an output that was given, not searched for."""

    uses: tuple[TracedUse, ...]
    """What the model attends for, in its order; each has its `weights` under its name."""

    weights: Mapping[str, Floats] = field(repr=False)
    """For each use the weights of all layers and heads, [layers, heads, query_len, key_len]."""

    forced_log_prob: float
    """The log-probability by the pass the weights come from."""

    fertilities: tuple[int, ...] | None = None
    """How many target tokens each of `source_tokens` stands for, where the model counts: `input_tokens` are then copies
    of the source."""

    engine: Literal["float", "int8"] = "float"
    """What searched; see the head of this file for how the weights of an int8 engine are read."""

    warnings: tuple[OutputWarning, ...] = ()
    sentences: tuple[str, ...] = ()
    """What the whole text was cut into; `source` is one of them."""

    sentence: int = 0
    """Which of them, from 0."""

    guesses: Guesses | None = None
    """How the greedy translation is written with guesses; None where nothing can be guessed, or terms must be there."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The pieces that were written, the end symbol included."""
        return tuple(token.text for token in self.target_tokens)

    def attention(self, kind: str, layer: int, head: int) -> Floats:
        """Return the weights of one head, [query_len, key_len]; layers and heads are counted from 0.

        `kind` is the name of one of `uses`; a Transformer has "encoder" (source to source), "decoder" (target to what
        was written before) and "cross" (target to source). Row i says where position i looks; it sums to 1.
        """
        check_name(kind, self.weights)
        weights = self.weights[kind]
        check_place(("layer", layer, weights.shape[0]), ("head", head, weights.shape[1]))
        chosen: Floats = weights[layer, head]
        return chosen

    def use_between(self, looks_from: Side, looks_at: Side) -> TracedUse | None:
        """Return the last use that looks from one side at another, None where the model has none."""
        found = [use for use in self.uses if (use.looks_from, use.looks_at) == (looks_from, looks_at)]
        return found[-1] if found else None

    def to_html(self, path: str | Path) -> None:
        """Write the trace as one page that needs nothing else."""
        from heedful.insight.html import render_page

        Path(path).write_text(render_page(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        """Show the trace in a notebook."""
        from heedful.insight.html import render_frame

        return render_frame(self)


@dataclass(frozen=True)
class _Reading:
    """What the model is given: the last step of a route."""

    unit: Unit
    source_language: str | None
    target_language: str
    tokens: tuple[Token, ...]
    warnings: tuple[OutputWarning, ...]
    sentences: tuple[str, ...]
    sentence: int


@on_one_thread()
def trace_translation(
    translator: Translator,
    plan: TextPlan,
    *,
    beam_size: int | None = None,
    sentence: int = 0,
    hypothesis: str | None = None,
    prefix_ids: Sequence[int] = (),
) -> Trace:
    """Translate one sentence of a planned text and keep everything that is to be seen.

    `sentence` says which of the plan's units is looked into, from 0. With `hypothesis` nothing is searched for: the
    model is made to write this text. With `prefix_ids` the search goes on from these tokens. `beam_size` is as in
    `Translator.translate`.
    """
    reading = read_unit(translator, plan, sentence, beam_size)
    model = translator.readable_model
    if hypothesis is not None:
        if prefix_ids:
            raise UserError("Either `hypothesis` or `prefix_ids` may be given, but both are.")
        return _trace(translator, model, reading, _force(translator, model, reading, hypothesis), None, ())
    check_ids("prefix_ids", prefix_ids, translator)
    beam = translator.decoding.beam_size if beam_size is None else beam_size
    if reading.unit.wishes.terms and not prefix_ids:
        seen = _search_terms(translator, reading.unit, beam)
    else:
        seen = _search(translator, reading.unit, beam, prefix_ids, range(len(prefix_ids)))
    found = seen.found
    if found.finish_reason == "error":
        raise HeedfulError(NO_NUMBERS)
    tree = grow_tree(
        seen.steps,
        sentence=0,
        beam_size=beam,
        length_penalty=translator.decoding.length_penalty,
        eos_id=translator.tokenizer.eos_id,
        spell=translator.tokenizer.target_piece,
        forced=seen.forced,
    )
    doubts = () if prefix_ids else translator.translated(reading.unit, [found]).warnings
    trace = _trace(translator, model, reading, found, tree, doubts)
    guesses = None if reading.unit.wishes.terms else follow_guesses(translator, reading.unit.source_ids, prefix_ids)
    return replace(trace, num_forced=len(prefix_ids), guesses=guesses)


class _Seen(NamedTuple):
    """What a search found, what it considered, and at which steps it had no choice."""

    found: Hypothesis
    steps: list[BeamStep]
    forced: Collection[int] = ()


def _search(
    translator: Translator, unit: Unit, beam_size: int, prefix_ids: Sequence[int], forced: Collection[int]
) -> _Seen:
    recorder = StepList()
    found = translator.hypothesis(unit.read_ids, beam_size=beam_size, prefix_ids=prefix_ids, recorder=recorder)
    return _Seen(found, recorder.steps, forced)


def _search_terms(translator: Translator, unit: Unit, beam_size: int) -> _Seen:
    """Search as translating does, and show the search for terms where it leads there.

    A term that was put where it belongs is shown by the search behind it, and one that no search would go on from as
    it was by what was written alone.
    """
    wanted = translator.search_units([unit], TranslationRequest(beam_size=beam_size))[0][0]
    recorder, terms = StepList(), unit.wishes.term_ids(translator.tokenizer)
    found = translator.hypothesis(unit.read_ids, beam_size=beam_size, terms=terms, recorder=recorder)
    if found.token_ids == wanted.token_ids:
        return _Seen(found, recorder.steps)
    forced = _places_of(terms, wanted.token_ids)
    behind = _search(translator, unit, beam_size, wanted.token_ids[: max(forced, default=-1) + 1], forced)
    if behind.found.token_ids == wanted.token_ids:
        return behind
    return _search(translator, unit, beam_size, wanted.token_ids, forced)


def _places_of(terms: Sequence[Term], token_ids: Sequence[int]) -> set[int]:
    """Return the places of a translation at which tokens of a term stand."""
    forms = {form for term in terms for form in term.forms}
    starts = [
        (start, len(form))
        for form in forms
        for start in range(len(token_ids) - len(form) + 1)
        if tuple(token_ids[start : start + len(form)]) == form
    ]
    return {place for start, length in starts for place in range(start, start + length)}


def read_unit(translator: Translator, plan: TextPlan, sentence: int, beam_size: int | None) -> _Reading:
    """Take one sentence of a plan, by way of a third language as far as its last step; refuse what cannot be shown."""
    units, route = plan.units, plan.route
    if not plan.text.strip():
        raise UserError("The text to look into must not be empty, but is.")
    if route.is_unknown and not units:
        raise UserError(
            f"The text must be in one of the model's languages, but {route.found}. "
            "Say the language with --from to look into it anyway."
        )
    if not units or route.target is None:
        raise UserError(f'The text must be in another language than "{route.target}", but seems to be in it already.')
    if not 0 <= sentence < len(units):
        raise UserError(f"`sentence` must be between 0 and {len(units) - 1}, but is {sentence}.")
    unit = units[sentence]
    if not unit.steps:
        raise UserError(f"The sentence must be translated to be looked into, but {unit.remarks[0].message}")
    source_language = unit.language
    warnings: tuple[OutputWarning, ...] = ()
    if len(units) > 1:
        message = f"the text has {len(units)} sentences; what is shown is number {sentence + 1}."
        warnings = (OutputWarning("one_of_several", message),)
    while len(unit.steps) > 1:
        middle, *rest = unit.steps
        step = replace(unit, steps=(middle,), wishes=NO_WISHES)
        (made,) = translator.translate_units([step], TranslationRequest(beam_size=beam_size))
        wishes = replace(unit.wishes, sources=())  # they stand for words of another language
        unit = replace(translator.planner.units([made.text], [tuple(rest)], [middle])[0][0], wishes=wishes)
        message = f'the text came from "{source_language}" through "{middle}"; what is shown is the last step.'
        warnings, source_language = (*warnings, OutputWarning("pivot", message)), middle
    if unit.masked.text != unit.text:
        message = "what must not change is shown as the model would read it; to translate, it reads stand-ins for it."
        warnings = (*warnings, OutputWarning("stand_ins", message))
    if unit.masked.text != unit.text or not unit.source_ids:
        (ids,) = translator.planner.encode([unit.text], unit.steps[:1])
        unit = replace(unit, source_ids=tuple(ids), masked=Masked(unit.text), before="", after="")
    tokens = read_tokens(translator, _read_text(unit), route.target)
    sentences = tuple(one.text for one in units)
    return _Reading(unit, source_language, route.target, tokens, warnings, sentences, sentence)


def _read_text(unit: Unit) -> str:
    """Return what is read for a unit: itself, after its context where it has one."""
    return unit.text if unit.context is None else f"{unit.context.text} {unit.text}"


def forced_log_probs(
    translator: Translator, model: EncoderDecoder, source_ids: Sequence[int], output_ids: Sequence[int]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Make a model write `output_ids`: log-probabilities [target_len, vocab], weights [layers, heads, ...] by use."""
    device = next(model.parameters()).device
    inputs = [translator.tokenizer.bos_id, *output_ids[:-1]]
    log_probs, weights = forced_pass(
        model, torch.tensor([list(source_ids)], device=device), None, torch.tensor([inputs], device=device)
    )
    return log_probs[0], {kind: tensor[:, 0] for kind, tensor in weights.items()}


def copied_places(
    translator: Translator, model: EncoderDecoder, source_ids: Sequence[int], length: int
) -> list[int] | None:
    """Say which source token each position of an output reads, where the model copies its source."""
    places = model.copied(torch.tensor([list(source_ids)], device=translator.device), length)
    found: list[int] | None = None if places is None else places[0].tolist()
    return found


def _force(translator: Translator, model: EncoderDecoder, reading: _Reading, text: str) -> Hypothesis:
    """Make a hypothesis of a given text."""
    output_ids = translator.tokenizer.encode_target(without_surrogates(text))
    check_length("The hypothesis", len(output_ids))
    log_probs, _ = forced_log_probs(translator, model, reading.unit.read_ids, output_ids)
    values = log_probs[range(len(output_ids)), output_ids].tolist()
    return finish(output_ids[:-1], values, "eos", length_penalty=translator.decoding.length_penalty)


def _trace(
    translator: Translator,
    model: EncoderDecoder,
    reading: _Reading,
    found: Hypothesis,
    tree: BeamTree | None,
    doubts: tuple[OutputWarning, ...],
) -> Trace:
    tokenizer = translator.tokenizer
    output_ids = [*found.token_ids, tokenizer.eos_id][: len(found.token_log_probs)]
    log_probs, weights = forced_log_probs(translator, model, reading.unit.read_ids, output_ids)
    if bool(log_probs.isnan().any()):
        raise HeedfulError(NO_NUMBERS)
    steps = _steps(translator, log_probs, output_ids)
    written = written_tokens(tokenizer, output_ids)
    copies = copied_places(translator, model, reading.unit.source_ids, len(output_ids))
    assert found.finish_reason != "error", "whoever searched has refused it"
    return Trace(
        source=_read_text(reading.unit),
        text=one_line(tokenizer.decode_target(output_ids)),
        source_language=reading.source_language,
        target_language=reading.target_language,
        source_tokens=reading.tokens,
        target_tokens=written[1:],
        input_tokens=written[:-1] if copies is None else tuple(reading.tokens[place] for place in copies),
        fertilities=None if copies is None else tuple(copies.count(place) for place in range(len(reading.tokens))),
        log_prob=found.log_prob,
        score=found.log_prob / penalty_of(len(output_ids), translator.decoding.length_penalty),
        finish_reason=found.finish_reason,
        steps=steps,
        beam=tree,
        uses=tuple(
            TracedUse(use.name, use.looks_from, use.looks_at, use.causal) for use, *_ in uses_by_name(model).values()
        ),
        weights={kind: tensor.float().cpu().numpy() for kind, tensor in weights.items()},
        forced_log_prob=sum(step.log_prob for step in steps),
        engine=translator.engine,
        warnings=reading.warnings + doubts,
        sentences=reading.sentences,
        sentence=reading.sentence,
    )


def _steps(translator: Translator, log_probs: Tensor, output_ids: Sequence[int]) -> tuple[Step, ...]:
    """Describe each row of log_probs [target_len, vocab]."""
    tokenizer = translator.tokenizer
    chosen = log_probs[range(len(output_ids)), list(output_ids)]  # [target_len]
    ranks = (log_probs > chosen.unsqueeze(1)).sum(dim=1).tolist()
    best = log_probs.topk(min(_TOP, log_probs.size(1)), dim=1)
    tops = [
        tuple(Choice(tokenizer.target_piece(id_), id_, value) for id_, value in zip(ids, values, strict=True))
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
    return tuple(Step(*parts) for parts in zip(chosen.tolist(), ranks, tops, strict=True))
