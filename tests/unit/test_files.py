import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import pytest

from heedful.errors import HeedfulError, ModelFolderError
from heedful.files import (
    append,
    publish_folder,
    remove_folder,
    replace_folder,
    sha256_file,
    sweep_partial,
    verify_manifest,
    write_atomic,
    write_manifest,
)


def sealed(folder: Path) -> Path:
    def fill(partial: Path) -> None:
        (partial / "weights.bin").write_bytes(b"123456")
        (partial / "sub").mkdir()
        (partial / "sub" / "words.txt").write_bytes(b"one two")
        write_manifest(partial, {"step": 3, "score": 0.1})

    publish_folder(folder, fill)
    return folder


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomic(path, b"old")
    write_atomic(path, b"new bytes")
    assert path.read_bytes() == b"new bytes"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_appended_lines_follow_each_other(tmp_path: Path) -> None:
    append(tmp_path / "log", b"one\n")
    append(tmp_path / "log", b"two\n")
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"


def test_the_bytes_are_on_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename that reaches the disk before the bytes do shows an empty file after a power cut."""
    calls = []
    for name in ("fsync", "replace", "rename"):
        real = getattr(os, name)

        def noted(*arguments: Any, real: Callable[..., Any] = real, name: str = name, **options: Any) -> Any:
            calls.append(name)
            return real(*arguments, **options)

        monkeypatch.setattr(os, name, noted)
    write_atomic(tmp_path / "a", b"x")
    assert calls == ["fsync", "replace", "fsync"]
    calls.clear()
    publish_folder(tmp_path / "folder", lambda partial: (partial / "f").write_bytes(b"x") and None)
    assert calls == ["fsync", "fsync", "rename", "fsync"]


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "a.txt"
    write_atomic(path, b"old")

    def fail(*_: object, **__: object) -> Never:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(HeedfulError) as caught:
        write_atomic(path, b"x" * 12345)
    assert str(caught.value).startswith(
        f"{path} could not be written: No space left on device. 12,345 bytes are needed and "
    )
    assert str(caught.value).endswith(" bytes are free there. Free some space and run the command again.")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def fill(partial: Path) -> None:
        (partial / "half").write_bytes(b"x")
        assert not (tmp_path / "model").exists()
        raise RuntimeError("the model could not be made")

    with pytest.raises(RuntimeError, match="could not be made"):
        publish_folder(tmp_path / "model", fill)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_never_overwritten(tmp_path: Path) -> None:
    sealed(tmp_path / "model")
    with pytest.raises(
        HeedfulError, match=r"model must not exist yet, but it does\. Remove it or choose another name\."
    ):
        sealed(tmp_path / "model")


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(HeedfulError, match=r"file/model could not be written: (Not a directory|File exists)\."):
        publish_folder(tmp_path / "file" / "model", lambda _: None)


def test_leftovers_of_killed_writers_are_swept_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".step-1.partial-00ff").mkdir()
    (tmp_path / ".step-1.partial-00ff" / "x").write_bytes(b"x")
    (tmp_path / ".a.txt.partial-1234").write_bytes(b"x")
    (tmp_path / ".hidden").write_bytes(b"x")
    (tmp_path / "my.partial-file").write_bytes(b"x")
    assert len(sweep_partial(tmp_path)) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [".hidden", "my.partial-file"]
    assert sweep_partial(tmp_path / "nowhere") == []


def test_removing_a_folder_leaves_nothing(tmp_path: Path) -> None:
    remove_folder(sealed(tmp_path / "model"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_takes_the_place_of_another_or_leaves_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr("ctypes.CDLL", lambda _: object())  # a system without renameat2
    folder = sealed(tmp_path / "model")

    def fail(fresh: Path) -> None:
        sealed(fresh)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        replace_folder(folder, fail)
    assert verify_manifest(folder)["step"] == 3

    def make(fresh: Path) -> None:
        publish_folder(fresh, lambda partial: write_manifest(partial, {"step": 4}))

    replace_folder(folder, make)
    assert verify_manifest(folder)["step"] == 4
    assert list(tmp_path.iterdir()) == [folder]


def test_an_untouched_folder_verifies_and_gives_its_facts(tmp_path: Path) -> None:
    manifest = verify_manifest(sealed(tmp_path / "model"))
    assert (manifest["step"], manifest["score"], manifest["format_version"]) == (3, 0.1, 1)
    files = manifest["files"]
    assert isinstance(files, dict)
    assert files["sub/words.txt"] == {"bytes": 7, "sha256": sha256_file(tmp_path / "model/sub/words.txt")}


def test_what_is_wrong_with_a_folder_is_named(tmp_path: Path) -> None:
    def complaint(spoil: Callable[..., Any]) -> str:
        folder = sealed(tmp_path / "model")
        spoil(folder)
        with pytest.raises(ModelFolderError) as caught:
            verify_manifest(folder)
        if folder.exists():
            shutil.rmtree(folder)
        return str(caught.value).replace(str(folder), "M")

    remedy = "Copy the whole folder again from where it came, or use another one."
    assert complaint(shutil.rmtree) == "M must be a folder with a manifest.json, but there is no such folder."
    assert (
        complaint(lambda m: (m / "manifest.json").unlink())
        == f"M must hold manifest.json, but the file is missing. {remedy}"
    )
    assert (
        complaint(lambda m: (m / "weights.bin").unlink())
        == f"M must hold weights.bin, but the file is missing. {remedy}"
    )
    assert (
        complaint(lambda m: (m / "new").write_bytes(b""))
        == "M holds new, which its manifest does not list. Remove that file."
    )
    assert complaint(lambda m: (m / "weights.bin").write_bytes(b"12345")) == (
        f"M/weights.bin has been altered: its size is not the recorded one. {remedy}"
    )
    assert complaint(lambda m: (m / "weights.bin").write_bytes(b"123457")) == (
        f"M/weights.bin has been altered: its sha256 is not the recorded one. {remedy}"
    )
    assert complaint(lambda m: (m / "manifest.json").write_bytes(b"{}")) == (
        f"M/manifest.json has been altered: it is no manifest of ours. {remedy}"
    )

    def change_fact(folder: Path) -> None:
        text = (folder / "manifest.json").read_text().replace('"step": 3', '"step": 4')
        (folder / "manifest.json").write_text(text)

    assert complaint(change_fact) == f"M/manifest.json has been altered: it does not match its own sha256. {remedy}"

    def from_the_future(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        (folder / "manifest.json").write_text(json.dumps(manifest | {"format_version": 2}))

    assert complaint(from_the_future) == "M must have format version 1 or older, but has 2. Use a newer Heedful."
