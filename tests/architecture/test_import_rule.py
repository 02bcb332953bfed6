"""Who may import whom. The rule is drawn in ARCHITECTURE.md; this file is the same rule as a table.

Every import counts, also one inside a function or under TYPE_CHECKING: a type is a dependency, too.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "heedful"

# What a part may import beside itself and the ground: config, errors, files.
GROUND = {"config", "errors", "files"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "files": set(),
    "waiting": set(),
    "config": set(),
    "text": set(),
    "data": {"text"},
    "corpora": {"text"},
    "reports": set(),
    "nn": set(),
    "models": {"nn"},
    "storage": {"models", "nn"},
    "engines": {"storage", "models", "nn"},
    "decoding": set(),  # it knows a Protocol, so that any model, and any engine, can be searched
    "evaluation": {"decoding", "models", "nn"},
    "training": {"data", "models", "nn"},  # of data only what a batch is: see the test below
    "interop": {"text", "data", "corpora", "nn", "models", "storage", "decoding", "evaluation", "training"},
    "tasks": {"text", "data", "nn", "models", "storage", "engines", "decoding", "evaluation", "training"},
    "insight": {"text", "nn", "models", "storage", "decoding", "evaluation", "training", "tasks"},
    "jobs": {"text", "data", "tasks"},
    "studies": {"nn", "models", "evaluation", "tasks", "comparisons", "reports"},
    "documents": {"text", "tasks"},
    "comparisons": {"waiting", "text", "data", "models", "storage", "evaluation", "training", "tasks", "reports"},
    "serving": {"text", "models", "storage", "engines", "decoding", "tasks", "insight", "documents"},
    "demo": {"text", "data", "training", "storage", "tasks"},
    "cli": {
        "waiting",
        "text",
        "corpora",
        "storage",
        "evaluation",
        "training",
        "tasks",
        "insight",
        "comparisons",
        "documents",
        "jobs",
        "interop",
        "serving",
        "demo",
        "reports",
        "studies",
    },
}
ABOVE_ALL = {"__init__", "__main__"}  # the two doors of the package
GROUND_MAY_IMPORT = {"errors": set[str](), "files": {"errors"}, "config": {"errors"}}

MODULES = sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """Name the folder or file right under `heedful` that a dotted module name belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported_modules(path: Path, *, only_at_import_time: bool = False) -> set[str]:
    """Dotted names of our own modules that a file imports; `from heedful.nn import masks` names heedful.nn.masks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = {dotted(module) for module in MODULES}
    nodes = tree.body if only_at_import_time else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner != "heedful.__version__":  # the version is everybody's
                    found.add(inner if inner in known else str(node.module))
    return {name for name in found if name.split(".")[0] == "heedful"}


def test_every_import_is_written_with_its_whole_name() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: a relative import; write the whole name."
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not wrong, "\n".join(wrong)


def test_every_part_has_a_place_in_the_rule() -> None:
    parts = {part_of(dotted(path)) for path in MODULES} - ABOVE_ALL
    assert parts == set(MAY_IMPORT), (
        f"Without a place in the rule, decide on one in this table: {sorted(parts - set(MAY_IMPORT))}; "
        f"in the rule, but gone: {sorted(set(MAY_IMPORT) - parts)}."
    )


def test_a_module_imports_only_what_lies_below_it() -> None:
    wrong = []
    for path in MODULES:
        part = part_of(dotted(path))
        if part in ABOVE_ALL or part not in MAY_IMPORT:
            continue
        below = GROUND_MAY_IMPORT[part] if part in GROUND else MAY_IMPORT[part] | GROUND
        forbidden = sorted(name for name in imported_modules(path) if part_of(name) not in below | {part})
        wrong += [f"{path.relative_to(PACKAGE)} must not import {name}." for name in forbidden]
    assert not wrong, "\n".join(wrong)


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph = {dotted(path): imported_modules(path, only_at_import_time=True) - {dotted(path)} for path in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(f"Modules import each other in a circle: {' -> '.join(circle.args[1])}.")


def test_training_knows_of_data_only_what_a_batch_is() -> None:
    batches = {"heedful.data.batch", "heedful.data.named_batch"}
    wrong = [
        f"{path.relative_to(PACKAGE)} must not import {name}: give training batches, not where they come from."
        for path in MODULES
        for name in sorted(imported_modules(path))
        if part_of(dotted(path)) == "training" and part_of(name) == "data" and name not in batches
    ]
    assert not wrong, "\n".join(wrong)
