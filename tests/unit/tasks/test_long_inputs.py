"""Joining what was translated in parts."""

import pytest

from heedful.tasks.long_inputs import join_parts


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ([], ""),
        (["One."], "One."),
        (["One.", "Two."], "One. Two."),
        (["One.", "", "Two."], "One. Two."),
        (["一。", "二。"], "一。二。"),
        (["一。", "Two."], "一。Two."),
    ],
)
def test_parts_are_joined_as_the_script_writes_them(parts: list[str], joined: str) -> None:
    assert join_parts(parts) == joined
