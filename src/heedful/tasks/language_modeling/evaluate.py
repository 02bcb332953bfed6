"""Scoring a language model: on the texts its run names, or on a file, and against another model."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.config.language_modeling import LanguageModelRun, TextData
from heedful.config.load import load_any
from heedful.data.text_stream import held_out_names, read_test, read_text, read_train
from heedful.errors import UserError
from heedful.evaluation.likelihood import Likelihood
from heedful.evaluation.paired import Difference, compare_rates
from heedful.tasks.language_modeling.model import TextModel
from heedful.tasks.run_folder import CONFIG

_KNOWN_BYTES = 200_000


def find_texts(model: Path, *, config: Path | None, file: Path | None, split: str | None) -> dict[str, bytes]:
    """Return the texts to score on by name: the file, the split, or all test texts of the run."""
    if file is not None:
        if split is not None:
            raise UserError("`--text` and `--split` must not be given together: both say what to score on.")
        return {file.name: read_text(file)}
    data = _data_of(model, config)
    names = [split] if split is not None else held_out_names(data)
    if not names:
        raise UserError(f"The run of {model} must name a test text in `data.test`, but names none. Use --text FILE.")
    return {name: read_test(data, name) for name in names}


@dataclass(frozen=True)
class TextEvaluation:
    """What a model thinks of a text, and how that differs from what another model does."""

    found: Likelihood
    comparison: Difference | None = None
    """In bits per byte; None when there is no other model."""


def stretches_of(num_bytes: int) -> NDArray[np.int64]:
    """Return where the stretches end by which texts are compared: 1,000 bytes each, but 20 to 1,000 of them."""
    num_stretches = min(num_bytes, max(20, min(1000, num_bytes // 1000)))
    return np.linspace(0, num_bytes, num_stretches + 1).round().astype(np.int64)[1:]


def compare_texts(
    model: TextModel, other: TextModel, text: bytes, *, memory_len: int | None, segment_len: int | None
) -> TextEvaluation:
    """Score a text with two models; a bootstrap over stretches of the text says how certain the difference is."""
    bounds = stretches_of(len(text))
    found, nats = model.score_stretches(text, bounds, memory_len=memory_len, segment_len=segment_len)
    _, others = other.score_stretches(text, bounds, memory_len=memory_len, segment_len=segment_len)
    bits = 1 / math.log(2)
    return TextEvaluation(found, compare_rates(others * bits, nats * bits, np.diff(bounds, prepend=0)))


def known_text(model: Path, config: Path | None) -> bytes:
    """Return the end of what the model was trained on: enough to tell how large gradients are."""
    return read_train(_data_of(model, config))[-_KNOWN_BYTES:]


def _data_of(model: Path, config: Path | None) -> TextData:
    """Return the data of the run that a model belongs to, or of the config that is named instead."""
    candidates = [model / CONFIG, model.parent / CONFIG] if config is None else [config, config / CONFIG]
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise UserError(
            f"{model} must belong to a run, whose config.toml names its texts, but does not. "
            "Name a text with --text FILE, or a config with --config FILE."
        )
    run = load_any(path)
    if not isinstance(run, LanguageModelRun):
        raise UserError(f'{path} must describe a language model\'s run here, but its `task` is "{run.task}".')
    return run.data
