"""Starting is quick: what needs no tensors does not load PyTorch."""

import resource
import statistics
import subprocess
import sys
from pathlib import Path

import typer.main
from typer.core import TyperGroup

from heedful.cli.main import app

PACKAGE = Path(__file__).parents[2] / "src" / "heedful"
LIGHT = ("config", "text", "corpora")  # the rooms a tool can use without a deep-learning framework
HEAVY = ("torch", "transformers", "pyarrow", "sacrebleu")

IMPORT = """
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
    if "torch" in sys.modules:
        sys.exit(f"{module} loads torch.")
"""

COMMAND = """
import sys
from heedful.cli import main
heavy, sys.argv = sys.argv[1].split(), ["heedful", *sys.argv[2:]]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
loaded = [name for name in heavy if name in sys.modules]
if loaded:
    sys.exit(f"loads {', '.join(loaded)}.")
"""


def verbs() -> list[str]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return sorted(group.commands)


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def test_importing_does_not_load_torch() -> None:
    """Each in turn, in one process: the first that loads it is named."""
    rooms = [path for room in LIGHT for path in sorted((PACKAGE / room).rglob("*.py"))]
    modules = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in rooms]
    light = ["heedful", "heedful.errors", "heedful.files", *(name.removesuffix(".__init__") for name in modules)]
    done = run(IMPORT, *light)
    assert done.returncode == 0, done.stderr


def test_help_and_version_load_nothing_heavy() -> None:
    wrong = []
    for arguments in [["--help"], ["--version"], *([verb, "--help"] for verb in verbs())]:
        done = run(COMMAND, " ".join(HEAVY), *arguments)
        if done.returncode != 0:
            wrong.append(f"heedful {' '.join(arguments)}: {done.stderr.strip()}")
        elif ("Usage" if "--help" in arguments else "heedful") not in done.stdout:
            wrong.append(f"heedful {' '.join(arguments)} answers {done.stdout!r}")
    assert not wrong, "\n".join(wrong)


def test_help_takes_less_than_half_a_second_of_a_processor() -> None:
    """Not of the clock: what else the machine is busy with is no fault of ours."""

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "heedful", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    taken = sorted(seconds() for _ in range(7))
    assert statistics.median(taken) < 0.5, f"Seconds of a processor: {taken}"


USE = """
import sys
import heedful
heedful.load(device="cpu", quantize="none")
print(sorted({"torch._dynamo", "torch._inductor", "sympy"} & set(sys.modules)))
"""


def test_loading_a_model_does_not_load_the_compiler() -> None:
    """It takes longer than all else together, and some operations on shapes alone would ask for it."""
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
