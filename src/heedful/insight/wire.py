"""What was found as JSON: the one place where Python's names become those of JSON.

Names of fields, of dataclasses and of namespaces, are written in camelCase. Keys of mappings are data, such as labels
and names of attentions, and stay as they are; so do all values. An array is written as lists of numbers or, `Packed`,
as base64 of its bytes: `{"dtype": "f2", "shape": [heads, rows, columns], "scale": 1, "data": "..."}`. In half precision
it is exact to three digits; with `dtype` "u1" a value is byte · scale. Knows nothing of what the fields mean.
"""

import base64
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from types import NoneType, SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Precision = Literal["u1", "f2"]
Writer = Callable[[Any, int | None], Any]
_DIGITS = 6  # more than an eye can use
_PLAIN = frozenset({str, int, bool, NoneType})


def camel_case(name: str) -> str:
    """Write a name as JSON has it: `log_prob` is `logProb`, `from_`, which Python keeps for itself, is `from`."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, others))


def to_json(value: Any, digits: int | None = _DIGITS) -> Any:
    """Describe a value in what JSON can say, its numbers with so many decimals; JSON has no NaN and no infinity."""
    return _writer_of(value.__class__)(value, digits)


@cache
def _writer_of(kind: Any) -> Writer:
    """Find out, once for each type, how its values are written."""
    if issubclass(kind, str | int | NoneType):
        return lambda value, _: value
    if issubclass(kind, float):
        return _number
    if issubclass(kind, list | tuple):
        return _all
    if issubclass(kind, Mapping):
        return lambda value, digits: dict(zip(value, _all(value.values(), digits), strict=True))
    if issubclass(kind, np.ndarray):
        return _numbers
    if issubclass(kind, Packed):
        return lambda value, _: to_array(value.values, value.precision)
    if issubclass(kind, SimpleNamespace):
        return lambda value, digits: dict(
            zip(map(camel_case, vars(value)), _all(vars(value).values(), digits), strict=True)
        )
    names = [field.name for field in fields(kind)]
    written = [camel_case(name) for name in names]
    read = attrgetter(*names, "__class__")  # of one name it would give no tuple
    return lambda value, digits: dict(zip(written, _all(read(value)[:-1], digits), strict=True))


def _all(values: Iterable[Any], digits: int | None) -> list[Any]:
    """Write values one by one; most are strings and numbers, for which nothing is looked up."""
    return [
        one if (kind := one.__class__) in _PLAIN else (_number if kind is float else _writer_of(kind))(one, digits)
        for one in values
    ]


def _number(value: float, digits: int | None) -> float | None:
    if not math.isfinite(value):
        return None
    return value if digits is None else round(value, digits)


def _numbers(values: NDArray[np.float32], digits: int | None) -> Any:
    numbers = values.astype(np.float64) if digits is None else np.round(values.astype(np.float64), digits)
    return numbers.tolist() if np.isfinite(numbers).all() else to_json(numbers.tolist(), digits)


@dataclass(frozen=True)
class Packed:
    """An array that travels as bytes."""

    values: NDArray[np.float32]
    precision: Precision = "u1"


def to_array(values: NDArray[np.float32], precision: Precision = "u1") -> dict[str, Any]:
    """Pack an array; "u1" is for values from 0 up, keeps the largest exactly and errs by at most half a step of it."""
    if precision == "f2":
        packed, scale = values.astype("<f2").tobytes(), 1.0
    else:
        scale = float(values.max(initial=0.0)) / 255 or 1.0
        packed = np.rint(values / scale).astype(np.uint8).tobytes()
    return {
        "dtype": precision,
        "shape": list(values.shape),
        "scale": scale,
        "data": base64.b64encode(packed).decode("ascii"),
    }


def from_array(packed: Mapping[str, Any]) -> NDArray[np.float32]:
    """Read what `to_array` wrote."""
    raw = np.frombuffer(base64.b64decode(packed["data"]), dtype=np.uint8 if packed["dtype"] == "u1" else "<f2")
    values: NDArray[np.float32] = raw.astype(np.float32).reshape(packed["shape"]) * np.float32(packed["scale"])
    return values
