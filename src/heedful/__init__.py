"""Heedful: the Transformer of *Attention Is All You Need*, to train, use and see.

`heedful.load()` returns the bundled model, `heedful.load("runs/x")` one of yours; both have `.translate(...)`.
Importing this package imports no torch; the first `load` does.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.tasks.loading import Models, Quantization
    from heedful.tasks.translation import Translator

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(
    models: "Models" = None, *, device: str | None = None, quantize: "Quantization | None" = "auto"
) -> "Translator":
    """Load a model folder, or the model of a run folder; None stands for the model that ships with the package.

    A list of them becomes an ensemble, whose members decide every token together; they must share a tokenizer.
    `device` is "cpu", "cuda" or "cuda:1"; None takes a GPU when there is one. `quantize` is "int8" (CPU only), "none"
    or None, or "auto": int8 on a CPU that is fast with it.
    """
    from heedful.tasks.loading import load_translator

    return load_translator(models, device=device, quantize=quantize)
