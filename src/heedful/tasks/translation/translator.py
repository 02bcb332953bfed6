"""Translating text with a loaded model: the `Translator` that `heedful.load` returns.

A text is planned (plan.py: languages, lines, sentences), inputs of similar length are searched together, and the text
is put together again (translated.py), with warnings where it is doubtful. The result for a sentence does not depend on
the others. This file wires the tokenizer, the model and the search; it knows none of them from the inside.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import torch
from torch import Tensor

from heedful.config.training import MAX_BEAM_SIZE, DecodingConfig
from heedful.decoding import Decodable, Hypothesis, Recorder, search
from heedful.errors import UserError
from heedful.models.interfaces import EncoderDecoder
from heedful.tasks.device import within_memory
from heedful.tasks.line_groups import group_lines
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.doubts import LOW_CONFIDENCE, Output, find_warnings
from heedful.tasks.translation.plan import Planner, Unit
from heedful.tasks.translation.translated import Alternative, TranslatedUnit, Translation, assemble_all
from heedful.text.lines import one_line
from heedful.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class _Request:
    """What one call asks of the search."""

    beam_size: int
    n_best: int
    prefix_ids: tuple[int, ...] = ()
    recorder: Recorder | None = None


class Translator:
    """A trained model with its tokenizer, ready to translate."""

    def __init__(
        self,
        model: Decodable[Any],
        tokenizer: Tokenizer,
        decoding: DecodingConfig,
        *,
        source_language: str,
        target_language: str,
        device: torch.device,
        max_positions: int | None = None,
        directions: Directions | None = None,
        low_confidence: float = LOW_CONFIDENCE,
        joined_tokens: int = 0,
        float_twin: Callable[[], EncoderDecoder] | None = None,
    ) -> None:
        """Wire the parts; without `directions` there is one, from the source to the target language.

        Neighbouring sentences of a line are read together up to `joined_tokens`, where the model has learned that.
        `float_twin` makes the model again as one that can be looked into, where `model` is an engine that cannot.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.decoding = decoding
        self.source_language = source_language
        self.target_language = target_language
        self.device = device
        self.directions = directions or Directions([(source_language, target_language)])
        self._max_positions = max_positions
        self._low_confidence = low_confidence
        self._joined_tokens = joined_tokens
        self._float_twin = float_twin
        self._readable: EncoderDecoder | None = model if isinstance(model, EncoderDecoder) else None
        first_bytes = [id_ for value, id_ in enumerate(tokenizer.source.byte_ids) if not 0x80 <= value < 0xC0]
        self._unknown_ids = frozenset({tokenizer.unk_id, *first_bytes})  # one for each character without a piece

    @property
    def target_languages(self) -> tuple[str, ...]:
        """Codes of the languages this model can be asked for."""
        return self.directions.targets

    @property
    def source_languages(self) -> tuple[str, ...]:
        """Codes of the languages this model can translate from."""
        return self.directions.sources

    @overload
    def translate(
        self, text: str, *, to: str | None = None, from_: str | None = None, beam_size: int | None = None
    ) -> str: ...

    @overload
    def translate(
        self, text: list[str], *, to: str | None = None, from_: str | None = None, beam_size: int | None = None
    ) -> list[str]: ...

    def translate(
        self,
        text: str | list[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
    ) -> str | list[str]:
        """Translate a text, or a list of texts into a list; see `translate_detailed` for scores and alternatives."""
        texts = [text] if isinstance(text, str) else text
        translations = self.translate_detailed(texts, to=to, from_=from_, beam_size=beam_size)
        return translations[0].text if isinstance(text, str) else [translation.text for translation in translations]

    def translate_detailed(
        self,
        texts: Sequence[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        n_best: int = 1,
    ) -> list[Translation]:
        """Translate texts, in order, with scores, alternatives and warnings.

        `beam_size` None takes what the model was made with; it is raised to `n_best` when smaller. Up to the beam size
        `n_best` does not change the translation. `from_` None detects the language of each text, where the model knows
        several.
        """
        request = self._request(to, from_, beam_size, n_best)
        plans = self.planner.plan(texts, from_, to)
        return assemble_all(plans, self._translate_units([unit for plan in plans for unit in plan.units], request))

    @property
    def planner(self) -> Planner:
        """What settles languages and units of texts, before anything is translated."""
        return Planner(self.tokenizer, self.directions, self.max_source_tokens(), self._joined_tokens)

    def translate_units(
        self, units: Sequence[Unit], *, beam_size: int | None = None, n_best: int = 1
    ) -> list[TranslatedUnit]:
        """Translate what a plan has cut texts into, in order; the units may belong to different plans."""
        return self._translate_units(units, self._search_request(beam_size, n_best))

    def translate_lines(
        self,
        lines: Iterable[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
    ) -> Iterator[str]:
        """Translate lines as they come: one line in, one line out, each line as soon as no better company is ready."""
        for translation in self.translate_lines_detailed(lines, to=to, from_=from_, beam_size=beam_size):
            yield translation.text

    def translate_lines_detailed(
        self,
        lines: Iterable[str],
        *,
        to: str | None = None,
        from_: str | None = None,
        beam_size: int | None = None,
        n_best: int = 1,
    ) -> Iterator[Translation]:
        """Do what `translate_lines` does, with scores, alternatives and warnings."""
        self._request(to, from_, beam_size, n_best)  # a wrong request is refused before the first line is read
        for group in group_lines(lines):
            yield from self.translate_detailed(group, to=to, from_=from_, beam_size=beam_size, n_best=n_best)

    def hypotheses(
        self,
        source_ids: list[int],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        prefix_ids: Sequence[int] = (),
        recorder: Recorder | None = None,
    ) -> list[Hypothesis]:
        """Search for the translations of one encoded text, best first, by the rules that hold for every text.

        Each of them begins with `prefix_ids`; `recorder` is told about every step of the search.
        """
        request = self._search_request(beam_size, n_best)
        return self._search([source_ids], replace(request, prefix_ids=tuple(prefix_ids), recorder=recorder))[0]

    @property
    def readable_model(self) -> EncoderDecoder:
        """The model as PyTorch modules: itself, or the float twin of an engine, made when it is first asked for."""
        if self._readable is None:
            if self._float_twin is None:
                raise UserError("Only a single model can be looked into, but this one is an ensemble. Load one of it.")
            self._readable = self._float_twin()
        return self._readable

    def with_model(self, model: EncoderDecoder) -> "Translator":
        """Return a translator that is like this one in all but the model."""
        other = copy.copy(self)
        other.model, other._readable, other._float_twin = model, model, None
        return other

    def _request(self, to: str | None, from_: str | None, beam_size: int | None, n_best: int) -> _Request:
        self.directions.check(from_, to)
        return self._search_request(beam_size, n_best)

    def _search_request(self, beam_size: int | None, n_best: int) -> _Request:
        beam = self.decoding.beam_size if beam_size is None else beam_size
        for name, value in (("beam_size", beam), ("n_best", n_best)):
            if not 1 <= value <= MAX_BEAM_SIZE:
                bound = "at least 1" if value < 1 else f"at most {MAX_BEAM_SIZE}"
                raise UserError(f"`{name}` must be {bound}, but is {value:,}.")
        return _Request(max(beam, n_best), n_best)

    def _translate_units(self, units: Sequence[Unit], request: _Request) -> list[TranslatedUnit]:
        """Translate units by their first step, and what comes out of it by the others."""
        found = self._search_all([list(unit.source_ids) for unit in units], request)
        done = [self.translated(unit, hypotheses) for unit, hypotheses in zip(units, found, strict=True)]
        onward = [number for number, unit in enumerate(units) if len(unit.steps) > 1]
        if onward:
            parts_of = self.planner.units(
                [done[number].text for number in onward], [units[number].steps[1:] for number in onward]
            )
            later = iter(self._translate_units([part for parts in parts_of for part in parts], request))
            for number, parts in zip(onward, parts_of, strict=True):
                done[number] = done[number].then([next(later) for _ in parts])
        return done

    def max_source_tokens(self) -> int:
        """Return how many tokens the model reads at once; longer texts are split."""
        limit = self.decoding.max_source_tokens
        return limit if self._max_positions is None else min(limit, self._max_positions)

    def _search_all(self, parts: Sequence[list[int]], request: _Request) -> list[list[Hypothesis]]:
        """Search for every part, neighbours in length together, and give the results in the order of `parts`."""
        results: dict[int, list[Hypothesis]] = {}
        for numbers in _batches_by_length(parts, self.decoding.batch_tokens):
            sources = [parts[number] for number in numbers]
            results |= zip(numbers, within_memory(lambda some: self._search(some, request), sources), strict=True)
        return [results[number] for number in range(len(parts))]

    @torch.inference_mode()
    def _search(self, sources: Sequence[list[int]], request: _Request) -> list[list[Hypothesis]]:
        tokenizer = self.tokenizer
        source_ids, source_mask = _pad(sources, tokenizer.pad_id)
        max_lengths = source_mask.sum(dim=1) + self.decoding.extra_tokens
        if self._max_positions is not None:
            max_lengths = max_lengths.clamp(max=self._max_positions)
        return search(
            self.model,
            source_ids.to(self.device),
            source_mask.to(self.device),
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
            forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id),
            beam_size=request.beam_size,
            length_penalty=self.decoding.length_penalty,
            max_lengths=max_lengths,
            n_best=request.n_best,
            prefix_ids=[request.prefix_ids] * len(sources) if request.prefix_ids else None,
            recorder=request.recorder,
        )

    def translated(self, unit: Unit, hypotheses: Sequence[Hypothesis]) -> TranslatedUnit:
        """Spell what was found for a unit, and look whether it is doubtful."""
        alternatives = tuple(
            Alternative(
                text=one_line(self.tokenizer.decode_target(hypothesis.token_ids)),
                score=hypothesis.score,
                log_prob=hypothesis.log_prob,
                finish_reason=hypothesis.finish_reason,
                tokens=tuple(self._pieces(hypothesis)),
                token_log_probs=tuple(hypothesis.token_log_probs),
            )
            for hypothesis in hypotheses
        )
        output = Output(
            source=unit.text,
            text=alternatives[0].text,
            target_language=unit.steps[0],
            token_log_probs=alternatives[0].token_log_probs,
            finish_reason=alternatives[0].finish_reason,
            num_source_tokens=len(unit.source_ids),
            num_unknown=sum(id_ in self._unknown_ids for id_ in unit.source_ids),
        )
        warnings = tuple(find_warnings(output, low_confidence=self._low_confidence))
        return TranslatedUnit(unit.text, alternatives, warnings)

    def _pieces(self, hypothesis: Hypothesis) -> list[str]:
        """Spell what was written, the end symbol included: it was chosen like every other token."""
        ids = [*hypothesis.token_ids, self.tokenizer.eos_id][: len(hypothesis.token_log_probs)]
        return [self.tokenizer.target_piece(id_) for id_ in ids]


def _pad(sources: Sequence[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Return ids and mask, [batch, source_len] each; the mask is True at real tokens."""
    longest = max(len(source) for source in sources)
    ids = torch.tensor([[*source, *[pad_id] * (longest - len(source))] for source in sources])
    lengths = torch.tensor([len(source) for source in sources])
    return ids, torch.arange(longest) < lengths.unsqueeze(1)


def _batches_by_length(parts: Sequence[list[int]], batch_tokens: int) -> Iterator[list[int]]:
    """Yield the numbers of parts to be searched together, longest first, within a budget of padded tokens."""
    order = sorted(range(len(parts)), key=lambda number: -len(parts[number]))
    start = 0
    while start < len(order):
        rows = max(1, batch_tokens // len(parts[order[start]]))
        yield order[start : start + rows]
        start += rows
