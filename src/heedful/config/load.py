"""From a TOML file and overrides to the description of a run, and back.

Precedence: default < preset < file < override. Every problem of a file is reported at once, by the path a user would
write (`training.schedule.peak`), with the nearest valid spelling for unknown names. Types are strict: `"8"` is no
number and `true` is no count. This file knows how settings are written, not what they mean.
"""

import json
import math
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar, cast, get_args

import tomli_w
from pydantic import JsonValue, ValidationError

from heedful.config.classification import ClassificationRun
from heedful.config.data import both_ways
from heedful.config.findings import Table, explain, fill_default_kinds
from heedful.config.language_modeling import LanguageModelRun
from heedful.config.presets import PRESETS
from heedful.config.section import Section
from heedful.config.translation import TranslationRun
from heedful.errors import ConfigError, UserError, nearest

AnyRun = TranslationRun | ClassificationRun | LanguageModelRun
RunT = TypeVar("RunT", bound=Section)

_SCHEMAS: dict[str, type[AnyRun]] = {
    get_args(schema.model_fields["task"].annotation)[0]: schema for schema in get_args(AnyRun)
}
"""Every `task` there is, with what a run of it is described by."""


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> TranslationRun:
    """Read the description of a translation run; each override is `section.key=value`, applied after the file."""
    path = Path(path)
    return parse_config(_read_text(path), overrides, origin=str(path))


def load_any(path: Path | str, overrides: Sequence[str] = ()) -> AnyRun:
    """Read the description of a run of any task; the file says which by `task`."""
    path = Path(path)
    return parse_any(_read_text(path), overrides, origin=str(path))


def parse_config(text: str, overrides: Sequence[str] = (), *, origin: str = "The configuration") -> TranslationRun:
    """Turn the text of a translation run's description into a `TranslationRun`, or raise one `ConfigError`."""
    table, problems = _read_table(text, overrides, origin)
    task = table.get("task", "translation")
    if task != "translation" and task in _SCHEMAS:
        raise UserError(f'{origin} must describe a translation run here, but its `task` is "{task}".')
    return _validate(TranslationRun, table, problems, origin)


def parse_any(text: str, overrides: Sequence[str] = (), *, origin: str = "The configuration") -> AnyRun:
    """Turn the text of any run's description into its config, or raise one `ConfigError` with all its problems."""
    table, problems = _read_table(text, overrides, origin)
    task = table.get("task", "translation")
    if not isinstance(task, str) or task not in _SCHEMAS:
        known = ", ".join(f'"{name}"' for name in _SCHEMAS)
        hint = nearest(str(task), _SCHEMAS)
        remedy = f' Did you mean "{hint}"?' if hint else ""
        problem = f"`task` must be one of {known}, but is {json.dumps(task, default=str)}.{remedy}"
        raise ConfigError(origin, [*problems, problem])
    return _validate(_SCHEMAS[task], table, problems, origin)


def dump_toml(config: Section) -> str:
    """Write a resolved configuration as TOML: every setting is there, and `parse_any` gives the same one back."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def changed_settings(before: Section, after: Section) -> dict[str, tuple[JsonValue, JsonValue]]:
    """Return the settings that differ, by dotted name, with both values; an absent one is None."""
    old = dict(_leaves(before.model_dump(mode="json"), ""))
    new = dict(_leaves(after.model_dump(mode="json"), ""))
    names = [*old, *(name for name in new if name not in old)]
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _read_table(text: str, overrides: Sequence[str], origin: str) -> tuple[Table, list[str]]:
    """Return what a file and its overrides say, and what is wrong with the overrides."""
    try:
        table = cast(Table, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(origin, [f"it is not valid TOML: {error}."]) from error
    return table, [problem for override in overrides for problem in _apply_override(table, override)]


def _validate(schema: type[RunT], table: Table, problems: list[str], origin: str) -> RunT:
    """Turn a table into the config of a schema, or raise with all problems at once."""
    if schema is TranslationRun:
        problems = problems + _expand_preset(table)
    problems += [f"`{name}` must be a finite number, but is {value}." for name, value in _non_finite(table)]
    fill_default_kinds(schema, table)
    try:
        # The JSON parser's strict mode takes a list for a tuple, which TOML needs, but no string for a number.
        config = schema.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        raise ConfigError(origin, [*problems, *explain(schema, error)]) from error
    if problems:
        raise ConfigError(origin, problems)
    return config.model_copy(update={"data": both_ways(config.data)}) if isinstance(config, TranslationRun) else config


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = nearest(path.stem, [sibling.stem for sibling in path.parent.glob("*.toml")])
        remedy = f" Did you mean {path.with_name(hint + '.toml')}?" if hint else ""
        raise UserError(f"The configuration {path} must exist, but there is no such file.{remedy}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"The configuration {path} must be UTF-8 text, but byte {error.start} is not.") from None
    except OSError as error:
        raise UserError(f"The configuration {path} cannot be read: {error.strerror}.") from None


def _apply_override(table: Table, override: str) -> list[str]:
    """Set one `section.key=value` in `table`; return what is wrong with it."""
    name, equals, written = override.partition("=")
    keys = [key.strip() for key in name.split(".")]
    if not equals or not all(keys):
        return [f"the override `{override}` must have the form section.key=value."]
    here: JsonValue = table
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            if last:
                here[int(key)] = _toml_value(written)
            else:
                here = here[int(key)]
        elif isinstance(here, dict):
            if last:
                here[key] = _toml_value(written)
            else:
                here = here.setdefault(key, {})
        else:
            return [f"the override `{override}` must name a setting, but `{'.'.join(keys[:depth])}` has no `{key}`."]
    return []


def _toml_value(written: str) -> JsonValue:
    """Read what stands after `=` as TOML; what is no TOML value is plain text, so that quotes are rarely needed."""
    try:
        return cast(JsonValue, tomllib.loads(f"value = {written}")["value"])
    except tomllib.TOMLDecodeError:
        return written


def _expand_preset(table: Table) -> list[str]:
    """Put the settings of `model.preset` under what the file says about the model."""
    model = table.get("model")
    if not isinstance(model, dict) or "preset" not in model:
        return []
    name = model.pop("preset")
    if not isinstance(name, str) or name not in PRESETS:
        hint = nearest(str(name), PRESETS)
        remedy = f' Did you mean "{hint}"?' if hint else f" There are {', '.join(PRESETS)}."
        return [f"`model.preset` must be the name of a preset, but is {json.dumps(name, default=str)}.{remedy}"]
    preset = cast(Table, PRESETS[name]().model_dump(mode="json"))
    kind = model.get("kind", preset["kind"])
    if kind != preset["kind"]:
        return [f'`model.kind` must be "{preset["kind"]}" with the preset "{name}", but is {json.dumps(kind)}.']
    table["model"] = _merge(preset, model)
    return []


def _merge(under: Table, over: Table) -> Table:
    """Lay `over` on `under`, table by table; a table of another `kind` replaces the one under it."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        same_kind = (
            isinstance(below, dict) and isinstance(value, dict) and value.get("kind") in (None, below.get("kind"))
        )
        merged[key] = _merge(cast(Table, below), cast(Table, value)) if same_kind else value
    return merged


def _non_finite(table: Table) -> Iterator[tuple[str, float]]:
    for name, value in _leaves(table, ""):
        if isinstance(value, float) and not math.isfinite(value):
            yield name, value


def _leaves(value: JsonValue, name: str) -> Iterator[tuple[str, JsonValue]]:
    """Walk every setting that is neither a table nor a list of tables, by its dotted name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for position, inner in enumerate(value):
            yield from _leaves(inner, f"{name}.{position}")
    else:
        yield name, value
