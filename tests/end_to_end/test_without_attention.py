"""A translator without attention: what needs none works, what would show it says so, and nothing breaks."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.error import HTTPError

import pytest
from benchmarks.load import ServerProcess

import heedful as package
from tests.support.commands import Command
from tests.support.family_run import TEXT, ask_about_text, trained
from tests.support.forked_server import ForkedServer


@pytest.fixture(scope="module")
def run(heedful: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("one_vector")
    return trained(heedful, root, "recurrent", "model.attention=none", "model.cell=lstm", "model.dim=96")


def test_it_translates_what_it_has_learned(heedful: Command, run: Path) -> None:
    result = heedful("translate", "--model", run, TEXT)
    assert (result.returncode, result.stdout) == (0, "zehn häuser\n".encode())


def test_its_words_are_not_linked(heedful: Command, run: Path) -> None:
    result = heedful("translate", "--model", run, "--alignment", "pharaoh", TEXT)
    assert (result.returncode, result.stdout.decode()) == (0, "zehn häuser |||\n")


@pytest.mark.parametrize(
    "line", ["", " ", "\x00\x07", "🙂" * 40, "a" * 3000, "ten\u2028houses", "<b>ten</b> houses https://x.org/?a=1 42"]
)
def test_hostile_lines_are_answered(heedful: Command, run: Path, line: str) -> None:
    result = heedful("translate", "--model", run, stdin=f"{line}\nten houses\n".encode())
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.decode().count("\n") == 2
    assert result.stdout.decode().endswith("zehn häuser\n")


def test_terms_and_detailed_output_go_without(heedful: Command, run: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("houses\thäuser\n", encoding="utf-8")
    result = heedful("translate", "--model", run, "--glossary", tmp_path / "terms.tsv", "--json", TEXT)
    assert result.returncode == 0, result.stderr.decode()
    assert "häuser" in json.loads(result.stdout)["translation"]


def test_a_page_explains_it_without_attention(heedful: Command, run: Path, tmp_path: Path) -> None:
    result = heedful("explain", TEXT, "--model", run, "--out", tmp_path / "page.html")
    assert result.returncode == 0, result.stderr.decode()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (held,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    payload = json.loads(held)
    assert (payload["attention"], payload["headChanges"], payload["alignment"]["links"]) == ([], {}, [])
    assert payload["attribution"], "occlusion needs no attention"
    shown = heedful("explain", TEXT, "--model", run)
    assert shown.returncode == 0, shown.stderr.decode()
    assert "zehn häuser" in shown.stdout.decode()
    trace = package.load(run).translate(TEXT, trace=True)
    with pytest.raises(package.errors.UserError, match="but the model has none"):
        trace.attention("cross", 0, 0)


@pytest.fixture(scope="module")
def server(run: Path) -> Iterator[ServerProcess]:
    with ForkedServer("--model", str(run)) as process:
        yield process


def test_a_server_traces_it_and_refuses_a_cell(server: ServerProcess) -> None:
    post = partial(ask_about_text, server)
    assert post("/translate")["translatedText"] == "zehn häuser"
    trace = post("/api/trace")
    assert (trace["attention"], trace["alignment"]["links"]) == ([], [])
    ids = [token["id"] for token in trace["target"]["tokens"]]
    assert post("/api/trace/heads", targetIds=ids)["heads"] == {}
    assert post("/api/trace/attribution", targetIds=ids)
    with pytest.raises(HTTPError, match="400"):
        post("/api/trace/cell", targetIds=ids, kind="cross", layer=0, head=0, row=0, column=0)
