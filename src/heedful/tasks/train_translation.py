"""`heedful train` for translation: from corpora to a model folder, as one page of wiring.

Reads the corpora, learns the tokenizer, fills the token store, trains, averages checkpoints and ships the model.
Everything that can be wrong with the input is found before the run folder is made, so a typing error leaves nothing
behind.
"""

from pathlib import Path

import torch

from heedful import __version__
from heedful.config.run import RunConfig
from heedful.config.training import NoRegularizer
from heedful.data.batch import Batch
from heedful.errors import UserError
from heedful.files import JsonValue, remove_folder
from heedful.models.build import build_model, count_parameters
from heedful.models.folder import ModelFolder, SpecialIds, load_model_folder, model_card, save_model_folder
from heedful.models.transformer import Transformer
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.tasks.device import choose_device
from heedful.tasks.environment import describe_environment
from heedful.tasks.folders import find_model_folder
from heedful.tasks.run_folder import MODEL, TrainingResult, check_run_folder, run_folder_of, write_run_folder
from heedful.tasks.training_data import TrainingData, direction_of, prepare_data
from heedful.tasks.validation import Validator
from heedful.text.tokenizer import Tokenizer
from heedful.training.averaging import average_checkpoints, checkpoints_to_average
from heedful.training.compilation import compile_layers
from heedful.training.display import Display
from heedful.training.journal import Listener, tensorboard_listener
from heedful.training.loop import Run, TrainingTask, start_state, train
from heedful.training.run_lock import RunLock
from heedful.training.sequence_loss import sequence_loss
from heedful.training.state import TrainState


def train_translation(
    config: RunConfig, *, display: Display, resume: bool = False, device: str | None = None
) -> TrainingResult:
    """Train as `config` says and return where the model is. `resume` goes on with the run of the same name."""
    chosen = choose_device(device)
    folder = run_folder_of(config)
    check_run_folder(folder, config, resume=resume, say=display.say)
    data = prepare_data(config, folder, pin_memory=chosen.type == "cuda", say=display.say)
    model = _new_model(config, data.tokenizer)  # the last thing that can be refused: no folder before it
    with RunLock(folder):
        check_run_folder(folder, config, resume=resume, say=lambda _: None)  # another process may have been quicker
        write_run_folder(folder, config, data.tokenizer.to_json(), describe_environment())
        display.say(f"Training {count_parameters(model):,} parameters on {chosen}, into {folder}.")
        state = start_state(model.to(chosen), config.training)
        if config.training.compile:
            compile_layers(model, (EncoderLayer, DecoderLayer))
        train(state, _task(config, data), _run(config, folder, data.tokenizer, display))
        model_folder = _ship(config, folder, state, data)
    return TrainingResult(folder, model_folder, state.step, state.scores)


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
        _check_same_shape(config, folder)
        model.load_state_dict(folder.weights, strict=False)  # a shared matrix is stored under its first name only
    return model


def _check_same_shape(config: RunConfig, folder: ModelFolder) -> None:
    """Refuse to pour weights into a model of another shape; dropout may differ."""
    ours, theirs = config.model.model_dump(mode="json"), folder.model.model_dump(mode="json")
    different = [name for name in ours if ours[name] != theirs[name] and not name.endswith("dropout")]
    if different:
        name = different[0]
        raise UserError(
            f"`model.{name}` must be {theirs[name]!r} as in `training.init_from`, but is {ours[name]!r}. "
            "Copy the model's settings from the config.json of that folder."
        )


def _task(config: RunConfig, data: TrainingData) -> TrainingTask[Batch]:
    smoothing, regularizer = config.training.label_smoothing, config.training.regularizer
    return TrainingTask(
        data.batches_from,
        sequence_loss(label_smoothing=smoothing, regularizer=regularizer),
        Validator(config, data.tokenizer, data.validation),
        early_loss=sequence_loss(label_smoothing=smoothing, regularizer=NoRegularizer()),
        early_steps=regularizer.after_steps,
    )


def _run(config: RunConfig, folder: Path, tokenizer: Tokenizer, display: Display) -> Run:
    listeners: list[Listener] = [display.show]
    if config.training.tensorboard:
        listeners.append(tensorboard_listener(folder / "tensorboard"))
    return Run(
        folder=folder,
        training=config.training,
        validation=config.validation,
        seed=config.seed,
        dim=config.model.dim,
        facts={"tokenizer_sha256": tokenizer.fingerprint},
        listeners=listeners,
        report=display.say,
    )


def _ship(config: RunConfig, folder: Path, state: TrainState, data: TrainingData) -> Path:
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
        "training pairs": data.num_pairs,
        "averaged checkpoints": [path.name for path in paths],
        "validation": {str(step): score for step, score in state.scores.items()},
        "decoding": config.decoding.model_dump(mode="json"),
    }
    if destination.exists():
        if load_model_folder(destination).facts == facts:
            return destination
        remove_folder(destination)
    weights = average_checkpoints(paths)
    save_model_folder(
        destination,
        ModelFolder(
            model=config.model,
            weights={name: weights[name] for name, _ in state.model.named_parameters()},
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
            card=_card(config, state, data, len(paths)),
            facts=facts,
        ),
    )
    return destination


def _card(config: RunConfig, state: TrainState, data: TrainingData, num_averaged: int) -> str:
    best = max(state.scores.values(), default=None)
    metric = config.validation.metric
    shown = "not measured" if best is None else f"{abs(best):.4g}"
    return model_card(
        name=config.name,
        source_language=config.data.source_language,
        target_languages=data.tokenizer.languages or (config.data.target_language,),
        num_parameters=count_parameters(state.model),
        facts={
            "training pairs": f"{data.num_pairs:,}",
            "steps": f"{state.step:,}",
            "seed": str(config.seed),
            "averaged checkpoints": str(num_averaged),
            f"best validation {metric}": shown,
            "Heedful": __version__,
        },
    )
