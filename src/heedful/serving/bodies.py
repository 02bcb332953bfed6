"""From the bytes of a request to what it asks for: JSON, a form or a query, strictly; a sentence for everything else.

Nothing here can be made to take long or to fail with anything but `BadRequestError`: bodies are bounded before they
come here, JSON that is too deep, or has NaN, or numbers of thousands of digits is refused; types are not guessed.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from heedful.errors import UserError
from heedful.serving.answers import MAX_TEXTS, WithTexts
from heedful.serving.multipart import MultipartError, parse_multipart

Body = TypeVar("Body", bound=BaseModel)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_LONGEST_SHOWN = 16


class BadRequestError(UserError):
    """A request that cannot be understood; `status` says in which way."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


def fields_of(body: bytes, content_type: str, query: bytes = b"") -> dict[str, Any]:
    """Read the fields of a body; a form's are strings, or lists of them where a field comes several times.

    Those of the query of the address are added to a form, or are all where there is no body; JSON says everything.
    """
    kind = _kind(content_type)
    if query and not body:
        return _form(query, "query")
    if kind == FORM:
        return _joined(_form(body), query)
    if kind == MULTIPART:
        return _joined(_multipart(body, content_type), query)
    if kind in ("", JSON):
        return _object(body)
    raise BadRequestError(f"The body must be {JSON}, {FORM} or {MULTIPART}.", 415)


def read_request(schema: type[Body], body: bytes, content_type: str, query: bytes, *, max_characters: int) -> Body:
    """Read a body and a query as `schema`; what is to be worked on has at most `max_characters`."""
    request = parse_body(schema, body, content_type, query)
    if isinstance(request, WithTexts):
        check_characters(request.texts, max_characters, request.name_of_texts)
    return request


def parse_body(schema: type[Body], body: bytes, content_type: str, query: bytes = b"") -> Body:
    """Read a body and a query as `schema`; in a form and in a query, numbers are written as text."""
    fields = fields_of(body, content_type, query)
    is_text = _kind(content_type) in (FORM, MULTIPART) or bool(query and not body)
    try:
        return schema.model_validate(fields, strict=not is_text)
    except ValidationError as error:
        raise BadRequestError(_sentence(error)) from None


def parse_query(schema: type[Body], query: dict[str, str]) -> Body:
    """Read the query of an address as `schema`; everything in it is text."""
    try:
        return schema.model_validate(query)
    except ValidationError as error:
        raise BadRequestError(_sentence(error)) from None


def check_characters(texts: list[str], limit: int, name: str = "q") -> None:
    """Refuse more text than one request may have."""
    num_characters = sum(map(len, texts))
    if num_characters > limit:
        raise BadRequestError(f"`{name}` must have at most {limit:,} characters, but has {num_characters:,}.", 413)


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, NaN, endless digits; too deep
        raise BadRequestError("The body must be JSON, but is not.") from None
    if not isinstance(content, dict):
        raise BadRequestError("The body must be a JSON object.")
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _form(content: bytes, place: str = "body") -> dict[str, Any]:
    most = 2 * MAX_TEXTS
    try:
        pairs = parse_qsl(content.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        raise BadRequestError(f"The {place} must be a form in UTF-8 of at most {most} fields, but is not.") from None
    return _gathered(pairs)


def _joined(fields: dict[str, Any], query: bytes) -> dict[str, Any]:
    """Add the fields of a query; which of two is meant cannot be known."""
    more = _form(query, "query")
    if twice := next((name for name in fields if name in more), None):
        name = f"`{twice}`" if twice.isidentifier() and len(twice) <= _LONGEST_SHOWN else "Every field"
        raise BadRequestError(f"{name} must be given once, in the body or in the query of the address.")
    return {**fields, **more}


def _multipart(body: bytes, content_type: str) -> dict[str, Any]:
    try:
        return _gathered(parse_multipart(body, content_type))
    except MultipartError as error:
        raise BadRequestError(f"The form {error}.") from None


def _gathered(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Put the values of a field that comes several times into a list."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        before = fields.get(name)
        fields[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return fields


def _sentence(error: ValidationError) -> str:
    """Say the first problem in the grammar of our errors, without repeating what was sent."""
    problems = error.errors(include_url=False, include_input=False)
    # Of a field that may be one of two things, that it is not the other says least.
    problem = next((one for one in problems if one["type"] not in ("string_type", "list_type")), problems[0])
    place = problem["loc"]
    name = f"`{place[0]}`" if place else "The body"
    if problem["type"] == "missing":
        return f"{name} must be given."
    if problem["type"] == "string_unicode":
        return f"{name} must be Unicode text, but has a lone surrogate."
    if place and place[0] == "q" and problem["type"] in ("string_type", "list_type"):
        return "`q` must be a text or a list of texts."
    message = problem["msg"].removeprefix("Value error, ").replace(" after validation", "")
    message = message.replace("Input should", "must", 1).replace("String should", "must", 1)
    message = message.replace("List should", "must", 1).replace("greater than or equal to", "at least")
    return f"{name} {message.replace('less than or equal to', 'at most')}."
