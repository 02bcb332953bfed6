"""Which texts a language model is scored on: those its run names, or a file. No torch."""

from pathlib import Path

from heedful.config.language_modeling import LanguageModelRun, TextData
from heedful.config.load import load_any
from heedful.data.text_stream import held_out_names, read_test, read_text, read_train
from heedful.errors import UserError
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
