"""Tensors that several processes have written together: a file for each rank, and what they are when joined.

Each rank writes its rows of every tensor, `model.0-of-2.safetensors` beside `model.1-of-2.safetensors`; the rows follow
each other in the order of the ranks. Any other number of processes can read them: each takes the rows it holds. A
tensor without rows, such as Adam's count of steps, is in the first file alone. A file that one process wrote,
`model.safetensors`, is the case of a single rank. The files carry no code, and the folder's manifest says which belong
together.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load, save
from torch import Tensor

Rows = Callable[[int], tuple[int, int]]
"""From the number of rows of a whole tensor to the first row that is wanted, and the one after the last."""

_ROWS_ELSEWHERE = "dimension_of_rows"


def shard_name(name: str, rank: int, world: int) -> str:
    """Return what rank `rank` of `world` calls its part of the file `name`; one alone calls it `name`."""
    stem, dot, suffix = name.rpartition(".")
    return name if world == 1 else f"{stem}.{rank}-of-{world}{dot}{suffix}"


def shard_bytes(tensors: Mapping[str, Tensor], dimensions: Mapping[str, int]) -> bytes:
    """Serialise a rank's tensors; `dimensions` says which dimension counts the rows, where that is not the first."""
    odd = {name: dimensions[name] for name in tensors if dimensions.get(name)}
    return save(dict(tensors), {_ROWS_ELSEWHERE: json.dumps(odd)} if odd else None)


def shard_files(folder: Path, name: str) -> list[Path]:
    """Return the files that `name` consists of, in the order of the ranks; none when there are none."""
    if (folder / name).exists():
        return [folder / name]
    stem, _, suffix = name.rpartition(".")
    pattern = re.compile(rf"{re.escape(stem)}\.(\d+)-of-(\d+)\.{re.escape(suffix)}")
    found = {int(match[1]): path for path in folder.iterdir() if (match := pattern.fullmatch(path.name))}
    return [found[rank] for rank in sorted(found)]


def read_shards(folder: Path, name: str, rows: Rows | None = None) -> dict[str, Tensor]:
    """Return the tensors of `name`, joined; of each only the rows that are wanted are read."""
    paths = shard_files(folder, name)
    if not paths:
        raise FileNotFoundError(f"{folder / name} is missing")
    if rows is None and len(paths) == 1:
        return load(paths[0].read_bytes())
    files: list[Any] = [safe_open(path, framework="pt") for path in paths]
    dimensions: dict[str, int] = json.loads((files[0].metadata() or {}).get(_ROWS_ELSEWHERE, "{}"))
    return {key: _joined(files, key, dimensions.get(key, 0), rows) for key in files[0].keys()}  # noqa: SIM118


def _joined(files: list[Any], key: str, dimension: int, rows: Rows | None) -> Tensor:
    held = [file for file in files if key in file.keys()]  # noqa: SIM118 - a file of tensors is no mapping
    parts = [file.get_slice(key) for file in held]
    if not parts[0].get_shape():
        single: Tensor = held[0].get_tensor(key)
        return single.clone()
    lengths = [part.get_shape()[dimension] for part in parts]
    start, end = (0, sum(lengths)) if rows is None else rows(sum(lengths))
    found, offset = [], 0
    for part, length in zip(parts, lengths, strict=True):
        first, last = max(start - offset, 0), min(end - offset, length)
        if first < last:
            found.append(part[first:last] if dimension == 0 else part[:, first:last])
        offset += length
    if found:
        return torch.cat(found, dim=dimension)  # also of one: the tensor must not hang on the file
    nothing: Tensor = parts[0][0:0]
    return nothing
