"""The same trace for the checkpoints of a run: how attention comes to be what it is.

Works on a run that is still training as well: a checkpoint is read whole or not at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError

from heedful.config.load import load_config
from heedful.decoding import Stepwise
from heedful.errors import ModelFolderError, UserError
from heedful.insight.trace import Trace, trace_translation
from heedful.models.build import construct_model
from heedful.tasks.device import choose_device
from heedful.tasks.run_folder import CONFIG, TOKENIZER, has_begun
from heedful.tasks.translation.data import direction_of
from heedful.tasks.translation.directions import Directions
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Traits, Translator
from heedful.text.tokenizer import Tokenizer
from heedful.training.durability.averaging import average_checkpoints
from heedful.training.durability.checkpoint import list_checkpoints


@dataclass(frozen=True)
class CheckpointTrace:
    """What a model made of a text at one step of its training."""

    step: int
    trace: Trace


def trace_checkpoints(
    run_folder: str | Path,
    text: str,
    *,
    steps: Sequence[int] | None = None,
    to: str | None = None,
    from_: str | None = None,
    beam_size: int | None = None,
    hypothesis: str | None = None,
    device: str | None = None,
) -> Iterator[CheckpointTrace]:
    """Trace a text with the checkpoints of a run, earliest first, one after the other as they are asked for.

    `steps` None takes all there are. With a `hypothesis` every checkpoint writes the same text, and the pictures can be
    compared place by place. Other arguments are those of `Translator.translate`.
    """
    folder = Path(run_folder)
    if not has_begun(folder):
        raise UserError(f"{folder} must be the folder of a run, but has no {CONFIG}.")
    checkpoints = list_checkpoints(folder / "checkpoints")
    if missing := sorted(set(steps or ()) - set(checkpoints)):
        known = ", ".join(map(str, sorted(checkpoints))) or "none"
        raise UserError(f"The run {folder} has no checkpoint of step {missing[0]}, only {known}.")
    if not checkpoints:
        raise UserError(f"The run {folder} has no checkpoints yet. Wait for its first.")
    translator = _untrained(folder, choose_device(device))
    (plan,) = translator.plan([text], TranslationRequest(from_, to))
    for step in sorted(checkpoints if steps is None else set(steps)):
        _fill(translator, checkpoints[step])
        trace = trace_translation(translator, plan, beam_size=beam_size, hypothesis=hypothesis)
        yield CheckpointTrace(step, trace)


def checkpoint_steps(run_folder: Path) -> list[int]:
    """Return the steps at which a run, of any task, can be looked at, ascending; whether they are intact shows then."""
    return list(list_checkpoints(run_folder / "checkpoints"))


def load_checkpoint_translator(run_folder: Path, step: int, *, device: torch.device) -> Translator:
    """Make the translator a run had become at one step; `ModelFolderError` says what is wrong with a checkpoint.

    Of a checkpoint only the weights are read, in any precision, so that one which was slimmed to them will do.
    """
    checkpoints = list_checkpoints(run_folder / "checkpoints")
    if step not in checkpoints:
        raise UserError(f"The run {run_folder.name} has no checkpoint of step {step}.")
    translator = _untrained(run_folder, device)
    _fill(translator, checkpoints[step])
    return translator


def _fill(translator: Translator, checkpoint: Path) -> None:
    """Put the weights of a checkpoint into a translator; a tied matrix is stored once, under its first name."""
    model = translator.readable_model
    first_names = {id(tensor): name for name, tensor in reversed(model.state_dict(keep_vars=True).items())}
    try:
        weights = average_checkpoints([checkpoint])
        if odd := sorted(weights.keys() ^ set(first_names.values())):
            raise ModelFolderError(f"{checkpoint} and the model of this run differ in {odd[0]}.")
        model.load_state_dict(weights, strict=False)
    except (OSError, RuntimeError, SafetensorError) as error:  # removed meanwhile; of another shape; no safetensors
        raise ModelFolderError(f"{checkpoint} cannot be read as a checkpoint of this run: {error}") from error


def _untrained(folder: Path, device: torch.device) -> Translator:
    """Build the translator of a run, its weights still to be filled in."""
    config = load_config(folder / CONFIG)
    tokenizer = Tokenizer.from_json((folder / TOKENIZER).read_text(encoding="utf-8"))
    model = construct_model(
        config.model,
        source_vocab_size=tokenizer.source_vocab_size,
        target_vocab_size=tokenizer.target_vocab_size,
        pad_id=tokenizer.pad_id,
    )
    return Translator(
        Stepwise(model.to(device).eval()),
        tokenizer,
        config.decoding,
        Directions(list(dict.fromkeys(direction_of(corpus, config.data) for corpus in config.data.train))),
        device,
        Traits(config.model.max_positions),
    )
