"""The documents stay true: every command, option, file, link and import they mention exists."""

import ast
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from heedful.cli.main import app
from heedful.config.load import load_any

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


def options_of(verb: str) -> set[str]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    assert verb in group.commands, f"There is no command `heedful {verb}`."
    return {option for parameter in group.commands[verb].params for option in parameter.opts} | {"--help"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_command_exists_with_its_options(path: Path) -> None:
    for words in commands(path):
        program = Path(words[0]).name
        if program == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), words
        elif program == "heedful" and not words[1].startswith("--"):
            known = options_of(words[1])
            given = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
            assert given <= known, f"{shlex.join(words)}: there is no {', '.join(sorted(given - known))}."


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_link_leads_somewhere(path: Path) -> None:
    dead = [target for target in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / target).exists()]
    assert dead == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_source_file_it_names_exists(path: Path) -> None:
    files = SOURCE.findall(path.read_text(encoding="utf-8"))
    assert [
        file for file in files if not any((base / file).exists() for base in (ROOT, ROOT / "src" / "heedful"))
    ] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_python_block_parses_and_its_imports_exist(path: Path) -> None:
    for block in blocks(path, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("heedful"):
                module = importlib.import_module(str(node.module))
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_python_block_that_needs_no_run_works(path: Path) -> None:
    for block in blocks(path, "python"):
        if "heedful.load(" not in block:
            exec(compile(block, named(path), "exec"), {})


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


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=named)
def test_every_config_is_read_and_named_after_its_file(path: Path) -> None:
    assert load_any(path).name == path.stem


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
