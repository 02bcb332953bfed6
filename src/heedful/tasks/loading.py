"""From a model folder on disk to something that translates.

Finds the folder, checks it (models/folder.py does), builds the model and puts it on a device, in int8 where that pays.
"""

from pathlib import Path
from typing import Any, Literal

import torch

from heedful.decoding import Decodable
from heedful.errors import UserError
from heedful.models.folder import ModelFolder, load_model_folder, restore_model
from heedful.models.int8 import restore_int8
from heedful.native.library import NativeUnavailableError
from heedful.tasks.device import choose_device
from heedful.tasks.folders import find_model_folder
from heedful.tasks.translation import Translator, max_positions
from heedful.text.tokenizer import Tokenizer

Quantization = Literal["auto", "int8", "none"]


def load_translator(
    path: str | Path | None = None, *, device: str | None = None, quantize: str | None = "auto"
) -> Translator:
    """Load the model folder at `path` (or in the run folder at `path`) for translation."""
    quantize = "none" if quantize is None else quantize
    if quantize not in ("auto", "int8", "none"):
        raise UserError(f'`quantize` must be "auto", "int8" or "none", but is "{quantize}".')
    chosen = choose_device("cpu" if quantize == "int8" and device is None else device)
    if quantize == "int8" and chosen.type != "cpu":
        raise UserError(f'`quantize` must be "none" or "auto" on {chosen.type}: int8 runs on the CPU.')
    folder = load_model_folder(find_model_folder(path))
    return translator_of(folder, chosen, quantize=quantize)


def translator_of(folder: ModelFolder, device: torch.device, *, quantize: str = "none") -> Translator:
    """Make a `Translator` of a loaded model folder."""
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    return Translator(
        _engine(folder, device, quantize),
        tokenizer,
        folder.decoding,
        source_language=folder.source_language,
        target_language=folder.target_language,
        device=device,
        max_positions=max_positions(folder.model),
    )


def _engine(folder: ModelFolder, device: torch.device, quantize: str) -> Decodable[Any]:
    """Put the model where it runs: on the device, or into the int8 engine where that was asked for or pays."""
    if quantize == "none" or device.type != "cpu":
        return restore_model(folder).to(device)
    try:
        return restore_int8(folder)
    except NativeUnavailableError:
        if quantize == "int8":
            raise
        return restore_model(folder)
