"""Translating text with a loaded model: the `Translator` that `heedful.load` returns.

Languages are settled, text is encoded, over-long inputs are split at sentence ends, inputs of similar length are
searched together, and the parts come back as text in the order they were given, with warnings where they are doubtful.
The result for a sentence does not depend on the others.
This file wires the tokenizer, the model and the search; it knows none of them from the inside.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import torch
from torch import Tensor

from heedful.config.model import LearnedPositions, TransformerConfig
from heedful.config.training import DecodingConfig
from heedful.decoding import Decodable, FinishReason, Hypothesis, Recorder, search
from heedful.errors import UserError
from heedful.models.transformer import Transformer
from heedful.tasks.device import within_memory
from heedful.tasks.directions import Directions, Route
from heedful.tasks.long_inputs import join_parts, split_long
from heedful.tasks.output_warnings import LOW_CONFIDENCE, Output, OutputWarning, find_warnings
from heedful.tasks.streaming import group_lines
from heedful.text.lines import one_line
from heedful.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Alternative:
    """One output of the search for an input."""

    text: str
    score: float
    """Log-probability divided by the length penalty; the mean over the parts of a split input."""

    log_prob: float
    """Logarithm of the probability; the sum over the parts of a split input."""

    finish_reason: FinishReason
    tokens: tuple[str, ...]
    """The pieces the text is made of, and the end symbol where the model wrote it: after each part of a split input."""

    token_log_probs: tuple[float, ...] = ()
    """One for each of `tokens`; their sum is `log_prob`."""


@dataclass(frozen=True)
class Translation:
    """The translation of one input."""

    source: str
    alternatives: tuple[Alternative, ...]
    """As many outputs as `n_best` asked for and the search found, best first; the first is the translation."""

    warnings: tuple[OutputWarning, ...] = ()
    """What the user should know about this one: a stable code and a sentence each."""

    source_language: str | None = None
    """As given or detected; None for an empty text."""

    source_confidence: float | None = None
    """How sure the detection is, from 0 to 1; None when nothing had to be detected."""

    target_language: str | None = None

    @property
    def text(self) -> str:
        """The translation."""
        return self.alternatives[0].text

    @property
    def score(self) -> float:
        """The score of the translation; see `Alternative`."""
        return self.alternatives[0].score


@dataclass(frozen=True)
class _Request:
    """What one call asks of the search."""

    beam_size: int
    n_best: int
    prefix_ids: tuple[int, ...] = ()
    recorder: Recorder | None = None


@dataclass(frozen=True)
class _Draft:
    """What has been made of one input so far."""

    alternatives: tuple[Alternative, ...]
    warnings: tuple[OutputWarning, ...] = ()

    @classmethod
    def of(cls, text: str) -> "_Draft":
        """Begin with the text as it is."""
        return cls((Alternative(text, 0.0, 0.0, "eos", ()),))

    def then(self, later: "_Draft") -> "_Draft":
        """Let a translation of this one take its place; what was doubtful stays so."""
        codes = {warning.code for warning in self.warnings}
        return _Draft(later.alternatives, self.warnings + tuple(w for w in later.warnings if w.code not in codes))


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
        float_twin: Callable[[], Transformer] | None = None,
    ) -> None:
        """Wire the parts; without `directions` there is one, from the source to the target language.

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
        self._float_twin = float_twin
        self._readable: Transformer | None = model if isinstance(model, Transformer) else None
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

        `beam_size` None takes what the model was made with; it is raised to `n_best` when smaller. `from_` None detects
        the language of each text, where the model knows several.
        """
        request = self._request(to, from_, beam_size, n_best)
        texts = [clean_text(text) for text in texts]
        routes = [self.directions.route(text, from_, to) for text in texts]
        drafts = [_Draft.of(text) for text in texts]
        for step in range(max((len(route.steps) for route in routes), default=0)):
            numbers = [number for number, route in enumerate(routes) if len(route.steps) > step]
            made = self._translate_into(
                [drafts[number].alternatives[0].text for number in numbers],
                [routes[number].steps[step] for number in numbers],
                request,
            )
            for number, draft in zip(numbers, made, strict=True):
                drafts[number] = drafts[number].then(draft)
        return [_translation(*parts) for parts in zip(texts, routes, drafts, strict=True)]

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
    def readable_model(self) -> Transformer:
        """The model as PyTorch modules: itself, or the float twin of an engine, made when it is first asked for."""
        if self._readable is None:
            if self._float_twin is None:
                raise UserError("Only a single model can be looked into, but this one is an ensemble. Load one of it.")
            self._readable = self._float_twin()
        return self._readable

    def with_model(self, model: Transformer) -> "Translator":
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
            if value < 1:
                raise UserError(f"`{name}` must be at least 1, but is {value}.")
        return _Request(max(beam, n_best), n_best)

    def _translate_into(self, texts: Sequence[str], languages: Sequence[str], request: _Request) -> list[_Draft]:
        """Translate texts, each into its language."""
        tags = languages if self.tokenizer.languages else None
        parts_of = split_long(self.tokenizer, texts, tags, self.max_source_tokens())
        found = iter(self._search_all([part for parts in parts_of for part in parts], request))
        return [
            self._assemble(text, language, parts, [next(found) for _ in parts], request)
            for text, language, parts in zip(texts, languages, parts_of, strict=True)
        ]

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

    def _assemble(
        self, source: str, language: str, parts: list[list[int]], found: list[list[Hypothesis]], request: _Request
    ) -> _Draft:
        """Join the parts of one input: alternative k is made of each part's k-th, or its last when it has fewer."""
        if not found:
            return _Draft.of("")
        num_alternatives = min(request.n_best, max(len(part) for part in found))
        ranked = [[part[min(rank, len(part) - 1)] for part in found] for rank in range(num_alternatives)]
        alternatives = tuple(self._join(chosen) for chosen in ranked)
        best = alternatives[0]
        output = Output(
            source=source,
            text=best.text,
            target_language=language,
            token_log_probs=best.token_log_probs,
            finish_reason=best.finish_reason,
            num_source_tokens=sum(len(part) for part in parts),
            num_parts=len(parts),
            num_unknown=sum(id_ in self._unknown_ids for part in parts for id_ in part),
        )
        return _Draft(alternatives, tuple(find_warnings(output, low_confidence=self._low_confidence)))

    def _join(self, chosen: list[Hypothesis]) -> Alternative:
        reasons = [hypothesis.finish_reason for hypothesis in chosen]
        reason: FinishReason = "error" if "error" in reasons else "length" if "length" in reasons else "eos"
        return Alternative(
            text=one_line(join_parts([self.tokenizer.decode_target(hypothesis.token_ids) for hypothesis in chosen])),
            score=sum(hypothesis.score for hypothesis in chosen) / len(chosen),
            log_prob=sum(hypothesis.log_prob for hypothesis in chosen),
            finish_reason=reason,
            tokens=tuple(piece for hypothesis in chosen for piece in self._pieces(hypothesis)),
            token_log_probs=tuple(value for hypothesis in chosen for value in hypothesis.token_log_probs),
        )

    def _pieces(self, hypothesis: Hypothesis) -> list[str]:
        """Spell what was written, the end symbol included: it was chosen like every other token."""
        ids = [*hypothesis.token_ids, self.tokenizer.eos_id][: len(hypothesis.token_log_probs)]
        return [self.tokenizer.target_piece(id_) for id_ in ids]


def max_positions(config: TransformerConfig) -> int | None:
    """Return how many positions a model has, None when any number."""
    return config.positions.max_len if isinstance(config.positions, LearnedPositions) else None


def clean_text(text: str) -> str:
    """Take away what cannot be encoded as UTF-8 (lone surrogates), and let blank text be empty."""
    text = text.encode("utf-8", errors="replace").decode("utf-8")
    return text if text.strip() else ""


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


def left_as_it_is(text: str, route: Route) -> Translation:
    """Say of a text that it was not translated, and why."""
    return _translation(text, route, _Draft.of(text))


def _translation(text: str, route: Route, draft: _Draft) -> Translation:
    """Say what became of a text: how it was translated, then what is doubtful about it."""
    warnings = draft.warnings
    if len(route.steps) > 1:
        untrained = f'the model was not trained from "{route.source}" to "{route.target}"'
        message = f'{untrained}, so the text was translated through "{route.steps[0]}".'
        warnings = (OutputWarning("pivot", message), *warnings)
    if text and route.is_unknown:
        remedy = "Say the language with --from to translate it anyway."
        message = f"the text {route.found}, and was left as it is. {remedy}"
        warnings = (OutputWarning("unknown_language", message), *warnings)
    elif text and not route.steps:
        message = f'the text is in "{route.target}" already and was left as it is.'
        warnings = (OutputWarning("unchanged", message), *warnings)
    alternatives = draft.alternatives if route.steps else _Draft.of(one_line(text)).alternatives
    return Translation(text, alternatives, warnings, route.source, route.confidence, route.target)
