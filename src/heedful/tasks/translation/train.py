"""`heedful train` for translation: from corpora to a model folder, as one page of wiring.

Reads the corpora, learns the tokenizer and fills the token store; the rest is tasks/runs.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import nn

from heedful.config.translation import RunConfig
from heedful.data.batch import Batch
from heedful.data.stream import prefetch
from heedful.files import JsonValue
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import ModelFolder, SpecialIds, load_model_folder, model_card, save_model_folder
from heedful.tasks.run_folder import TrainingResult
from heedful.tasks.runs import RunContext, TrainedModel, check_same_shape, run_training
from heedful.tasks.translation.data import TrainingData, direction_of, prepare_data
from heedful.tasks.translation.learned_text import LEARNED_TEXT
from heedful.tasks.translation.validate import Validator
from heedful.text.tokenizer import Tokenizer
from heedful.training.display import Display
from heedful.training.job import Validation
from heedful.training.losses.sequence import SequenceLoss


@dataclass(frozen=True)
class TranslationJob:
    """A translation run, ready to be trained."""

    config: RunConfig
    data: TrainingData
    loss: SequenceLoss
    validator: Validator
    compiled_layers = (EncoderLayer, DecoderLayer)

    @classmethod
    def prepare(cls, config: RunConfig, context: RunContext) -> Self:
        """Read and tokenise the corpora and build the model; every fault of the input shows here."""
        data = prepare_data(config, context.folder, identities=context.identities, say=context.say)
        training = config.training
        model = _new_model(config, data.tokenizer).to(context.device)
        loss = SequenceLoss(model, label_smoothing=training.label_smoothing, regularizer=training.regularizer)
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

    def save(self, folder: Path, trained: TrainedModel) -> None:
        """Write the model folder."""
        config, tokenizer = self.config, self.data.tokenizer
        save_model_folder(
            folder,
            ModelFolder(
                model=config.model,
                weights=trained.weights,
                tokenizer_json=tokenizer.to_json(),
                special_ids=SpecialIds(
                    pad=tokenizer.pad_id, bos=tokenizer.bos_id, eos=tokenizer.eos_id, unk=tokenizer.unk_id
                ),
                source_vocab_size=tokenizer.source_vocab_size,
                target_vocab_size=tokenizer.target_vocab_size,
                source_language=config.data.source_language,
                target_language=config.data.target_language,
                languages=tokenizer.languages,
                directions=tuple(dict.fromkeys(direction_of(corpus, config.data) for corpus in config.data.train)),
                decoding=config.decoding,
                card=model_card(
                    name=config.name,
                    source_language=config.data.source_language,
                    target_languages=tokenizer.languages or (config.data.target_language,),
                    num_parameters=trained.num_parameters,
                    facts=trained.summary,
                ),
                facts=trained.facts,
            ),
        )

    def load(self, folder: Path) -> ModelFolder:
        """Read a model folder back."""
        return load_model_folder(folder)


def train_translation(
    config: RunConfig, *, display: Display, resume: bool = False, device: str | None = None
) -> TrainingResult:
    """Train as `config` says and return where the model is. `resume` goes on with the run of the same name."""
    return run_training(config, TranslationJob.prepare, display=display, resume=resume, device=device)


def _new_model(config: RunConfig, tokenizer: Tokenizer) -> Transformer:
    model = build_model(
        config.model,
        source_vocab_size=tokenizer.source_vocab_size,
        target_vocab_size=tokenizer.target_vocab_size,
        pad_id=tokenizer.pad_id,
        generator=torch.Generator().manual_seed(config.seed),
    )
    if config.training.init_from is not None:
        folder = load_model_folder(find_model_folder(config.training.init_from))
        check_same_shape(config.model, folder.model)
        model.load_state_dict(folder.weights, strict=False)  # a shared matrix is stored under its first name only
    return model
