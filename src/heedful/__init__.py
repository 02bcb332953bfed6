"""Heedful: the Transformer of *Attention Is All You Need*, to train, use and see.

`heedful.load("runs/x")` returns a model with `.translate(...)`. Importing this package imports no torch; the first
`load` does.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.tasks.loading import Quantization
    from heedful.tasks.translation import Translator

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(
    path: "str | Path | None" = None, *, device: str | None = None, quantize: "Quantization | None" = "auto"
) -> "Translator":
    """Load a model folder, or the model of a run folder; None stands for the model that ships with the package.

    `device` is "cpu", "cuda" or "cuda:1"; None takes a GPU when there is one. `quantize` is "int8" (CPU only), "none"
    or None, or "auto": int8 on a CPU that is fast with it.
    """
    from heedful.tasks.loading import load_translator

    return load_translator(path, device=device, quantize=quantize)
