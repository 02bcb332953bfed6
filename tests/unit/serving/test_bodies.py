"""Bodies: what is understood, and the sentence for what is not."""

import json

import pytest

from heedful.serving.answers import TranslateRequest
from heedful.serving.bodies import FORM, JSON, MULTIPART, BadRequestError, check_characters, parse_body


def read(content: object, kind: str = JSON) -> TranslateRequest:
    return parse_body(TranslateRequest, json.dumps(content).encode(), kind)


def refusal(body: bytes, kind: str = JSON) -> tuple[int, str]:
    with pytest.raises(BadRequestError) as refused:
        parse_body(TranslateRequest, body, kind)
    return refused.value.status, str(refused.value)


def test_json_and_form_say_the_same() -> None:
    from_json = read({"q": "Hä?", "target": "de", "alternatives": 2, "beam": 3, "details": True})
    form = b"q=H%C3%A4%3F&target=de&alternatives=2&beam=3&details=true"
    assert parse_body(TranslateRequest, form, f"{FORM}; charset=utf-8") == from_json
    assert from_json.source == "auto"


def test_a_field_that_comes_several_times_in_a_form_is_a_list() -> None:
    assert parse_body(TranslateRequest, b"q=a&q=b&q=&target=de", FORM).q == ["a", "b", ""]


def test_a_query_says_what_a_form_says() -> None:
    asked = b"q=H%C3%A4+so%3F&target=de&alternatives=2&beam=3&details=true"
    from_form = parse_body(TranslateRequest, asked, FORM)
    assert parse_body(TranslateRequest, b"", "", asked) == from_form
    assert parse_body(TranslateRequest, b"q=H%C3%A4+so%3F", FORM, asked.partition(b"&")[2]) == from_form
    with pytest.raises(BadRequestError, match="The query must be a form in UTF-8 of at most 256 fields"):
        parse_body(TranslateRequest, b"", "", b"q=%ff&target=de")
    with pytest.raises(BadRequestError, match="Every field must be given once"):
        parse_body(TranslateRequest, b"%3Cb%3E=1", FORM, b"%3Cb%3E=2")


def test_json_is_not_mixed_with_a_query() -> None:
    assert parse_body(TranslateRequest, b'{"q": "a", "target": "de"}', JSON, b"beam=3&target=fr").target == "de"
    with pytest.raises(BadRequestError, match="must be a valid integer"):
        parse_body(TranslateRequest, b'{"q": "a", "target": "de", "beam": "3"}', JSON, b"q=a")


def test_fields_of_other_servers_are_ignored() -> None:
    assert read({"q": "a", "target": "de", "secret": "x"}).q == "a"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "The body must be JSON, but is not."),
        (b"\xff\xfe", "The body must be JSON, but is not."),
        (b"[" * 100_000, "The body must be JSON, but is not."),
        (b'{"q": NaN, "target": "de"}', "The body must be JSON, but is not."),
        (b'{"q": "a", "target": "de", "beam": ' + b"9" * 5000 + b"}", "The body must be JSON, but is not."),
        (b"[]", "The body must be a JSON object."),
        (b'{"q": "a"}', "`target` must be given."),
        (b'{"q": 5, "target": "de"}', "`q` must be a text or a list of texts."),
        (b'{"q": ["a", null], "target": "de"}', "`q` must be a text or a list of texts."),
        (b'{"q": "\\ud800", "target": "de"}', "`q` must be Unicode text, but has a lone surrogate."),
        (b'{"q": "a", "target": "\\ud800"}', "`target` must be Unicode text, but has a lone surrogate."),
        (b'{"q": "a", "target": "de", "beam": "3"}', "`beam` must be a valid integer."),
        (b'{"q": "a", "target": "de", "beam": 3.5}', "`beam` must be a valid integer."),
        (b'{"q": "a", "target": "de", "beam": true}', "`beam` must be a valid integer."),
        (b'{"q": "a", "target": "de", "beam": 0}', "`beam` must be at least 1."),
        (b'{"q": "a", "target": "de", "beam": 17}', "`beam` must be at most 16."),
        (b'{"q": "a", "target": "de", "alternatives": 11}', "`alternatives` must be at most 10."),
        (b'{"q": "a", "target": "de", "format": "pdf"}', "`format` must be 'text' or 'html'."),
        (b'{"q": "a", "target": "' + b"x" * 17 + b'"}', "`target` must have at most 16 characters."),
    ],
    ids=range(19),
)
def test_what_is_wrong_is_said_in_a_sentence(body: bytes, sentence: str) -> None:
    assert refusal(body) == (400, sentence)


def test_too_many_texts_are_refused() -> None:
    status, sentence = refusal(json.dumps({"q": ["a"] * 129, "target": "de"}).encode())
    assert status == 400
    assert "128" in sentence


def test_forms_with_bad_bytes_or_too_many_fields_are_refused() -> None:
    assert refusal(b"q=%ff&target=de", FORM)[0] == 400
    assert refusal(b"&".join([b"q=a"] * 1000), FORM)[0] == 400


@pytest.mark.parametrize("kind", ["text/plain", "multipart/mixed; boundary=x", "application/xml"])
def test_other_kinds_of_bodies_are_refused(kind: str) -> None:
    assert refusal(b"{}", kind) == (415, f"The body must be {JSON}, {FORM} or {MULTIPART}.")


def test_the_number_of_characters_has_a_bound() -> None:
    check_characters(["a" * 10_000, "b" * 10_000], 20_000)
    with pytest.raises(BadRequestError, match=r"at most 20,000 characters, but has 20,001\.") as refused:
        check_characters(["a" * 20_001], 20_000)
    assert refused.value.status == 413
