"""Starting is quick: what needs no tensors does not load PyTorch."""

import subprocess
import sys

import pytest
import typer.main
from typer.core import TyperGroup

from heedful.cli.main import app

HELP = """
import sys
from heedful.cli import main
sys.argv = ["heedful", *sys.argv[1:]]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
print(sorted({"torch", "transformers", "pyarrow", "sacrebleu"} & set(sys.modules)), file=sys.stderr)
"""


def verbs() -> list[str]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return sorted(group.commands)


@pytest.mark.parametrize(
    "module", ["heedful", "heedful.config.load", "heedful.errors", "heedful.files", "heedful.text.tokenizer"]
)
def test_importing_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [["--help"], *([verb, "--help"] for verb in verbs())], ids=" ".join)
def test_help_does_not_load_torch(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", HELP, *arguments], capture_output=True, text=True, check=True)
    assert "Usage" in done.stdout
    assert done.stderr.strip().splitlines()[-1] == "[]"


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
