"""How good a model is while it trains: loss on the references, BLEU of what it writes itself, a few samples.

Decodes greedily, whatever `decoding.beam_size` says: many times faster, and checkpoints are ranked alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from heedful.config.translation import TranslationRun
from heedful.data.batch import Batch, collate
from heedful.evaluation.scores import bleu, tokenizer_of
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.families import generator_of, plain_loss_of
from heedful.tasks.translation.translator import Traits, Translator
from heedful.text.tokenizer import Tokenizer
from heedful.training.durability.journal import Record
from heedful.training.job import Validation


@dataclass(frozen=True)
class ValidationPair:
    """A sentence, its reference, and the languages of both."""

    source: str
    target: str
    source_language: str
    target_language: str

    @property
    def direction(self) -> str:
        """Name the direction, as in "en-de"."""
        return f"{self.source_language}-{self.target_language}"


class Validator:
    """Judges a model on fixed pairs, each direction by itself; the score of several is their mean."""

    def __init__(self, config: TranslationRun, tokenizer: Tokenizer, pairs: Sequence[ValidationPair]) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.batches = _batches(tokenizer, pairs, config.training.batch_tokens)
        self.directions: dict[str, list[ValidationPair]] = {}
        for pair in pairs:
            self.directions.setdefault(pair.direction, []).append(pair)

    def validate(self, model: nn.Module) -> Validation:
        """Judge a model that is in evaluation mode."""
        settings = self.config.validation
        numbers = self._mean_loss(model)
        scores: dict[str, float] = {}
        samples: list[Record] = []
        for direction, pairs in self.directions.items():
            wanted = settings.num_samples if settings.metric == "loss" else settings.max_sentences or len(pairs)
            decoded = pairs[: max(wanted, settings.num_samples)]
            texts = self._translate(model, decoded)
            if settings.metric == "bleu":
                tokenize = tokenizer_of(decoded[0].target_language, settings.bleu_tokenize)
                scores[direction] = bleu(texts, [pair.target for pair in decoded], tokenize=tokenize)
            shown = list(zip(decoded, texts, strict=True))[: settings.num_samples]
            samples += [{"source": pair.source, "translation": text, "reference": pair.target} for pair, text in shown]
        if scores:
            numbers["bleu"] = sum(scores.values()) / len(scores)
        if len(scores) > 1:
            numbers |= {f"bleu_{direction}": score for direction, score in scores.items()}
        return Validation(numbers, samples)

    def _mean_loss(self, model: nn.Module) -> dict[str, float]:
        device = next(model.parameters()).device
        total = torch.zeros((), dtype=torch.float64, device=device)
        judged_by = plain_loss_of(model)
        judged_by.eval()
        for batch in self.batches:
            total += judged_by(batch.to(device)).loss_sum.double()
        loss = total.item() / sum(batch.num_items for batch in self.batches)
        return {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}

    def _translate(self, model: nn.Module, pairs: Sequence[ValidationPair]) -> list[str]:
        """Translate the sentences of one direction."""
        translator = Translator(
            generator_of(model),
            self.tokenizer,
            self.config.decoding,
            Directions([(pairs[0].source_language, pairs[0].target_language)]),
            next(model.parameters()).device,
            # Lines are as long as those it learns from.
            Traits(self.config.model.max_positions, joined_tokens=self.config.decoding.max_source_tokens),
        )
        return translator.translate([pair.source for pair in pairs], beam_size=1)


def _batches(tokenizer: Tokenizer, pairs: Sequence[ValidationPair], batch_tokens: int) -> list[Batch]:
    """Cut the pairs into batches of similar length within a budget of padded tokens."""
    languages = [pair.target_language for pair in pairs] if tokenizer.languages else None
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
