"""`heedful train` for translation: from corpora to a model folder, as one page of wiring.

Reads the corpora, learns the tokenizer and fills the token store; the rest is tasks/runs.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from heedful.config.training import Teacher
from heedful.config.translation import TranslationRun
from heedful.data.batch import Batch
from heedful.data.stream import prefetch
from heedful.errors import UserError
from heedful.files import JsonValue
from heedful.models.build import build_model
from heedful.models.interfaces import EncoderDecoder
from heedful.models.nonautoregressive import ParallelModel
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.storage.cards import translator_card
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import load_model_folder, restore_model
from heedful.tasks.runs import RunContext, check_same_shape
from heedful.tasks.translation.data import TrainingData, direction_of, prepare_data
from heedful.tasks.translation.families import loss_of
from heedful.tasks.translation.learned_text import LEARNED_TEXT
from heedful.tasks.translation.validate import Validator
from heedful.text.tokenizer import Tokenizer
from heedful.training.job import Validation
from heedful.training.losses.loss_module import LossModule


@dataclass(frozen=True)
class TranslationJob:
    """A translation run, ready to be trained."""

    config: TranslationRun
    data: TrainingData
    loss: LossModule[Batch]
    validator: Validator
    compiled_layers = (EncoderLayer, DecoderLayer)

    @classmethod
    def prepare(cls, config: TranslationRun, context: RunContext) -> Self:
        """Read and tokenise the corpora and build the model; every fault of the input shows here."""
        data = prepare_data(config, context.folder, identities=context.identities, say=context.say)
        model = _new_model(config, data.tokenizer).to(context.device)
        loss = loss_of(model, config.training, _teacher(config, data.tokenizer, context.device))
        return cls(config, data, loss, Validator(config, data.tokenizer, data.validation))

    @property
    def tokenizer_json(self) -> str:
        """The tokenizer, as the run folder keeps it."""
        return self.data.tokenizer.to_json()

    @property
    def identity(self) -> dict[str, JsonValue]:
        """What a checkpoint must agree with to be gone on from."""
        return {"tokenizer_sha256": self.data.tokenizer.fingerprint}

    @property
    def facts(self) -> dict[str, JsonValue]:
        """What is learned from, for the model folder."""
        return {
            "training pairs": self.data.num_pairs,
            "decoding": self.config.decoding.model_dump(mode="json"),
            LEARNED_TEXT: self.data.learned_text,
        }

    def batches_from(self, position: int) -> Iterator[Batch]:
        """Yield all batches from a position on, without end."""
        return prefetch(self.data.stream, position, pin_memory=self.loss.device.type == "cuda")

    def validate(self, model: nn.Module) -> Validation:
        """Judge the model on the validation pairs."""
        return self.validator.validate(model)

    def describe(self, facts: dict[str, JsonValue]) -> TranslatorDescription:
        """Return what the model folder says of the model."""
        config, tokenizer = self.config, self.data.tokenizer
        return TranslatorDescription(
            source_language=config.data.source_language,
            target_language=config.data.target_language,
            languages=tokenizer.languages,
            directions=tuple(dict.fromkeys(direction_of(corpus, config.data) for corpus in config.data.train)),
            source_vocab_size=tokenizer.source_vocab_size,
            target_vocab_size=tokenizer.target_vocab_size,
            special_ids=SpecialIds.of(tokenizer),
            model=config.model,
            decoding=config.decoding,
            facts=facts,
        )

    def card(self, weights: Mapping[str, Tensor], summary: Mapping[str, str]) -> str:
        """Return the model card."""
        data = self.config.data
        languages = self.data.tokenizer.languages or (data.target_language,)
        return translator_card(
            self.config.name, self.config.model.family, data.source_language, languages, weights, summary
        )


def _new_model(config: TranslationRun, tokenizer: Tokenizer) -> EncoderDecoder:
    model = build_model(
        config.model,
        source_vocab_size=tokenizer.source_vocab_size,
        target_vocab_size=tokenizer.target_vocab_size,
        pad_id=tokenizer.pad_id,
        generator=torch.Generator().manual_seed(config.seed),
    )
    if config.training.init_from is not None:
        folder = load_model_folder(find_model_folder(config.training.init_from), TranslatorDescription)
        check_same_shape(config.model, folder.description.model)
        model.load_state_dict(folder.weights, strict=False)  # a shared matrix is stored under its first name only
    return model


def _teacher(config: TranslationRun, tokenizer: Tokenizer, device: torch.device) -> EncoderDecoder | None:
    """Load the teacher of the run's regulariser, where it has one; it must read and write the same tokens."""
    regularizer = config.training.regularizer
    if not isinstance(regularizer, Teacher):
        return None
    folder = load_model_folder(find_model_folder(regularizer.model), TranslatorDescription)
    if folder.tokenizer_json != tokenizer.to_json():
        raise UserError(
            f"The teacher {regularizer.model} must have the tokenizer of the run, but has another. "
            f'Take its own: tokenizer.take_from="{regularizer.model}".'
        )
    teacher = restore_model(folder)
    if isinstance(teacher, ParallelModel):
        raise UserError(f"The teacher {regularizer.model} must write step by step, but writes all positions at once.")
    return teacher.to(device).eval().requires_grad_(False)
