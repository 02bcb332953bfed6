"""Registers from the corpora to the command, Python and HTTP: one model learns two ways to say the same."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from benchmarks.load import ServerProcess

import heedful as toolkit
from heedful.tasks.translation.request import TranslationRequest
from tests.support.commands import Command
from tests.support.forked_server import ForkedServer

CONFIG = """
name = "registers"
runs_folder = "runs"

[data]
source_language = "en"
target_language = "de"
train = [
    { kind = "tsv", path = "formal.tsv", in_register = "formal" },
    { kind = "tsv", path = "everyday.tsv", in_register = "everyday", weight = 2.0 },
]
validation = [{ kind = "tsv", path = "everyday.tsv" }]
register_rate = 0.6
augmentation = { joined = 0.1, no_full_stop = 0.2 }

[tokenizer]
vocab_size = 400

[model]
dim = 48
num_heads = 4
hidden_dim = 96
num_encoder_layers = 1
num_decoder_layers = 1
dropout = 0.0

[training]
max_steps = 160
batch_tokens = 1024
schedule = { kind = "cosine", peak = 8e-3, warmup_steps = 20 }
checkpoint = { every_steps = 160, keep_last = 1 }
average = { count = 1 }

[validation]
every_steps = 160
max_sentences = 4
"""
VERBS = {"see": "seht", "know": "kennt", "hear": "hört", "need": "braucht"}
THINGS = {"the house": "das Haus", "the book": "das Buch", "the dog": "den Hund", "the song": "das Lied"}
ASKED = "You see the book."
FORMAL, EVERYDAY = "Sie sehen das Buch.", "Ihr seht das Buch."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> Path:
    root = tmp_path_factory.mktemp("registers")
    infinitives = dict(zip(VERBS, ("sehen", "kennen", "hören", "brauchen"), strict=True))
    for name, subject, verbs in (("formal", "Sie", infinitives), ("everyday", "Ihr", VERBS)):
        rows = [
            f"You {verb} {thing}.\t{subject} {verbs[verb]} {THINGS[thing]}.\n" for verb in VERBS for thing in THINGS
        ]
        (root / f"{name}.tsv").write_text("".join(rows * 20), encoding="utf-8")
    (root / "registers.toml").write_text(CONFIG)
    result = heedful("train", "registers.toml", "--device", "cpu", cwd=root, HEEDFUL_CACHE=str(root / "cache"))
    assert result.returncode == 0, result.stderr.decode()
    assert "640 and " in result.stderr.decode()
    return root / "runs" / "registers" / "model"


def test_the_register_that_is_asked_for_is_written(heedful: Command, folder: Path) -> None:
    for register, expected in (("formal", FORMAL), ("everyday", EVERYDAY)):
        result = heedful("translate", "--model", folder, "--register", register, ASKED)
        assert (result.returncode, result.stdout.decode()) == (0, expected + "\n"), result.stderr.decode()
    left_open = heedful("translate", "--model", folder, ASKED).stdout.decode().strip()
    assert left_open in (FORMAL, EVERYDAY)


def test_python_has_it_as_a_request_and_as_a_translator(folder: Path) -> None:
    translator = toolkit.load(folder, device="cpu")
    assert translator.registers == ("everyday", "formal")
    assert translator.translate(ASKED, request=TranslationRequest(register="formal")) == FORMAL
    assert translator.in_register("everyday").translate([ASKED, ""]) == [EVERYDAY, ""]


def test_a_register_nobody_learned_is_a_sentence(heedful: Command, folder: Path) -> None:
    result = heedful("translate", "--model", folder, "--register", "rude", ASKED)
    assert result.returncode == 2
    assert 'The register must be one of everyday, formal, but is "rude".' in result.stderr.decode()
    bundled = heedful("translate", "--to", "de", "--register", "formal", stdin=b"Hello.\n")
    assert bundled.returncode == 2
    assert "must be left out: this model knows none" in bundled.stderr.decode()
    assert bundled.stdout == b""


def post(server: ServerProcess, **fields: Any) -> tuple[int, dict[str, Any]]:
    body = json.dumps({"q": ASKED, "target": "de", **fields}).encode()
    request = urllib.request.Request(server.url + "/translate", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as failure:
        return failure.code, json.loads(failure.read())


def test_the_server_takes_it(folder: Path) -> None:
    with ForkedServer("--model", folder) as server:
        for register, expected in (("formal", FORMAL), ("everyday", EVERYDAY)):
            status, answer = post(server, register=register)
            assert (status, answer["translatedText"]) == (200, expected)
        status, refused = post(server, register="rude")
        assert status == 400
        assert 'must be one of everyday, formal, but is "rude"' in refused["error"]
