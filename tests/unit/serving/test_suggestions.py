"""Suggestions on disk: whole lines, within their bound."""

import json
from pathlib import Path

import pytest

from heedful.errors import HeedfulError
from heedful.serving.bodies import BadRequestError
from heedful.serving.suggestions import Suggestions

ONE = {"q": "Thank you.", "s": "Danke\n„schön“.", "source": "en", "target": "de"}


def lines(folder: Path) -> list[str]:
    return (folder / "suggestions.jsonl").read_text("utf-8").splitlines()


def test_a_full_file_takes_no_more_and_stays_as_it_is(tmp_path: Path) -> None:
    kept = Suggestions(tmp_path, 300)
    for _ in range(3):
        kept.add(ONE)
    with pytest.raises(BadRequestError, match="is full") as refused:
        kept.add(ONE)
    assert refused.value.status == 403
    assert [json.loads(line) for line in lines(tmp_path)] == [ONE] * 3
    assert (tmp_path / "suggestions.jsonl").stat().st_size <= 300


def test_a_torn_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    (tmp_path / "suggestions.jsonl").write_text('{"q": "Tha')
    Suggestions(tmp_path, 1_000).add(ONE)
    assert lines(tmp_path)[0] == '{"q": "Tha'
    assert json.loads(lines(tmp_path)[1]) == ONE
    Suggestions(tmp_path, 1_000).add(ONE)
    assert len(lines(tmp_path)) == 3


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeedfulError, match="could not be written"):
        Suggestions(tmp_path / "file" / "below", 1_000)
