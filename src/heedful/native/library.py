"""Compile the C++ of this folder with the machine's own compiler, once, and open it.

Compiled where it runs, the engine uses every instruction the processor has, and the package stays free of binaries.
The result is kept in the cache folder under a name that says what it was made from, so that a new version, another
compiler or another processor never meets an old file. Nothing here knows what the functions compute.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from heedful.errors import HeedfulError
from heedful.files import cache_folder

SOURCES = Path(__file__).parent
_THIS_PROCESSOR = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
FLAGS = ("-O3", _THIS_PROCESSOR, "-std=c++20", "-shared", "-fPIC", "-pthread")


class NativeUnavailableError(HeedfulError):
    """This machine cannot compile or load the engine; the message says why."""


@functools.cache
def open_library() -> ctypes.CDLL:
    """Return the compiled engine, building it first if this machine has not yet."""
    compiler = find_compiler()
    if compiler is None:
        raise NativeUnavailableError(
            "The int8 engine needs a C++ compiler, but neither $CXX, g++, clang++ nor c++ is there. "
            "Install one (for example `apt install g++`), or go on with `--quantize none`."
        )
    path = _folder() / _engine_name(compiler)
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _compile(compiler, path)
    except OSError as error:
        raise NativeUnavailableError(
            f"The int8 engine needs the cache folder {path.parent}, but: {error.strerror}."
        ) from error
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NativeUnavailableError(f"The int8 engine {path} cannot be loaded: {error}.") from error


def is_available() -> bool:
    """Say whether this machine can run the engine, compiling it if that has to be tried."""
    try:
        open_library()
    except NativeUnavailableError:
        return False
    return True


def must_compile() -> bool:
    """Say whether `open_library` would call the compiler, which takes some ten seconds, and only once."""
    compiler = find_compiler()
    return compiler is not None and not (_folder() / _engine_name(compiler)).exists()


def find_compiler() -> str | None:
    """Return the path of the C++ compiler to use, or None when there is none."""
    candidates = (os.environ.get("CXX"), "g++", "clang++", "c++")
    return next((path for name in candidates if name and (path := shutil.which(name))), None)


def _compile(compiler: str, path: Path) -> None:
    # Written aside and renamed: two processes that start together must not read each other's half-written file.
    with tempfile.TemporaryDirectory(dir=path.parent) as workplace:
        made = Path(workplace) / path.name
        command = [compiler, *FLAGS, str(SOURCES / "transformer.cpp"), "-o", str(made)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if result.returncode:
            raise NativeUnavailableError(
                f"The int8 engine could not be compiled with {compiler}:\n{result.stderr[-2000:]}"
            )
        made.replace(path)


def _engine_name(compiler: str) -> str:
    """Name the file after everything it is made from and for."""
    digest = hashlib.sha256()
    for source in sorted([*SOURCES.glob("*.h"), *SOURCES.glob("*.cpp")]):
        digest.update(source.read_bytes())
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout  # noqa: S603
    digest.update(version + " ".join(FLAGS).encode() + _processor().encode())
    return f"engine-{digest.hexdigest()[:16]}.so"


def _processor() -> str:
    """Describe what the compiled code depends on: the instructions this processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() + platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())


def _folder() -> Path:
    return cache_folder() / "native"
