"""Translating text with a loaded model: the `Translator` that `heedful.load` returns.

A text is planned (plan.py: languages, lines, sentences), inputs of similar length are searched together, and the text
is put together again (translated.py), with warnings where it is doubtful. The result for a sentence does not depend on
the others. This file wires the tokenizer and the generator; it knows neither from the inside.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar

import torch

from heedful.config.training import DecodingConfig
from heedful.decoding import (
    Decodable,
    Generator,
    Hypothesis,
    Recorder,
    SearchRequest,
    Stepwise,
    Term,
    batch_tokens_of,
    searched_model,
)
from heedful.engines.int8.engine import Int8Transformer
from heedful.engines.int8.output import Int8Recurrent
from heedful.errors import UserError
from heedful.models.interfaces import EncoderDecoder
from heedful.tasks.device import within_memory
from heedful.tasks.line_groups import group_lines
from heedful.tasks.translation.aligner import Aligner
from heedful.tasks.translation.calibration import NO_CALIBRATION, Calibration
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.doubts import LOW_CONFIDENCE, OutputWarning
from heedful.tasks.translation.keeping import translate_keeping
from heedful.tasks.translation.padding import batches_by_length, padded
from heedful.tasks.translation.plan import Planner, TextPlan, Unit
from heedful.tasks.translation.request import MinimumRisk, TranslationRequest, one_request
from heedful.tasks.translation.review import PairScorer, Reviewer
from heedful.tasks.translation.spelling import spelled
from heedful.tasks.translation.term_placing import wishes_after, wishing
from heedful.tasks.translation.term_search import Piece, TermSearch, piece_of
from heedful.tasks.translation.translated import TranslatedUnit, Translation, assemble_all, combined
from heedful.tasks.translation.wishes import continuation_ids
from heedful.tasks.translation.word_alignment import composed
from heedful.text.fixed_parts import Masked, mask_fixed_parts
from heedful.text.tokenizer import Tokenizer

Text = TypeVar("Text", str, list[str])
_ALL_LEFT_OPEN = TranslationRequest()


@dataclass(frozen=True)
class Traits:
    """What is known of a model beside its weights and its languages."""

    max_positions: int | None = None
    """How many positions it has; None when any number."""

    joined_tokens: int = 0
    """Neighbouring sentences of a line are read together up to so many tokens, where the model has learned that."""

    context_sentences: int = 0
    """So many sentences before another are read with it, where the model has learned that."""

    low_confidence: float = LOW_CONFIDENCE
    """The mean log-probability of a token below which a translation is doubtful."""

    calibration: Calibration = NO_CALIBRATION
    """When something seems to be missing in a translation, and how often its words are right."""


@dataclass(frozen=True, eq=False, repr=False)
class Translator:
    """What writes translations, with its tokenizer. It never changes: `dataclasses.replace` makes another of it."""

    generator: Generator
    tokenizer: Tokenizer
    decoding: DecodingConfig
    directions: Directions
    device: torch.device
    traits: Traits = Traits()
    reference: Callable[[], EncoderDecoder] | None = None
    """Makes the model as modules that can be looked into (its reference implementation), always the same one; needed
    where what generates is not made of modules."""

    @property
    def source_language(self) -> str:
        """Code of the language that is mainly translated from."""
        return self.directions.pairs[0][0]

    @property
    def target_language(self) -> str:
        """Code of the language that is mainly translated into."""
        return self.directions.pairs[0][1]

    @property
    def target_languages(self) -> tuple[str, ...]:
        """Codes of the languages this model can be asked for."""
        return self.directions.targets

    @property
    def source_languages(self) -> tuple[str, ...]:
        """Codes of the languages this model can translate from."""
        return self.directions.sources

    @property
    def registers(self) -> tuple[str, ...]:
        """Kinds of language, such as "formal", that this model can be asked for."""
        return self.tokenizer.registers

    def in_register(self, register: str, to: str | None = None) -> Self:
        """Return a translator that writes so; a `UserError` says that the model has not learned to, into `to`."""
        return replace(self, tokenizer=self.tokenizer.in_register(register, to))

    def _asked(self, request: TranslationRequest) -> tuple[Self, TranslationRequest]:
        """Return the translator that writes in the register of a request, and what is left of the request."""
        if request.register is None:
            return self, request
        return self.in_register(request.register, request.target), replace(request, register=None)

    def translate(
        self,
        text: Text,
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        request: TranslationRequest | None = None,
    ) -> Text:
        """Translate a text, or a list of texts into a list; see `translate_detailed` for scores and alternatives."""
        texts = [text] if isinstance(text, str) else text
        translations = self.translate_detailed(texts, to=to, from_=from_, beam_size=beam_size, request=request)
        return translations[0].text if isinstance(text, str) else [translation.text for translation in translations]

    def translate_detailed(
        self,
        texts: Sequence[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        n_best: int = 1,
        request: TranslationRequest | None = None,
    ) -> list[Translation]:
        """Translate texts, in order, with scores, alternatives and warnings.

        What can be asked for beside languages, beam and number stands in a `TranslationRequest`, which is then given
        instead of them.
        """
        given = TranslationRequest(from_, to, beam_size, n_best)
        return self._translate(texts, one_request(given, request))

    def _translate(self, texts: Sequence[str], request: TranslationRequest) -> list[Translation]:
        plans = self.plan(texts, request)
        units = [unit for plan in plans for unit in plan.units]
        done = self.translate_units(units, request)
        return assemble_all(plans, self.reviewer.check(units, done) if request.check else done)

    def plan(self, texts: Sequence[str], request: TranslationRequest = _ALL_LEFT_OPEN) -> list[TextPlan]:
        """Settle languages and units of texts, before anything is translated; a `UserError` says what cannot be."""
        self.directions.check(request.source, request.target)
        return self.planner.plan(texts, request)

    @property
    def planner(self) -> Planner:
        """What settles languages and units of texts, before anything is translated."""
        traits = self.traits
        return Planner(
            self.tokenizer, self.directions, self.max_source_tokens(), traits.joined_tokens, traits.context_sentences
        )

    def translate_lines(self, lines: Iterable[str], request: TranslationRequest) -> Iterator[Translation]:
        """Translate lines as they come, each as soon as no further one is ready to be translated together with it."""
        self.directions.check(request.source, request.target)  # refused before the first line is read
        self._asked(request)
        for group in group_lines(lines):
            yield from self._translate(group, request)

    def hypothesis(
        self,
        source_ids: Sequence[int],
        *,
        beam_size: int | None = None,
        prefix_ids: Sequence[int] = (),
        terms: Sequence[Term] = (),
        recorder: Recorder | None = None,
    ) -> Hypothesis:
        """Search for the translation of one encoded text that begins with `prefix_ids` and has the terms."""
        request = replace(self._search_request(TranslationRequest(beam_size=beam_size)), recorder=recorder)
        return self._generate([Piece(source_ids, prefix_ids, terms)], request)[0][0]

    @property
    def engine(self) -> Literal["float", "int8"]:
        """What the model is computed with."""
        return "int8" if isinstance(self._model, Int8Transformer | Int8Recurrent) else "float"

    @property
    def _model(self) -> Decodable[Any] | None:
        return searched_model(self.generator)

    @property
    def readable_model(self) -> EncoderDecoder:
        """The model as PyTorch modules: the one that is searched, or its reference implementation."""
        model = self._model
        if isinstance(model, EncoderDecoder):
            return model
        if isinstance(model, Int8Recurrent):
            return model.model
        if self.reference is not None:
            return self.reference()
        if model is not None:
            raise UserError("Only a single model can be looked into, but this one is an ensemble. Load one of it.")
        raise UserError("Only a model with attention can be looked into, but this one writes without steps to show.")

    def with_model(self, model: EncoderDecoder) -> Self:
        """Return a translator that is like this one in all but the model."""
        return replace(self, generator=Stepwise(model), reference=None)

    def _search_request(self, request: TranslationRequest) -> SearchRequest:
        """Make the rules of the search for any number of sentences."""
        beam = self.decoding.beam_size if request.beam_size is None else request.beam_size
        n_best = request.way.num_candidates if isinstance(request.way, MinimumRisk) else request.n_best
        tokenizer, penalty = self.tokenizer, request.length_penalty
        return SearchRequest(
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
            beam_size=max(beam, n_best),
            n_best=n_best,
            way=request.way.sampling if isinstance(request.way, MinimumRisk) else request.way,
            length_penalty=self.decoding.length_penalty if penalty is None else penalty,
            forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id),
        )

    def translate_units(self, units: Sequence[Unit], request: TranslationRequest) -> list[TranslatedUnit]:
        """Translate what plans have cut texts into, in order, by their first step, and what comes of it by the others.

        The units may belong to different plans: of the request, languages are settled in them.
        """
        if request.register is not None:
            writer, rest = self._asked(request)
            return writer.translate_units(units, rest)
        planner = self.planner
        done = translate_keeping(
            units,
            encode=lambda readings, languages: planner.encode([reading.text for reading in readings], languages),
            search=lambda some: self.search_units(some, request),
            spell=self.translated,
            translate_masked=lambda masked, unit: self._translate_masked(masked, unit, request),
            align=self._aligner.token_links,
        )
        if request.alignment:
            done = [
                replace(one, links=self._aligner.word_links(unit, one.source, one.text))
                for unit, one in zip(units, done, strict=True)
            ]
        onward = [number for number, unit in enumerate(units) if len(unit.steps) > 1]
        if onward:
            parts_of = self.planner.units(
                [done[number].text for number in onward],
                [units[number].steps[1:] for number in onward],
                [units[number].steps[0] for number in onward],
            )
            for place, number in enumerate(onward):
                if units[number].wishes.terms:  # which sentence a term belongs to is not known: they stay together
                    whole, (through, *steps) = mask_fixed_parts(done[number].text), units[number].steps
                    parts_of[place] = self.planner.units_of(whole, tuple(steps), through)
                parts_of[place] = wishing(parts_of[place], wishes_after(units[number], done[number], self._aligner))
            later = iter(self.translate_units([part for parts in parts_of for part in parts], request))
            for number, parts in zip(onward, parts_of, strict=True):
                followed = [next(later) for _ in parts]
                links = tuple(composed(done[number], followed)) if request.alignment else ()
                done[number] = replace(done[number].then(followed), links=links)
        return done

    @property
    def scorer(self) -> PairScorer:
        """What is asked about pairs of texts."""
        return PairScorer(self._model, self.tokenizer, self.directions, self.max_source_tokens(), self.device)

    @property
    def reviewer(self) -> Reviewer:
        """What looks at translations that are there."""

        def own(texts: Sequence[str], source: str, target: str) -> list[str]:
            return [one.text for one in self.translate_detailed(texts, from_=source, to=target, beam_size=1)]

        return Reviewer(self.scorer, self.traits.calibration, self.traits.low_confidence, own)

    def review(
        self, sources: Sequence[str], translations: Sequence[str], *, from_: str | None = None, to: str | None = None
    ) -> list[tuple[OutputWarning, ...]]:
        """Say what is doubtful about translations that somebody else may have made, text by text."""
        return self.reviewer.review_texts(sources, translations, from_, to)

    def _translate_masked(self, masked: Masked, unit: Unit, request: TranslationRequest) -> TranslatedUnit:
        """Translate what is left of a unit by its first step."""
        units = self.planner.units_of(masked, unit.steps[:1], unit.language)
        if len(units) == 1:
            units = [replace(units[0], context=unit.context)]
        if len(unit.steps) == 1:
            units = wishing(units, unit.wishes)
        return combined(masked.whole, self.translate_units(units, replace(request, alignment=False)))

    @property
    def _aligner(self) -> Aligner:
        model = self._model
        engine = model if isinstance(model, Int8Transformer) else None
        is_able = isinstance(model, EncoderDecoder | Int8Recurrent) or self.reference is not None
        return Aligner(self.tokenizer, self.directions, lambda: self.readable_model, is_able, engine)

    def search_units(self, units: Sequence[Unit], request: TranslationRequest) -> list[list[Hypothesis]]:
        """Search for the translations of units by their first steps, as many of each as are wanted."""
        rules = self._search_request(request)
        if rules.way is None and rules.n_best == 1 and any(unit.wishes.terms for unit in units):
            found = TermSearch(
                self.tokenizer, self._aligner, self._generate_all, self._batches, self._max_length
            ).search(units, rules)
        else:
            found = self._generate_all([piece_of(unit, self.tokenizer) for unit in units], rules)
        if isinstance(request.way, MinimumRisk):
            found = [self._least_risk(it, unit, request) for it, unit in zip(found, units, strict=True)]
        return found

    def _least_risk(self, found: list[Hypothesis], unit: Unit, request: TranslationRequest) -> list[Hypothesis]:
        """Order what was found for a unit by its risk, and keep what is wanted."""
        from heedful.tasks.translation.minimum_risk import least_risk_first  # sacreBLEU is loaded for those who want it

        assert isinstance(request.way, MinimumRisk)
        texts = [self.tokenizer.decode_target(hypothesis.token_ids) for hypothesis in found]
        return least_risk_first(found, texts, request.way.utility, unit.steps[0])[: request.n_best]

    def max_source_tokens(self) -> int:
        """Return how many tokens the model reads at once; longer texts are split."""
        limit = self.decoding.max_source_tokens
        positions = self.traits.max_positions
        return limit if positions is None else min(limit, positions)

    def _generate_all(self, pieces: Sequence[Piece], request: SearchRequest) -> list[list[Hypothesis]]:
        """Search for every piece, neighbours in length together, and give the results in the order of `pieces`."""
        parts = [piece.source_ids for piece in pieces]
        free = [number for number, piece in enumerate(pieces) if not piece.terms]
        bound = [number for number, piece in enumerate(pieces) if piece.terms]
        results: dict[int, list[Hypothesis]] = {}
        for numbers in (*self._batches(free, parts), *self._batches(bound, parts)):
            together = [pieces[number] for number in numbers]
            results |= zip(numbers, within_memory(lambda some: self._generate(some, request), together), strict=True)
        return [results[number] for number in range(len(parts))]

    def _batches(self, numbers: Sequence[int], parts: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Yield which of the parts with these numbers are searched together."""
        most_tokens = batch_tokens_of(self.generator, self.decoding.batch_tokens)
        for batch in batches_by_length([len(parts[number]) for number in numbers], most_tokens):
            yield [numbers[place] for place in batch]

    @torch.inference_mode()
    def _generate(self, pieces: Sequence[Piece], request: SearchRequest) -> list[list[Hypothesis]]:
        source_ids, source_mask = padded([piece.source_ids for piece in pieces], self.tokenizer.pad_id)
        prefix_ids = [piece.prefix_ids for piece in pieces]
        max_lengths = [self._max_length(piece.source_ids) for piece in pieces]
        request = replace(request, max_lengths=max_lengths, prefix_ids=prefix_ids if any(prefix_ids) else None)
        if any(piece.beginning.token_ids for piece in pieces):
            request = replace(request, beginnings=[piece.beginning for piece in pieces])
        if pieces[0].terms:
            terms = [piece.terms for piece in pieces]
            request = replace(request, terms=terms, continuation_ids=continuation_ids(self.tokenizer))
        return self.generator.generate(source_ids.to(self.device), source_mask.to(self.device), request)

    def _max_length(self, source_ids: Sequence[int]) -> int:
        """Return how many tokens an output may have, its end symbol included."""
        return min(len(source_ids) + self.decoding.extra_tokens, self.traits.max_positions or sys.maxsize)

    def translated(self, unit: Unit, hypotheses: Sequence[Hypothesis]) -> TranslatedUnit:
        """Spell what was found for a unit, and look whether it is doubtful."""
        calibration, least = self.traits.calibration.of(unit.direction), self.traits.low_confidence
        return spelled(unit, hypotheses, self.tokenizer, calibration, least)
