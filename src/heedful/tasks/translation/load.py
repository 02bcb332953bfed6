"""From model folders on disk to something that translates.

Finds the folders, checks them (storage/model_folder.py), builds the models and puts them on a device, in int8 where it
pays. Several models become one: an ensemble, whose members must cut text into the same tokens.
"""

import ctypes
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import torch

from heedful.config.models import RecurrentConfig
from heedful.decoding import Decodable, Ensemble, Fertile, Parallel, Stepwise
from heedful.engines.int8.engine import restore_int8
from heedful.engines.int8.library import NativeUnavailableError, open_library
from heedful.engines.int8.output import Int8Recurrent
from heedful.errors import UserError
from heedful.models.interfaces import EncoderDecoder
from heedful.models.nonautoregressive import ParallelModel
from heedful.models.recurrent import RecurrentModel
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import ModelFolder, load_model_folder, restore_model
from heedful.storage.quantized_weights import QuantizedWeights
from heedful.tasks.device import choose_device
from heedful.tasks.folder_tokenizers import translation_tokenizer
from heedful.tasks.translation.calibration import calibration_of
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.doubts import LOW_CONFIDENCE
from heedful.tasks.translation.families import generator_of
from heedful.tasks.translation.fast import with_speed
from heedful.tasks.translation.learned_text import context_sentences, joined_tokens
from heedful.tasks.translation.translator import Traits, Translator

Quantization = Literal["auto", "int8", "none"]
Models = str | Path | Sequence[str | Path] | None
MAX_SAMPLES = 1000


@dataclass(frozen=True)
class Rescoring:
    """Noisy parallel decoding (decoding/fertile.py): who chooses among outputs, and how many are drawn."""

    teacher: str | Path
    num_samples: int = 10


def rescoring_of(teacher: str | Path | None, num_samples: int | None) -> Rescoring | None:
    """Put together who chooses and from how many, where somebody is named."""
    if teacher is None and num_samples is not None:
        raise UserError("`samples` must go with the model that chooses among them: --rescore-with DIR.")
    if teacher is None:
        return None
    if num_samples is not None and not 1 <= num_samples <= MAX_SAMPLES:
        raise UserError(f"`samples` must be between 1 and {MAX_SAMPLES}, but is {num_samples}.")
    return Rescoring(teacher) if num_samples is None else Rescoring(teacher, num_samples)


def load_translator(
    models: Models = None,
    *,
    device: str | None = None,
    quantize: str | None = "auto",
    fast: bool = False,
    rescoring: Rescoring | None = None,
    say: Callable[[str], None] | None = None,
    kind: type[Translator] = Translator,
) -> Translator:
    """Load a model folder (or that of a run folder) for translation; several make an ensemble, None is the bundled one.

    `say` is told in a sentence when the user has to wait for a compiler, and what hinders the int8 engine; without
    `say` the latter is a Python warning. `fast` says whether it guesses ahead (fast.py), `rescoring` who chooses among
    the outputs of a model with fertilities. `kind` is the class that is wanted.
    """
    quantize = "none" if quantize is None else quantize
    if quantize not in ("auto", "int8", "none"):
        raise UserError(f'`quantize` must be "auto", "int8" or "none", but is "{quantize}".')
    chosen = choose_device("cpu" if quantize == "int8" and device is None else device)
    if quantize == "int8" and chosen.type != "cpu":
        raise UserError(f'`quantize` must be "none" or "auto" on {chosen.type}: int8 runs on the CPU.')
    paths = [models] if models is None or isinstance(models, str | Path) else list(models)
    found = [find_model_folder(path) for path in paths or [None]]
    folders = [load_model_folder(path, TranslatorDescription) for path in found]
    _check_alike(found, folders)
    translator = translator_of(folders, chosen, quantize=quantize, say=say, kind=kind)
    if fast:
        translator = with_speed(translator, fast)
    if rescoring is not None:
        translator = replace(translator, generator=_rescored(translator, rescoring, found[0], folders[0]))
    if len(found) > 1 or isinstance(translator.generator, Parallel):  # which has no steps to look into
        return translator
    if isinstance(translator.generator, Fertile):
        model = translator.generator.model
        assert isinstance(model, EncoderDecoder), "what a folder holds"
        return replace(translator, reference=lambda: model)
    return replace(translator, reference=cache(partial(_reference, found[0], chosen)))


def _rescored(
    translator: Translator, rescoring: Rescoring, path: Path, folder: ModelFolder[TranslatorDescription]
) -> Fertile:
    """Return what writes with a model with fertilities when a teacher chooses among several outputs."""
    if not isinstance(translator.generator, Fertile):
        raise UserError(
            f"Outputs can be scored again for a model with fertilities, but {path} is a "
            f"{folder.description.model.family}. Leave out the model to score with."
        )
    teacher_path = find_model_folder(rescoring.teacher)
    teacher = load_model_folder(teacher_path, TranslatorDescription)
    if teacher.tokenizer_json != folder.tokenizer_json:
        raise UserError(
            f"The model to score with must have the tokenizer of {path}, but {teacher_path} has another. "
            "Take the one that the model has learned from."
        )
    chooser = restore_model(teacher).to(translator.device)
    if isinstance(chooser, ParallelModel):
        raise UserError(f"The model to score with must write step by step, but {teacher_path} writes all at once.")
    return replace(translator.generator, teacher=chooser, num_samples=rescoring.num_samples)


def translator_of(
    folders: Sequence[ModelFolder[TranslatorDescription]],
    device: torch.device,
    *,
    quantize: str = "none",
    say: Callable[[str], None] | None = None,
    kind: type[Translator] = Translator,
) -> Translator:
    """Make a `Translator` of loaded model folders; languages and search settings are those of the first."""
    first = folders[0].description
    tokenizers = [translation_tokenizer(folder) for folder in folders]  # alike, but each must be right for its model
    has_engine = any(folder.description.model.has_int8_engine for folder in folders)
    library = _open_engine(device, quantize, say) if has_engine else None
    engines = [_engine(folder, device, library, insist=quantize == "int8") for folder in folders]
    positions = [limit for folder in folders if (limit := folder.description.model.max_positions) is not None]
    traits = Traits(
        min(positions, default=None),
        joined_tokens(first.facts),
        context_sentences(first.facts),
        _low_confidence(first),
        calibration_of(first.facts),
    )
    generator = generator_of(engines[0], half=quantize == "auto") if len(engines) == 1 else Stepwise(Ensemble(engines))
    return kind(generator, tokenizers[0], first.decoding, directions_of(first), device, traits)


def directions_of(model: TranslatorDescription) -> Directions:
    """Return which language a model translates into which, as its folder says or as its languages suggest."""
    if model.directions:
        return Directions(model.directions)
    return Directions.around(model.source_language, model.target_language, model.languages)


def _low_confidence(model: TranslatorDescription) -> float:
    """Return below what a translation of this model is doubtful, as its maker measured it or as is usual."""
    threshold = model.facts.get("low_confidence")
    if isinstance(threshold, int | float) and not isinstance(threshold, bool) and -1e3 <= threshold <= 0:
        return float(threshold)
    return LOW_CONFIDENCE


def _check_alike(paths: Sequence[Path], folders: Sequence[ModelFolder[TranslatorDescription]]) -> None:
    """Refuse to average models whose tokens, or whose directions, are not the same."""
    for path, folder in zip(paths[1:], folders[1:], strict=True):
        if folder.tokenizer_json != folders[0].tokenizer_json:
            raise UserError(
                f"The models of an ensemble must have the same tokenizer, but {path} has another than {paths[0]}. "
                "Train them with one tokenizer, for example with `training.init_from` or the same data and seed."
            )
        if set(directions_of(folder.description).pairs) != set(directions_of(folders[0].description).pairs):
            raise UserError(
                f"The models of an ensemble must translate the same languages, but {path} does not as {paths[0]} does."
            )


def _open_engine(device: torch.device, quantize: str, say: Callable[[str], None] | None) -> ctypes.CDLL | None:
    """Have the int8 engine compiled, where it is wanted and can be; else models run in floats, unless it must be."""
    if quantize == "none" or device.type != "cpu":
        return None
    try:
        return open_library(say or (lambda _: None), insist=quantize == "int8")
    except NativeUnavailableError as error:
        if quantize == "int8":
            raise
        told = f"{error}\nGoing on without it, which is slower."
        if error.is_news and say is not None:
            say(f"warning: {told}")
        elif error.is_news:
            warnings.warn(told, stacklevel=4)
        return None


def _engine(
    folder: ModelFolder[TranslatorDescription], device: torch.device, library: ctypes.CDLL | None, *, insist: bool
) -> Decodable[Any]:
    """Put the model where it runs: on the device or, with a library, into the int8 engine unless it does not fit."""
    model = folder.description.model
    if insist and not model.has_int8_engine:
        raise UserError(
            f'`quantize` must not be "int8" for a {model.family}: the int8 engine is for Transformers and '
            "recurrent networks."
        )
    if library is not None and model.has_int8_engine:
        try:
            if isinstance(model, RecurrentConfig):
                recurrent = restore_model(folder)
                assert isinstance(recurrent, RecurrentModel), "what its section says"
                return Int8Recurrent(recurrent, library=library)
            return restore_int8(folder, library=library)
        except NativeUnavailableError:
            if insist:
                raise
    return restore_model(folder).to(device)


def _reference(path: Path, device: torch.device) -> EncoderDecoder:
    """Make what the int8 engine computes as PyTorch modules, from disk again: the weights quantized as there."""
    folder = load_model_folder(path, TranslatorDescription)
    return restore_model(replace(folder, weights=QuantizedWeights.of(folder.weights))).to(device)
