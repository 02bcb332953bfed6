"""The manner of the sources that a linter does not see: sizes, names, and what must never be used."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

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
MAX_PARAMETERS = 8
KERNELS = (
    PACKAGE / "nn" / "kernels",
    PACKAGE / "decoding" / "kernels",
    PACKAGE / "training" / "losses" / "fused.py",
)
WITH_MORE_PARAMETERS = {
    # To Typer an option of a command is a parameter of its function: there its help and its type stand.
    "cli/align.py align",
    "cli/clean.py clean",
    "cli/compare.py compare",
    "cli/distill.py distill",
    "cli/evaluate.py evaluate",
    "cli/explain.py explain",
    "cli/generate.py generate",
    "cli/serve.py serve",
    "cli/study.py ablation",
    "cli/translate.py translate",
    "cli/tune.py tune",
}
DRAWERS = {"utils", "util", "helpers", "common", "misc"}  # names that say nothing and collect everything
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_a_file_fits_in_the_head() -> None:
    sizes = [(path, len(path.read_text(encoding="utf-8").split("\n"))) for path in SOURCES]
    long = [f"{named(path)} has {size} lines; split it by concept." for path, size in sizes if size > MAX_FILE_LINES]
    assert not long, "\n".join(long)


def test_a_file_is_named_after_its_concept() -> None:
    wrong = [named(path) for path in SOURCES if path.stem in DRAWERS]
    assert not wrong, "\n".join(wrong)


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{named(path)}:{node.lineno}: {node.name} has {lines} lines; at most {MAX_FUNCTION_LINES} fit on a screen."
        for path in LIBRARY
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
        if (lines := node.end_lineno - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


def num_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([argument for argument in named if argument.arg not in {"self", "cls"}])


def test_a_function_has_at_most_eight_parameters() -> None:
    """What goes together through several of them is one thing and has a name; a kernel has pointers and strides."""
    many = {
        f"{path.relative_to(PACKAGE).as_posix()} {node.name}": num_parameters(node)
        for path in LIBRARY
        if not any(path.is_relative_to(kernel) for kernel in KERNELS)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and num_parameters(node) > MAX_PARAMETERS
    }
    wrong = [f"{name} has {many[name]}" for name in sorted(many.keys() - WITH_MORE_PARAMETERS)]
    assert not wrong, "\n".join(wrong)
    assert many.keys() >= WITH_MORE_PARAMETERS, "these have no more than eight any more: take them off the list"


def test_a_module_says_what_it_is_for() -> None:
    trees = {named(path): tree_of(path) for path in LIBRARY}
    wrong = [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)]
    assert not wrong, "\n".join(wrong)


def test_the_library_never_prints() -> None:
    talking = [
        f"{named(path)}:{node.lineno}: {node.func.id}() is for the commands in cli/."
        for path in LIBRARY
        if "cli" not in path.parts
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in {"print", "input", "breakpoint"}
    ]
    assert not talking, "\n".join(talking)


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


def test_nothing_is_pickled() -> None:
    wrong = [f"{named(path)}: {use}" for path in LIBRARY for use in unsafe_uses(tree_of(path))]
    assert not wrong, "\n".join(wrong)


def test_the_search_for_pickle_finds_it() -> None:
    code = "import pickle\nfrom dill import load\ntorch.load(f)\nnp.load(f, allow_pickle=True)"
    assert sorted(unsafe_uses(ast.parse(code))) == ["allow_pickle=True", "dill", "pickle", "torch.load"]


def test_nothing_is_left_for_later() -> None:
    left = [
        f"{named(path)}:{token.start[0]}: {token.string}"
        for path in SOURCES
        if path.suffix == ".py"
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        if token.type == tokenize.COMMENT and UNFINISHED.search(token.string)
    ]
    assert not left, "\n".join(left)
