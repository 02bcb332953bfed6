"""A trained language model to work with: score texts, and write them on.

Reads model folders, chooses the device, and turns bytes into symbols and back. How a text is scored says
evaluation/likelihood.py, how it is adapted to evaluation/dynamic.py, how it is written on decoding/continuation.py.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.continuation import ReadsOn, SamplingRequest, continue_text
from heedful.errors import UserError
from heedful.evaluation.dynamic import Adaptation, mean_squares, score_dynamically
from heedful.evaluation.likelihood import Likelihood, score_symbols, symbol_nats
from heedful.models.build import TextReader
from heedful.models.language_model import LanguageModel
from heedful.models.transformer_xl import TransformerXL
from heedful.storage.descriptions import LanguageModelDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import load_model_folder, restore_model
from heedful.tasks.device import choose_device
from heedful.tasks.folder_tokenizers import language_model_symbols
from heedful.text.symbols import Symbols, decode

_GPU_ROWS = 32
"""Parts of a text that are read side by side on a GPU."""

_PARTS_PER_MEMORY = 4
"""A part is at least so many times as long as what is read again before it."""


@dataclass(frozen=True)
class WrittenSymbol:
    """One symbol of a text that is written on, and what the model thought of it."""

    piece: bytes
    """What it adds to the text; nothing as long as a character is not whole."""

    probability: float | None = None
    """As the model has it, before temperature and choice; None when nobody asked, or when no symbol was drawn."""

    choices: tuple[tuple[int, float], ...] = ()
    """The most probable symbols with their probabilities, best first."""


@dataclass(frozen=True)
class TextModel:
    """A language model, its symbols, and how it was trained to read."""

    model: TextReader
    symbols: Symbols
    segment_len: int
    memory_len: int
    device: torch.device

    def generate(
        self,
        prompt: str | bytes = b"",
        *,
        max_tokens: int = 200,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        memory_len: int | None = None,
    ) -> Iterator[bytes]:
        """Write a text on and yield it in pieces as it comes; see `SamplingRequest` and `write`."""
        request = SamplingRequest(max_tokens, temperature, top_k, top_p, seed)
        return (symbol.piece for symbol in self.write(prompt, request, memory_len=memory_len) if symbol.piece)

    def write(
        self, prompt: str | bytes, request: SamplingRequest, *, memory_len: int | None = None, num_choices: int = 0
    ) -> Iterator["WrittenSymbol"]:
        """Write a text on, symbol by symbol, each with the `num_choices` symbols that were most probable there.

        The model remembers `memory_len` positions (by default as many as in training), so that a long text costs the
        same for each symbol, however long it gets.
        """
        segment_len, memory_len = self._reading(None, memory_len)
        text = prompt.encode() if isinstance(prompt, str) else prompt
        read = self.symbols.encode(text).tolist()
        ids = torch.tensor([[self.symbols.start_id, *read]], device=self.device)
        reader = _LastLogits(self.model.reader(1, memory_len=memory_len, segment_len=segment_len))
        chosen = continue_text(reader, ids, request, segment_len=segment_len)
        writer = self.symbols.writer()
        writer.follow(read)
        for symbol_id in chosen:
            probability, choices = reader.probabilities(symbol_id, num_choices) if num_choices else (None, ())
            yield WrittenSymbol(writer.write(symbol_id), probability, choices)
        if rest := writer.close():
            yield WrittenSymbol(rest)

    def score(
        self,
        text: bytes,
        *,
        memory_len: int | None = None,
        segment_len: int | None = None,
        rows: int | None = None,
        bf16: bool = False,
        max_symbols: int | None = None,
    ) -> Likelihood:
        """Say how well the model expects a text, or its first `max_symbols`.

        `rows` parts are read side by side, each after what stands before it: by default one on a CPU, and on a GPU, for
        which one symbol after the other is little work, as many as a long text has room for.
        """
        segment_len, memory_len = self._reading(segment_len, memory_len)
        ids = self.symbols.encode(_checked(text))[:max_symbols]
        rows = self._rows(len(ids), memory_len + segment_len) if rows is None else rows
        num_bytes = len(text) if max_symbols is None else len(decode(self.symbols, ids.tolist()))
        started = time.perf_counter()
        nats = score_symbols(
            self.model,
            ids,
            start_id=self.symbols.start_id,
            memory_len=memory_len,
            segment_len=segment_len,
            rows=rows,
            device=self.device,
            bf16=bf16,
        )
        return Likelihood(nats, len(ids), num_bytes, time.perf_counter() - started)

    def score_stretches(
        self, text: bytes, bounds: NDArray[np.int64], *, memory_len: int | None = None, segment_len: int | None = None
    ) -> tuple[Likelihood, NDArray[np.float64]]:
        """Score a text, and return beside it the nats of its stretches, which end before the bytes `bounds`.

        A symbol counts where its last byte is, so that models with different symbols can be compared.
        """
        segment_len, memory_len = self._reading(segment_len, memory_len)
        ids = self.symbols.encode(_checked(text))
        started = time.perf_counter()
        nats = symbol_nats(
            self.model,
            ids,
            start_id=self.symbols.start_id,
            memory_len=memory_len,
            segment_len=segment_len,
            rows=self._rows(len(ids), memory_len + segment_len),
            device=self.device,
        )
        seconds = time.perf_counter() - started
        writer = self.symbols.writer()
        last_bytes = np.cumsum([len(writer.write(symbol_id)) for symbol_id in ids.tolist()]) - 1
        stretches = np.minimum(np.searchsorted(bounds, last_bytes, side="right"), len(bounds) - 1)
        sums = np.bincount(stretches, weights=nats, minlength=len(bounds)).astype(np.float64)
        return Likelihood(float(nats.sum()), len(ids), len(text), seconds), sums

    def _rows(self, num_symbols: int, reach: int) -> int:
        """Return how many parts of a text are read side by side."""
        fitting = num_symbols // (_PARTS_PER_MEMORY * reach)
        return max(1, min(_GPU_ROWS, fitting)) if self.device.type == "cuda" else 1

    def score_dynamically(
        self,
        text: bytes,
        adaptation: Adaptation,
        *,
        training_text: bytes | None = None,
        memory_len: int | None = None,
        segment_len: int | None = None,
    ) -> Likelihood:
        """Say how well the model expects a text that it goes on learning from as it reads.

        `training_text`, some text the model was trained on, tells `rms` how large gradients are.
        """
        segment_len, memory_len = self._reading(segment_len, memory_len)
        ids = self.symbols.encode(_checked(text))
        started = time.perf_counter()
        reading = {
            "start_id": self.symbols.start_id,
            "memory_len": 0 if isinstance(self.model, LanguageModel) else memory_len,
            "segment_len": segment_len,
        }
        squares = None
        if adaptation.kind == "rms":
            # Read as the text will be: shorter segments have larger gradients, and so have distances never met before.
            squares = mean_squares(self.model, self.symbols.encode(_checked(training_text or b"")), **reading)
        nats = score_dynamically(self.model, ids, adaptation, squares=squares, **reading)
        return Likelihood(nats, len(ids), len(text), time.perf_counter() - started)

    def check_reach(self, segment_len: int | None, memory_len: int | None) -> None:
        """Refuse to read more at once, or to remember more, than a model with a fixed window can."""
        if isinstance(self.model, LanguageModel):
            wanted = sum(self._reading(None, memory_len)) if segment_len is None else segment_len + (memory_len or 0)
            if wanted > self.model.context_len:
                raise UserError(
                    f"What is read at once and what is remembered must be at most {self.model.context_len} symbols "
                    f"together, the window of this model, but are {wanted}. Only a Transformer-XL remembers more."
                )

    def _reading(self, segment_len: int | None, memory_len: int | None) -> tuple[int, int]:
        """Return how many symbols are read at once and how many positions are remembered."""
        if isinstance(self.model, LanguageModel):
            # Half of the window is new each time, so that no symbol is predicted from less than the other half.
            half = max(1, self.model.context_len // 2)
            segment_len = half if segment_len is None else min(segment_len, self.model.context_len)
            return segment_len, self.model.context_len - segment_len if memory_len is None else memory_len
        segment_len = self.segment_len if segment_len is None else segment_len
        return segment_len, self.memory_len if memory_len is None else memory_len


def load_text_model(
    path: str | Path | None = None, *, device: str | None = None, clamp_len: int | None = None
) -> TextModel:
    """Load the language model of a model folder, or of a run folder; None, or "bundled", is the one that ships.

    `clamp_len` is the longest distance that is told from longer ones; by default that of the model.
    """
    folder = load_model_folder(find_model_folder(path, "language_modeling"), LanguageModelDescription)
    symbols = language_model_symbols(folder)
    chosen = choose_device(device)
    model = restore_model(folder).to(chosen)
    if clamp_len is not None:
        if not isinstance(model, TransformerXL):
            raise UserError("`clamp_len` must be left out for a plain language model, which knows no distances.")
        model.clamp(clamp_len)
    return TextModel(
        model=model,
        symbols=symbols,
        segment_len=folder.description.segment_len,
        memory_len=folder.description.memory_len,
        device=chosen,
    )


class _LastLogits:
    """A reader that remembers what it expects next."""

    def __init__(self, reader: ReadsOn) -> None:
        self._reader = reader
        self._expected = torch.empty(0)

    def read(self, token_ids: Tensor) -> Tensor:
        """Read token_ids [rows, length]; returns the logits of what follows each, [rows, length, vocab]."""
        logits = self._reader.read(token_ids)
        self._expected = logits[0, -1]
        return logits

    def probabilities(self, symbol_id: int, count: int) -> tuple[float, tuple[tuple[int, float], ...]]:
        """Return how probable a symbol is as the next one, and the `count` most probable ones."""
        probabilities = self._expected.float().softmax(dim=-1)
        best = probabilities.topk(min(count, len(probabilities)))
        choices = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return float(probabilities[symbol_id]), tuple(choices)


def _checked(text: bytes) -> bytes:
    if not text:
        raise UserError("A text to score must have at least one byte, but is empty.")
    return text
