"""Pydantic's findings as sentences a user can act on.

Walks the sections of the schema beside the user's table, so that a finding is named by the path the user would write
(the tags of unions left out) and an unknown key is answered with the keys that exist at that very place.
"""

import json
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from heedful.config.section import Section
from heedful.errors import nearest

Table = dict[str, JsonValue]

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("greater than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def explain(schema: type[Section], error: ValidationError) -> list[str]:
    """Return one sentence for each finding, in the order of the schema."""
    return [_sentence(schema, finding) for finding in error.errors(include_url=False)]


def fill_default_kinds(schema: type[Section], table: Table) -> None:
    """Write the default `kind` into every table of a union that does not say which member it is."""
    for name, field in schema.model_fields.items():
        for inner in _tables_in(field.annotation, table.get(name)):
            members = _members(field.annotation)
            if len(members) > 1 and "kind" not in inner:
                _fill_default_kind(members, inner)
            section = _member_for(members, inner)
            if section is not None:
                fill_default_kinds(section, inner)


def _sentence(schema: type[Section], finding: ErrorDetails) -> str:
    path, section = _locate(schema, finding["loc"])
    name = f"`{'.'.join(path)}`"
    given, kind, context = finding["input"], finding["type"], finding.get("ctx", {})
    if kind == "extra_forbidden":
        known = list(section.model_fields) if section else []
        if section is not None and section.takes_preset:
            known.append("preset")
        hint = nearest(path[-1], known)
        place = "`" + ".".join((*path[:-1], hint)) + "`" if hint else ""
        return f"{name} is not a setting." + (f" Did you mean {place}?" if hint else f" There are {', '.join(known)}.")
    if kind == "missing":
        return f"{name} must be given, but is missing."
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"{name} must be {words} {context[key]}, but is {_written(given)}."
    if kind in ("literal_error", "union_tag_invalid"):
        return _choice(f"`{'.'.join((*path, 'kind'))}`" if kind == "union_tag_invalid" else name, given, context)
    if kind in _TYPES:
        return f"{name} must be {_TYPES[kind]}, but is {_written(given)}."
    if kind == "too_short":
        return f"{name} must have at least {context['min_length']}, but has {context['actual_length']}."
    if kind == "string_pattern_mismatch":
        return (
            f"{name} must be letters, digits, `.`, `_` and `-`, with a letter or digit first, but is {_written(given)}."
        )
    if kind == "value_error":
        reason = str(context["error"])
        return f"In {name}: {reason}" if path else reason
    return f"{name}: {finding['msg']}, but is {_written(given)}."


def _choice(name: str, given: object, context: dict[str, Any]) -> str:
    expected = str(context.get("expected") or context.get("expected_tags")).replace("'", '"')
    if "tag" in context:
        given = context["tag"]
    hint = nearest(str(given), [word.strip(' "') for word in expected.replace(" or ", ",").split(",")])
    remedy = f' Did you mean "{hint}"?' if hint else ""
    return f"{name} must be one of {expected}, but is {_written(given)}.{remedy}"


def _written(value: object) -> str:
    """Show a value as the user wrote it, shortened when it is a whole table."""
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _locate(schema: type[Section], loc: tuple[int | str, ...]) -> tuple[tuple[str, ...], type[Section] | None]:
    """Return the path a user would write for `loc`, and the section its last key belongs to."""
    path: list[str] = []
    owner: type[Section] | None = schema
    section: type[Section] | None = schema
    members: list[type[Section]] = []
    named = False  # the next step is an entry of a list or of a table with free names
    for step in loc:
        if not named and section is None and step in [_kind_of(member) for member in members]:
            section = next(member for member in members if _kind_of(member) == step)
            continue
        path.append(str(step))
        if named:
            named = False
            section = members[0] if len(members) == 1 else None
            continue
        field = section.model_fields.get(str(step)) if section else None
        owner = section
        members = _members(field.annotation) if field else []
        named = field is not None and get_origin(field.annotation) in (list, dict)
        section = members[0] if len(members) == 1 and not named else None
    return tuple(path), owner


def _members(annotation: object) -> list[type[Section]]:
    """Return the sections an annotation can hold, looking through lists, tables of free names and unions."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, UnionType, list):
        return [member for inner in get_args(annotation) for member in _members(inner)]
    if origin is dict:
        return _members(get_args(annotation)[1])
    return []


def _tables_in(annotation: object, value: JsonValue) -> list[Table]:
    """Return the tables that `value` holds where the schema has one section, a list of them or named ones."""
    entries: list[JsonValue] = [value]
    if get_origin(annotation) is list and isinstance(value, list):
        entries = value
    elif get_origin(annotation) is dict and isinstance(value, dict):
        entries = list(value.values())
    return [entry for entry in entries if isinstance(entry, dict)]


def _kind_of(section: type[Section]) -> str | None:
    field = section.model_fields.get("kind")
    return cast(str, get_args(field.annotation)[0]) if field else None


def _fill_default_kind(members: list[type[Section]], table: Table) -> None:
    for member in members:
        if not member.model_fields["kind"].is_required():
            table["kind"] = member.model_fields["kind"].default


def _member_for(members: list[type[Section]], table: Table) -> type[Section] | None:
    if len(members) == 1:
        return members[0]
    return next((member for member in members if _kind_of(member) == table.get("kind")), None)
