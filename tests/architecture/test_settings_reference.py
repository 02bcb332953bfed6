"""The settings a user has, held against docs/settings.md: adding, renaming or changing one is a visible decision.

The page is made from the config classes and committed. After such a decision, write it again:
    .venv/bin/python tests/architecture/test_settings_reference.py > docs/settings.md
"""

import types
import typing
from collections.abc import Iterator
from pathlib import Path

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic.fields import FieldInfo

from heedful.config.classification import ClassificationRun
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.section import Section
from heedful.config.translation import TranslationRun

RUNS: dict[type[Section], str] = {
    TranslationRun: "translation",
    ClassificationRun: "classification",
    LanguageModelRun: "language_modeling",
}
PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
HEAD = """# Settings

Every key of a run's TOML file, with its type, its default and its meaning. A setting that is not given has its
default; an unknown key is an error that names the nearest known one. Any key can be given on the command line as
`section.key=value`. Alternatives are sections with a `kind`: `schedule = { kind = "cosine", peak = 1e-3 }`.

This page is made from the classes in `src/heedful/config/`, and a test holds the two together.
"""


def sections_in(annotation: object) -> list[type[Section]]:
    """Find the sections a field can hold: one, the members of a union, or those inside a list or dict."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for argument in typing.get_args(annotation) for section in sections_in(argument)]


def fields_of(section: type[Section]) -> dict[str, FieldInfo]:
    """All settings of a section; a `kind` that only names the alternative is part of the heading."""
    return {
        name: field
        for name, field in section.model_fields.items()
        if not (name == "kind" and len(typing.get_args(field.annotation)) == 1)
    }


def sections(section: type[Section], path: str = "") -> Iterator[tuple[type[Section], str]]:
    """Walk all sections with the place where each stands in a file."""
    yield section, path
    for name, field in fields_of(section).items():
        container = typing.get_origin(field.annotation)
        place = {list: f"[[{path}{name}]]", dict: f"[{path}{name}.NAME]"}.get(container, f"[{path}{name}]")  # type: ignore[arg-type]
        for member in sections_in(field.annotation):
            for inner, inner_path in sections(member, f"{path}{name}."):
                yield inner, place if inner is member else inner_path


def spelled(annotation: object) -> str:
    """Write a type the way a user would say it."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if sections_in(annotation):
        return {list: "list of sections", dict: "named sections"}.get(origin, "section")  # type: ignore[arg-type]
    if origin is typing.Literal:
        return " or ".join(f'"{argument}"' for argument in arguments)
    if origin in (typing.Union, types.UnionType):
        return ", or ".join(spelled(argument) for argument in arguments if argument is not type(None))
    if origin is tuple:
        return f"{len(arguments)} numbers"
    if origin is typing.Annotated:
        return spelled(arguments[0])
    if origin is list:
        return f"list of {spelled(arguments[0])}s"
    if origin is dict:
        return f"named {spelled(arguments[1])}s"
    names: dict[object, str] = {int: "integer", float: "number", str: "text", bool: "true or false"}
    return names[annotation]


def bound(limit: object) -> str:
    """Write one limit of a value."""
    match limit:
        case Ge(ge=value):
            return f"≥ {value}"
        case Gt(gt=value):
            return f"> {value}"
        case Le(le=value):
            return f"≤ {value}"
        case Lt(lt=value):
            return f"< {value}"
        case MaxLen(max_length=value):
            return f"at most {value} long"
        case MinLen(min_length=value):
            return f"at least {value}"
    return f"matching `{limit.pattern}`"  # type: ignore[attr-defined]


def default_of(field: FieldInfo) -> str:
    """Write the default of a setting."""
    if field.is_required():
        return "required"
    match field.get_default(call_default_factory=True):
        case Section() as section:
            return f'default kind "{section.kind}"' if len(sections_in(field.annotation)) > 1 else ""  # type: ignore[attr-defined]
        case None:
            return "default none"
        case {} | []:
            return ""
        case bool() as answer:
            return f"default {str(answer).lower()}"
        case str() as text:
            return f'default "{text}"'
        case tuple() as numbers:
            return f"default {list(numbers)}"
        case number:
            return f"default {number}"


def described_in(run: type[Section]) -> dict[type[Section], list[str]]:
    """All sections a run can hold, with the places where each can stand."""
    places: dict[type[Section], list[str]] = {}
    for section, place in sections(run):
        places.setdefault(section, []).append(place)
    return places


def reference() -> str:
    """Compose the whole page: each task in turn, and of it what no task before it has."""
    lines, told = [HEAD], set[type[Section]]()
    for run, task in RUNS.items():
        lines += [f'# `task = "{task}"`' + (", the default" if task == "translation" else ""), ""]
        known = {}
        for section, found in described_in(run).items():
            if section in told:
                known[section] = found
            else:
                lines += described(section, found, task)
        told.update(described_in(run))
        shared = [place for found in known.values() for place in found]
        if shared:
            lines += ["As above: " + ", ".join(f"`{place}`" for place in dict.fromkeys(shared)) + ".", ""]
    return "\n".join(lines).rstrip().replace("\n\n\n", "\n\n") + "\n"


def described(section: type[Section], places: list[str], task: str) -> list[str]:
    """Describe one section."""
    kind = section.model_fields.get("kind")
    alternatives = typing.get_args(kind.annotation) if kind else ()
    suffix = f' with `kind = "{alternatives[0]}"`' if len(alternatives) == 1 else ""
    top = f"Top level of a {task} run"
    heading = ", ".join(f"`{place}`" for place in places) + suffix if places[0] else top
    lines = [f"## {heading}", "", str(section.__doc__).strip(), ""]
    for name, field in fields_of(section).items():
        facts = [spelled(field.annotation), *map(bound, field.metadata), default_of(field)]
        lines.append(f"- `{name}` ({', '.join(filter(None, facts))}): {field.description}")
    return [*lines, ""]


def test_the_settings_are_the_ones_on_the_page() -> None:
    assert reference() == PAGE.read_text(encoding="utf-8"), "The settings changed; see the head of this file."


def test_every_setting_says_what_it_is() -> None:
    silent = [
        f"{place}{name}"
        for run in RUNS
        for section, place in sections(run)
        for name, field in fields_of(section).items()
        if not field.description
    ]
    assert not silent, "These have no description:\n" + "\n".join(silent)


if __name__ == "__main__":
    print(reference(), end="")
