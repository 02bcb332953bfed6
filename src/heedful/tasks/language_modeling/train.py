"""`heedful train` for language models: from a text to a model folder, as one page of wiring.

Reads the text and learns its symbols; the memory is carried from batch to batch; the rest is tasks/runs.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import torch
from torch import Tensor, nn

from heedful.config.language_modeling import Bytes, LanguageModelRun
from heedful.data.batch import SegmentBatch
from heedful.data.text_encoding import encode_texts
from heedful.data.text_stream import TextStream, read_train, read_validation
from heedful.errors import count_of
from heedful.files import JsonValue
from heedful.models.build import TextReader, build_language_model
from heedful.models.transformer_xl import RelativeLayer
from heedful.storage.cards import language_model_card
from heedful.storage.descriptions import LanguageModelDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import load_model_folder
from heedful.tasks.folder_tokenizers import language_model_symbols
from heedful.tasks.language_modeling.model import TextModel
from heedful.tasks.run_folder import TOKENIZER, Say, has_begun
from heedful.tasks.runs import RunContext, check_same_shape
from heedful.text.learning import learn_tokenizer
from heedful.text.symbols import ByteSymbols, Ids, SubwordSymbols, Symbols, symbols_from_json
from heedful.training.durability.journal import Record
from heedful.training.job import Validation
from heedful.training.losses.segment import SegmentLoss


@dataclass(frozen=True)
class _Texts:
    """What a run reads."""

    symbols: Symbols
    stream: TextStream
    validation: bytes
    num_bytes: int


@dataclass(frozen=True)
class LanguageModelJob:
    """A run that learns what comes next, ready to be trained."""

    config: LanguageModelRun
    texts: _Texts
    loss: SegmentLoss
    compiled_layers = (RelativeLayer,)

    @classmethod
    def prepare(cls, config: LanguageModelRun, context: RunContext) -> Self:
        """Read the texts and build the model; every fault of the input shows here."""
        texts = _read_texts(config, context.folder, context.say)
        training = config.training
        model = _new_model(config, texts.symbols).to(context.device)
        # What is remembered is only ever read through products, which in bf16 would round it anyway.
        dtype = torch.bfloat16 if training.precision == "bf16" else torch.float32
        memory = model.empty_memory(training.num_streams, training.memory_len, dtype=dtype)
        return cls(config, texts, SegmentLoss(model, memory, label_smoothing=training.label_smoothing))

    @property
    def tokenizer_json(self) -> str:
        """The symbols, as the run folder keeps them."""
        return self.texts.symbols.to_json()

    @property
    def identity(self) -> dict[str, JsonValue]:
        """What a checkpoint must agree with to be gone on from."""
        return {"tokenizer_sha256": self.texts.symbols.fingerprint}

    @property
    def facts(self) -> dict[str, JsonValue]:
        """What is learned from, for the model folder."""
        training = self.config.training
        return {
            "training bytes": self.texts.num_bytes,
            "symbols a step": training.num_streams * training.segment_len,
            "positions remembered": training.memory_len,
        }

    def batches_from(self, position: int) -> Iterator[SegmentBatch]:
        """Yield all batches from a position on, without end."""
        return self.texts.stream.batches_from(position, pin_memory=self.loss.device.type == "cuda")

    def validate(self, model: nn.Module) -> Validation:
        """Score the validation text and let the model write a little."""
        config, texts = self.config, self.texts
        settings, training = config.validation, config.training
        reading = TextModel(
            model=cast(TextReader, model),
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

    def describe(self, facts: dict[str, JsonValue]) -> LanguageModelDescription:
        """Return what the model folder says of the model."""
        training = self.config.training
        return LanguageModelDescription(
            vocab_size=self.texts.symbols.vocab_size,
            segment_len=training.segment_len,
            memory_len=training.memory_len,
            model=self.config.model,
            facts=facts,
        )

    def card(self, weights: Mapping[str, Tensor], summary: Mapping[str, str]) -> str:
        """Return the model card."""
        symbols = self.texts.symbols
        in_words = "bytes" if isinstance(symbols, ByteSymbols) else f"{symbols.vocab_size:,} pieces"
        return language_model_card(self.config.name, in_words, weights, summary)


def find_symbols(config: LanguageModelRun, folder: Path, text: bytes, say: Say) -> Symbols:
    """Return the symbols of a run: those it began with, those of the model it starts from, or new ones."""
    if has_begun(folder):
        return symbols_from_json((folder / TOKENIZER).read_text(encoding="utf-8"))
    if config.training.init_from is not None:
        given = find_model_folder(config.training.init_from, config.task)
        say(f"Taking the symbols and the first weights from {given}.")
        return language_model_symbols(load_model_folder(given, LanguageModelDescription))
    if isinstance(config.tokenizer, Bytes):
        return ByteSymbols()
    lines = text.decode("utf-8", errors="replace").split("\n")
    symbols = SubwordSymbols(learn_tokenizer(config.tokenizer.as_tokenizer(), lines, ()))
    say(f"Learned {count_of(symbols.vocab_size, 'piece')} from the training text.")
    return symbols


def _read_texts(config: LanguageModelRun, folder: Path, say: Say) -> _Texts:
    training = config.training
    validation, text = read_validation(config.data), read_train(config.data)
    symbols = find_symbols(config, folder, text, say)
    stream = TextStream(
        encode_text(symbols, text), num_streams=training.num_streams, segment_len=training.segment_len, seed=config.seed
    )
    say(
        f"{len(text):,} bytes are {len(stream.ids):,} symbols, read at {training.num_streams:,} places at once; "
        f"an epoch has {count_of(stream.num_segments, 'step')} of {training.segment_len} symbols each."
    )
    return _Texts(symbols, stream, validation, len(text))


def encode_text(symbols: Symbols, text: bytes) -> Ids:
    """Return the ids of a whole text; pieces are found on all cores."""
    if not isinstance(symbols, SubwordSymbols):
        return symbols.encode(text)
    lines = text.decode("utf-8", errors="replace").split("\n")
    return encode_texts(symbols.tokenizer, lines, "target")[0][:-1]  # the last line has no end


def _new_model(config: LanguageModelRun, symbols: Symbols) -> TextReader:
    model = build_language_model(
        config.model, vocab_size=symbols.vocab_size, generator=torch.Generator().manual_seed(config.seed)
    )
    if config.training.init_from is not None:
        folder = load_model_folder(find_model_folder(config.training.init_from, config.task), LanguageModelDescription)
        check_same_shape(config.model, folder.description.model)
        model.load_state_dict(dict(folder.weights), strict=False)  # a shared matrix is stored under its first name only
    return model
