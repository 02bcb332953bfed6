"""Translating text with a loaded model: the `Translator` that `heedful.load` returns.

Text is encoded, over-long inputs are split at sentence ends, inputs of similar length are searched together, and the
parts come back as text in the order they were given. The result for a sentence does not depend on the others.
This file wires the tokenizer, the model and the search; it knows none of them from the inside.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor

from heedful.config.model import LearnedPositions, TransformerConfig
from heedful.config.training import DecodingConfig
from heedful.decoding import Decodable, FinishReason, Hypothesis, search
from heedful.errors import UserError
from heedful.tasks.long_inputs import join_parts, split_long
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
    """The pieces the text is made of."""


@dataclass(frozen=True)
class Translation:
    """The translation of one input."""

    source: str
    alternatives: tuple[Alternative, ...]
    """As many outputs as `n_best` asked for and the search found, best first; the first is the translation."""

    warnings: tuple[str, ...] = ()
    """What the user should know about this one, as sentences."""

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

    language: str | None
    beam_size: int
    n_best: int


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
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.decoding = decoding
        self.source_language = source_language
        self.target_language = target_language
        self.device = device
        self._max_positions = max_positions

    @property
    def target_languages(self) -> tuple[str, ...]:
        """Codes of the languages this model can be asked for."""
        return self.tokenizer.languages or (self.target_language,)

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

        `beam_size` None takes what the model was made with; it is raised to `n_best` when smaller.
        """
        request = self._request(to, from_, beam_size, n_best)
        texts = [_clean(text) for text in texts]
        parts_of = split_long(self.tokenizer, texts, request.language, self._max_source_tokens())
        parts = [part for parts in parts_of for part in parts]
        found = iter(self._search_all(parts, request))
        return [
            self._assemble(text, [next(found) for _ in parts], request)
            for text, parts in zip(texts, parts_of, strict=True)
        ]

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

    def _request(self, to: str | None, from_: str | None, beam_size: int | None, n_best: int) -> _Request:
        if from_ not in (None, self.source_language):
            raise UserError(f'This model translates from "{self.source_language}", but was asked to from "{from_}".')
        if to is not None and to not in self.target_languages:
            known = ", ".join(f'"{language}"' for language in self.target_languages)
            raise UserError(f'This model translates into {known}, but was asked for "{to}".')
        beam = self.decoding.beam_size if beam_size is None else beam_size
        for name, value in (("beam_size", beam), ("n_best", n_best)):
            if value < 1:
                raise UserError(f"`{name}` must be at least 1, but is {value}.")
        language = (to or self._default_tag()) if self.tokenizer.languages else None
        return _Request(language, max(beam, n_best), n_best)

    def _default_tag(self) -> str:
        if self.target_language in self.tokenizer.languages:
            return self.target_language
        known = ", ".join(f'"{language}"' for language in self.tokenizer.languages)
        raise UserError(f"The target language must be said, because this model knows several: {known}.")

    def _max_source_tokens(self) -> int:
        limit = self.decoding.max_source_tokens
        return limit if self._max_positions is None else min(limit, self._max_positions)

    def _search_all(self, parts: Sequence[list[int]], request: _Request) -> list[list[Hypothesis]]:
        """Search for every part, neighbours in length together, and give the results in the order of `parts`."""
        results: list[list[Hypothesis]] = [[] for _ in parts]
        for numbers in _batches_by_length(parts, self.decoding.batch_tokens):
            hypotheses = self._search([parts[number] for number in numbers], request)
            for number, found in zip(numbers, hypotheses, strict=True):
                results[number] = found
        return results

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
        )

    def _assemble(self, source: str, found: list[list[Hypothesis]], request: _Request) -> Translation:
        """Join the parts of one input: alternative k is made of each part's k-th, or its last when it has fewer."""
        if not found:
            return Translation(source, (Alternative("", 0.0, 0.0, "eos", ()),))
        num_alternatives = min(request.n_best, max(len(part) for part in found))
        ranked = [[part[min(rank, len(part) - 1)] for part in found] for rank in range(num_alternatives)]
        alternatives = tuple(self._join(chosen) for chosen in ranked)
        return Translation(source, alternatives, tuple(_warnings(alternatives[0], len(found))))

    def _join(self, chosen: list[Hypothesis]) -> Alternative:
        reasons = [hypothesis.finish_reason for hypothesis in chosen]
        reason: FinishReason = "error" if "error" in reasons else "length" if "length" in reasons else "eos"
        return Alternative(
            text=one_line(join_parts([self.tokenizer.decode_target(hypothesis.token_ids) for hypothesis in chosen])),
            score=sum(hypothesis.score for hypothesis in chosen) / len(chosen),
            log_prob=sum(hypothesis.log_prob for hypothesis in chosen),
            finish_reason=reason,
            tokens=tuple(self.tokenizer.target_piece(i) for hypothesis in chosen for i in hypothesis.token_ids),
        )


def max_positions(config: TransformerConfig) -> int | None:
    """Return how many positions a model has, None when any number."""
    return config.positions.max_len if isinstance(config.positions, LearnedPositions) else None


def _clean(text: str) -> str:
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


def _warnings(best: Alternative, num_parts: int) -> Iterator[str]:
    if num_parts > 1:
        yield f"the input was longer than the model reads at once and was translated in {num_parts} parts."
    if best.finish_reason == "length":
        yield "the translation was cut at the length cap (`decoding.extra_tokens`)."
    if best.finish_reason == "error":
        yield "the model's output was not a number, and the translation may be incomplete."
