"""How threads wait is settled before PyTorch is loaded, by every door: OpenMP looks once, and says what it has seen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DOORS = {
    "command": "import sys; sys.argv = ['heedful', 'info']; from heedful.cli import main; main()",
    "module": "import runpy, sys; sys.argv = ['heedful', 'info']; runpy.run_module('heedful', run_name='__main__')",
    "load": "import heedful; heedful.load(device='cpu', quantize='none')",
}


def openmp_said(code: str, **environment: str) -> str:
    """Run Python and return the settings that PyTorch's OpenMP says it works with."""
    kept = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "OMP_DISPLAY_ENV": "VERBOSE", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("PyTorch's OpenMP is not GNU's")
    return done.stderr


@pytest.mark.parametrize("door", DOORS)
def test_threads_spin_briefly_through_every_door(door: str) -> None:
    assert "GOMP_SPINCOUNT = '1000'" in openmp_said(DOORS[door])


def test_a_training_process_has_the_setting(corpus_folder: Path) -> None:
    code = f"import os, sys; os.chdir({str(corpus_folder)!r}); from heedful.cli import main; sys.argv = "
    code += "['heedful', 'train', 'small.toml', 'training.max_steps=1', 'validation.max_sentences=1']; main()"
    said = openmp_said(code, HEEDFUL_CACHE=str(corpus_folder / "cache"))
    assert "GOMP_SPINCOUNT = '1000'" in said


@pytest.mark.parametrize("door", DOORS)
def test_what_the_user_has_chosen_stays(door: str) -> None:
    said = openmp_said(DOORS[door], GOMP_SPINCOUNT="77", OMP_WAIT_POLICY="ACTIVE")
    assert "GOMP_SPINCOUNT = '77'" in said
    assert "OMP_WAIT_POLICY = 'ACTIVE'" in said


@pytest.mark.parametrize("name", ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME"])
def test_one_choice_of_the_user_is_enough(name: str) -> None:
    code = "import os; from heedful.waiting import spin_briefly; spin_briefly(); print(os.getenv('GOMP_SPINCOUNT'))"
    kept = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, name: "77"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == ("77\n" if name == "GOMP_SPINCOUNT" else "None\n")


def test_importing_sets_nothing() -> None:
    code = "import os, heedful, heedful.waiting; assert 'GOMP_SPINCOUNT' not in os.environ; import torch"
    assert "GOMP_SPINCOUNT = '1000'" not in openmp_said(code)
