"""`heedful get` as a process: a model fetched by name is used by its name, wherever a model is asked for."""

import json
from pathlib import Path

import pytest

import heedful as package
from tests.support.commands import Command
from tests.support.engine_cache import cache_with_engine
from tests.support.hub import NAME, offer, write_published_folder
from tests.support.publisher import Publisher, publishing

SENTENCE = "kalo miter an."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> Path:
    """A folder whose cache has the model, after a download that broke off once."""
    place = tmp_path_factory.mktemp("get")
    cache_with_engine(place / "cache")
    with publishing() as hub:
        offer(hub, write_published_folder(place / "published"), without=("model.safetensors",))
        broken_off(heedful, hub, place)
        got = heedful("get", NAME, cwd=place, **environment(place, hub.url))
        assert got.returncode == 0, got.stderr.decode()
        assert "Licence: cc-by-4.0" in got.stderr.decode()
        assert f"heedful translate --model {NAME}" in got.stderr.decode()
        asked = len(hub.requests)
        again = heedful("get", NAME, "--json", cwd=place, **environment(place, hub.url))
        assert json.loads(again.stdout)["fetched"] is False
        assert len(hub.requests) == asked
    return place


def environment(place: Path, url: str = "http://127.0.0.1:9") -> dict[str, str]:
    return {"HEEDFUL_CACHE": str(place / "cache"), "HF_ENDPOINT": url, "HF_TOKEN": ""}


def broken_off(heedful: Command, hub: Publisher, place: Path) -> None:
    weights = next(file for path, file in hub.files.items() if path.endswith("pytorch_model.bin"))
    weights.cut_after = [5000, 0]
    result = heedful("get", NAME, "--retries", "0", cwd=place, **environment(place, hub.url))
    assert result.returncode == 1
    assert "it goes on from there" in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()
    assert heedful("get", cwd=place, **environment(place)).stdout == b""


def test_what_is_here_is_listed(heedful: Command, place: Path) -> None:
    assert heedful("get", cwd=place, **environment(place)).stdout.decode() == f"{NAME}\n"


@pytest.mark.parametrize("name", [NAME, "opus-mt-ka-lo"])
def test_verbs_take_it_by_its_name(heedful: Command, place: Path, name: str, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        result = heedful(*words, cwd=tmp_path, **environment(place))
        assert result.returncode == 0, result.stderr.decode()
        return result.stdout.decode()

    translated = run("translate", SENTENCE, "--model", name)
    assert len(translated) > 2
    (tmp_path / "source").write_text(f"{SENTENCE}\n")
    (tmp_path / "target").write_text(translated)
    (tmp_path / "config.toml").write_text("no config of that model")
    scored = run("evaluate", name, "--against", name, "--data", "source", "target", "--json")
    assert json.loads(scored)["scores"][1]["value"] == pytest.approx(100)  # chrF; four words make no BLEU
    run("explain", SENTENCE, "--model", name, "--out", "page.html")
    run("export", name, "--format", "int8", "--out", "small")
    run("tune", name, "--data", "source", "target", "--beams", "1")


def test_python_takes_it_by_its_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEEDFUL_CACHE", str(place / "cache"))
    assert package.load(NAME).translate(SENTENCE) == package.load(place / "cache" / "models" / NAME).translate(SENTENCE)


def test_a_mistake_is_a_sentence(heedful: Command, place: Path) -> None:
    for words, sentence in (
        (["get", "a/b/c"], "must be named like Helsinki-NLP/opus-mt-en-de"),
        (["get", "--retries", "3"], "must go with the NAME of a model"),
        (["get", NAME, "--revision", "v1"], "is there already"),
        (["get", NAME, "--out", "."], "must not exist yet"),
        (["translate", "x", "--model", "Helsinki-NLP/opus-mt-xx-yy"], "heedful get Helsinki-NLP/opus-mt-xx-yy"),
    ):
        result = heedful(*words, cwd=place, **environment(place))
        assert result.returncode == 2, words
        assert sentence in result.stderr.decode()
    unreachable = heedful("get", "a/b", "--retries", "0", cwd=place, **environment(place))
    assert unreachable.returncode == 1
    assert "http://127.0.0.1:9/api/models/a/b" in unreachable.stderr.decode()
