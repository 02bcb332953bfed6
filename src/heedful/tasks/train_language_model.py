"""`heedful train` for language models: from a text to a model folder, as one page of wiring.

Reads the text, learns its symbols, trains on segments with the memory carried from batch to batch, averages checkpoints
and ships the model. Everything that can be wrong with the input is found before the run folder is made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import torch
from torch import nn

from heedful import __version__
from heedful.config.language_modeling import Bytes, LanguageModelRun
from heedful.data.text_stream import SegmentBatch, TextStream, read_train, read_validation
from heedful.errors import UserError, count_of
from heedful.files import JsonValue, remove_folder
from heedful.models.build import build_language_model, count_parameters
from heedful.models.language_model import LanguageModel
from heedful.models.language_model_folder import (
    LanguageModelFolder,
    language_model_card,
    load_language_model_folder,
    save_language_model,
)
from heedful.models.segment_memory import SegmentMemory
from heedful.models.transformer_xl import RelativeLayer, TransformerXL
from heedful.tasks.device import choose_device
from heedful.tasks.environment import describe_environment
from heedful.tasks.folders import find_model_folder
from heedful.tasks.language_modeling import TextModel
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
from heedful.text.symbols import ByteSymbols, SubwordSymbols, Symbols, symbols_from_json
from heedful.training.averaging import average_checkpoints, checkpoints_to_average
from heedful.training.compilation import compile_layers
from heedful.training.display import Display
from heedful.training.journal import Listener, Record, tensorboard_listener
from heedful.training.loop import Run, TrainingTask, Validation, start_state, train
from heedful.training.run_lock import RunLock
from heedful.training.segment_loss import carried_tensors, segment_loss
from heedful.training.state import TrainState

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Texts:
    """What a run reads."""

    symbols: Symbols
    stream: TextStream
    validation: bytes
    num_bytes: int


def train_language_model(
    config: LanguageModelRun, *, display: Display, resume: bool = False, device: str | None = None
) -> TrainingResult:
    """Train as `config` says and return where the model is. `resume` goes on with the run of the same name."""
    chosen = choose_device(device)
    folder = run_folder_of(config)
    check_run_folder(folder, config, resume=resume, say=display.say)
    texts = _prepare(config, folder, display.say)
    model = _new_model(config, texts.symbols)  # the last thing that can be refused: no folder before it
    with RunLock(folder):
        check_run_folder(folder, config, resume=resume, say=lambda _: None)  # another process may have been quicker
        write_run_folder(folder, config, texts.symbols.to_json(), describe_environment())
        display.say(f"Training {count_parameters(model):,} parameters on {chosen}, into {folder}.")
        if config.training.compile:
            compile_layers(model, (RelativeLayer,))
        state = start_state(model.to(chosen), config.training)
        memory = _empty_memory(config, model)
        state.carried = carried_tensors(memory)
        train(state, _task(config, texts, memory, chosen), _run(config, folder, texts.symbols, display))
        model_folder = _ship(config, folder, state, texts)
    return TrainingResult(folder, model_folder, state.step, state.scores)


def find_symbols(config: LanguageModelRun, folder: Path, text: bytes, say: Say) -> Symbols:
    """Return the symbols of a run: those it began with, those of the model it starts from, or new ones."""
    if has_begun(folder):
        return symbols_from_json((folder / TOKENIZER).read_text(encoding="utf-8"))
    if config.training.init_from is not None:
        given = find_model_folder(config.training.init_from)
        say(f"Taking the symbols and the first weights from {given}.")
        return symbols_from_json(load_language_model_folder(given).symbols_json)
    if isinstance(config.tokenizer, Bytes):
        return ByteSymbols()
    lines = text.decode("utf-8", errors="replace").split("\n")
    symbols = SubwordSymbols(learn_tokenizer(config.tokenizer.as_tokenizer(), lines, ()))
    say(f"Learned {count_of(symbols.vocab_size, 'piece')} from the training text.")
    return symbols


def _prepare(config: LanguageModelRun, folder: Path, say: Say) -> _Texts:
    training = config.training
    validation, text = read_validation(config.data), read_train(config.data)
    symbols = find_symbols(config, folder, text, say)
    stream = TextStream(
        symbols.encode(text), num_streams=training.num_streams, segment_len=training.segment_len, seed=config.seed
    )
    say(
        f"{len(text):,} bytes are {len(stream.ids):,} symbols, read at {training.num_streams:,} places at once; "
        f"an epoch has {count_of(stream.num_segments, 'step')} of {training.segment_len} symbols each."
    )
    return _Texts(symbols, stream, validation, len(text))


def _new_model(config: LanguageModelRun, symbols: Symbols) -> TransformerXL | LanguageModel:
    model = build_language_model(
        config.model, vocab_size=symbols.vocab_size, generator=torch.Generator().manual_seed(config.seed)
    )
    if config.training.init_from is not None:
        folder = load_language_model_folder(find_model_folder(config.training.init_from))
        ours, theirs = config.model.model_dump(mode="json"), folder.model.model_dump(mode="json")
        different = [key for key in ours if ours[key] != theirs.get(key) and not key.endswith("dropout")]
        if different:
            name = different[0]
            raise UserError(
                f"`model.{name}` must be {theirs.get(name)!r} as in `training.init_from`, but is {ours[name]!r}. "
                "Copy the model's settings from the config.json of that folder."
            )
        model.load_state_dict(dict(folder.weights), strict=False)  # a shared matrix is stored under its first name only
    return model


def _empty_memory(config: LanguageModelRun, model: TransformerXL | LanguageModel) -> SegmentMemory:
    # What is remembered is only ever read through products, which in bf16 would round it anyway.
    dtype = torch.bfloat16 if config.training.precision == "bf16" else torch.float32
    return model.empty_memory(config.training.num_streams, config.training.memory_len, dtype=dtype)


def _task(
    config: LanguageModelRun, texts: _Texts, memory: SegmentMemory, device: torch.device
) -> TrainingTask[SegmentBatch]:
    loss = segment_loss(memory, label_smoothing=config.training.label_smoothing)
    batches_from = partial(texts.stream.batches_from, pin_memory=device.type == "cuda")
    return TrainingTask(batches_from, loss, partial(_validate, config, texts))


def _validate(config: LanguageModelRun, texts: _Texts, model: nn.Module) -> Validation:
    """Score the validation text and let the model write a little."""
    settings, training = config.validation, config.training
    reading = TextModel(
        model=cast(TransformerXL | LanguageModel, model),
        symbols=texts.symbols,
        segment_len=training.segment_len,
        memory_len=training.memory_len,
        device=next(model.parameters()).device,
    )
    found = reading.score(
        texts.validation,
        memory_len=settings.memory_len,
        segment_len=settings.segment_len,
        rows=settings.num_streams,
        bf16=training.precision == "bf16",
        max_symbols=settings.max_symbols,
    )
    numbers = {"loss": found.loss, "perplexity": found.perplexity, "bits_per_byte": found.bits_per_byte}
    samples: list[Record] = []
    if settings.sample_len:
        written = b"".join(reading.generate(max_tokens=settings.sample_len, seed=config.seed))
        samples.append({"text": written.decode("utf-8", errors="replace")})
    return Validation(numbers, samples)


def _run(config: LanguageModelRun, folder: Path, symbols: Symbols, display: Display) -> Run:
    listeners: list[Listener] = [display.show]
    if config.training.tensorboard:
        listeners.append(tensorboard_listener(folder / "tensorboard"))
    return Run(
        folder=folder,
        training=config.training,
        validation=config.validation,
        seed=config.seed,
        dim=config.model.dim,
        facts={"tokenizer_sha256": symbols.fingerprint},
        listeners=listeners,
        report=display.say,
    )


def _ship(config: LanguageModelRun, folder: Path, state: TrainState, texts: _Texts) -> Path:
    """Average the checkpoints the config asks for and write the model folder, unless it is there already."""
    training, destination = config.training, folder / MODEL
    paths = checkpoints_to_average(
        folder / "checkpoints", training.average, every_steps=training.checkpoint.every_steps, scores=state.scores
    )
    facts: dict[str, JsonValue] = {
        "run": config.name,
        "seed": config.seed,
        "steps": state.step,
        "training bytes": texts.num_bytes,
        "averaged checkpoints": [path.name for path in paths],
        "validation": {str(step): score for step, score in state.scores.items()},
    }
    if destination.exists():
        if load_language_model_folder(destination).facts == facts:
            return destination
        remove_folder(destination)
    weights = average_checkpoints(paths)
    save_language_model(
        destination,
        LanguageModelFolder(
            model=config.model,
            weights={name: weights[name] for name, _ in state.model.named_parameters()},
            symbols_json=texts.symbols.to_json(),
            vocab_size=texts.symbols.vocab_size,
            segment_len=training.segment_len,
            memory_len=training.memory_len,
            card=_card(config, state, texts, len(paths)),
            facts=facts,
        ),
    )
    return destination


def _card(config: LanguageModelRun, state: TrainState, texts: _Texts, num_averaged: int) -> str:
    best = max(state.scores.values(), default=None)
    return language_model_card(
        name=config.name,
        symbols="bytes" if isinstance(texts.symbols, ByteSymbols) else f"{texts.symbols.vocab_size:,} pieces",
        num_parameters=count_parameters(state.model),
        facts={
            "training bytes": f"{texts.num_bytes:,}",
            "steps": f"{state.step:,}",
            "symbols a step": f"{config.training.num_streams * config.training.segment_len:,}",
            "memory": f"{config.training.memory_len:,} positions",
            "seed": str(config.seed),
            "averaged checkpoints": str(num_averaged),
            "best validation loss": "not measured" if best is None else f"{-best:.4f} nats a symbol",
            "Heedful": __version__,
        },
    )
