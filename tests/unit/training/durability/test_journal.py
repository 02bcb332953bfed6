"""The journal of a run survives whatever a crash, or somebody with an editor, has left in it."""

from pathlib import Path

import pytest

from heedful.training.durability.journal import Journal


@pytest.mark.parametrize(
    "damage", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"\0" * 50, b"", b"[1]", b'{"step":']
)
def test_a_line_that_is_no_record_is_passed_over_and_dropped(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n' + damage + b'\n{"step": 2}\n{"step": 3}\n')
    journal = Journal(path)
    assert [record["step"] for record in journal.records()] == [1, 2, 3]
    journal.rewind(2)
    assert path.read_bytes() == b'{"step": 1}\n{"step": 2}\n'
