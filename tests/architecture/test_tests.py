"""Tests stand alone: what several of them need lies in tests/support/, and no test is read to understand another."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """All modules a file imports, each with its line; a relative one begins with its dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names = [alias.name for alias in node.names] if module == "tests" else []
            yield from ((node.lineno, f"tests.{name}") for name in names)
            if not names:
                yield node.lineno, module


def is_of_another_test(module: str) -> bool:
    first, *rest = module.split(".")
    if first == "tests":
        return rest[:1] != ["support"]
    return module.startswith((".", "test_")) or first == "conftest"


def test_a_test_imports_no_other_test() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {module}; what several tests need goes to tests/support/."
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line, module in imported(ast.parse(path.read_text(encoding="utf-8")))
        if is_of_another_test(module)
    ]
    assert not wrong, "\n".join(wrong)
