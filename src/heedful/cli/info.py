"""`heedful info`: what a bug report needs, ready to paste."""

import os
import platform
import sys
from importlib import metadata

from heedful import __version__
from heedful.cli import options
from heedful.cli.console import write_line

_PACKAGES = ("torch", "tokenizers", "safetensors", "pyarrow", "pydantic", "sacrebleu", "ctranslate2", "transformers")


def info(as_json: options.Json = False) -> None:
    """Print versions, devices and folders, ready to paste into a report."""
    facts = gather_facts()
    if as_json:
        import json

        write_line(json.dumps(facts))
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        write_line(f"{name:<{width}}  {value}")


def gather_facts() -> dict[str, str]:
    """Return what is installed and what the machine has, by name."""
    import torch

    facts = {"heedful": __version__, "python": f"{platform.python_version()} ({sys.executable})"}
    facts["platform"] = platform.platform()
    facts |= {name: _version(name) for name in _PACKAGES}
    facts["cpu"] = f"{_cpu_name()}, {len(os.sched_getaffinity(0))} cores, {torch.get_num_threads()} threads"
    facts["cpu features"] = torch.backends.cpu.get_cpu_capability()
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    facts["gpus"] = ", ".join(gpus) or "none"
    facts["cuda"] = torch.version.cuda or "none"
    facts["HEEDFUL_DATA"] = os.environ.get("HEEDFUL_DATA", "not set")
    facts["HEEDFUL_CACHE"] = os.environ.get("HEEDFUL_CACHE", "not set")
    facts["bundled models"] = "none"
    return facts


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
