"""What a run ran on: versions, processors, folders. For environment.json and for `heedful info`."""

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import torch

from heedful import __version__
from heedful.native.library import find_compiler

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
        "cpu": f"{_cpu_name()}, {_num_cores()} cores, {torch.get_num_threads()} threads",
        "cpu features": torch.backends.cpu.get_cpu_capability(),
        "int8 engine": _int8_engine(),
        "gpus": ", ".join(gpus) or "none",
        "cuda": torch.version.cuda or "none",
        "HEEDFUL_DATA": os.environ.get("HEEDFUL_DATA", "not set"),
        "HEEDFUL_CACHE": os.environ.get("HEEDFUL_CACHE", "not set"),
        "bundled models": "none",
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _int8_engine() -> str:
    compiler = find_compiler()
    return f"compiled by {compiler}" if compiler else "none, as there is no C++ compiler: models run in fp32"


def _num_cores() -> int:
    """Count the cores this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
