"""What a model is made of, for whoever lists the models: its layers, heads, width and size, as its folder says.

Reads a folder that a loader has accepted before, its weights' names and shapes only. Knows the files of model folders.
"""

import json
import math
from pathlib import Path
from typing import Any

from safetensors import safe_open

from heedful.storage.folder_files import CONFIG, WEIGHTS
from heedful.storage.quantized_weights import SCALES


def read_facts(folder: Path) -> dict[str, Any]:
    """Describe the model of a folder; what a kind of model has not is None."""
    config = json.loads((folder / CONFIG).read_bytes())
    model = config["model"]
    attention = model.get("attention")  # of a classifier a table, of a recurrent model a word
    return {
        "layers": _layers(config["task"], model),
        "heads": model.get("num_heads", attention.get("num_heads") if isinstance(attention, dict) else None),
        "dim": model["dim"],
        "vocabulary": config.get("target_vocab_size", config.get("vocab_size")),
        "parameters": _num_parameters(folder / WEIGHTS),
        "positions": "relative" if model["kind"] == "transformer_xl" else model.get("positions", {}).get("kind"),
    }


def _layers(task: str, model: dict[str, Any]) -> dict[str, int]:
    if task == "translation":
        return {"encoder": model["num_encoder_layers"], "decoder": model["num_decoder_layers"]}
    is_encoder = task == "classification"
    count = model["num_layers"]
    return {"encoder": count if is_encoder else 0, "decoder": 0 if is_encoder else count}


def _num_parameters(weights: Path) -> int:
    """Count the numbers of a file of weights; the scales of rounded matrices are not parameters."""
    with safe_open(weights, framework="pt") as stored:
        names = [name for name in stored.keys() if not name.endswith(SCALES)]  # noqa: SIM118 - no mapping
        return sum(math.prod(stored.get_slice(name).get_shape()) for name in names)
