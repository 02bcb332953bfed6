"""The tokenizer of a model folder, found to be one that its model can use.

A folder carries both without looking into the tokenizer (storage/folder_files.py). Here, where text and models meet,
their sizes and special symbols are compared: an id that the model does not have would be read from foreign memory.
"""

from heedful.errors import ModelFolderError
from heedful.storage.classifier_folder import ClassifierFolder
from heedful.storage.language_model_folder import LanguageModelFolder
from heedful.storage.model_folder import ModelFolder, SpecialIds
from heedful.text.symbols import Symbols, symbols_from_json
from heedful.text.tokenizer import Tokenizer

_REMEDY = "Copy the whole folder again from where it came, or use another one."


def translation_tokenizer(folder: ModelFolder) -> Tokenizer:
    """Return the tokenizer of a translation model."""
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    _check_size(tokenizer.source_vocab_size, folder.source_vocab_size)
    _check_size(tokenizer.target_vocab_size, folder.target_vocab_size)
    _check_special_ids(tokenizer, folder.special_ids)
    return tokenizer


def classifier_tokenizer(folder: ClassifierFolder) -> Tokenizer:
    """Return the tokenizer of a classifier."""
    tokenizer = Tokenizer.from_json(folder.tokenizer_json)
    _check_size(tokenizer.source_vocab_size, folder.vocab_size)
    _check_special_ids(tokenizer, folder.special_ids)
    return tokenizer


def language_model_symbols(folder: LanguageModelFolder) -> Symbols:
    """Return the symbols of a language model."""
    symbols = symbols_from_json(folder.symbols_json)
    _check_size(symbols.vocab_size, folder.vocab_size)
    return symbols


def _check_size(found: int, wanted: int) -> None:
    if found != wanted:
        raise ModelFolderError(
            f"The tokenizer of a model must have as many entries as the model, {wanted:,}, but has {found:,}. {_REMEDY}"
        )


def _check_special_ids(tokenizer: Tokenizer, wanted: SpecialIds) -> None:
    found = SpecialIds(pad=tokenizer.pad_id, bos=tokenizer.bos_id, eos=tokenizer.eos_id, unk=tokenizer.unk_id)
    if found != wanted:
        raise ModelFolderError(
            f"The tokenizer of a model must have the special symbols of its config.json, {_listed(wanted)}, "
            f"but has {_listed(found)}. {_REMEDY}"
        )


def _listed(special_ids: SpecialIds) -> str:
    return ", ".join(f"{name} {number}" for name, number in special_ids.model_dump().items())
