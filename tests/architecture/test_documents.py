"""The documents stay true: every command, option, file, link and import they mention exists."""

import ast
import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer.main
from typer.core import TyperGroup

from heedful.cli.main import app
from heedful.config.load import load_any
from heedful.errors import HeedfulError

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCE = re.compile(r"`((?!runs/)[\w.-]+/[\w./-]+\.(?:py|toml|cpp|h|txt))`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, *languages: str) -> list[str]:
    """The fenced blocks of a document that are written in one of the languages."""
    return [text for language, text in FENCE.findall(path.read_text(encoding="utf-8")) if language in languages]


def commands(path: Path) -> list[list[str]]:
    """Every command in the shell blocks, as words; a pipeline is several commands."""
    found = []
    for block in blocks(path, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while words:
                end = next((i for i, word in enumerate(words) if word in {"|", "<", ">", "&&"}), len(words))
                if words[:end]:
                    found.append(words[:end])
                words = words[end + 1 :]
    return found


def command_fault(words: list[str]) -> str | None:
    """Say what is wrong with a command of ours or of the Makefile, if anything is."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    program = Path(words[0]).name
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return None if words[1] in targets else "the Makefile has no such target"
    if program != "heedful" or words[1].startswith("--"):
        return None
    if words[1] not in group.commands:
        return "there is no such command"
    command, rest = group.commands[words[1]], words[2:]
    if isinstance(command, TyperGroup) and rest and not rest[0].startswith("--"):
        if rest[0] not in command.commands:
            return "there is no such command"
        command, rest = command.commands[rest[0]], rest[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    given = {word.partition("=")[0] for word in rest if word.startswith("--")}
    return f"there is no {', '.join(sorted(given - known))}" if given - known else None


def test_every_command_exists_with_its_options() -> None:
    wrong = [
        f"{named(path)}: {shlex.join(words)}: {fault}."
        for path in DOCUMENTS
        for words in commands(path)
        if (fault := command_fault(words))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_link_leads_somewhere() -> None:
    dead = [
        f"{named(path)}: {target}"
        for path in DOCUMENTS
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert not dead, "These links lead nowhere:\n" + "\n".join(dead)


def test_every_source_file_they_name_exists() -> None:
    gone = [
        f"{named(path)}: {file}"
        for path in DOCUMENTS
        for file in SOURCE.findall(path.read_text(encoding="utf-8"))
        if not any((base / file).exists() for base in (ROOT, ROOT / "src" / "heedful"))
    ]
    assert not gone, "These files do not exist:\n" + "\n".join(gone)


def python_faults(block: str) -> Iterator[str]:
    """Say what is wrong with an example: its grammar, its imports and, where it needs no run, what it does."""
    try:
        tree = ast.parse(block)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("heedful"):
                module = importlib.import_module(str(node.module))
                yield from (f"{node.module} has no {one.name}" for one in node.names if not hasattr(module, one.name))
        if "heedful.load(" not in block:
            exec(compile(tree, "example", "exec"), {})
    except Exception as fault:  # an example may fail in any way
        yield f"{type(fault).__name__}: {fault}"


def test_every_python_block_works() -> None:
    wrong = [
        f"{named(path)}: {fault}, in\n{block}"
        for path in DOCUMENTS
        for block in blocks(path, "python")
        for fault in python_faults(block)
    ]
    assert not wrong, "\n".join(wrong)


def tree_entries(path: Path) -> set[str]:
    """The paths of the annotated tree: two spaces a level, a name, then its phrase."""
    (tree,) = blocks(path, "text")
    folders: list[str] = []
    entries = set()
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        folders[depth:] = [name.rstrip("/")]
        entries.add("/".join(folders))
    return entries


def test_the_annotated_tree_is_the_real_one() -> None:
    entries = tree_entries(ROOT / "ARCHITECTURE.md")
    package = ROOT / "src" / "heedful"
    sources = [file for kind in ("*.py", "*.h", "*.cpp") for file in package.rglob(kind) if file.name != "__init__.py"]
    folders = [file.parent for file in sources if file.parent != package]
    others = [
        file
        for folder in ("configs", "benchmarks", "docs")
        for file in (ROOT / folder).iterdir()
        if file.name != "__pycache__"
    ]
    tiers = [file for file in (ROOT / "tests").iterdir() if file.is_dir() and file.name != "__pycache__"]
    assert {entry for entry in entries if not (ROOT / entry).exists()} == set(), "These are gone."
    missing = {named(path) for path in [*sources, *folders, *others, *tiers]} - entries
    assert missing == set(), "These are missing in the tree."


def test_both_readmes_show_the_same_commands() -> None:
    assert blocks(READMES[0], "sh", "python") == blocks(READMES[1], "sh", "python")


def config_fault(path: Path) -> str | None:
    """Say what is wrong with a config that is shipped, if anything is."""
    try:
        name = load_any(path).name
    except HeedfulError as error:
        return str(error)
    return None if name == path.stem else f"its run is called {name!r}, not {path.stem!r}"


def test_every_config_is_read_and_named_after_its_file() -> None:
    configs = sorted((ROOT / "configs").glob("*.toml"))
    wrong = [f"{named(path)}: {fault}" for path in configs if (fault := config_fault(path))]
    assert not wrong, "\n".join(wrong)


def test_the_pytest_that_contributing_names_finds_what_tests_import() -> None:
    commands = [line for line in blocks(ROOT / "CONTRIBUTING.md", "sh")[1].splitlines() if line]
    assert commands
    assert all(line.startswith(".venv/bin/pytest ") for line in commands)
    importing = "tests/end_to_end/test_serve_runs.py"
    assert "from benchmarks." in (ROOT / importing).read_text(encoding="utf-8")
    # The script and not `python -m pytest`, which would put the checkout on the path by itself.
    script = Path(sys.executable).with_name("pytest")
    result = subprocess.run(
        [script, "--collect-only", "-p", "no:cacheprovider", importing],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_flow_of_training_has_as_many_stations_as_it_says_and_every_one_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("### Train\n")[1].split("\n##")[0]
    claimed = int(re.findall(r": (\d+) stations", section)[0])
    named: list[str] = []
    for row in re.findall(r"^\| (\d.*)$", section, re.MULTILINE):
        numbers, stations, _ = row.split(" | ", 2)
        first, last = (re.findall(r"\d+", numbers) * 2)[:2]
        files = re.findall(r"`([a-z_0-9/]+\.py)`", stations)
        assert len(files) == int(last) - int(first) + 1, row
        assert int(first) == len(named) + 1, row
        named += files
    assert len(named) == claimed <= 32
    assert [name for name in named if not (ROOT / "src" / "heedful" / name).is_file()] == []
