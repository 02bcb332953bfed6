"""Shapes are written in words, and the words come from the closed glossary in ARCHITECTURE.md."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "heedful"
TENSOR_FILES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if re.search(r"^\s*(import torch|from torch)", path.read_text(encoding="utf-8"), re.MULTILINE)
)
# A shape stands alone, [batch, length]; `list[int]` and `rows[i]` are something else.
SHAPE = re.compile(r"(?<![\w\])`])\[([a-z_0-9 ,.+*/()-]+)\]")


def glossary() -> set[str]:
    """Read the words from the table under "Glossary of dimensions"."""
    section = (
        (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## Glossary of dimensions")[1].split("\n## ")[0]
    )
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """All docstrings and comments of a file with their lines."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        # Any bare string: also the sentences under the fields of a dataclass.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def is_tensor(annotation: ast.expr | None) -> bool:
    """Whether a type is a tensor; a dict of tensors, such as the weights of a model, has no shape of its own."""
    text = "" if annotation is None else ast.unparse(annotation)
    return bool(re.search(r"\bTensor\b", text)) and not re.search(r"dict\[|Mapping\[|Callable\[", text)


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """All functions of a module and methods of its classes; what is defined inside a function is its own affair."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    owners: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    for owner in owners:
        yield from (node for node in owner.body if isinstance(node, ast.FunctionDef))


def arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def tensor_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """All public functions and methods that take or give a tensor."""
    for function in functions(path):
        annotations = [*(argument.annotation for argument in arguments(function)), function.returns]
        if not function.name.startswith("_") and any(is_tensor(annotation) for annotation in annotations):
            yield function


def counts(path: Path) -> set[str]:
    """Integer arguments of the file's functions: a dimension may be one of them, such as [rows, count]."""
    every = (argument for function in functions(path) for argument in arguments(function))
    return {argument.arg for argument in every if argument.annotation and ast.unparse(argument.annotation) == "int"}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_shapes_use_the_words_of_the_glossary() -> None:
    known = glossary()
    unknown = [
        f"{named(path)}:{line}: [{shape}]"
        for path in TENSOR_FILES
        for words in [known | counts(path)]
        for line, text in prose(path)
        for shape in SHAPE.findall(text)
        if "," in shape and not set(re.findall(r"[a-z_]+", shape)) <= words
    ]
    assert not unknown, "Use the words of ARCHITECTURE.md:\n" + "\n".join(unknown)


def test_every_tensor_function_says_its_shapes() -> None:
    silent = [
        f"{named(path)}:{function.lineno}: {function.name}"
        for path in TENSOR_FILES
        if {"nn", "models", "decoding"} & set(path.parts)
        for function in tensor_functions(path)
        if not SHAPE.search(ast.get_docstring(function) or "") and "scalar" not in (ast.get_docstring(function) or "")
    ]
    assert not silent, "These say no shape, such as [batch, length, dim]:\n" + "\n".join(silent)
