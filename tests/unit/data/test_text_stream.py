"""A text in segments: contiguous, complete, a function of the position; and the files it comes from."""

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config.language_modeling import SplitFile, TextFiles
from heedful.data.text_stream import TextStream, held_out_names, read_test, read_text, read_train, read_validation
from heedful.errors import DataError, UserError


@settings(max_examples=60)
@given(
    length=st.integers(8, 300),
    num_streams=st.integers(1, 5),
    segment_len=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_each_row_reads_its_stretch_symbol_by_symbol_in_every_epoch(
    length: int, num_streams: int, segment_len: int, seed: int
) -> None:
    if (length - segment_len) // num_streams < segment_len:
        return
    ids = np.arange(length)
    stream = TextStream(ids, num_streams=num_streams, segment_len=segment_len, seed=seed)
    per_epoch = stream.num_segments
    for epoch in range(3):
        batches = [stream.batch_at(epoch * per_epoch + index) for index in range(per_epoch)]
        assert [batch.fresh.all().item() for batch in batches] == [True] + [False] * (per_epoch - 1)
        read = torch.cat([batch.input_ids for batch in batches], dim=1)  # a row is what one reader has read
        assert torch.equal(read, read[:, :1] + torch.arange(read.size(1)))
        targets = torch.cat([batch.target_ids for batch in batches], dim=1)
        assert torch.equal(targets, read + 1)
        assert len(set(read.flatten().tolist())) == read.numel()  # no symbol is read twice
        assert read.numel() >= length - segment_len - num_streams * segment_len - num_streams


def test_a_batch_is_a_function_of_its_position_and_epochs_are_cut_elsewhere() -> None:
    ids = np.arange(1000)
    stream = TextStream(ids, num_streams=4, segment_len=10, seed=3)
    batches = stream.batches_from(5)
    for position in range(5, 60):
        again = TextStream(ids, num_streams=4, segment_len=10, seed=3).batch_at(position)
        assert torch.equal(next(batches).input_ids, again.input_ids)
    offsets = {int(stream.batch_at(epoch * stream.num_segments).input_ids[0, 0]) for epoch in range(12)}
    assert 0 in offsets
    assert len(offsets) > 4
    other = TextStream(ids, num_streams=4, segment_len=10, seed=4)
    assert any(
        not torch.equal(stream.batch_at(p).input_ids, other.batch_at(p).input_ids)
        for p in range(stream.num_segments, 4 * stream.num_segments, stream.num_segments)
    )


def test_a_batch_cut_into_parts_knows_its_rows() -> None:
    batch = TextStream(np.arange(200), num_streams=5, segment_len=8, seed=1).batch_at(1)
    parts = batch.split(3)
    assert sum(part.num_items for part in parts) == batch.num_items == 40
    assert torch.equal(torch.cat([part.target_ids for part in parts]), batch.target_ids)
    assert [part.first_row for part in parts] == [0, 2, 3]
    assert parts[1].split(2)[0].first_row == 2
    assert len(batch.split(99)) == 5
    other = TextStream(np.arange(200), num_streams=5, segment_len=8, seed=1).batch_at(0).to("cpu")
    other.copy_from(batch)
    assert torch.equal(other.input_ids, batch.input_ids)
    assert not other.fresh.any()


def test_a_text_that_is_too_short_is_refused_with_the_remedy() -> None:
    with pytest.raises(DataError, match=r"at least 50 symbols for 4 texts .* has 30\. Lower `training.batch_tokens`"):
        TextStream(np.arange(30), num_streams=4, segment_len=10, seed=1)


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
def test_one_file_is_cut_by_bytes(tmp_path: Path, suffix: str) -> None:
    content = bytes(range(200)) * 3
    path = tmp_path / f"text{suffix}"
    opener = {"": open, ".xz": lzma.open, ".gz": gzip.open}[suffix]
    with opener(path, "wb") as stream:
        stream.write(content)
    data = SplitFile(kind="split", path=str(path), train_bytes=500, validation_bytes=60, test_bytes=40)
    assert read_train(data) == content[:500]
    assert read_validation(data) == content[500:560]
    assert read_test(data, "test") == content[560:]
    assert read_test(data, "validation") == content[500:560]
    assert held_out_names(data) == ["test"]


def test_a_file_that_is_too_short_for_its_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"x" * 100)
    data = SplitFile(kind="split", path=str(path), train_bytes=50, validation_bytes=40, test_bytes=20)
    assert len(read_validation(data)) == 40
    with pytest.raises(DataError, match=r"must have at least 110 bytes, as `data` cuts it, but has 100\. Lower `data"):
        read_test(data, "test")


def test_files_are_read_as_one_text_and_tests_by_name(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(name.encode() * 3)
    data = TextFiles(
        train=[str(tmp_path / "a"), str(tmp_path / "b")],
        validation=[str(tmp_path / "b")],
        test={"unseen": str(tmp_path / "c")},
    )
    assert (read_train(data), read_validation(data), read_test(data, "unseen")) == (b"aaabbb", b"bbb", b"ccc")
    with pytest.raises(UserError, match=r'`--split` must be one of unseen, validation, but is "unsen"\. Did you mean'):
        read_test(data, "unsen")
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="at least one byte"):
        read_text(tmp_path / "empty")
