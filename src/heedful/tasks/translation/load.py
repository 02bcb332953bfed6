"""From model folders on disk to something that translates.

Finds the folders, checks them (storage/model_folder.py), builds the models and puts them on a device, in int8 where it
pays. Several models become one: an ensemble, whose members must cut text into the same tokens.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from heedful.decoding import Decodable, Ensemble
from heedful.engines.int8.engine import restore_int8
from heedful.engines.int8.library import NativeUnavailableError, open_library
from heedful.errors import UserError
from heedful.models.interfaces import EncoderDecoder
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import ModelDescription, ModelFolder, load_model_folder, restore_model
from heedful.storage.quantized_weights import RoundedWeights
from heedful.tasks.device import choose_device
from heedful.tasks.folder_tokenizers import translation_tokenizer
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.doubts import LOW_CONFIDENCE
from heedful.tasks.translation.learned_text import joined_tokens
from heedful.tasks.translation.translator import Translator

Quantization = Literal["auto", "int8", "none"]
Models = str | Path | Sequence[str | Path] | None


def load_translator(
    models: Models = None,
    *,
    device: str | None = None,
    quantize: str | None = "auto",
    say: Callable[[str], None] | None = None,
    kind: type[Translator] = Translator,
) -> Translator:
    """Load a model folder (or that of a run folder) for translation; several make an ensemble, None is the bundled one.

    `say` is told in a sentence when the user has to wait for a compiler, and what hinders the int8 engine; without
    `say` the latter is a Python warning. `kind` is the class that is wanted.
    """
    quantize = "none" if quantize is None else quantize
    if quantize not in ("auto", "int8", "none"):
        raise UserError(f'`quantize` must be "auto", "int8" or "none", but is "{quantize}".')
    chosen = choose_device("cpu" if quantize == "int8" and device is None else device)
    if quantize == "int8" and chosen.type != "cpu":
        raise UserError(f'`quantize` must be "none" or "auto" on {chosen.type}: int8 runs on the CPU.')
    paths = [models] if models is None or isinstance(models, str | Path) else list(models)
    found = [find_model_folder(path) for path in paths or [None]]
    folders = [load_model_folder(path) for path in found]
    _check_alike(found, folders)
    if quantize != "none" and chosen.type == "cpu" and any(folder.model.has_int8_engine for folder in folders):
        _prepare_engine(say, insist=quantize == "int8")
    float_twin = partial(_float_twin, found[0], chosen) if len(found) == 1 else None
    return translator_of(folders, chosen, quantize=quantize, kind=kind, float_twin=float_twin)


def _prepare_engine(say: Callable[[str], None] | None, *, insist: bool) -> None:
    """Have the int8 engine compiled, where that is possible; without it models run in floats, unless we `insist`."""
    try:
        open_library(say or (lambda _: None), insist=insist)
    except NativeUnavailableError as error:
        if insist:
            raise
        told = f"{error}\nGoing on without it, which is slower."
        if error.is_news and say is not None:
            say(f"warning: {told}")
        elif error.is_news:
            warnings.warn(told, stacklevel=3)


def translator_of(
    folders: Sequence[ModelFolder],
    device: torch.device,
    *,
    quantize: str = "none",
    kind: type[Translator] = Translator,
    float_twin: Callable[[], EncoderDecoder] | None = None,
) -> Translator:
    """Make a `Translator` of loaded model folders; languages and search settings are those of the first."""
    first = folders[0]
    tokenizers = [translation_tokenizer(folder) for folder in folders]  # alike, but each must be right for its model
    engines = [_engine(folder, device, quantize) for folder in folders]
    positions = [limit for folder in folders if (limit := folder.model.max_positions) is not None]
    return kind(
        engines[0] if len(engines) == 1 else Ensemble(engines),
        tokenizers[0],
        first.decoding,
        source_language=first.source_language,
        target_language=first.target_language,
        device=device,
        max_positions=min(positions, default=None),
        directions=directions_of(first),
        low_confidence=_low_confidence(first),
        joined_tokens=joined_tokens(first.facts),
        float_twin=float_twin,
    )


def directions_of(folder: ModelFolder | ModelDescription) -> Directions:
    """Return which language a model translates into which, as its folder says or as its languages suggest."""
    if folder.directions:
        return Directions(folder.directions)
    return Directions.around(folder.source_language, folder.target_language, folder.languages)


def _low_confidence(folder: ModelFolder) -> float:
    """Return below what a translation of this model is doubtful, as its maker measured it or as is usual."""
    threshold = folder.facts.get("low_confidence")
    if isinstance(threshold, int | float) and not isinstance(threshold, bool) and -1e3 <= threshold <= 0:
        return float(threshold)
    return LOW_CONFIDENCE


def _check_alike(paths: Sequence[Path], folders: Sequence[ModelFolder]) -> None:
    """Refuse to average models whose tokens, or whose directions, are not the same."""
    for path, folder in zip(paths[1:], folders[1:], strict=True):
        if folder.tokenizer_json != folders[0].tokenizer_json:
            raise UserError(
                f"The models of an ensemble must have the same tokenizer, but {path} has another than {paths[0]}. "
                "Train them with one tokenizer, for example with `training.init_from` or the same data and seed."
            )
        if set(directions_of(folder).pairs) != set(directions_of(folders[0]).pairs):
            raise UserError(
                f"The models of an ensemble must translate the same languages, but {path} does not as {paths[0]} does."
            )


def _engine(folder: ModelFolder, device: torch.device, quantize: str) -> Decodable[Any]:
    """Put the model where it runs: on the device, or into the int8 engine where that was asked for or pays."""
    has_no_engine = device.type != "cpu" or not folder.model.has_int8_engine
    if quantize == "none" or (quantize == "auto" and has_no_engine):
        return restore_model(folder).to(device)
    try:
        return restore_int8(folder)
    except NativeUnavailableError:
        if quantize == "int8":
            raise
        return restore_model(folder)


def _float_twin(path: Path, device: torch.device) -> EncoderDecoder:
    """Make what the int8 engine computes as PyTorch modules, from disk again: its weights, rounded as the engine's."""
    folder = load_model_folder(path)
    return restore_model(replace(folder, weights=RoundedWeights.of(folder.weights))).to(device)
