"""`heedful explain` as a process, and traces along a real run."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from heedful.config.language_modeling import TransformerXLConfig
from heedful.errors import UserError
from heedful.insight.checkpoint_traces import trace_checkpoints
from heedful.storage.model_folder import save_model_folder
from heedful.tasks.translation.load import load_translator
from tests.support.classifier_folders import make_folder
from tests.support.commands import Command
from tests.support.language_model_folders import write_language_model
from tests.support.small_run import SmallRun


def test_it_writes_one_page(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = heedful("explain", "ten houses", "--model", small_run.run, "--out", out)
    assert (result.returncode, result.stdout) == (0, b"")
    translation = load_translator(small_run.run).translate("ten houses")
    assert result.stderr.decode().startswith(f"{translation}\nWritten to ")
    page = out.read_text(encoding="utf-8")
    (held,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    payload = json.loads(held)
    assert payload["target"]["text"] == translation
    assert np.shape(payload["attribution"]) == (len(payload["target"]["tokens"]), len(payload["source"]["tokens"]))
    assert payload["headChanges"].keys() == {"encoder", "decoder", "cross"}


def test_it_never_overwrites_and_refuses_in_sentences(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    result = heedful("explain", "ten houses", "--model", small_run.run, "--out", out)
    assert result.returncode == 2
    assert result.stderr.decode().endswith("must not exist yet, but does. Choose another, or remove it.\n")
    assert out.read_text() == "mine"
    result = heedful("explain", "", "--model", small_run.run, "--out", tmp_path / "other.html")
    assert (result.returncode, result.stderr) == (2, b"error: The text to look into must not be empty, but is.\n")
    assert not (tmp_path / "other.html").exists()


@pytest.fixture(scope="module")
def other_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("models")
    save_model_folder(base / "labels", make_folder(num_layers=2))
    write_language_model(base / "text", TransformerXLConfig(dim=16, num_heads=2, hidden_dim=32, num_layers=2))
    return {"labels": base / "labels", "text": base / "text"}


@pytest.mark.parametrize("name", ["labels", "text"])
def test_a_classifier_and_a_language_model_are_explained_alike(
    heedful: Command, other_models: dict[str, Path], tmp_path: Path, name: str
) -> None:
    arguments = ("explain", "a truly good film 很好", "--model", other_models[name])
    told = heedful(*arguments)
    assert (told.returncode, told.stderr) == (0, b"")
    written = heedful(*arguments, "--json", "--out", tmp_path / "page.html")
    assert written.returncode == 0
    answer, where = written.stderr.decode().splitlines()
    assert told.stdout.decode().startswith(answer)
    assert where == f"Written to {tmp_path / 'page.html'}."
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (held,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    assert json.loads(held) == json.loads(written.stdout)


def test_an_option_that_says_nothing_to_a_model_is_refused(heedful: Command, other_models: dict[str, Path]) -> None:
    result = heedful("explain", "x", "--model", other_models["labels"], "--beam", "2")
    assert result.returncode == 2
    said = f"error: `--beam` must be used with a translator, but {other_models['labels']} is a classifier.\n"
    assert result.stderr.decode() == said
    result = heedful("explain", "x", "--model", other_models["labels"], "--symbols", "2")
    assert "`--symbols` must be used with a language model" in result.stderr.decode()


def test_checkpoints_of_a_run_are_traced_alike(small_run: SmallRun) -> None:
    found = list(trace_checkpoints(small_run.run, "ten houses", hypothesis="zehn häuser"))
    assert [one.step for one in found] == [120, 240]
    first, last = (one.trace for one in found)
    assert first.tokens == last.tokens
    assert last.log_prob > first.log_prob  # it was learning
    assert not np.array_equal(first.weights["cross"], last.weights["cross"])
    (searched,) = trace_checkpoints(small_run.run, "ten houses", steps=[240])
    # The model that was shipped is this one checkpoint.
    assert searched.trace.text == load_translator(small_run.run, quantize="none").translate("ten houses")


def test_checkpoints_that_are_not_there_are_refused(small_run: SmallRun, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no checkpoint of step 7, only 120, 240"):
        next(trace_checkpoints(small_run.run, "ten houses", steps=[7]))
    with pytest.raises(UserError, match=r"must be the folder of a run, but has no config\.toml"):
        next(trace_checkpoints(tmp_path, "ten houses"))


def test_a_term_is_in_the_translation_and_marked_in_the_beam(heedful: Command, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tKöter\n", encoding="utf-8")
    asked = ("explain", "The dog sleeps.", "--from", "en", "--to", "de", "--glossary", terms)
    payload = json.loads(heedful(*asked, "--json").stdout)
    assert payload["target"]["text"] == "Der Köter schläft."
    nodes = {node["id"]: node for node in payload["beam"]["nodes"]}
    place, path = payload["beam"]["chosen"], []
    while place is not None:
        path.append(nodes[place])
        place = nodes[place]["parent"]
    assert "".join(node["text"] for node in reversed(path) if node["isForced"]) == "▁Köter"
    refused = heedful(*asked, "--hypothesis", "Der Hund schläft.")
    assert (refused.returncode, refused.stderr) == (
        2,
        b"error: `--glossary` must be left out with --hypothesis: nothing is searched for.\n",
    )
