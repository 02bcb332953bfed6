"""Reads the tensors of a PyTorch weights file (`pytorch_model.bin`) without unpickling it.

Such a file is a pickle, and a pickle is a program for a machine that can call anything. Here the program is read as
data: the standard library's disassembler names its instructions, and a machine that knows only what state dicts are
made of (strings, numbers, tuples, dicts, and three names that mean "tensor of a storage") follows them. It imports
nothing and calls nothing the file names; everything else is refused. Both layouts are read: the zip archive of
PyTorch 1.6 and later, and the stream before it.
"""

import io
import math
import pickletools
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from heedful.errors import UserError

_DTYPES: Final = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
_REBUILD, _PARAMETER, _ORDERED = "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter", "OrderedDict"
_STREAM_MAGIC: Final = 0x1950A86A20F9469CFC6C
_MAX_PROGRAM: Final = 1 << 26
"""Bytes of the program; that of a model with ten thousand tensors has one million."""


class _UnreadableError(Exception):
    """A file is not what it should be; the message says what was found."""


@dataclass(frozen=True)
class _Name:
    """Something the program would have imported."""

    name: str


@dataclass(frozen=True)
class _Storage:
    """A run of numbers somewhere in the file."""

    key: str
    dtype: torch.dtype


@dataclass(frozen=True)
class _View:
    """A tensor: which numbers of a storage, in which shape."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


_MARK: Final = object()


def read_pickled_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a state dict by name, or say in a sentence why the file is none."""
    try:
        if zipfile.is_zipfile(path):
            return _read_archive(path)
        return _read_stream(path)
    except _UnreadableError as error:
        raise UserError(
            f"{path} must be the weights of a model, tensors by name, but {error}. Nothing of it was run."
        ) from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from None


def _read_archive(path: Path) -> dict[str, Tensor]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.partition("/")[2]: name for name in archive.namelist()}
            if "data.pkl" not in names:
                raise _UnreadableError("it is an archive without data.pkl")
            if archive.getinfo(names["data.pkl"]).file_size > _MAX_PROGRAM:
                raise _UnreadableError("its list of tensors is larger than any model has")
            if "byteorder" in names and archive.read(names["byteorder"]) != b"little":
                raise _UnreadableError("its numbers are big-endian")
            if sum(file.file_size for file in archive.infolist()) > path.stat().st_size:
                raise _UnreadableError("its parts are larger than the file, which is never compressed")
            views = _views_of(_run(io.BytesIO(archive.read(names["data.pkl"]))))

            def numbers(storage: _Storage) -> bytes:
                name = names.get(f"data/{storage.key}")
                if name is None:
                    raise _UnreadableError(f"the storage {storage.key!r:.40} is missing")
                return archive.read(name)

            return _tensors(views, numbers)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
        # Damaged, of an exotic kind, or encrypted.
        raise _UnreadableError(f"it is no sound archive ({error})") from None


def _read_stream(path: Path) -> dict[str, Tensor]:
    content = memoryview(path.read_bytes())
    stream = io.BytesIO(content)
    if _run(stream) != _STREAM_MAGIC:
        raise _UnreadableError("it does not begin like a file of PyTorch's")
    _run(stream)  # version
    system = _run(stream)
    if isinstance(system, dict) and system.get("little_endian") is False:
        raise _UnreadableError("its numbers are big-endian")
    views = _views_of(_run(stream))
    keys = _run(stream)
    sizes = {view.storage.key: view.storage.dtype.itemsize for view in views.values()}
    found: dict[str, bytes] = {}
    for key in keys if isinstance(keys, list) else []:
        count = int.from_bytes(stream.read(8), "little")
        if str(key) not in sizes:
            raise _UnreadableError("it holds numbers of no tensor")
        num_bytes, start = count * sizes[str(key)], stream.tell()
        if num_bytes > len(content) - start:
            raise _UnreadableError("it ends too early")
        found[str(key)] = bytes(content[start : start + num_bytes])
        stream.seek(start + num_bytes)

    def numbers(storage: _Storage) -> bytes:
        if storage.key not in found:
            raise _UnreadableError(f"the storage {storage.key!r:.40} is missing")
        return found[storage.key]

    return _tensors(views, numbers)


def _views_of(content: Any) -> dict[str, _View]:
    if not isinstance(content, dict) or not content:
        raise _UnreadableError("it holds something else")
    views = {}
    for name, value in content.items():
        if not isinstance(value, _View):
            raise _UnreadableError(f"{name!r:.60} is no tensor")
        views[name] = value
    return views


def _tensors(views: Mapping[str, _View], numbers: Callable[[_Storage], bytes]) -> dict[str, Tensor]:
    """Cut tensors out of their storages; what several tensors share is read once."""
    read: dict[_Storage, Tensor] = {}
    tensors = {}
    for name, view in views.items():
        if view.storage not in read:
            raw = bytearray(numbers(view.storage))
            whole = len(raw) - len(raw) % view.storage.dtype.itemsize
            read[view.storage] = (
                torch.frombuffer(raw, dtype=view.storage.dtype, count=whole // view.storage.dtype.itemsize)
                if whole
                else torch.empty(0, dtype=view.storage.dtype)
            )
        stored = read[view.storage]
        last = view.offset + sum((size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True))
        if math.prod(view.shape) and last >= stored.numel():
            raise _UnreadableError(f"{name!r:.60} reaches beyond its numbers")
        if math.prod(view.shape) > stored.numel():
            raise _UnreadableError(f"{name!r:.60} repeats its numbers")
        try:
            tensors[name] = stored.as_strided(view.shape, view.strides, view.offset).clone()
        except RuntimeError:
            raise _UnreadableError(f"{name!r:.60} has a shape no tensor has") from None
    return tensors


def _run(program: io.BytesIO) -> Any:
    """Follow the program of one pickle and return what it makes, calling nothing."""
    stack: list[Any] = []
    memory: dict[int, Any] = {}
    begin = program.tell()
    try:
        for opcode, argument, _ in pickletools.genops(program):
            if program.tell() - begin > _MAX_PROGRAM:
                raise _UnreadableError("its list of tensors is larger than any model has")
            if opcode.name == "STOP":
                (result,) = stack
                return result
            _do(opcode.name, argument, stack, memory)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, UnicodeError) as error:
        # What is no pickle at all, or one whose instructions do not fit what is there.
        raise _UnreadableError(f"its list of tensors is damaged ({type(error).__name__})") from None
    raise _UnreadableError("its list of tensors has no end")


def _do(name: str, argument: Any, stack: list[Any], memory: dict[int, Any]) -> None:
    match name:
        case "PROTO" | "FRAME":
            pass
        case "MARK":
            stack.append(_MARK)
        case "EMPTY_DICT":
            stack.append({})
        case "EMPTY_LIST":
            stack.append([])
        case "EMPTY_TUPLE":
            stack.append(())
        case "NONE":
            stack.append(None)
        case "NEWTRUE" | "NEWFALSE":
            stack.append(name == "NEWTRUE")
        case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE" | "SHORT_BINUNICODE":
            stack.append(argument)
        case "TUPLE1" | "TUPLE2" | "TUPLE3":
            stack.append(tuple(reversed([stack.pop() for _ in range(int(name[-1]))])))
        case "TUPLE":
            stack.append(tuple(_since_mark(stack)))
        case "APPENDS":
            items = _since_mark(stack)
            stack[-1].extend(items)
        case "APPEND":
            item = stack.pop()
            stack[-1].append(item)
        case "SETITEM":
            value, key = stack.pop(), stack.pop()
            _set(stack[-1], [key, value])
        case "SETITEMS":
            pairs = _since_mark(stack)
            _set(stack[-1], pairs)
        case "BINPUT" | "LONG_BINPUT":
            memory[argument] = stack[-1]
        case "MEMOIZE":
            memory[len(memory)] = stack[-1]
        case "BINGET" | "LONG_BINGET":
            stack.append(memory[argument])
        case "GLOBAL":
            stack.append(_Name(argument))
        case "BINPERSID":
            stack.append(_storage(stack.pop()))
        case "REDUCE":
            arguments, called = stack.pop(), stack.pop()
            stack.append(_made(called, arguments))
        case "BUILD":
            stack.pop()  # attributes of an OrderedDict, such as the versions of modules
            if not isinstance(stack[-1], dict):
                raise _UnreadableError("it sets attributes of something")
        case _:
            raise _UnreadableError(f"it holds more than tensors ({name})")


def _since_mark(stack: list[Any]) -> list[Any]:
    items = []
    while (item := stack.pop()) is not _MARK:
        items.append(item)
    return items[::-1]


def _set(table: Any, flat: list[Any]) -> None:
    if type(table) is not dict:
        raise _UnreadableError("it puts something into no dictionary")
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        if not isinstance(key, str):  # to hash a tuple of tuples may take longer than anybody lives
            raise _UnreadableError("something has a name that is no text")
        table[key] = value


def _storage(description: Any) -> _Storage:
    kind, type_, key, *_ = description
    if kind != "storage" or not isinstance(type_, _Name) or not isinstance(key, str):
        raise _UnreadableError("it refers to something that is no storage")
    module, _, name = type_.name.partition(" ")
    if module not in ("torch", "torch.cuda") or name not in _DTYPES:
        raise _UnreadableError(f"it holds numbers of an unknown type ({type_.name!r:.60})")
    return _Storage(key, _DTYPES[name])


def _made(called: Any, arguments: Any) -> Any:
    """Return what a call stands for, of the three that mean something here."""
    if not isinstance(called, _Name):
        raise _UnreadableError("it calls something")
    if called.name == f"collections {_ORDERED}" and arguments in ((), ([],)):
        return {}
    if called.name == _REBUILD:
        storage, offset, shape, strides, *_ = arguments
        numbers = (offset, *shape, *strides)
        if not isinstance(storage, _Storage) or not all(type(number) is int and number >= 0 for number in numbers):
            raise _UnreadableError("a tensor is described in a strange way")
        if len(shape) != len(strides):
            raise _UnreadableError("a tensor is described in a strange way")
        return _View(storage, offset, tuple(shape), tuple(strides))
    if called.name == _PARAMETER and isinstance(arguments[0], _View):
        return arguments[0]
    raise _UnreadableError(f"it names code to be run ({called.name.replace(' ', '.')!r:.80})")
