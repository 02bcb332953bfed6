"""The pieces of a job and its folder: every output once, in order, whatever was killed in between."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from heedful.data.processes import Message
from heedful.errors import DataError, UserError
from heedful.files import verify_manifest
from heedful.jobs.plan import Job, Outputs, Piece, pieces_of, texts_of


@pytest.fixture
def job(tmp_path: Path) -> Job:
    for name, count in (("s0", 5), ("s1", 3)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {n}\n" for n in range(count)))
    return Job("translate", (str(tmp_path / "s*.txt"),), (0,), 2, "txt", {})


def answers(pieces: Iterator[Piece]) -> Iterator[tuple[Piece, Message]]:
    for piece in pieces:
        lines = [text.upper() + "\n" for text in texts_of(piece.message().parts[0])]
        yield piece, Message({}, ("".join(lines).encode(),))


def finish(folder: Path, job: Job) -> tuple[list[int], dict[str, bytes]]:
    """Do what is missing; return which pieces that were, and all files."""
    outputs = Outputs(folder, job)
    with outputs.opened():
        now = []
        for piece, answer in answers(outputs.missing(pieces_of(job))):
            outputs.write(piece, answer)
            now.append(piece.number)
        outputs.finish(5)
    return now, {path.name: path.read_bytes() for path in folder.iterdir()}


def test_pieces_hold_every_row_once_and_end_with_their_shard(job: Job) -> None:
    pieces = list(pieces_of(job))
    assert [piece.columns[0] for piece in pieces] == [
        ["s0 0", "s0 1"],
        ["s0 2", "s0 3"],
        ["s0 4"],
        ["s1 0", "s1 1"],
        ["s1 2"],
    ]
    assert [(piece.number, piece.first_row) for piece in pieces] == [(0, 1), (1, 3), (2, 5), (3, 1), (4, 3)]


def test_a_job_that_is_killed_anywhere_goes_on_and_ends_with_the_same_bytes(job: Job, tmp_path: Path) -> None:
    _, whole = finish(tmp_path / "whole", job)
    assert b"".join(whole[name] for name in sorted(whole) if name.startswith("part")).count(b"S") == 8
    for num_done in range(5):
        folder = tmp_path / f"killed-{num_done}"
        outputs = Outputs(folder, job)
        with outputs.opened():
            for piece, answer in list(answers(pieces_of(job)))[:num_done]:
                outputs.write(piece, answer)
            (folder / "done.jsonl").open("ab").write(b'{"number": 4, "fi')  # torn by the kill
            (folder / ".part-000004.txt.partial-12ab").write_bytes(b"half")
        now, files = finish(folder, job)
        assert now == list(range(num_done, 5))
        assert files == whole


def test_a_noted_piece_whose_file_never_appeared_is_done_again(job: Job, tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "out", job)
    with outputs.opened():
        for piece, answer in answers(pieces_of(job)):
            outputs.write(piece, answer)
    (tmp_path / "out" / "part-000002.txt").unlink()
    now, _ = finish(tmp_path / "out", job)
    assert now == [2]
    listed = cast(list[dict[str, int]], verify_manifest(tmp_path / "out")["pieces"])
    assert [piece["number"] for piece in listed] == [0, 1, 2, 3, 4]


def test_changed_input_and_another_job_are_refused(job: Job, tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "out", job)
    with outputs.opened():
        piece, answer = next(answers(pieces_of(job)))
        outputs.write(piece, answer)
    with pytest.raises(UserError, match="a job with another `rows`"):
        finish(tmp_path / "out", replace(job, rows=3))
    (tmp_path / "s0.txt").write_text("other\n" * 5)
    with pytest.raises(DataError, match="must be what it was when the job began, but has changed near row 1"):
        finish(tmp_path / "out", job)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with pytest.raises(UserError, match="must be empty, or the folder of this job"):
        finish(tmp_path / "full", job)


def test_two_processes_do_not_work_in_one_folder(job: Job, tmp_path: Path) -> None:
    with (
        Outputs(tmp_path / "out", job).opened(),
        pytest.raises(UserError, match="another one works in it"),
        Outputs(tmp_path / "out", job).opened(),
    ):
        pass


def test_distinct_rows_come_once_over_all_shards(tmp_path: Path) -> None:
    (tmp_path / "s0.txt").write_text("a\nb\n\na\n")
    (tmp_path / "s1.txt").write_text("b\nc\n")
    job = Job("distill", (str(tmp_path / "s*.txt"),), (0,), 2, "tsv", {}, distinct=True)
    assert [text for piece in pieces_of(job) for text in piece.columns[0]] == ["a", "b", "c"]


def test_sides_in_two_inputs_must_belong_together(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("one\ntwo\n")
    (tmp_path / "a.de").write_text("eins\n")
    job = Job("clean", (str(tmp_path / "a.en"), str(tmp_path / "a.de")), (0, 1), 2, "tsv", {})
    with pytest.raises(DataError, match="must have equally many rows"):
        list(pieces_of(job))
    (tmp_path / "a.de").write_text("eins\nzwei\n")
    (piece,) = pieces_of(job)
    assert piece.columns == (["one", "two"], ["eins", "zwei"])
    assert json.loads(piece.message().parts[1]) == ["eins", "zwei"]
