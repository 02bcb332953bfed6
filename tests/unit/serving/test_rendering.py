"""What is sent, made from what was found."""

import json
import math

import pytest

from heedful.serving.rendering import label_of, languages_of, percent, piece_of, server_sent
from heedful.serving.writing import Piece
from heedful.tasks.classification.classifier import Classification, WordInfluence


@pytest.mark.parametrize("text", ["plain", "a\nb\r\nc", "\u2028\u0085", "event: x\n\ndata: y", "山 😀 \ud800"])
def test_a_text_of_any_kind_is_one_event(text: str) -> None:
    event = server_sent("token", {"text": text})
    name, data, *rest = event.decode("ascii").splitlines()
    assert (name, rest) == ("event: token", [""])
    assert event.endswith(b"\n\n")
    assert json.loads(data.removeprefix("data: ")) == {"text": text}


def test_languages_are_listed_once_with_their_targets_in_order() -> None:
    listed = languages_of([("en", "de"), ("de", "en"), ("en", "fr"), ("en", "de")])
    assert [(one["code"], one["name"], one["targets"]) for one in listed] == [
        ("en", "English", ["de", "fr"]),
        ("de", "German", ["en"]),
        ("fr", "French", []),
    ], "clients look for the target in this list, too"


def test_numbers_that_json_does_not_have_are_null() -> None:
    found = Classification("a b", "x", {"x": 1.0}, 2, 0, [WordInfluence("a", 0, 1, math.nan, {"x": math.nan})])
    assert label_of(found, explain=True)["words"] == [
        {"word": "a", "start": 0, "end": 1, "influence": None, "byLabel": {"x": None}}
    ]
    assert "words" not in label_of(found, explain=False)


def test_a_piece_has_choices_only_where_they_were_asked_for() -> None:
    assert piece_of(Piece("a")) == {"text": "a"}
    assert piece_of(Piece("a", 0.5, (("a", 0.5), ("b", math.inf)))) == {
        "text": "a",
        "probability": 0.5,
        "choices": [{"text": "a", "probability": 0.5}, {"text": "b", "probability": None}],
    }


def test_a_probability_is_a_percentage_with_one_place() -> None:
    assert [percent(share) for share in (0.0, 0.12345, 1.0)] == [0.0, 12.3, 100.0]
