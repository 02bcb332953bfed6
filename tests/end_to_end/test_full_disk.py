"""A full disk under real commands: each says what to do next for what it was doing.

A limit on the size of a file stands for the full disk: the system refuses the write in the same way.
"""

import resource
from pathlib import Path

from tests.support.command_server import command_server
from tests.support.small_run import SmallRun


def heedful_without_room(*arguments: str | Path, cwd: Path, cache: Path) -> tuple[int, str]:
    limits = {resource.RLIMIT_FSIZE: 4096}
    done = command_server().run(*arguments, cwd=cwd, limits=limits, HEEDFUL_CACHE=str(cache))
    return done.returncode, done.stderr.decode().splitlines()[-1]


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
