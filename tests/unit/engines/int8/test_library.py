"""The compiled engine comes from the user's own hand: what others could have put into the cache is never opened.

The compiler here is a script that hands out an engine compiled once by the real one, so that a test need not wait.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from heedful.engines.int8 import library
from heedful.engines.int8.library import NativeUnavailableError, find_compiler, open_library
from heedful.files import cache_folder, make_private_folder

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C++ compiler")
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
PLANTED = '#include <cstdio>\n__attribute__((constructor)) static void run() { fclose(fopen("%s", "w")); }\n'


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine, compiled for real or taken from the user's cache."""
    return Path(open_library()._name)


@pytest.fixture
def compiler(engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that is quick, and a cache of its own."""
    script = tmp_path / "compiler"
    write_compiler(script, f'cp {engine} "$out"')
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("HEEDFUL_CACHE", str(tmp_path / "cache"))
    return script


def write_compiler(script: Path, action: str) -> None:
    script.write_text(f"#!/bin/sh\necho called >> {script}.calls\nfor out; do :; done\n{action}\n")
    script.chmod(0o755)


def calls_of(script: Path) -> int:
    calls = Path(f"{script}.calls")
    return len(calls.read_text().splitlines()) if calls.exists() else 0


def plant(tmp_path: Path, path: Path) -> Path:
    """Put a library at `path` that leaves a mark when it is opened; returns where the mark would be."""
    mark = tmp_path / "it-ran"
    (tmp_path / "planted.cpp").write_text(PLANTED % mark)
    command = [find_real_compiler(), "-shared", "-fPIC", str(tmp_path / "planted.cpp"), "-o", str(path)]
    subprocess.run(command, check=True)
    path.chmod(0o755)
    return mark


def find_real_compiler() -> str:
    return next(path for name in ("g++", "clang++", "c++") if (path := shutil.which(name)))


def cached_engine(compiler: Path, engine: Path) -> Path:
    """Put the engine into the cache, unopened: what a process has opened once it does not open again; says where."""
    path = cache_folder() / "native" / library._engine_name(str(compiler))
    make_private_folder(path.parent)
    shutil.copyfile(engine, path)
    path.chmod(0o700)
    return path.resolve()


def test_folder_and_engine_are_made_for_the_user_alone_whatever_the_umask(compiler: Path) -> None:
    before = os.umask(0)
    try:
        path = Path(open_library()._name)
    finally:
        os.umask(before)
    assert [place.stat().st_mode & 0o777 for place in (path, path.parent, path.parent.parent)] == [0o700] * 3


def test_an_engine_that_is_there_is_opened_without_a_compiler(compiler: Path, engine: Path, tmp_path: Path) -> None:
    cached_engine(compiler, engine)
    told: list[str] = []
    assert open_library(told.append).heedful_lanes() in (8, 16)
    assert (calls_of(compiler), told) == (0, [])


@needs_root
def test_a_folder_of_somebody_else_is_refused(compiler: Path, engine: Path, tmp_path: Path) -> None:
    path = cached_engine(compiler, engine)
    mark = plant(tmp_path, path)
    os.chown(path.parent, NOBODY, NOBODY)
    with pytest.raises(NativeUnavailableError, match=f"{path.parent} belongs to user {NOBODY}") as caught:
        open_library()
    assert caught.value.is_news
    assert not mark.exists()


@needs_root
def test_an_engine_of_somebody_else_is_made_again(compiler: Path, engine: Path, tmp_path: Path) -> None:
    path = cached_engine(compiler, engine)
    mark = plant(tmp_path, path)
    os.chown(path, NOBODY, NOBODY)
    told: list[str] = []
    assert open_library(told.append).heedful_lanes() in (8, 16)
    assert not mark.exists()
    assert (path.stat().st_uid, calls_of(compiler)) == (0, 1)
    assert told[0] == f"warning: the int8 engine is made again, because {path} belongs to user {NOBODY}."


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_others_could_write_is_closed_and_its_engine_made_again(
    compiler: Path, engine: Path, tmp_path: Path, mode: int
) -> None:
    path = cached_engine(compiler, engine)
    mark = plant(tmp_path, path)
    path.parent.chmod(mode)
    told: list[str] = []
    assert open_library(told.append).heedful_lanes() in (8, 16)
    assert not mark.exists()
    assert (path.parent.stat().st_mode & 0o7777, calls_of(compiler)) == (0o700, 1)
    assert told[0].startswith(f"warning: others may write {path.parent} (mode {mode:o}): it has been closed")


def test_an_engine_others_could_write_is_made_again(compiler: Path, engine: Path, tmp_path: Path) -> None:
    path = cached_engine(compiler, engine)
    mark = plant(tmp_path, path)
    path.chmod(0o777)
    assert open_library().heedful_lanes() in (8, 16)
    assert not mark.exists()
    assert (path.stat().st_mode & 0o777, calls_of(compiler)) == (0o700, 1)


def test_a_folder_above_that_others_could_rename_is_refused_unless_it_is_sticky(
    compiler: Path, engine: Path, tmp_path: Path
) -> None:
    path = cached_engine(compiler, engine)
    (tmp_path / "cache").chmod(0o777)
    with pytest.raises(NativeUnavailableError, match=r"others may write .*cache \(mode 777\)"):
        open_library()
    (tmp_path / "cache").chmod(0o1777)
    assert Path(open_library()._name) == path


@pytest.mark.parametrize("damage", ["another", "junk"])
def test_a_file_without_our_functions_is_made_again(compiler: Path, engine: Path, tmp_path: Path, damage: str) -> None:
    path = cached_engine(compiler, engine)
    if damage == "another":
        plant(tmp_path, path)  # by the user's own hand: it may be opened, but is no engine
    else:
        path.write_bytes(b"no library at all")
    assert open_library().heedful_lanes() in (8, 16)
    assert calls_of(compiler) == 1


@pytest.mark.parametrize("action", ["echo broken >&2; exit 1", 'printf junk > "$out"', "true"])
def test_a_compiler_that_fails_is_asked_once_a_day_or_when_int8_is_insisted_on(
    compiler: Path, tmp_path: Path, action: str
) -> None:
    write_compiler(compiler, action)
    told: list[str] = []
    with pytest.raises(NativeUnavailableError, match="The int8 engine") as first:
        open_library(told.append)
    with pytest.raises(NativeUnavailableError) as second:
        open_library(told.append)
    assert (len(told), calls_of(compiler)) == (1, 1), "said once, tried once"
    assert (first.value.is_news, second.value.is_news, str(first.value)) == (True, False, str(second.value))
    with pytest.raises(NativeUnavailableError):
        open_library(insist=True)
    assert calls_of(compiler) == 2
    [remembered] = (tmp_path / "cache" / "native").glob("*.failed")
    os.utime(remembered, (time.time() - 90_000,) * 2)
    with pytest.raises(NativeUnavailableError):
        open_library()
    assert calls_of(compiler) == 3


def test_a_compiler_that_hangs_when_asked_for_its_version_is_not_asked(
    compiler: Path, engine: Path, tmp_path: Path
) -> None:
    write_compiler(compiler, f'[ "$1" = --version ] && sleep 60\ncp {engine} "$out"')
    began = time.monotonic()
    assert open_library().heedful_lanes() in (8, 16)
    assert time.monotonic() - began < 30
