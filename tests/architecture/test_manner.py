"""The manner of the sources that a linter does not see: sizes, names, and what must never be used."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "heedful"
LIBRARY = sorted(PACKAGE.rglob("*.py"))
SOURCES = sorted(
    path
    for folder in ("src", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".c", ".cpp", ".h", ".js"} and "vendor" not in path.parts
)

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 80  # a screen, with its docstring
DRAWERS = {"utils", "util", "helpers", "common", "misc"}  # names that say nothing and collect everything
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_a_file_fits_in_the_head(path: Path) -> None:
    num_lines = len(path.read_text(encoding="utf-8").split("\n"))
    assert num_lines <= MAX_FILE_LINES, f"{named(path)} has {num_lines} lines; split it by concept."
    assert path.stem not in DRAWERS, f"{named(path)}: name the file after its concept."


@pytest.mark.parametrize("path", LIBRARY, ids=named)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    functions = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {node.name: node.end_lineno - node.lineno + 1 for node in functions if node.end_lineno}
    assert {name: lines for name, lines in long.items() if lines > MAX_FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", LIBRARY, ids=named)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    tree = tree_of(path)
    assert ast.get_docstring(tree) or not tree.body


@pytest.mark.parametrize("path", [path for path in LIBRARY if "cli" not in path.parts], ids=named)
def test_the_library_never_prints(path: Path) -> None:
    calls = (node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))
    assert [
        node.id for node in calls if isinstance(node, ast.Name) and node.id in {"print", "input", "breakpoint"}
    ] == []


def unsafe_uses(tree: ast.Module) -> Iterator[str]:
    """Find what could run code hidden in a file: pickle and its kin, torch.load and save, NumPy's allow_pickle."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name.split(".")[0] in UNSAFE_MODULES)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in UNSAFE_MODULES:
                yield module
            case ast.Attribute(value=ast.Name(id="torch"), attr="load" | "save" as attribute):
                yield f"torch.{attribute}"
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield "allow_pickle=True"


@pytest.mark.parametrize("path", LIBRARY, ids=named)
def test_nothing_is_pickled(path: Path) -> None:
    assert list(unsafe_uses(tree_of(path))) == []


def test_the_search_for_pickle_finds_it() -> None:
    code = "import pickle\nfrom dill import load\ntorch.load(f)\nnp.load(f, allow_pickle=True)"
    assert sorted(unsafe_uses(ast.parse(code))) == ["allow_pickle=True", "dill", "pickle", "torch.load"]


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix == ".py"], ids=named)
def test_nothing_is_left_for_later(path: Path) -> None:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    left = [f"line {token.start[0]}: {token.string}" for token in comments if UNFINISHED.search(token.string)]
    assert left == []
