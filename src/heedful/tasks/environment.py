"""What a run ran on: versions, processors, folders. For environment.json and for `heedful info`."""

import os
import platform
import sys
from datetime import date
from importlib import metadata
from pathlib import Path

import torch

from heedful import __version__
from heedful.data.processes import num_cores
from heedful.engines.int8.library import find_compiler
from heedful.errors import HeedfulError
from heedful.models.build import num_parameters
from heedful.storage.descriptions import DESCRIPTIONS, TranslatorDescription
from heedful.storage.locate import BUNDLED, BUNDLED_NAMES, bundled_folder
from heedful.storage.model_folder import describe_model_folder
from heedful.tasks.translation.load import directions_of

_PACKAGES = (
    "torch", "numpy", "tokenizers", "safetensors", "pyarrow", "pydantic", "sacrebleu", "ctranslate2", "transformers",
)  # fmt: skip


def describe_environment() -> dict[str, str]:
    """Return what is installed and what the machine has, by name."""
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {
        "heedful": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        **{package: _version(package) for package in _PACKAGES},
        "cpu": f"{_cpu_name()}, {num_cores()} cores, {torch.get_num_threads()} threads",
        "cpu features": torch.backends.cpu.get_cpu_capability(),
        "int8 engine": _int8_engine(),
        "gpus": ", ".join(gpus) or "none",
        "cuda": torch.version.cuda or "none",
        "HEEDFUL_DATA": os.environ.get("HEEDFUL_DATA", "not set"),
        "HEEDFUL_CACHE": os.environ.get("HEEDFUL_CACHE", "not set"),
        "bundled model": _bundled_model(),
        **{name: _other_bundled_model(task) for task, name in BUNDLED_NAMES.items() if name != BUNDLED},
    }


def describe_machine() -> dict[str, str]:
    """Return what a measurement should say about where and when it was made."""
    gpus = sorted({torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())})
    return {"machine": ", ".join([_cpu_name(), *gpus]), "date": date.today().isoformat()}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _int8_engine() -> str:
    compiler = find_compiler()
    return f"compiled by {compiler}" if compiler else "none, as there is no C++ compiler: models run in fp32"


def _bundled_model() -> str:
    """Say what the model that ships with the package translates, and how large it is."""
    path = bundled_folder()
    if path is None:
        return "none"
    try:
        model = describe_model_folder(path, TranslatorDescription)
    except HeedfulError as error:
        return str(error)
    pairs = ", ".join(f"{source}→{target}" for source, target in directions_of(model).pairs)
    size = num_parameters(model.model, model.source_vocab_size, model.target_vocab_size)
    num_bytes = sum(file.stat().st_size for file in path.iterdir())
    return f"{path.name}: {pairs}; {size / 1e6:.1f} M parameters, {num_bytes / 1e6:.1f} MB"


def _other_bundled_model(task: str) -> str:
    """Say what a model that ships for another task than translation is, and how large it is."""
    path = bundled_folder(task)
    if path is None:
        return "none"
    num_bytes = sum(file.stat().st_size for file in path.iterdir())
    return f"{path.name}: {DESCRIPTIONS[task].holder}, {num_bytes / 1e6:.1f} MB"


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
