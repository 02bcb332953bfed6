"""Weights in PyTorch's own files: their tensors are read, and nothing a hostile file names is ever run."""

import io
import os
import pickle
import random
import struct
import subprocess
import sys
import time
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.errors import UserError
from heedful.interop.pickled_tensors import read_pickled_tensors

LAYOUTS = pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "stream"])


def state() -> dict[str, Tensor]:
    base = torch.randn(10, 4)
    shown = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)).state_dict()
    views = {"half": base.half(), "transposed": base.t(), "part": base[2:5], "first": base[0], "whole": base}
    others = {
        "ids": torch.arange(3),
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(3.5),
        "flags": torch.tensor([True, False]),
        "parameter": nn.Parameter(torch.ones(2)),
    }
    return OrderedDict({**shown, **views, **others})


@LAYOUTS
def test_tensors_of_every_kind_come_back_as_they_were(tmp_path: Path, is_archive: bool) -> None:
    expected = state()
    for content in (expected, dict(expected)):
        torch.save(content, tmp_path / "x.bin", _use_new_zipfile_serialization=is_archive)
        found = read_pickled_tensors(tmp_path / "x.bin")
        assert list(found) == list(expected)
        for name, tensor in expected.items():
            assert found[name].dtype == tensor.dtype
            assert torch.equal(found[name], tensor)


class Calls:
    """Pickles as a call of anything."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def archive_of(path: Path, program: bytes, storages: dict[str, bytes] | None = None) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", program)
        for key, content in (storages or {"0": bytes(64)}).items():
            archive.writestr(f"x/data/{key}", content)


def stream_of(path: Path, program: bytes) -> None:
    first = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    path.write_bytes(b"".join([*first, program, pickle.dumps(["0"], 2), struct.pack("<q", 16), bytes(64)]))


def wicked_programs(trap: Path) -> list[bytes]:
    """Calls of everything that could do harm, hidden in the places where a loader might look."""
    code = f"__import__('pathlib').Path({str(trap)!r}).write_text('ran')"
    calls = [
        Calls(eval, code),
        Calls(exec, code),
        Calls(os.system, f"touch {trap}"),
        Calls(os.open, str(trap), os.O_CREAT | os.O_WRONLY),
        Calls(getattr, "text", "upper"),
        Calls(__import__, "antigravity"),
        Calls(torch.load, str(trap)),
        Calls(nn.Linear, 3, 3),
        Calls(torch.Tensor, 3),
        Calls(OrderedDict, [("a", Calls(eval, code))]),
    ]
    places: list[Any] = []
    for call in calls:
        places += [call, {"a": call}, {call: 1}, [call], (call, call), {"a": torch.Size([1]), "b": [call]}]
        places += [OrderedDict({"a": call}), {"a": {"b": {"c": call}}}]
    programs = [pickle.dumps(place, protocol) for place in places for protocol in (0, 1, 2, 4)]
    raw = [
        f"cposix\nsystem\n(S'touch {trap}'\ntR.".encode(),
        f"(S'touch {trap}'\nios\nsystem\n.".encode(),
        b"ctorch._utils\n_rebuild_tensor_v2\n(tR.",
        b"\x80\x02}q\x00(X\x01\x00\x00\x00actorch._utils\n_rebuild_parameter\n(cos\nsystem\ntRs.",
    ]
    return programs + raw


def test_hostile_files_run_nothing_and_get_a_sentence(tmp_path: Path) -> None:
    trap, path = tmp_path / "trap", tmp_path / "x.bin"
    programs = wicked_programs(trap)
    assert len(programs) >= 300
    for number, program in enumerate(programs):
        (archive_of if number % 2 else stream_of)(path, program)
        with pytest.raises(UserError, match=r"Nothing of it was run\.$"):
            read_pickled_tensors(path)
    assert not trap.exists()


TRIPWIRE = """
import sys, pathlib
from heedful.errors import UserError
from heedful.interop.pickled_tensors import read_pickled_tensors

FORBIDDEN = ("exec", "compile", "import", "os.", "subprocess.", "pickle.", "marshal.", "ctypes.", "socket.", "shutil.")
HARMLESS = ("os.listdir", "os.scandir", "os.fspath")
tripped, is_armed = [], False

def tripwire(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and arguments[1][:1] not in ("r", "")
    if is_armed and (writes or event.startswith(FORBIDDEN)) and event not in HARMLESS:
        tripped.append((event, str(arguments)[:200]))

def read(path):
    try:
        read_pickled_tensors(path)
    except UserError as refusal:
        assert str(refusal).endswith("Nothing of it was run."), refusal
        return 0
    return 1

files = sorted(pathlib.Path(sys.argv[1]).iterdir())
assert read(files[0]) == 1 and not any(map(read, files[1:3]))  # whatever is imported late, is now
sys.addaudithook(tripwire)
is_armed = True
assert sum(map(read, files)) == 1, "all but the sound one are refused"
is_armed = False
assert not tripped, tripped
is_armed = True
eval("1 + 1")
is_armed = False
assert tripped, "the wire is not connected"
print(len(files) - 1)
"""


def test_a_process_that_reads_hostile_files_does_nothing_but_read(tmp_path: Path) -> None:
    """Python's own audit events are the tripwire: code compiled or run, modules, processes, sockets, files written."""
    folder, trap = tmp_path / "files", tmp_path / "trap"
    folder.mkdir()
    torch.save(state(), folder / "0000")
    for number, program in enumerate(wicked_programs(trap), start=1):
        (archive_of if number % 2 else stream_of)(folder / f"{number:04}", program)
    done = subprocess.run(
        [sys.executable, "-c", TRIPWIRE, str(folder)], capture_output=True, encoding="utf-8", check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 300
    assert not trap.exists()


@LAYOUTS
def test_damaged_files_get_a_sentence(tmp_path: Path, is_archive: bool) -> None:
    path = tmp_path / "x.bin"
    torch.save(state(), path, _use_new_zipfile_serialization=is_archive)
    sound = path.read_bytes()
    chance = random.Random(7)
    for number in range(300):
        harmed = bytearray(sound)
        if number % 3 == 0:
            del harmed[chance.randrange(len(harmed)) :]
        else:
            for _ in range(1 + number % 5):
                harmed[chance.randrange(len(harmed))] = chance.randrange(256)
        path.write_bytes(harmed)
        try:
            found = read_pickled_tensors(path)
        except UserError:
            continue
        assert all(isinstance(tensor, Tensor) for tensor in found.values()), "what still reads is tensors"


def test_programs_that_would_take_for_ever_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    nested = b"\x80\x02)" + b"\x86".join([b"q\x00h\x00"] * 40) + b"."  # a tuple of two, of two, of two ...
    doubled = b"\x80\x02)" + b"2\x86" * 60 + b"}X\x01\x00\x00\x00a."
    as_key = b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s."
    marks = b"\x80\x02" + b"(" * 200_000 + b"t" * 200_000 + b"."
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", bytes(60_000_000))
    started = time.process_time()
    for program in (nested, doubled, as_key, marks):
        archive_of(path, program)
        with pytest.raises(UserError):
            read_pickled_tensors(path)
    path.write_bytes(bomb.getvalue())
    with pytest.raises(UserError, match="larger than the file"):
        read_pickled_tensors(path)
    assert time.process_time() - started < 10


def test_a_tensor_cannot_reach_beyond_its_numbers_or_repeat_them(tmp_path: Path) -> None:
    archive_of(tmp_path / "x.bin", _tensor_program(4, (3, 2), (2, 1)))
    assert torch.equal(read_pickled_tensors(tmp_path / "x.bin")["a"], torch.zeros(3, 2)), "the program itself is right"
    for offset, shape, strides in (
        (0, (17,), (1,)),
        (12, (8,), (1,)),
        (0, (1 << 40,), (0,)),
        (0, (1 << 62, 1 << 62), (1, 1)),
    ):
        archive_of(tmp_path / "x.bin", _tensor_program(offset, shape, strides))
        with pytest.raises(UserError):
            read_pickled_tensors(tmp_path / "x.bin")


def _tensor_program(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    def text(word: str) -> bytes:
        return b"X" + struct.pack("<i", len(word)) + word.encode()

    def number(value: int) -> bytes:
        raw = value.to_bytes(8, "little") + b"\x00"
        return b"\x8a\x09" + raw

    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(map(number, values)) + b"t"

    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(16) + b"tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + numbers(shape) + numbers(strides)
    return b"\x80\x02}" + text("a") + tensor + b"\x89}tRs."
