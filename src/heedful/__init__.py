"""Heedful: the Transformer of *Attention Is All You Need*, to train, use and see.

`heedful.load()` returns the bundled translator, `heedful.load("runs/x")` one of your models: what was trained to
translate has `.translate(...)`, what was trained to classify texts `.classify(...)`, and a language model
`.score(...)` and `.generate(...)`.
Importing this package imports no torch; the first `load` does. Where torch was not imported before, `load` sees to it
that its threads do not hinder each other on a busy machine (heedful.waiting).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.waiting import spin_briefly

if TYPE_CHECKING:
    from heedful.tasks.translation.load import Models, Quantization

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(
    models: "Models" = None,
    *,
    device: str | None = None,
    quantize: "Quantization | None" = "auto",
    fast: bool = False,
    rescore_with: str | Path | None = None,
    samples: int | None = None,
) -> Any:
    """Load a model folder, or the model of a run folder; None, or "bundled", is the translator that ships.

    "bundled-classifier" and "bundled-writer" are the other models that ship with the package.

    What comes back follows from what the model was trained for: a `Translator`, a `Classifier` or a `TextModel`. A list
    of translators becomes an ensemble, whose members decide every token together; they must share a tokenizer.
    `device` is "cpu", "cuda" or "cuda:1"; None takes a GPU when there is one. `quantize` is "int8" (CPU only), "none"
    or None, or "auto": int8 on a CPU that is fast with it; it concerns translators. So does `fast`: whether several
    tokens are guessed and then checked together, which changes no result; worth it for a deep decoder on a slow memory.
    `rescore_with` names the teacher of a model with fertilities, who chooses among the outputs of `samples` draws (10).
    """
    spin_briefly()
    if isinstance(models, str | Path):
        from heedful.tasks.table import TASKS, task_name_of

        task = task_name_of(models)
        if task != "translation":
            from heedful.errors import UserError

            if fast:
                raise UserError(f"`fast` must be left out here: it is for translators, {models} is none.")
            if quantize == "int8":
                raise UserError(f'`quantize` must be "auto" or "none" here: int8 is for translators, {models} is none.')
            return TASKS[task].load(models, device=device, quantize=quantize, say=None)
    from heedful.insight.tracing_translator import TracingTranslator
    from heedful.tasks.translation.load import load_translator, rescoring_of

    rescoring = rescoring_of(rescore_with, samples)
    return load_translator(
        models, device=device, quantize=quantize, fast=fast, rescoring=rescoring, kind=TracingTranslator
    )
