"""How good a model is while it trains: loss on the references, BLEU of what it writes itself, a few samples.

Decodes greedily, whatever `decoding.beam_size` says: many times faster, and checkpoints are ranked alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from heedful.config.run import RunConfig
from heedful.config.training import NoRegularizer
from heedful.data.batch import Batch, collate
from heedful.decoding import Decodable
from heedful.evaluation.scores import bleu
from heedful.tasks.translation import Translator, max_positions
from heedful.text.tokenizer import Tokenizer
from heedful.training.loop import Validation
from heedful.training.sequence_loss import sequence_loss


@dataclass(frozen=True)
class ValidationPair:
    """A sentence, its reference, and the language of the reference."""

    source: str
    target: str
    language: str


class Validator:
    """Judges a model on fixed pairs."""

    def __init__(self, config: RunConfig, tokenizer: Tokenizer, pairs: Sequence[ValidationPair]) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.pairs = pairs
        self.batches = _batches(tokenizer, pairs, config.training.batch_tokens)
        self._loss = sequence_loss(label_smoothing=0.0, regularizer=NoRegularizer())

    def __call__(self, model: nn.Module) -> Validation:
        """Judge a model that is in evaluation mode."""
        settings = self.config.validation
        numbers = self._mean_loss(model)
        num_decoded = settings.num_samples if settings.metric == "loss" else settings.max_sentences or len(self.pairs)
        decoded = self.pairs[: max(num_decoded, settings.num_samples)]
        texts = self._translate(model, decoded)
        if settings.metric == "bleu":
            references = [pair.target for pair in decoded]
            numbers["bleu"] = bleu(texts, references, tokenize=settings.bleu_tokenize)
        shown = list(zip(decoded, texts, strict=True))[: settings.num_samples]
        samples = [{"source": pair.source, "translation": text, "reference": pair.target} for pair, text in shown]
        return Validation(numbers, samples)

    def _mean_loss(self, model: nn.Module) -> dict[str, float]:
        device = next(model.parameters()).device
        total = torch.zeros((), dtype=torch.float64, device=device)
        for batch in self.batches:
            total += self._loss(model, batch.to(device)).loss_sum.double()
        loss = total.item() / sum(batch.num_target_tokens for batch in self.batches)
        return {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}

    def _translate(self, model: nn.Module, pairs: Sequence[ValidationPair]) -> list[str]:
        data = self.config.data
        translator = Translator(
            cast(Decodable[Any], model),
            self.tokenizer,
            self.config.decoding,
            source_language=data.source_language,
            target_language=data.target_language,
            device=next(model.parameters()).device,
            max_positions=max_positions(self.config.model),
        )
        if not self.tokenizer.languages:
            return translator.translate([pair.source for pair in pairs], beam_size=1)
        texts = [""] * len(pairs)
        for language in sorted({pair.language for pair in pairs}):
            numbers = [number for number, pair in enumerate(pairs) if pair.language == language]
            sources = [pairs[number].source for number in numbers]
            for number, text in zip(numbers, translator.translate(sources, to=language, beam_size=1), strict=True):
                texts[number] = text
        return texts


def _batches(tokenizer: Tokenizer, pairs: Sequence[ValidationPair], batch_tokens: int) -> list[Batch]:
    """Cut the pairs into batches of similar length within a budget of padded tokens."""
    languages = [pair.language for pair in pairs] if tokenizer.languages else None
    sources = tokenizer.encode_source_batch([pair.source for pair in pairs], languages)
    targets = tokenizer.encode_target_batch([pair.target for pair in pairs])
    order = sorted(range(len(pairs)), key=lambda number: (len(targets[number]), len(sources[number])))
    batches: list[Batch] = []
    rows: list[int] = []
    for number in order:
        longest = max(len(side[row]) for side in (sources, targets) for row in (*rows, number))
        if rows and longest * (len(rows) + 1) > batch_tokens:
            batches.append(_collate(tokenizer, sources, targets, rows))
            rows = []
        rows.append(number)
    return [*batches, _collate(tokenizer, sources, targets, rows)]


def _collate(
    tokenizer: Tokenizer, sources: Sequence[list[int]], targets: Sequence[list[int]], rows: Sequence[int]
) -> Batch:
    return collate(
        [sources[row] for row in rows],
        [targets[row] for row in rows],
        bos_id=tokenizer.bos_id,
        pad_id=tokenizer.pad_id,
    )
