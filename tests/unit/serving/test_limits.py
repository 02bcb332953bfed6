"""Every bound that can be given to a server is read from what it was given."""

import ast
from dataclasses import fields
from pathlib import Path

import heedful.serving
from heedful.serving.limits import Limits

SERVING = Path(heedful.serving.__path__[0])


def read_names() -> dict[str, set[str]]:
    """Return which bounds the server reads, by where it takes them from: an instance, or the class."""
    read: dict[str, set[str]] = {"instance": set(), "class": set()}
    for path in SERVING.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                holder = ast.unparse(node.value).rpartition(".")[2]
                if holder in ("limits", "_limits"):
                    read["instance"].add(node.attr)
                elif holder == "Limits":
                    read["class"].add(node.attr)
    return read


def test_every_bound_is_read_from_the_limits_of_the_server_and_none_from_the_defaults() -> None:
    assert read_names() == {"instance": {field.name for field in fields(Limits)}, "class": set()}
