"""A full disk under real commands: each says what to do next for what it was doing.

A limit on the size of a file stands for the full disk: the system refuses the write in the same way.
"""

import subprocess
import sys
from pathlib import Path

from tests.support.commands import environment_of
from tests.support.small_run import SmallRun

LIMITED = (
    "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
    "runpy.run_module('heedful', run_name='__main__', alter_sys=True)"
)


def heedful_without_room(*arguments: str | Path, cwd: Path, cache: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment_of(HEEDFUL_CACHE=str(cache)),
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr.splitlines()[-1]


def test_a_page_that_finds_no_room_says_nothing_of_resuming(small_run: SmallRun, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    status, sentence = heedful_without_room(
        "explain", "ten houses", "--model", small_run.run, "--out", out, cwd=tmp_path, cache=small_run.root / "cache"
    )
    assert status == 1
    assert sentence.startswith(f"error: {out} could not be written: File too large. ")
    assert sentence.endswith(" bytes are free there. Free some space and run the command again.")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_finds_no_room_is_to_be_resumed(small_run: SmallRun, tmp_path: Path) -> None:
    status, sentence = heedful_without_room(
        *("train", "small.toml", "--device", "cpu", f"runs_folder={tmp_path}"),
        cwd=small_run.root,
        cache=small_run.root / "cache",
    )
    assert status == 1
    assert sentence.startswith(f"error: {tmp_path / 'small' / 'tokenizer.json'} could not be written: File too large. ")
    assert sentence.endswith(" bytes are free there. Free some space and start again with --resume.")
