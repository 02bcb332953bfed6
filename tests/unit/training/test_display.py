import io
import json
from pathlib import Path

import pytest

from heedful.training.display import BarDisplay, PlainDisplay, describe, make_display
from heedful.training.durability.journal import Journal, finite

RECORD = {
    "step": 50,
    "kind": "train",
    "loss": 4.12345,
    "learning_rate": 0.0003,
    "skipped": 0,
    "timing": {"seconds": 2.0, "tokens_per_second": 51200.4, "seconds_left": 125.0},
}


def test_a_record_in_a_line() -> None:
    assert describe(RECORD) == "loss 4.123  learning_rate 0.0003  tokens/s 51,200  2:05 left"
    assert describe(RECORD | {"skipped": 2, "timing": None}) == "loss 4.123  learning_rate 0.0003  skipped 2"
    assert describe({"step": 1, "kind": "validation", "bleu": 31.5}) == "validation  bleu 31.5"


def test_without_a_terminal_there_are_plain_lines() -> None:
    stream = io.StringIO()
    with make_display(100, stream) as display:
        display.show(RECORD)
        display.say("[not markup]")
    assert isinstance(display, PlainDisplay)
    assert stream.getvalue().splitlines() == [f"step 50/100  {describe(RECORD)}", "[not markup]"]


def test_on_a_terminal_there_is_a_bar() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with make_display(100, stream) as display:
        display.show(RECORD)
        display.show({"step": 50, "kind": "validation", "bleu": 31.5})
        display.say("[not markup]")
    assert isinstance(display, BarDisplay)
    assert "50/100" in stream.getvalue()
    assert "validation  bleu 31.5" in stream.getvalue()
    assert "[not markup]" in stream.getvalue()


def test_the_journal_is_json_lines_and_can_be_cut_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    journal.rewind(5)
    assert journal.records() == []
    for step in (1, 2, 3):
        journal.write({"step": step, "text": "a\u2028b\r\n"})
    assert [json.loads(line)["step"] for line in journal.path.read_bytes().split(b"\n")[:-1]] == [1, 2, 3]
    journal.rewind(2)
    assert [record["step"] for record in journal.records()] == [1, 2]
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.write({"step": 4, "loss": float("nan")})
    assert finite(float("inf")) is None
