"""Writing to disk so that a crash, a kill or a full disk never costs what was there before.

Everything Heedful keeps is written here: aside first, forced to the platter, then renamed into place in one step.
A folder closes with `manifest.json`, the size and sha256 of every other file, so that damage is found before use.
This file knows bytes and names; it knows nothing of tensors, checkpoints or models, and does not import torch.
"""

import ctypes
import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias, cast

from heedful.errors import FullDiskError, HeedfulError, ModelFolderError

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"

MANIFEST = "manifest.json"
FORMAT_VERSION = 1
_PARTIAL = ".partial-"
_BLOCK = 1 << 22
_HERE, _RENAME_EXCHANGE = -100, 2  # AT_FDCWD and the flag of renameat2, from Linux's headers


def write_atomic(path: Path, data: bytes) -> None:
    """Write `path` whole or not at all: whoever looks sees the old bytes or the new ones, never a mixture."""
    partial = _partial_name(path)
    with writing(path, len(data)):
        try:
            _write_forced(partial, data)
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        _sync_folder(path.parent)


def write_atomic_new(path: Path, data: bytes) -> None:
    """Do the same for a file that does not exist yet; one that has appeared meanwhile is never overwritten."""
    partial = _partial_name(path)
    with writing(path, len(data)):
        try:
            _write_forced(partial, data)
            try:
                os.link(partial, path)
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
                os.close(
                    os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                )  # no links here: take the name first
                partial.replace(path)
        finally:
            with suppress(OSError):
                partial.unlink()
        _sync_folder(path.parent)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet and force it to disk. For folders that are not yet visible to anyone."""
    with writing(path, len(data)):
        _write_forced(path, data)


def append(path: Path, data: bytes) -> None:
    """Add `data` at the end of `path` (made if need be). Cheap, not forced to disk: a kill may tear the last line."""
    with writing(path, len(data)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)


def force_to_disk(path: Path) -> None:
    """Make what was appended to `path` survive a power cut."""
    with writing(path):
        _sync(path)


def publish_folder(final: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write a folder aside, then make it appear as `final` in one step. An existing `final` is refused.

    The folder is filled under a hidden name beside `final`. When anything fails it is removed again; when the process
    is killed it stays, harmless, until `sweep_partial`.
    """
    partial = begun_folder(final, begin_folder(final))
    with writing(final):
        try:
            fill(partial)
            finish_folder(partial, final)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def begin_folder(final: Path) -> int:
    """Make the hidden folder in which `final` is to be filled, by one process or several; return its number."""
    if final.exists():
        raise HeedfulError(f"{final} must not exist yet, but it does. Remove it or choose another name.")
    number = secrets.randbits(32)
    with writing(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        begun_folder(final, number).mkdir()
    return number


def begun_folder(final: Path, number: int) -> Path:
    """Return the folder that `begin_folder` has made."""
    return final.with_name(f".{final.name}{_PARTIAL}{number:08x}")


def finish_folder(partial: Path, final: Path) -> None:
    """Make a folder that was filled aside appear as `final` in one step."""
    with writing(final):
        _sync_tree(partial)
        partial.rename(final)
        _sync_folder(final.parent)


def replace_folder(final: Path, make: Callable[[Path], None]) -> None:
    """Let `make` write a whole folder beside `final`, then put it in its place; what `final` held is removed.

    Where the system can exchange two names (Linux can), there is no moment without a whole folder. Elsewhere there is
    one of two renames, and a kill in it leaves both folders, whole, under hidden names.
    """
    fresh = _partial_name(final)
    with writing(final):
        try:
            make(fresh)
            _exchange(fresh, final)
            _sync_folder(final.parent)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def sweep_partial(folder: Path) -> list[Path]:
    """Remove what killed writers left half-written in `folder`; return what was removed."""
    if not folder.is_dir():
        return []
    left = sorted(path for path in folder.iterdir() if path.name.startswith(".") and _PARTIAL in path.name)
    for path in left:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return left


def remove_folder(folder: Path) -> None:
    """Remove `folder` so that a kill half-way leaves no damaged folder under its name: it is renamed away first."""
    with writing(folder):
        partial = _partial_name(folder)
        folder.rename(partial)
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def writing(path: Path, needed: int | None = None, *, remedy: str | None = None) -> Iterator[None]:
    """Turn what the operating system says inside the block into a sentence: the path, the space needed and left.

    `remedy` is what to do about it, where the caller knows better than this file.
    """
    try:
        yield
    except OSError as error:
        told = f"{path} could not be written: {(error.strerror or str(error)).rstrip('.')}."
        if remedy is not None:
            raise HeedfulError(f"{told} {remedy}") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            wanted = "" if needed is None else f"{needed:,} bytes are needed and "
            raise FullDiskError(f"{told} {wanted}{_free_bytes(path):,} bytes are free there.") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            told += " Make the folder writable, or choose another one."
        raise HeedfulError(told) from error


@contextmanager
def advising(remedy: str) -> Iterator[None]:
    """Let whoever finds the disk full inside the block be told `remedy`, in the place of the usual one."""
    try:
        yield
    except FullDiskError as error:
        raise FullDiskError(error.lead, remedy) from error.__cause__


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file's bytes in hexadecimal, reading it block by block."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def write_manifest(folder: Path, facts: Mapping[str, JsonValue]) -> None:
    """Close `folder` with its manifest: size and sha256 of every file, and `facts`. To be called last.

    The manifest seals itself too (`manifest_sha256`): a flipped bit in a fact is as bad as one in a weight.
    """
    listing: dict[str, JsonValue] = {}
    for name in _list_files(folder):
        listing[name] = {"sha256": sha256_file(folder / name), "bytes": (folder / name).stat().st_size}
    write_atomic(folder / MANIFEST, _seal({"format_version": FORMAT_VERSION, "files": listing, **facts}))


def verify_manifest(folder: Path) -> dict[str, JsonValue]:
    """Check every file of `folder` against its manifest, which is returned; ModelFolderError says what is wrong."""
    manifest = verify_sizes(folder)
    for name, recorded in cast(dict[str, dict[str, JsonValue]], manifest["files"]).items():
        if sha256_file(folder / name) != recorded.get("sha256"):
            raise ModelFolderError(f"{folder / name} has been altered: its sha256 is not the recorded one. {_REMEDY}")
    return manifest


def verify_sizes(folder: Path) -> dict[str, JsonValue]:
    """Do the same without reading the files: which there are, and how large. For what only describes a folder."""
    manifest = _read_manifest(folder)
    listing = manifest["files"]
    if not isinstance(listing, dict):
        raise ModelFolderError(f"{folder / MANIFEST} must list files, but does not. {_REMEDY}")
    found = set(_list_files(folder))
    if missing := sorted(set(listing) - found):
        raise ModelFolderError(f"{folder} must hold {missing[0]}, but the file is missing. {_REMEDY}")
    if extra := sorted(found - set(listing)):
        raise ModelFolderError(f"{folder} holds {extra[0]}, which its manifest does not list. Remove that file.")
    for name, recorded in listing.items():
        path = folder / name
        if not isinstance(recorded, dict) or path.stat().st_size != recorded.get("bytes"):
            raise ModelFolderError(f"{path} has been altered: its size is not the recorded one. {_REMEDY}")
    return manifest


_REMEDY = "Copy the whole folder again from where it came, or use another one."


def _read_manifest(folder: Path) -> dict[str, JsonValue]:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ModelFolderError(f"{folder} must be a folder with a {MANIFEST}, but there is no such folder.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelFolderError(f"{folder} must hold {MANIFEST}, but the file is missing. {_REMEDY}") from None
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or "files" not in manifest:
        raise ModelFolderError(f"{path} has been altered: it is no manifest of ours. {_REMEDY}")
    version = manifest.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelFolderError(
            f"{folder} must have format version {FORMAT_VERSION} or older, but has {version}. Use a newer Heedful."
        )
    unsealed = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
    if version != FORMAT_VERSION or _seal(unsealed) != data:
        raise ModelFolderError(f"{path} has been altered: it does not match its own sha256. {_REMEDY}")
    return manifest


def _seal(manifest: Mapping[str, JsonValue]) -> bytes:
    """Serialise in the one canonical way, with the digest of all the rest as the last entry."""
    body = json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return json.dumps({**json.loads(body), "manifest_sha256": digest}, indent=1, allow_nan=False).encode() + b"\n"


def _list_files(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if not path.is_dir())
    return sorted(name for path in files if (name := path.relative_to(folder).as_posix()) != MANIFEST)


def _partial_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{_PARTIAL}{secrets.token_hex(4)}")


def _exchange(one: Path, other: Path) -> None:
    """Let two folders take each other's name."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return
    spare = _partial_name(other)
    other.rename(spare)
    try:
        one.rename(other)
    except BaseException:
        spare.rename(other)
        raise
    spare.rename(one)


def _write_forced(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        _write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest[:_BLOCK]) :]


def _sync_tree(folder: Path) -> None:
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync(Path(root) / name)
        _sync_folder(Path(root))


def _sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk; without it a rename can be lost in a power cut."""
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _free_bytes(path: Path) -> int:
    existing = next((folder for folder in path.absolute().parents if folder.is_dir()), Path("/"))
    return shutil.disk_usage(existing).free


def cache_folder() -> Path:
    """Return the folder of what can be made again, token stores and the int8 engine: HEEDFUL_CACHE, or the user's."""
    chosen = os.environ.get("HEEDFUL_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "heedful"


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for the user alone; what exists is left as it is."""
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
