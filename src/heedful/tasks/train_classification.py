"""`heedful train` for classification: from labelled documents to a model folder, as one page of wiring.

Reads the documents, holds some out, learns the tokenizer, counts n-grams where the model wants them, trains, averages
checkpoints and ships the model. Everything that can be wrong with the input is found before the run folder is made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from heedful import __version__
from heedful.config.classification import ClassificationRun
from heedful.config.training import NoRegularizer
from heedful.data.labelled import Document, Split, describe_labels, number_labels, read_split
from heedful.data.labelled_batches import LabelledBatch, LabelledStream, LabelledTokens, labelled_tokens
from heedful.data.stream import prefetch
from heedful.errors import UserError, count_of
from heedful.files import JsonValue, remove_folder
from heedful.models.build import build_classifier, count_parameters
from heedful.models.classifier import ClassifierModel
from heedful.models.classifier_folder import (
    ClassifierFolder,
    classifier_card,
    load_classifier_folder,
    save_classifier,
)
from heedful.models.folder import SpecialIds
from heedful.nn.basic_attention import BareAttentionLayer, BasicEncoderLayer
from heedful.nn.layers import EncoderLayer
from heedful.nn.ngrams import NgramCounts
from heedful.tasks.classification import encode_documents
from heedful.tasks.classification_validation import ClassificationValidator
from heedful.tasks.device import choose_device
from heedful.tasks.environment import describe_environment
from heedful.tasks.folders import find_model_folder
from heedful.tasks.run_folder import (
    MODEL,
    TOKENIZER,
    TrainingResult,
    check_run_folder,
    has_begun,
    run_folder_of,
    write_run_folder,
)
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer
from heedful.training.averaging import average_checkpoints, checkpoints_to_average
from heedful.training.classification_loss import classification_loss
from heedful.training.compilation import compile_layers
from heedful.training.display import Display
from heedful.training.journal import Listener, tensorboard_listener
from heedful.training.loop import Run, TrainingTask, start_state, train
from heedful.training.run_lock import RunLock
from heedful.training.state import TrainState

Say = Callable[[str], None]


@dataclass(frozen=True)
class ClassificationData:
    """All of a run's documents as ids, and what they were made with."""

    tokenizer: Tokenizer
    labels: tuple[str, ...]
    train: LabelledTokens
    validation: LabelledTokens
    validation_documents: list[Document]


def train_classification(
    config: ClassificationRun, *, display: Display, resume: bool = False, device: str | None = None
) -> TrainingResult:
    """Train as `config` says and return where the model is. `resume` goes on with the run of the same name."""
    chosen = choose_device(device)
    folder = run_folder_of(config)
    check_run_folder(folder, config, resume=resume, say=display.say)
    data = prepare_documents(config, folder, say=display.say)
    model = _new_model(config, data, display.say)  # the last thing that can be refused: no folder before it
    with RunLock(folder):
        check_run_folder(folder, config, resume=resume, say=lambda _: None)  # another process may have been quicker
        write_run_folder(folder, config, data.tokenizer.to_json(), describe_environment())
        display.say(f"Training {count_parameters(model):,} parameters on {chosen}, into {folder}.")
        state = start_state(model.to(chosen), config.training)
        if config.training.compile:
            compile_layers(model, (EncoderLayer, BasicEncoderLayer, BareAttentionLayer))
        train(state, _task(config, data, pin_memory=chosen.type == "cuda"), _run(config, folder, data, display))
        model_folder = _ship(config, folder, state, data)
    return TrainingResult(folder, model_folder, state.step, state.scores)


def prepare_documents(config: ClassificationRun, folder: Path, *, say: Say) -> ClassificationData:
    """Read and divide the documents, find the tokenizer, and turn all text into ids."""
    split = read_split(config.data)
    say(f"Learning from {count_of(len(split.train), 'document')}: {describe_labels(split.train)}.")
    say(f"Validation is on {count_of(len(split.validation), 'document')}: {describe_labels(split.validation)}.")
    tokenizer = _find_tokenizer(config, folder, split, say)
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


def _find_tokenizer(config: ClassificationRun, folder: Path, split: Split, say: Say) -> Tokenizer:
    """Return the tokenizer of a run: the one it began with, one that was asked for, or a new one."""
    given = config.training.init_from or config.tokenizer.take_from
    if has_begun(folder):
        path = folder / TOKENIZER
    elif given is not None:
        path = Path(given) if Path(given).is_file() else find_model_folder(given) / TOKENIZER
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
        given = load_classifier_folder(find_model_folder(config.training.init_from))
        _check_alike(config, data, given)
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


def _check_alike(config: ClassificationRun, data: ClassificationData, given: ClassifierFolder) -> None:
    """Refuse to pour weights into a model of another shape or with other labels; dropout may differ."""
    if given.labels != data.labels:
        raise UserError(
            f"The labels must be those of `training.init_from`, {', '.join(given.labels)}, "
            f"but are {', '.join(data.labels)}."
        )
    ours, theirs = config.model.model_dump(mode="json"), given.model.model_dump(mode="json")
    different = [name for name in ours if ours[name] != theirs[name] and not name.endswith("dropout")]
    if different:
        name = different[0]
        raise UserError(
            f"`model.{name}` must be {theirs[name]!r} as in `training.init_from`, but is {ours[name]!r}. "
            "Copy the model's settings from the config.json of that folder."
        )


def _task(config: ClassificationRun, data: ClassificationData, *, pin_memory: bool) -> TrainingTask[LabelledBatch]:
    training, pad_id = config.training, data.tokenizer.pad_id
    smoothing, regularizer = training.label_smoothing, training.regularizer
    stream = LabelledStream(data.train, batch_tokens=training.batch_tokens, seed=config.seed, pad_id=pad_id)
    return TrainingTask(
        partial(prefetch, stream, pin_memory=pin_memory),
        classification_loss(label_smoothing=smoothing, regularizer=regularizer),
        ClassificationValidator(
            data.validation,
            data.validation_documents,
            data.labels,
            batch_tokens=training.batch_tokens,
            pad_id=pad_id,
            num_samples=config.validation.num_samples,
        ),
        early_loss=classification_loss(label_smoothing=smoothing, regularizer=NoRegularizer()),
        early_steps=regularizer.after_steps,
    )


def _run(config: ClassificationRun, folder: Path, data: ClassificationData, display: Display) -> Run:
    listeners: list[Listener] = [display.show]
    if config.training.tensorboard:
        listeners.append(tensorboard_listener(folder / "tensorboard"))
    return Run(
        folder=folder,
        training=config.training,
        validation=config.validation,
        seed=config.seed,
        dim=config.model.dim,
        facts={"tokenizer_sha256": data.tokenizer.fingerprint, "labels": list(data.labels)},
        listeners=listeners,
        report=display.say,
    )


def _ship(config: ClassificationRun, folder: Path, state: TrainState, data: ClassificationData) -> Path:
    """Average the checkpoints the config asks for and write the model folder, unless it is there already."""
    training, tokenizer, destination = config.training, data.tokenizer, folder / MODEL
    paths = checkpoints_to_average(
        folder / "checkpoints",
        training.average,
        every_steps=training.checkpoint.every_steps,
        scores=state.scores,
    )
    facts: dict[str, JsonValue] = {
        "run": config.name,
        "seed": config.seed,
        "steps": state.step,
        "training documents": len(data.train),
        "averaged checkpoints": [path.name for path in paths],
        "validation": {str(step): score for step, score in state.scores.items()},
    }
    if destination.exists():
        shipped = load_classifier_folder(destination)
        if shipped.facts == facts and shipped.model == config.model:
            return destination
        remove_folder(destination)
    weights = average_checkpoints(paths)
    special_ids = SpecialIds(pad=tokenizer.pad_id, bos=tokenizer.bos_id, eos=tokenizer.eos_id, unk=tokenizer.unk_id)
    save_classifier(
        destination,
        ClassifierFolder(
            model=config.model,
            weights={name: weights[name] for name, _ in state.model.named_parameters()},
            tokenizer_json=tokenizer.to_json(),
            special_ids=special_ids,
            vocab_size=tokenizer.source_vocab_size,
            labels=data.labels,
            card=_card(config, state, data, len(paths)),
            facts=facts,
        ),
    )
    return destination


def _card(config: ClassificationRun, state: TrainState, data: ClassificationData, num_averaged: int) -> str:
    best = max(state.scores.values(), default=None)
    return classifier_card(
        name=config.name,
        labels=data.labels,
        num_parameters=count_parameters(state.model),
        facts={
            "training documents": f"{len(data.train):,}",
            "steps": f"{state.step:,}",
            "seed": str(config.seed),
            "averaged checkpoints": str(num_averaged),
            f"best validation {config.validation.metric}": "not measured" if best is None else f"{abs(best):.4g}",
            "Heedful": __version__,
        },
    )
