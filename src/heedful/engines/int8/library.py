"""Compile the C++ of this folder with the machine's own compiler, once, and open it.

Compiled where it runs, the engine uses every instruction the processor has, and the package stays free of binaries.
The result is kept in the cache folder under a name that says what it was made from, so that a new version, another
compiler or another processor never meets an old file. What is opened is executed: the folder is the user's alone, and
a file that somebody else could have put there is not opened. Nothing here knows what the functions compute.
"""

import _ctypes
import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from heedful.engines.int8.ownership import foreign_hand, hand_above
from heedful.errors import HeedfulError
from heedful.files import cache_folder, make_private_folder

SOURCES = Path(__file__).parent
_THIS_PROCESSOR = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
FLAGS = ("-O3", _THIS_PROCESSOR, "-std=c++20", "-shared", "-fPIC", "-pthread")
_FUNCTIONS = (
    "heedful_lanes", "heedful_largest_activation", "heedful_new_engine", "heedful_free_engine",
    "heedful_start", "heedful_encode", "heedful_keep_sources", "heedful_extend", "heedful_extend_best",
    "heedful_look", "heedful_rewind", "heedful_restart", "heedful_free_search", "heedful_guess", "heedful_states",
    "heedful_new_output", "heedful_free_output", "heedful_logits", "heedful_best",
)  # fmt: skip
_COMPILER_SECONDS = 600  # it takes ten, and a minute on a busy machine
_FAILURE_HOLDS_SECONDS = 24 * 60 * 60

Say = Callable[[str], None]


class NativeUnavailableError(HeedfulError):
    """This machine cannot compile or load the engine; the message says why."""

    is_news = False
    """Whether the user should hear of it although there is another way: it is neither usual nor told before."""


class _NewsError(NativeUnavailableError):
    is_news = True


def open_library(say: Say = lambda _: None, *, insist: bool = False) -> ctypes.CDLL:
    """Return the compiled engine, building it first if this machine has not yet.

    `say` is told in a sentence when the user has to wait for the compiler, and what was wrong with the cache. A failure
    is remembered for a day, so that not every start tries again; with `insist` it is tried.
    """
    compiler = find_compiler()
    if compiler is None:
        raise NativeUnavailableError(
            "The int8 engine needs a C++ compiler, but neither $CXX, g++, clang++ nor c++ is there. "
            "Install one (for example `apt install g++`), or go on with `--quantize none`."
        )
    wanted = cache_folder() / "native"
    try:
        path = _own_folder(wanted, say) / _engine_name(compiler)
        return _find(path, say) or _make(compiler, path, say, insist=insist)
    except OSError as error:
        raise NativeUnavailableError(
            f"The int8 engine needs the cache folder {wanted}, but: {error.strerror}."
        ) from error


def is_available() -> bool:
    """Say whether this machine can run the engine, compiling it if that has to be tried."""
    try:
        open_library()
    except NativeUnavailableError:
        return False
    return True


def find_compiler() -> str | None:
    """Return the path of the C++ compiler to use, or None when there is none."""
    candidates = (os.environ.get("CXX"), "g++", "clang++", "c++")
    return next((path for name in candidates if name and (path := shutil.which(name))), None)


def _own_folder(wanted: Path, say: Say) -> Path:
    """Return the folder, resolved, which from now on only the user can write; raise where that cannot be had."""
    make_private_folder(wanted)
    folder = wanted.resolve(strict=True)
    hand = foreign_hand(folder)
    if hand is None:
        return folder
    if hand_above(folder) is not None or folder.stat().st_uid != os.geteuid():
        raise _NewsError(
            f"The int8 engine must lie where only you can write, but {hand}: what lies there is not executed. "
            "Mend its owner and mode, or name another folder in HEEDFUL_CACHE."
        )
    # The folder is the user's own and was only left open: closed first, then rid of what may have been put there.
    folder.chmod(0o700)
    for left in folder.glob("engine-*"):
        left.unlink()
    say(f"warning: {hand}: it has been closed to them, and the engines in it were removed.")
    return folder


def _find(path: Path, say: Say) -> ctypes.CDLL | None:
    """Open the engine that is there; None, and the file removed, when it is not what it should be."""
    if not path.exists():
        return None
    hand = foreign_hand(path)
    if hand is None:
        with suppress(OSError, AttributeError):
            return _load(path)
    say(f"warning: the int8 engine is made again, because {hand or f'{path} cannot be used'}.")
    path.unlink()
    return None


@functools.cache
def _load(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    try:
        for function in _FUNCTIONS:
            getattr(library, function)
    except AttributeError:
        _ctypes.dlclose(library._handle)  # or the system would hand it out again for what is made in its place
        raise
    return library


def _make(compiler: str, path: Path, say: Say, *, insist: bool) -> ctypes.CDLL:
    """Compile the engine and open it; remember a failure."""
    failure = path.with_suffix(".failed")
    with suppress(FileNotFoundError):
        if not insist and time.time() - failure.stat().st_mtime < _FAILURE_HOLDS_SECONDS:
            raise NativeUnavailableError(failure.read_text(encoding="utf-8", errors="replace"))
    problem = _compile(compiler, path, say)
    if problem is None:
        try:
            library = _load(path)
        except (OSError, AttributeError) as error:
            path.unlink()
            problem = f"The int8 engine that {compiler} has made cannot be loaded: {error}."
        else:
            failure.unlink(missing_ok=True)
            return library
    failure.write_text(problem, encoding="utf-8")
    raise _NewsError(problem)


def _compile(compiler: str, path: Path, say: Say) -> str | None:
    """Write the engine to `path`; return what went wrong, if anything did."""
    # Written aside and renamed: two processes that start together must not read each other's half-written file.
    with tempfile.TemporaryDirectory(dir=path.parent) as workplace:
        say("Compiling the int8 engine for this processor: once, some ten seconds (--quantize none does without).")
        made = Path(workplace) / path.name
        command = [compiler, *FLAGS, str(SOURCES / "transformer.cpp"), "-o", str(made)]
        try:
            result = subprocess.run(  # noqa: S603
                command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_COMPILER_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"The int8 engine could not be compiled: {compiler} took more than {_COMPILER_SECONDS} seconds."
        if result.returncode or not made.exists():
            told = result.stderr.decode(errors="replace")[-2000:]
            return f"The int8 engine could not be compiled with {compiler}:\n{told}"
        made.chmod(0o700)
        made.replace(path)
    return None


def _engine_name(compiler: str) -> str:
    """Name the file after everything it is made from and for.

    The compiler is known by its file: asking it for its version would start a process each time, which may hang.
    """
    digest = hashlib.sha256()
    for source in sorted([*SOURCES.glob("*.h"), *SOURCES.glob("*.cpp")]):
        digest.update(source.read_bytes())
    program = Path(compiler).resolve()
    state = program.stat()
    digest.update(f"{program} {state.st_size} {state.st_mtime_ns} {' '.join(FLAGS)} {_processor()}".encode())
    return f"engine-{digest.hexdigest()[:16]}.so"


def _processor() -> str:
    """Describe what the compiled code depends on: the instructions this processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() + platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
