"""`heedful train` for classification: from labelled documents to a model folder, as one page of wiring.

Reads the documents, holds some out, learns the tokenizer, and counts n-grams where the model wants them; the rest is
tasks/runs.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn

from heedful.config.classification import ClassificationRun
from heedful.data.batch import LabelledBatch
from heedful.data.labelled import Document, Split, describe_labels, number_labels, read_split
from heedful.data.labelled_batches import LabelledStream, LabelledTokens, labelled_tokens
from heedful.data.stream import prefetch
from heedful.errors import UserError, count_of
from heedful.files import JsonValue
from heedful.models.build import build_classifier
from heedful.models.classifier import ClassifierModel
from heedful.nn.basic_attention import BareAttentionLayer, BasicEncoderLayer
from heedful.nn.layers import EncoderLayer
from heedful.nn.ngrams import NgramCounts
from heedful.storage.cards import classifier_card
from heedful.storage.descriptions import ClassifierDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.classification.classifier import encode_documents
from heedful.tasks.classification.validate import ClassificationValidator
from heedful.tasks.run_folder import TOKENIZER, Say, has_begun
from heedful.tasks.runs import RunContext, check_same_shape
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer
from heedful.training.job import Validation
from heedful.training.losses.labels import ClassificationLoss


@dataclass(frozen=True)
class ClassificationData:
    """All of a run's documents as ids, and what they were made with."""

    tokenizer: Tokenizer
    labels: tuple[str, ...]
    train: LabelledTokens
    validation: LabelledTokens
    validation_documents: list[Document]


@dataclass(frozen=True)
class ClassificationJob:
    """A run that learns labels, ready to be trained."""

    config: ClassificationRun
    data: ClassificationData
    stream: LabelledStream
    loss: ClassificationLoss
    validator: ClassificationValidator
    compiled_layers = (EncoderLayer, BasicEncoderLayer, BareAttentionLayer)

    @classmethod
    def prepare(cls, config: ClassificationRun, context: RunContext) -> Self:
        """Read and tokenise the documents and build the model; every fault of the input shows here."""
        data = prepare_documents(config, context.folder, say=context.say)
        training, pad_id = config.training, data.tokenizer.pad_id
        model = _new_model(config, data, context.say).to(context.device)
        validator = ClassificationValidator(
            data.validation,
            data.validation_documents,
            data.labels,
            batch_tokens=training.batch_tokens,
            pad_id=pad_id,
            num_samples=config.validation.num_samples,
        )
        return cls(
            config,
            data,
            LabelledStream(data.train, batch_tokens=training.batch_tokens, seed=config.seed, pad_id=pad_id),
            ClassificationLoss(model, label_smoothing=training.label_smoothing, regularizer=training.agreement),
            validator,
        )

    @property
    def tokenizer_json(self) -> str:
        """The tokenizer, as the run folder keeps it."""
        return self.data.tokenizer.to_json()

    @property
    def identity(self) -> dict[str, JsonValue]:
        """What a checkpoint must agree with to be gone on from."""
        return {"tokenizer_sha256": self.data.tokenizer.fingerprint, "labels": list(self.data.labels)}

    @property
    def facts(self) -> dict[str, JsonValue]:
        """What is learned from, for the model folder."""
        return {"training documents": len(self.data.train)}

    def batches_from(self, position: int) -> Iterator[LabelledBatch]:
        """Yield all batches from a position on, without end."""
        return prefetch(self.stream, position, pin_memory=self.loss.device.type == "cuda")

    def validate(self, model: nn.Module) -> Validation:
        """Judge the model on the documents held out."""
        return self.validator.validate(model)

    def describe(self, facts: dict[str, JsonValue]) -> ClassifierDescription:
        """Return what the model folder says of the model."""
        return ClassifierDescription(
            labels=self.data.labels,
            vocab_size=self.data.tokenizer.source_vocab_size,
            special_ids=SpecialIds.of(self.data.tokenizer),
            model=self.config.model,
            facts=facts,
        )

    def card(self, weights: Mapping[str, Tensor], summary: Mapping[str, str]) -> str:
        """Return the model card."""
        return classifier_card(self.config.name, self.data.labels, weights, summary)


def prepare_documents(config: ClassificationRun, folder: Path, *, say: Say) -> ClassificationData:
    """Read and divide the documents, find the tokenizer, and turn all text into ids."""
    split = read_split(config.data)
    say(f"Learning from {count_of(len(split.train), 'document')}: {describe_labels(split.train)}.")
    say(f"Validation is on {count_of(len(split.validation), 'document')}: {describe_labels(split.validation)}.")
    tokenizer = find_label_tokenizer(config, folder, split, say)
    train_tokens = _encode(config, tokenizer, split.train, split.labels, say)
    validation = _encode(config, tokenizer, split.validation, split.labels, lambda _: None)
    return ClassificationData(tokenizer, split.labels, train_tokens, validation, split.validation)


def _encode(
    config: ClassificationRun, tokenizer: Tokenizer, documents: list[Document], labels: tuple[str, ...], say: Say
) -> LabelledTokens:
    encoded = encode_documents(tokenizer, config.model, [document.text for document in documents])
    num_long = sum(count > config.model.longest for count in encoded.num_tokens)
    if encoded.num_shortened:
        unread = sum(encoded.num_tokens) - sum(len(ids) for ids in encoded.ids)
        say(
            f"{count_of(num_long, 'document')} of {len(documents):,} longer than {config.model.longest:,} tokens: only "
            f"head and tail are read, {count_of(unread, 'token')} of {sum(encoded.num_tokens):,} are not."
        )
    elif num_long:
        say(f"{count_of(num_long, 'document')} longer than {config.model.longest:,} tokens: read in windows, whole.")
    return labelled_tokens(encoded.ids, number_labels(documents, labels))


def find_label_tokenizer(config: ClassificationRun, folder: Path, split: Split, say: Say) -> Tokenizer:
    """Return the tokenizer of a run: the one it began with, one that was asked for, or a new one."""
    given = config.training.init_from or config.tokenizer.take_from
    if has_begun(folder):
        path = folder / TOKENIZER
    elif given is not None:
        path = Path(given) if Path(given).is_file() else find_model_folder(given, config.task) / TOKENIZER
        say(f"Taking the tokenizer {path}.")
    else:
        tokenizer = learn_tokenizer(config.tokenizer, (document.text for document in split.train), ())
        say(f"Learned {count_of(tokenizer.source_vocab_size, 'piece')} from the training documents.")
        return tokenizer
    tokenizer = Tokenizer.from_json(path.read_text(encoding="utf-8"))
    if tokenizer.languages:
        raise UserError(f"The tokenizer {path} must be one without languages, but has tags for some. Learn a new one.")
    return tokenizer


def _new_model(config: ClassificationRun, data: ClassificationData, say: Say) -> ClassifierModel:
    model = build_classifier(
        config.model,
        vocab_size=data.tokenizer.source_vocab_size,
        num_labels=len(data.labels),
        pad_id=data.tokenizer.pad_id,
        generator=torch.Generator().manual_seed(config.seed),
    )
    if config.model.naive_bayes is not None:
        _count_ngrams(config, model, data, say)
    if config.training.init_from is not None:
        given = load_model_folder(find_model_folder(config.training.init_from, config.task), ClassifierDescription)
        _check_alike(config, data, given.description)
        model.load_state_dict(dict(given.weights))
    return model


def _count_ngrams(config: ClassificationRun, model: ClassifierModel, data: ClassificationData, say: Say) -> None:
    """Fill in what naive Bayes knows of the n-grams before anything is trained."""
    path, settings = model.naive_bayes, config.model.naive_bayes
    assert path is not None
    assert settings is not None
    counts = NgramCounts(len(data.labels))
    pad_id = data.tokenizer.pad_id
    for _, batch in data.train.in_batches(batch_tokens=config.training.batch_tokens, pad_id=pad_id):
        path.count(counts, batch.token_ids, batch.token_ids != pad_id, batch.labels)
    num_known = path.set_ratios(counts, min_count=settings.min_count, smoothing=settings.smoothing)
    say(f"Counted n-grams of up to {settings.up_to} tokens: {num_known:,} are known from now on.")


def _check_alike(config: ClassificationRun, data: ClassificationData, given: ClassifierDescription) -> None:
    """Refuse to pour weights into a model of another shape or with other labels; dropout may differ."""
    if given.labels != data.labels:
        raise UserError(
            f"The labels must be those of `training.init_from`, {', '.join(given.labels)}, "
            f"but are {', '.join(data.labels)}."
        )
    check_same_shape(config.model, given.model)
