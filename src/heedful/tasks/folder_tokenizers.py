"""The tokenizer of a model folder, found to be one that its model can use.

A folder carries both without looking into the tokenizer (storage/folder_files.py). Here, where text and models meet,
their sizes and special symbols are compared: an id that the model does not have would be read from foreign memory.
"""

from heedful.errors import ModelFolderError
from heedful.storage.descriptions import (
    ClassifierDescription,
    Description,
    LanguageModelDescription,
    TranslatorDescription,
)
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder
from heedful.text.symbols import Symbols, symbols_from_json
from heedful.text.tokenizer import Tokenizer

_REMEDY = "Copy the whole folder again from where it came, or use another one."


def translation_tokenizer(folder: ModelFolder[TranslatorDescription]) -> Tokenizer:
    """Return the tokenizer of a translation model."""
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    _check_size(tokenizer.source_vocab_size, folder.description.source_vocab_size)
    _check_size(tokenizer.target_vocab_size, folder.description.target_vocab_size)
    _check_special_ids(tokenizer, folder.description.special_ids)
    return tokenizer


def classifier_tokenizer(folder: ModelFolder[ClassifierDescription]) -> Tokenizer:
    """Return the tokenizer of a classifier."""
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    _check_size(tokenizer.source_vocab_size, folder.description.vocab_size)
    _check_special_ids(tokenizer, folder.description.special_ids)
    return tokenizer


def language_model_symbols(folder: ModelFolder[LanguageModelDescription]) -> Symbols:
    """Return the symbols of a language model."""
    symbols = symbols_from_json(folder.tokenizer_json)
    _check_size(symbols.vocab_size, folder.description.vocab_size)
    return symbols


def check_tokenizer(folder: ModelFolder[Description]) -> None:
    """Refuse a folder of any task whose tokenizer is not its model's."""
    match folder.description:
        case TranslatorDescription() as description:
            translation_tokenizer(ModelFolder(description, folder.weights, folder.tokenizer_json))
        case ClassifierDescription() as description:
            classifier_tokenizer(ModelFolder(description, folder.weights, folder.tokenizer_json))
        case LanguageModelDescription() as description:
            language_model_symbols(ModelFolder(description, folder.weights, folder.tokenizer_json))


def _check_size(found: int, wanted: int) -> None:
    if found != wanted:
        raise ModelFolderError(
            f"The tokenizer of a model must have as many entries as the model, {wanted:,}, but has {found:,}. {_REMEDY}"
        )


def _check_special_ids(tokenizer: Tokenizer, wanted: SpecialIds) -> None:
    found = SpecialIds.of(tokenizer)
    if found != wanted:
        raise ModelFolderError(
            f"The tokenizer of a model must have the special symbols of its config.json, {_listed(wanted)}, "
            f"but has {_listed(found)}. {_REMEDY}"
        )


def _listed(special_ids: SpecialIds) -> str:
    return ", ".join(f"{name} {number}" for name, number in special_ids.model_dump().items())
